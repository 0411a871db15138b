#include "event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tbdbg {
namespace {

constexpr uint64_t kJournalBytes = 256 << 10;
// Room for a health record of about 250 bytes; a ring grows if its records are longer.
constexpr uint64_t kRingBytesPerRecord = 320;
constexpr double kPeriodSeconds = 0.5;
// The limit of pinned records in multiples of the circular buffer's size: at first, and what comes with each
// doubling of the recording. What is bad early on can thus never use up the room of what is bad later.
constexpr int64_t kPinnedBuffers = 10, kPinnedBuffersByDoubling = 4;

// Writes all of `pieces`. Returns an errno, 0 = success.
int WriteAll(int fd, iovec* pieces, int count) {
  while (count > 0) {
    const ssize_t written = writev(fd, pieces, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    size_t left = static_cast<size_t>(written);
    while (count > 0 && left >= pieces->iov_len) {
      left -= pieces->iov_len;
      ++pieces;
      --count;
    }
    if (count > 0) {
      pieces->iov_base = static_cast<char*>(pieces->iov_base) + left;
      pieces->iov_len -= left;
    }
  }
  return 0;
}

}  // namespace

std::string EventFile::Open(const std::string& path, int64_t circular_buffer_size, ByteBudget* budget,
                            KeepRules* rules) {
  std::lock_guard<std::mutex> lock(mutex_);
  path_ = path;
  rules_ = rules;
  budget_ = budget;
  limit_ = std::max<int64_t>(circular_buffer_size, 0);
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) return Failure("open", errno);
  file_size_ = static_cast<uint64_t>(lseek(fd_, 0, SEEK_END));
  const bool ring = limit_ > 0;
  const uint64_t capacity =
      ring ? std::max<uint64_t>(static_cast<uint64_t>(limit()) * kRingBytesPerRecord, 64 << 10)
           : kJournalBytes;
  const int error =
      tail_.Create(path + ".tail", ring ? TailFile::Use::kRing : TailFile::Use::kJournal, capacity);
  if (error != 0) return Failure("map", error);
  tail_.Drained(file_size_);
  return "";
}

std::string EventFile::Append(double wall_time, std::string* record, const std::vector<KeptBytes>& kept) {
  Frame(record);
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0) return "";
  const std::string failure =
      AppendOne(record->size(), [&](char* out) { std::memcpy(out, record->data(), record->size()); }, kept);
  return failure.empty() ? DoPeriodicWork(wall_time) : failure;
}

std::string EventFile::Append(const FilledTrace* traces, size_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0) return "";
  for (const FilledTrace* trace = traces; trace != traces + count; ++trace) {
    const std::string failure = AppendOne(trace->size(), [&](char* out) { trace->Write(out); });
    if (!failure.empty()) return failure;
  }
  return DoPeriodicWork(traces->wall_time());
}

template <typename Write>
std::string EventFile::AppendOne(size_t size, Write write, const std::vector<KeptBytes>& kept) {
  std::string failure = MakeRoom(size);
  if (!failure.empty()) return failure;
  tail_.Append(size, write);
  if (tail_.lost()) return TailFailure();
  if (limit_ > 0) {
    for (const KeptBytes& each : kept) values_.push_back({appended_, each});
  }
  ++in_tail_;
  ++appended_;
  // Dropped only now: a kill between Append and Drop leaves one record more, not one
  // less.
  while (failure.empty() && limit_ > 0 && OverflowsRing()) failure = DropOldest();
  if (!failure.empty()) return failure;
  return to_pin_ > 0 && --to_pin_ == 0 ? FlushPinned() : "";
}

bool EventFile::HasRoomForMore() const {
  // Three files are pinned at once, with up to one and a half buffers each; a buffer more when they are
  // closed.
  return budget_->HasRoom(8 * std::max(tail_.size(), budget_->ring_bytes()));
}

bool EventFile::OverflowsRing() const {
  return in_tail_ > limit_ || (tail_.size() > most_ring_bytes_ && in_tail_ > 1);
}

double EventFile::last_time() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_time_;
}

std::string EventFile::DoPeriodicWork(double wall_time) {
  last_time_ = std::max(last_time_, wall_time);
  if (wall_time - last_periodic_work_ < kPeriodSeconds) return "";
  last_periodic_work_ = wall_time;
  return limit_ > 0 ? FailureIfRemoved() : FlushJournal();
}

