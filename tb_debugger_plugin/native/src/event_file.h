// An event file that grows while the program runs: .execution,
// .graph_execution_traces or .session_runs.
#pragma once

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

// Thread-safe. Records are framed as TFRecords. With `circular_buffer_size` > 0, the
// last `circular_buffer_size` records stay in the tail file until Flush(), and older
// records are lost unless they were pinned or flushed before. Otherwise the tail file
// is a journal, which is written to the event file when it is full or when half a
// second has passed, so that a live viewer sees the records and a kill loses none.
class EventFile {
 public:
  EventFile() = default;
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Returns an empty string, or the reason why the file cannot be written. `rules`: get
  // back the bytes of values that the circular buffer drops; may be null.
  std::string Open(const std::string& path, int64_t circular_buffer_size, KeepRules* rules = nullptr);

  // Each returns an empty string, or the reason why recording has to stop.
  // `record`: kHeadSize bytes of any value, then the payload. It is framed in place.
  // `kept`: the values in it.
  std::string Append(double wall_time, std::string* record, const std::vector<KeptBytes>& kept = {});
  // `count`: at least one. Each record is written directly into the tail file.
  std::string Append(const FilledTrace* traces, size_t count);
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
  // The error if the file was removed, so that no viewer can read it; else empty.
  std::string FailureIfRemoved() const;
  std::string Failure(const char* action, int error) const;
  // The error for a tail file that cannot be used any more.
  std::string TailFailure() const;

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::string path_;
  int fd_ = -1;
  int64_t limit_ = 0;
  TailFile tail_;
  int64_t in_tail_ = 0;
  int64_t appended_ = 0;
  int64_t to_pin_ = 0;  // number of the next records to pin, with all in the buffer
  int64_t pinned_ = 0;
  KeepRules* rules_ = nullptr;
  std::deque<InBuffer> values_;  // in a circular buffer, oldest first
  uint64_t file_size_ = 0;
  double last_periodic_work_ = 0;  // a wall time
};

}  // namespace tbdbg
