// The recording of the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alarm.h"
#include "bad_elements.h"
#include "bad_tensors.h"
#include "encode.h"
#include "event_file.h"
#include "gate.h"
#include "keep.h"
#include "summary.h"

namespace tbdbg {

// The parts of a tensor's records that are known before it is computed.
struct TraceTarget {
  std::string prefix;  // see EncodeTrace
  double tensor_id;
  // Rank of a tensor that has the same elements as the measured tensor, whose rank may
  // differ; -1 for the measured tensor itself.
  int rank;
  // The rules by which the measured tensor may be kept whole, as bits.
  uint64_t keep = 0;
  // The record in a mode that has a vector; empty until PrepareTo.
  TraceOfVector trace;
  // Whether the tensor may ring the alarm, and those that hold the same elements.
  bool rings = true;
  // Whether it is part of an input pipeline, whose threads do not wait for others.
  bool in_pipeline = false;
  // Whether an op may add into its memory: one more reference would change the sum.
  bool is_added_into = false;
  // Whether it is recorded; else it only passes the gate.
  bool is_recorded = true;
  // The shape of a tensor with a rank, as far as its graph has it: below 0 for a dim that is not known.
  std::vector<int64_t> dims{};

  // Makes the record in `mode`; the prefix must be complete.
  void PrepareTo(Mode mode);
};

// A tensor as it is recorded.
struct EncodedTensor {
  std::string proto;
  Mode mode = Mode::kNoTensor;
  KeptBytes kept;  // if it is the tensor itself, by a rule
  // Where it is bad, if that is known when it is encoded.
  BadElement element{};
};

// Where an output of an eager op is bad.
struct BadOutput {
  int slot;
  BadElement element;
};

// One recording: the event files that grow while the program runs. There are two, and
// one more if the program has sessions. Starts with Open and ends with Close or with the first failure, after
// which every call is a cheap no-op. Thread-safe.
//
// With a circular buffer, also one that the byte limit has made, the first bad tensor of each op, and the
// first one after a long silence, are pinned in all files with the records before and after it
// (EventFile::Pin).
class Recorder {
 public:
  // `max_tensor_bytes`: see EncodeSummary. `keep`: values to keep beside what the mode
  // records; the mode must not be FULL_TENSOR then. `max_bytes`: see ByteBudget.
  Recorder(Mode mode, int64_t max_tensor_bytes, const std::vector<KeepLimits>& keep = {},
           int64_t max_bytes = 0)
      : mode_(mode), max_tensor_bytes_(max_tensor_bytes), rules_(keep), budget_(max_bytes) {}

  // `base`: the path of the file set without its suffix. `graphs`: a descriptor of .graphs, see BadElements.
  // Returns an empty string, or the reason why nothing can be recorded.
  std::string Open(const std::string& base, int64_t circular_buffer_size, int graphs = -1);

  // Encodes a tensor as it is to be recorded. `keep`: its rules, as bits.
  void Encode(const TensorView& tensor, double tensor_id, uint64_t keep, EncodedTensor* encoded);
  // Records a tensor that is encoded already; its mode may differ from the recording's.
  // For tensors that are not encoded, see TraceBatch. Returns how bad the tensor is.
  Bad Trace(const std::string& prefix, const EncodedTensor& tensor) { return Trace(prefix, tensor, Now()); }
  // Records a constant of a graph.
  void TraceConstant(const std::string& prefix, const EncodedTensor& tensor);
  // Records an execution. `execution`: the encoded fields of an Execution. `prefix`: those
  // that are equal for executions of the same op at the same line of the program. `bad`:
  // how bad its worst output is. `kept`: its outputs that are kept by a rule. `ringing`: how
  // bad the worst output is that may ring the alarm. `bad_outputs`: those that WantsElement wants. Returns
  // the number of a ring, or 0.
  int64_t Execution(const std::string& execution, std::string_view prefix, Bad bad,
                    const std::vector<KeptBytes>& kept = {}, Bad ringing = Bad::kNo,
                    const std::vector<BadOutput>& bad_outputs = {});
  // Whether it is to be recorded where an output of an eager op is bad: once for each kind of bad.
  bool WantsElement(std::string_view prefix, int slot, Bad bad) {
    return bad_elements_.Wants(prefix, slot, bad);
  }
  // Records a good tensor of an earlier time, by its FULL_NUMERICS columns, and the execution that ran it, of
  // which no output is recorded.
  void TraceEarlier(const std::string& prefix, const double* columns, const Stamp& stamp);
  void ExecutionEarlier(const std::string& execution, const Stamp& stamp);
  // The latest time on record; 0 if nothing is.
  double last_time() const { return std::max(executions_.last_time(), traces_.last_time()); }
  // That of executions.
  double last_execution_time() const { return executions_.last_time(); }
  // Records a run of a session that ends now. The first one makes the file. `prefix`: the
  // encoded fields of a SessionRun but its number and its beginning.
  void SessionRun(std::string_view prefix, int64_t run, double begin_time);
  // Appends another record about a run of a session. `event`: an encoded DebugEvent.
  void AboutSessionRun(std::string_view event);

  // The stamp of what is computed now.
  Stamp Now() const;
  // Whether tensors that graphs compute from now on are recorded; true at first.
  void SetWanted(bool wanted) { wanted_ = wanted; }
  // The step of what is recorded from now on; 0 at first.
  void SetStep(int64_t step) { step_ = StepField(step); }

  // Drops the records of the circular buffers, as if the recording began now: constants of
  // graphs are recorded again, and the first bad tensor of each op is pinned again.
  void Discard();