std::string EventFile::MakeRoom(uint64_t size) {
  std::string failure;
  if (limit_ == 0 && tail_.free() < size) failure = FlushJournal();
  if (limit_ > 0 && in_tail_ >= limit_ && to_pin_ > 0) failure = FlushPinned();
  if (!failure.empty()) return failure;
  if (tail_.free() < size) {
    const int error = tail_.Grow(tail_.size() + size);
    if (error != 0) return Failure("map", error);
  }
  return "";
}

std::string EventFile::DropOldest() {
  uint64_t payload_size;
  tail_.Copy(0, sizeof(payload_size), &payload_size);
  if (tail_.lost() || payload_size > tail_.size() - kHeadSize - kFootSize) return TailFailure();
  tail_.Drop(kHeadSize + payload_size + kFootSize);
  GiveBack(appended_ - in_tail_);
  --in_tail_;
  return "";
}

void EventFile::GiveBack(int64_t dropped_record) {
  while (!values_.empty() && values_.front().record <= dropped_record) {
    if (rules_ != nullptr) rules_->GiveBack(values_.front().kept);
    values_.pop_front();
  }
}

int64_t EventFile::MostPinned() const {
  int64_t doublings = 0;
  for (int64_t buffers = appended_ / limit(); buffers > 1; buffers /= 2) ++doublings;
  return (kPinnedBuffers + kPinnedBuffersByDoubling * doublings) * limit();
}

void EventFile::Pin(double share) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0 || limit_ == 0 || !HasRoomForMore()) return;
  // This call pins at most the records in the buffer, and at most as many later ones.
  if (static_cast<double>(pinned_ + 2 * limit()) > share * static_cast<double>(MostPinned())) return;
  to_pin_ = limit() / 2 + 1;
}

std::string EventFile::FlushPinned() {
  pinned_ += in_tail_;
  return FlushLocked();
}

std::string EventFile::Flush() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0) return "";
  if (limit_ == 0) return FlushJournal();
  return HasRoomForMore() ? FlushLocked() : "";
}

void EventFile::Discard() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0 || limit_ == 0) return;
  in_tail_ = to_pin_ = pinned_ = 0;
  values_.clear();  // Recorder::Discard gives back their bytes.
  tail_.Drained(file_size_);
}

std::string EventFile::FailureIfRemoved() const {
  struct stat status;
  if (fstat(fd_, &status) == 0 && status.st_nlink > 0) return "";
  return path_ + " was removed";
}

std::string EventFile::FlushJournal() {
  const std::string failure = FlushLocked();
  return failure.empty() && budget_->IsSpent() ? TurnIntoRing() : failure;
}

std::string EventFile::TurnIntoRing() {
  const uint64_t bytes = budget_->ring_bytes();
  const int error = tail_.TurnInto(TailFile::Use::kRing, bytes);
  if (error != 0) return Failure("map", error);
  most_ring_bytes_ = bytes;
  const uint64_t each = file_size_ / std::max<int64_t>(appended_, 1) + 1;
  limit_ = std::max<int64_t>(static_cast<int64_t>(bytes / each), 2);
  return "";
}

std::string EventFile::FlushLocked() {
  const std::string failure = FailureIfRemoved();
  if (!failure.empty()) return failure;
  if (tail_.lost()) return TailFailure();
  const TailFile::Pieces bytes = tail_.pieces();
  iovec pieces[] = {{const_cast<char*>(bytes.first), bytes.first_size},
                    {const_cast<char*>(bytes.second), bytes.second_size}};
  const uint64_t size = tail_.size();
  const int error = WriteAll(fd_, pieces, 2);
  if (error != 0) {
    // The records that were written are in the tail file, too.
    const int ignored = ftruncate(fd_, static_cast<off_t>(file_size_));
    static_cast<void>(ignored);
    return error == EFAULT ? TailFailure() : Failure("write", error);
  }
  file_size_ += size;
  budget_->Add(size);
  in_tail_ = 0;
  values_.clear();  // They stay on record.
  tail_.Drained(file_size_);
  return "";
}

std::string EventFile::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fd_ < 0) return "";
  const std::string failure = FlushLocked();
  close(fd_);
  fd_ = -1;
  // Records that could not be written stay readable in the tail file.
  if (failure.empty()) {
    tail_.Remove();
  } else {
    tail_.Abandon();
  }
  return failure;
}

void EventFile::Abandon() {
  // Without a lock: in a forked child it may be locked for ever.
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  tail_.Abandon();
}

int64_t EventFile::appended() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return appended_;
}

std::string EventFile::Failure(const char* action, int error) const {
  return std::string("cannot ") + action + " " + path_ + ": " + std::strerror(error);
}

std::string EventFile::TailFailure() const {
  return path_ + ".tail was cut or overwritten by another process, or its disk failed";
}

}  // namespace tbdbg
