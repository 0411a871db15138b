#include "passed.h"

#include <algorithm>
#include <utility>

namespace tbdbg {
namespace {

std::pair<int64_t, int64_t> OccurrenceKey(const Passed& tensor) {
  // Steps of functions are below 0, those of sessions are not: a shift keeps both from numbers of calls.
  return {tensor.tensor_id, tensor.call != kNoCall ? tensor.call : ~tensor.step};
}

// Whether a tensor may be one of a call; all are, of kNoCall.
bool IsOf(const Passed& tensor, int64_t call) {
  return call == kNoCall || tensor.call == call || tensor.call == kNoCall;
}

}  // namespace

void PassedTensors::SetLimit(int64_t max_bytes) {
  Values dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  max_bytes_ = std::max(max_bytes, int64_t{0});
  wanted_ = max_bytes_ > 0;
  KeepLimit(&dropped);
}

void PassedTensors::Note(Passed* tensor) {
  Values dropped;
  Passed oldest;  // destroyed after the lock
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  tensor->number = ++last_number_;
  tensor->occurrence = ++occurrences_[OccurrenceKey(*tensor)];
  if (tensors_.size() >= kMost) {
    oldest = std::move(tensors_.front());
    Drop(&oldest, &dropped);
    tensors_.pop_front();
  }
  tensors_.push_back(*tensor);
  if (tensor->value != nullptr) held_bytes_ += tensor->num_bytes;
  KeepLimit(&dropped);
}

void PassedTensors::Pin(const Passed& tensor) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  pinned_ = tensor.number;
  Passed* noted = Find(tensor.number);
  if (noted == nullptr) {  // It was forgotten while its thread waited for another one.
    const auto after = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const Passed& other) { return other.number > tensor.number; });
    noted = &*tensors_.insert(after, tensor);
    noted->value = nullptr;
  }
  if (noted->value == nullptr && tensor.value != nullptr) {
    noted->value = tensor.value;
    held_bytes_ += noted->num_bytes;
  }
}

void PassedTensors::Unpin() {
  Values dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  first_held_ = std::min(first_held_, pinned_);
  pinned_ = 0;
  KeepLimit(&dropped);
}

void PassedTensors::Change(int64_t number, std::shared_ptr<const HeldValue> value) {
  std::lock_guard<std::mutex> lock(mutex_);
  Passed* tensor = Find(number);
  if (tensor == nullptr) return;
  if (tensor->value == nullptr) held_bytes_ += tensor->num_bytes;
  tensor->value.swap(value);
  tensor->numbers = {};
  tensor->was_changed = true;
}

void PassedTensors::Forget(const std::vector<int64_t>& calls) {
  std::deque<Passed> forgotten;  // destroyed after the lock
  std::lock_guard<std::mutex> lock(mutex_);
  forgotten.swap(tensors_);
  occurrences_.clear();
  held_bytes_ = dropped_ = 0;
  for (Passed& tensor : forgotten) {
    const bool goes_on = std::find(calls.begin(), calls.end(), tensor.call) != calls.end();
    if (tensor.number != pinned_ && !goes_on) continue;
    if (tensor.value != nullptr) held_bytes_ += tensor.num_bytes;
    int64_t& occurrences = occurrences_[OccurrenceKey(tensor)];
    occurrences = std::max(occurrences, goes_on ? tensor.occurrence : 1);
    tensors_.push_back(std::move(tensor));
  }
}

void PassedTensors::Close() {
  std::deque<Passed> forgotten;  // destroyed after the lock
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  wanted_ = false;
  forgotten.swap(tensors_);
  occurrences_.clear();
  held_bytes_ = 0;
}

std::vector<Passed> PassedTensors::After(int64_t after, size_t limit, int64_t call) const {
  std::vector<Passed> found;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto begin =
      std::upper_bound(tensors_.begin(), tensors_.end(), after,
                       [](int64_t number, const Passed& tensor) { return number < tensor.number; });
  for (auto it = begin; it != tensors_.end() && found.size() < limit; ++it) {
    if (IsOf(*it, call)) found.push_back(*it);
  }
  return found;
}

std::shared_ptr<const HeldValue> PassedTensors::ValueOf(int64_t number) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Passed* tensor = Find(number);
  return tensor == nullptr ? nullptr : tensor->value;
}

PassedTensors::Counts PassedTensors::counts(int64_t call) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto is_of_call = [&](const Passed& tensor) { return IsOf(tensor, call); };
  return {held_bytes_, dropped_, std::count_if(tensors_.begin(), tensors_.end(), is_of_call)};
}

Passed* PassedTensors::Find(int64_t number) {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), number,
                       [](const Passed& tensor, int64_t number) { return tensor.number < number; });
  return found != tensors_.end() && found->number == number ? &*found : nullptr;
}

void PassedTensors::Drop(Passed* tensor, Values* dropped) {
  if (tensor->value == nullptr) return;
  held_bytes_ -= tensor->num_bytes;
  ++dropped_;
  dropped->push_back(std::move(tensor->value));
  tensor->value = nullptr;
}

void PassedTensors::KeepLimit(Values* dropped) {
  if (held_bytes_ <= max_bytes_) return;
  auto it = std::lower_bound(tensors_.begin(), tensors_.end(), first_held_,
                             [](const Passed& tensor, int64_t number) { return tensor.number < number; });
  for (; it != tensors_.end() && held_bytes_ > max_bytes_; ++it) {
    first_held_ = it->number;
    if (it->number != pinned_) Drop(&*it, dropped);
  }
}

}  // namespace tbdbg
