#include "watches.h"

#include <deque>

namespace tbdbg {
namespace {

std::mutex tables_mutex;
// Deques never move their elements. Both guarded by tables_mutex.
std::deque<Watch>& Watches() {
  static auto* watches = new std::deque<Watch>;
  return *watches;
}
std::deque<Constants>& AllConstants() {
  static auto* constants = new std::deque<Constants>;
  return *constants;
}

template <typename T>
T* Find(std::deque<T>& table, int64_t number) {
  std::lock_guard<std::mutex> lock(tables_mutex);
  return number >= 0 && number < static_cast<int64_t>(table.size()) ? &table[number] : nullptr;
}

}  // namespace

void Constants::Add(std::string prefix, EncodedTensor tensor) {
  std::lock_guard<std::mutex> lock(mutex_);
  records_.emplace_back(std::move(prefix), std::move(tensor));
  recorded_ = kNever;
}

void Constants::Record(Recorder* recorder) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (discard_ != recorder->discards()) done_ = 0;
  discard_ = recorder->discards();
  for (; done_ < records_.size(); ++done_) {
    recorder->TraceConstant(records_[done_].first, records_[done_].second);
  }
  if (discard_ == 0) {  // Nothing is recorded a second time.
    records_.clear();
    done_ = 0;
  }
  recorded_ = discard_;
}

int64_t AddConstants() {
  std::lock_guard<std::mutex> lock(tables_mutex);
  AllConstants().emplace_back();
  return static_cast<int64_t>(AllConstants().size()) - 1;
}

Constants* FindConstants(int64_t number) { return Find(AllConstants(), number); }

int64_t AddWatch(std::vector<TraceTarget> targets, StaticShape shape, Constants* constants,
                 std::vector<const Watch*> before) {
  std::lock_guard<std::mutex> lock(tables_mutex);
  Watches().push_back(
      {std::move(targets), std::move(shape), constants, std::move(before), CurrentRecorder()});
  return static_cast<int64_t>(Watches().size()) - 1;
}

Watch* FindWatch(int64_t number) { return Find(Watches(), number); }

}  // namespace tbdbg
