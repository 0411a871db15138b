// What graphs record: the tables of their constants and of their watched tensors.
//
// Each thing that is added gets a number, by which ops and later calls refer to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "recorder.h"
#include "static_shape.h"

namespace tbdbg {

// The constants of a graph. They are recorded when the graph first runs, so that
// graphs that never run have no records; and again after each Recorder::Discard.
class Constants {
 public:
  // `prefix` and `tensor`: see Recorder::Trace.
  void Add(std::string prefix, EncodedTensor tensor);
  // Records the constants that are not on record. Thread-safe.
  void RecordOnce(Recorder* recorder) {
    if (recorded_.load(std::memory_order_relaxed) != recorder->discards()) Record(recorder);
  }

 private:
  void Record(Recorder* recorder);

  // Recorder::discards when all were recorded; kNever until then.
  static constexpr int64_t kNever = -1;
  std::atomic<int64_t> recorded_{kNever};
  std::mutex mutex_;
  // Guarded by mutex_. Of the records, the first `done_` were recorded after discard `discard_`.
  std::vector<std::pair<std::string, EncodedTensor>> records_;
  int64_t discard_ = 0;
  size_t done_ = 0;
};

// A watched tensor of a graph. Lives as long as the process: graphs refer to it by
// number, and nothing reports when the last of them is deleted.
struct Watch {
  // The tensor, then those that hold the same elements.
  std::vector<TraceTarget> targets;
  StaticShape shape;
  Constants* constants;
  // The watches that the same op records before this one.
  std::vector<const Watch*> before;
  // The recording for which the watch was made. The watch records nothing in other
  // recordings, which make their own watches.
  const Recorder* recorder;
};

// Adds the constants of a new graph; returns their number.
int64_t AddConstants();
// Null when there is no such number.
Constants* FindConstants(int64_t number);

// Adds a watch for the current recorder. Returns the number by which the watch op's
// attribute refers to it.
int64_t AddWatch(std::vector<TraceTarget> targets, StaticShape shape, Constants* constants,
                 std::vector<const Watch*> before);
// Null when there is no such watch.
Watch* FindWatch(int64_t number);

}  // namespace tbdbg