  void Flush();
  void Close();
  void Abandon();

  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Whether tensors that graphs compute now are recorded.
  bool wanted() const { return on() && wanted_.load(std::memory_order_relaxed); }
  Mode mode() const { return mode_; }
  int64_t max_tensor_bytes() const { return max_tensor_bytes_; }
  KeepRules& rules() { return rules_; }
  Alarm& alarm() { return alarm_; }
  Gate& gate() { return gate_; }
  // Whether the byte limit has made the recording a circular buffer.
  bool is_bounded() const { return budget_.IsSpent(); }
  // Whether it has used enough of the limit to tell how fast it grows; once true, then false.
  bool TakeGrowth() { return budget_.IsBegun() && !growth_is_known_.exchange(true); }
  // Bytes of the records in the event files.
  int64_t num_bytes() const { return budget_.used(); }
  // is_bounded, once: false when it has been asked since.
  bool TakeBounded() { return budget_.IsSpent() && !bounded_is_known_.exchange(true); }
  // How often Discard was called.
  int64_t discards() const { return discards_.load(std::memory_order_relaxed); }
  int64_t executions() const { return executions_.appended(); }
  int64_t traces() const { return traces_.appended(); }
  FirstBad::Value first_bad() const { return first_bad_.Get(); }
  // Bad tensors on record so far, of graphs and of executions: one for each record.
  int64_t num_bad() const { return num_bad_.load(std::memory_order_relaxed); }
  // Why recording stopped early; empty if it did not.
  std::string failure() const;

 private:
  friend class TraceBatch;

  // `event`: kHeadSize bytes of any value, then an encoded DebugEvent.
  void AppendSessionRun(double wall_time, std::string* event);

  // Whether a tensor that is this bad changes what is written next.
  bool Cares(Bad bad) const { return pins() || first_bad_.IsNews(bad); }
  // Whether bad tensors are pinned: there is a circular buffer, and the mode judges them.
  bool pins() const { return judges_ && (circular_buffer_size_ > 0 || budget_.IsSpent()); }
  void CountIf(Bad bad) {
    if (bad != Bad::kNo) num_bad_.fetch_add(1, std::memory_order_relaxed);
  }
  Bad Trace(const std::string& prefix, const EncodedTensor& tensor, const Stamp& now);
  void NoteBad(std::string_view prefix, Bad bad, bool is_execution);
  void PinIfNews(std::string_view prefix, Bad bad);
  void AppendTrace(const std::string& prefix, const EncodedTensor& tensor, const Stamp& now);
  void StopIf(const std::string& failure);

  const Mode mode_;
  const int64_t max_tensor_bytes_;
  KeepRules rules_;
  ByteBudget budget_;
  std::atomic<bool> on_{false};
  std::atomic<bool> wanted_{true};
  std::atomic<StepField> step_{StepField()};
  std::atomic<int64_t> discards_{0};
  EventFile executions_;
  EventFile traces_;
  std::string base_;                  // constant after Open
  int64_t circular_buffer_size_ = 0;  // constant after Open
  // Guards the making and the closing of session_runs_.
  std::mutex sessions_mutex_;
  bool has_session_runs_ = false;  // guarded by sessions_mutex_
  EventFile session_runs_;
  const bool judges_ = SpecOf(mode_).judges;
  std::atomic<bool> bounded_is_known_{false}, growth_is_known_{false};
  std::atomic<int64_t> num_bad_{0};
  BadOps bad_ops_;
  BadElements bad_elements_;
  FirstBad first_bad_;
  Alarm alarm_;
  Gate gate_;
  mutable std::mutex mutex_;
  std::string failure_;  // guarded by mutex_
};

// What the record of a tensor says of it, so that nobody has to look at its elements again.
struct Measured {
  Numbers numbers;
  std::optional<Bad> bad;  // how bad it is, if the mode judges tensors
};

// The tensors that one op records: they get one stamp, and are written together when
// the batch is destroyed. Used by one thread.
class TraceBatch {
 public:
  explicit TraceBatch(Recorder* recorder) : recorder_(recorder), now_(recorder->Now()) {}
  TraceBatch(const TraceBatch&) = delete;
  TraceBatch& operator=(const TraceBatch&) = delete;
  ~TraceBatch() { Send(); }

  // Records a watched tensor and the tensors that hold the same elements. `measured`: gets what was computed
  // for that; may be null.
  void Trace(const std::vector<TraceTarget>& targets, const TensorView& tensor, Measured* measured = nullptr);
  // Records a tensor by its columns, in the mode for which the target was prepared.
  void Trace(const TraceTarget& target, const double* columns, Bad bad);
  // Records a tensor that is encoded already. Returns how bad it is.
  Bad Trace(const TraceTarget& target, const EncodedTensor& tensor);

  // The number of the first ring of these tensors, or 0.
  int64_t rang() const { return rang_; }

 private:
  // Records a tensor whose first target has rules.
  void TraceByRules(const std::vector<TraceTarget>& targets, const TensorView& tensor, Measured* measured);
  // Records where a tensor is bad, if it is.
  void NoteElement(const std::vector<TraceTarget>& targets, const TensorView& tensor, Bad bad);
  void RingIf(const TraceTarget& target, Bad bad);
  void TraceColumns(const TraceTarget* begin, const TraceTarget* end, double* columns, Bad bad);
  void Send();

  // An op has a few tensors; a compiled function has thousands, written in several parts.
  static constexpr size_t kMost = 32;

  Recorder* const recorder_;
  const Stamp now_;
  FilledTrace traces_[kMost];
  size_t count_ = 0;
  int64_t rang_ = 0;
};

// The recorder that watch ops use; null while nothing is recorded. A recorder that was
// ever current is never deleted: an op may still use it when it is closed.
Recorder* CurrentRecorder();
void SetCurrentRecorder(Recorder* recorder);

}  // namespace tbdbg
