// One event file that grows while the program runs: .execution or
// .graph_execution_traces.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "encode.h"
#include "framing.h"
#include "tail_file.h"

namespace tbdbg {

// Thread-safe. Records are framed as TFRecords. With `circular_buffer_size` > 0
// the last so many records stay in the tail file until Flush(), and older ones
// are lost but for those that were pinned or flushed before; otherwise the
// tail file is a journal that is written out whenever it fills or half a second
// has passed, so that a live viewer sees them and a kill loses none.
class EventFile {
 public:
  EventFile() = default;
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // Returns an empty string, or why the file can't be written.
  std::string Open(const std::string& path, int64_t circular_buffer_size);

  // Each returns an empty string, or why recording has to stop.
  // `record`: kHeadSize bytes of anything, and behind them the payload. It is framed in place.
  std::string Append(double wall_time, std::string* record);
  // `count`: at least one. Each is written where it stands in the end.
  std::string Append(const FilledTrace* traces, size_t count);
  std::string Flush();

  // What a circular buffer holds now, and half as many records again, are not
  // to be overwritten: they are pinned, which means that they go to the event
  // file in good time. Does nothing when more than `buffers` times as many
  // records as the buffer holds might be pinned then.
  void Pin(int buffers);

  // Flushes, closes and deletes the tail file. Later calls do nothing.
  std::string Close();

  // Gives everything up without touching the files: for a forked child.
  void Abandon();

  // Records appended so far, kept or not.
  int64_t appended() const;

 private:
  // `write(out)` writes the framed record of `size` bytes to `out`.
  template <typename Write>
  std::string AppendOne(size_t size, Write write);
  // What has to be done now and then.
  std::string TakeTurn(double wall_time);
  std::string MakeRoom(uint64_t size);
  std::string DropOldest();
  std::string FlushPinned();
  std::string FlushLocked();
  // Why nobody will see what is written; empty while the file has a name.
  std::string Removed() const;
  std::string Failure(const char* what, int error) const;
  // Why the tail file cannot be used any more; empty while it can.
  std::string Lost() const;

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::string path_;
  int fd_ = -1;
  int64_t limit_ = 0;
  TailFile tail_;
  int64_t in_tail_ = 0;
  int64_t appended_ = 0;
  int64_t to_pin_ = 0;  // so many of the next records, and all that the buffer holds
  int64_t pinned_ = 0;
  uint64_t file_size_ = 0;
  double last_turn_ = 0;
};

}  // namespace tbdbg
