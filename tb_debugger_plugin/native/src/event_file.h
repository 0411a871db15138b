// An event file that grows while the program runs: .execution,
// .graph_execution_traces or .session_runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "encode.h"
#include "framing.h"
#include "keep.h"
#include "tail_file.h"

namespace tbdbg {

// How many bytes the event files of a recording may have together. Thread-safe.
//
// Three quarters hold all records. Once they are used, each file goes on as a circular buffer, and the last
// quarter has room for its records and for pinned ones.
class ByteBudget {
 public:
  // `max_bytes`: 0 or less for no limit.
  explicit ByteBudget(int64_t max_bytes) : max_(max_bytes) {}

  void Add(uint64_t bytes) { used_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
  // Whether no more records can be kept but those of circular buffers.
  bool IsSpent() const { return max_ > 0 && used() >= max_ / 4 * 3; }
  // Whether a sixty-fourth is used, which is when a user wants to know how fast the files grow.
  bool IsBegun() const { return max_ > 0 && used() >= max_ / 64; }
  // Whether so many bytes more can be written.
  bool HasRoom(uint64_t bytes) const { return max_ <= 0 || used() + static_cast<int64_t>(bytes) <= max_; }
  // Bytes of the records in the circular buffer of one file.
  uint64_t ring_bytes() const {
    return static_cast<uint64_t>(std::min<int64_t>(std::max<int64_t>(max_ / 64, 64 << 10), 64 << 20));
  }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const int64_t max_;
  std::atomic<int64_t> used_{0};
};

// Thread-safe. Records are framed as TFRecords. With `circular_buffer_size` > 0, the
// last `circular_buffer_size` records stay in the tail file until Flush(), and older
// records are lost unless they were pinned or flushed before. Otherwise the tail file
// is a journal, which is written to the event file when it is full or when half a
// second has passed, so that a live viewer sees the records and a kill loses none; when
// the budget is spent, it becomes a circular buffer.
class EventFile {
 public:
  EventFile() = default;
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Returns an empty string, or the reason why the file cannot be written. `budget` is
  // shared by the files of a recording. `rules`: get back the bytes of values that the
  // circular buffer drops; may be null.
  std::string Open(const std::string& path, int64_t circular_buffer_size, ByteBudget* budget,
                   KeepRules* rules = nullptr);

  // Each returns an empty string, or the reason why recording has to stop.
  // `record`: kHeadSize bytes of any value, then the payload. It is framed in place.
  // `kept`: the values in it.
  std::string Append(double wall_time, std::string* record, const std::vector<KeptBytes>& kept = {});
  // `count`: at least one. Each record is written directly into the tail file.
  std::string Append(const FilledTrace* traces, size_t count);
  // The latest wall time of a record; 0 if there is none.
  double last_time() const;
  std::string Flush();

  // Drops the records that a circular buffer holds now. Does nothing without one.
  void Discard();

  // Pins the records that a circular buffer holds now, and half as many of the next
  // ones: they are written to the event file before they would be overwritten. Does
  // nothing if the pinned records could then be more than `share` of the limit: 10 times
  // the records that the buffer holds, and 4 times for each doubling of the recording.
  void Pin(double share);

  // Flushes, closes and deletes the tail file. Later calls do nothing.
  std::string Close();

  // Ends the use of the files without changing them: for a forked child.
  void Abandon();

  // Records appended so far, kept or not.
  int64_t appended() const;

  // How many records the circular buffer holds; 0 without one.
  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  // A value in the circular buffer.
  struct InBuffer {
    int64_t record;  // its number, as in appended_
    KeptBytes kept;
  };

  // `write(out)` writes the framed record of `size` bytes to `out`.
  template <typename Write>
  std::string AppendOne(size_t size, Write write, const std::vector<KeptBytes>& kept = {});
  // Flushes a journal, or checks that the file still exists, every half second.
  std::string DoPeriodicWork(double wall_time);
  std::string MakeRoom(uint64_t size);
  std::string DropOldest();
  void GiveBack(int64_t dropped_record);
  int64_t MostPinned() const;
  std::string FlushPinned();
  std::string FlushLocked();
  // FlushLocked, and the change into a circular buffer when the budget is spent.
  std::string FlushJournal();
  // Whether the budget has room for records of circular buffers before the last ones.
  bool HasRoomForMore() const;
  bool OverflowsRing() const;
  // Makes the journal, which is empty, a circular buffer.
  std::string TurnIntoRing();
  // The error if the file was removed, so that no viewer can read it; else empty.
  std::string FailureIfRemoved() const;
  std::string Failure(const char* action, int error) const;
  // The error for a tail file that cannot be used any more.
  std::string TailFailure() const;

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::string path_;
  int fd_ = -1;
  std::atomic<int64_t> limit_{0};
  uint64_t most_ring_bytes_ = UINT64_MAX;
  ByteBudget* budget_ = nullptr;
  TailFile tail_;
  int64_t in_tail_ = 0;
  int64_t appended_ = 0;
  int64_t to_pin_ = 0;  // number of the next records to pin, with all in the buffer
  int64_t pinned_ = 0;
  KeepRules* rules_ = nullptr;
  std::deque<InBuffer> values_;  // in a circular buffer, oldest first
  uint64_t file_size_ = 0;
  double last_periodic_work_ = 0;  // a wall time
  double last_time_ = 0;           // the latest wall time of a record
};

}  // namespace tbdbg
