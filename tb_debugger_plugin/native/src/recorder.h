// The one recording of the process, and the table of watched tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "event_file.h"
#include "summary.h"

namespace tbdbg {

double Now();  // seconds since the epoch

// One recording: the two event files that grow while the program runs. Starts
// with Open and ends with Close or with the first failure, after which every
// call is a cheap no-op. Thread-safe.
class Recorder {
 public:
  explicit Recorder(Mode mode) : mode_(mode) {}

  // `base` is the path of the file set without its suffix. Returns an empty
  // string, or why nothing can be recorded.
  std::string Open(const std::string& base, int64_t circular_buffer_size);

  // A watched tensor was computed. `prefix`: see EncodeTrace.
  void Trace(const std::string& prefix, double tensor_id, const TensorView& tensor);
  // The same, of a tensor that is encoded already.
  void Trace(const std::string& prefix, const std::string& tensor_proto);
  // `execution`: the encoded fields of an Execution.
  void Execution(const std::string& execution);

  void Flush();
  void Close();
  void Abandon();

  bool on() const { return on_.load(std::memory_order_relaxed); }
  Mode mode() const { return mode_; }
  int64_t executions() const { return executions_.appended(); }
  int64_t traces() const { return traces_.appended(); }
  // Why recording stopped early; empty when it did not.
  std::string failure() const;

 private:
  void StopIf(const std::string& failure);

  const Mode mode_;
  std::atomic<bool> on_{false};
  EventFile executions_;
  EventFile traces_;
  mutable std::mutex mutex_;
  std::string failure_;  // guarded by mutex_
};

// Where the watch ops send what they see: null while nothing records. A watch
// op that was built during an earlier recording serves a later one as well. A
// recorder that was ever current is never deleted: an op may be inside it when
// it is closed.
Recorder* CurrentRecorder();
void SetCurrentRecorder(Recorder* recorder);

// A tensor of a graph that is watched. Lives as long as the process: graphs
// that refer to it by number are never known to be gone.
struct Watch {
  std::string prefix;
  double tensor_id;
  // Cleared while a recording's filters leave this tensor out.
  std::atomic<bool> on;
};

// Returns the number by which the watch op's attribute refers to it.
int64_t AddWatch(std::string prefix, double tensor_id);
void SwitchWatch(int64_t number, bool on);
// Null when there is no such watch.
Watch* FindWatch(int64_t number);

}  // namespace tbdbg
