// The one recording of the process, and the table of watched tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bad_tensors.h"
#include "encode.h"
#include "event_file.h"
#include "static_shape.h"
#include "summary.h"

namespace tbdbg {

double Now();  // seconds since the epoch

// A tensor as records name it.
struct TraceTarget {
  std::string prefix;  // see EncodeTrace
  double tensor_id;
  // Of one that has its elements from another tensor, which may have another
  // rank; -1 of that one itself.
  int rank;
  // Of a mode that is a vector, laid out; empty until PrepareTo.
  TraceOfVector trace;

  // Lays out the records of it in `mode`; the prefix is complete.
  void PrepareTo(Mode mode);
};

// One recording: the two event files that grow while the program runs. Starts
// with Open and ends with Close or with the first failure, after which every
// call is a cheap no-op. Thread-safe.
//
// With a circular buffer, the first bad tensor of each op, and what ran before
// and after it, are pinned in both files (EventFile::Pin).
class Recorder {
 public:
  // `max_tensor_bytes`: see EncodeSummary.
  Recorder(Mode mode, int64_t max_tensor_bytes) : mode_(mode), max_tensor_bytes_(max_tensor_bytes) {}

  // `base` is the path of the file set without its suffix. Returns an empty
  // string, or why nothing can be recorded.
  std::string Open(const std::string& base, int64_t circular_buffer_size);

  // A tensor was computed that is encoded already, in a mode that may be another
  // than the recording's. For those that were not, see TraceBatch.
  void Trace(const std::string& prefix, Mode mode, const std::string& tensor_proto);
  // `execution`: the encoded fields of an Execution. `op`: equal for executions
  // of the same op at the same place of the program. `bad`: its worst output.
  void Execution(const std::string& execution, std::string_view op, Bad bad);

  // Whether what graphs compute from now on is recorded; it is to begin with.
  void SetWanted(bool wanted) { wanted_ = wanted; }

  void Flush();
  void Close();
  void Abandon();

  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Whether what graphs compute now is recorded.
  bool wanted() const { return on() && wanted_.load(std::memory_order_relaxed); }
  Mode mode() const { return mode_; }
  int64_t max_tensor_bytes() const { return max_tensor_bytes_; }
  int64_t executions() const { return executions_.appended(); }
  int64_t traces() const { return traces_.appended(); }
  // Why recording stopped early; empty when it did not.
  std::string failure() const;

 private:
  friend class TraceBatch;

  void PinIfFirst(std::string_view op, Bad bad);
  void StopIf(const std::string& failure);

  const Mode mode_;
  const int64_t max_tensor_bytes_;
  std::atomic<bool> on_{false};
  std::atomic<bool> wanted_{true};
  EventFile executions_;
  EventFile traces_;
  bool pins_ = false;  // constant once it is open
  BadOps bad_ops_;
  mutable std::mutex mutex_;
  std::string failure_;  // guarded by mutex_
};

// What one op sees of the tensors of a program: they get one time, and go to the
// file together when it ends. Belongs to one thread.
class TraceBatch {
 public:
  explicit TraceBatch(Recorder* recorder) : recorder_(recorder), now_(Now()) {}
  TraceBatch(const TraceBatch&) = delete;
  TraceBatch& operator=(const TraceBatch&) = delete;
  ~TraceBatch() { Send(); }

  // A watched tensor was computed, and with it those that hold the same elements.
  void Trace(const std::vector<TraceTarget>& targets, const TensorView& tensor);
  // A tensor was computed whose numbers are known, in the mode that its place was
  // prepared to.
  void Trace(const TraceTarget& target, const double* columns, Bad bad);
  // One that is encoded already.
  void Trace(const std::string& prefix, Mode mode, const std::string& tensor_proto);

 private:
  void Send();

  // An op has a few tensors; a compiled function has thousands, which go there in parts.
  static constexpr size_t kMost = 32;

  Recorder* const recorder_;
  const double now_;
  FilledTrace traces_[kMost];
  size_t count_ = 0;
};

// Where the watch ops send what they see: null while nothing records. A recorder
// that was ever current is never deleted: an op may be inside it when it is
// closed.
Recorder* CurrentRecorder();
void SetCurrentRecorder(Recorder* recorder);

// The constants of a graph: recorded when the graph first runs, so that graphs
// that never run leave no records.
class Constants {
 public:
  // `prefix` and `tensor_proto`: see Recorder::Trace.
  void Add(std::string prefix, std::string tensor_proto);
  // Records them if that has not been done. Thread-safe.
  void RecordOnce(Recorder* recorder) {
    if (pending_.load(std::memory_order_relaxed)) Record(recorder);
  }

 private:
  void Record(Recorder* recorder);

  std::atomic<bool> pending_{false};
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> records_;  // guarded by mutex_
};

// A tensor of a graph that is watched. Lives as long as the process: graphs
// that refer to it by number are never known to be gone.
struct Watch {
  // The tensor, and behind it those that hold the same elements.
  std::vector<TraceTarget> targets;
  StaticShape shape;
  Constants* constants;
  // Those that the same op records before it.
  std::vector<const Watch*> before;
  // The recording that it was made for; it is silent in others, which have made
  // their own.
  const Recorder* recorder;
};

// The constants of a new graph; returns their number.
int64_t AddConstants();
// Null when there is no such number.
Constants* FindConstants(int64_t number);

// A watch for the current recorder. Returns the number by which the watch op's
// attribute refers to it.
int64_t AddWatch(std::vector<TraceTarget> targets, StaticShape shape, Constants* constants,
                 std::vector<const Watch*> before);
// Null when there is no such watch.
Watch* FindWatch(int64_t number);

}  // namespace tbdbg
