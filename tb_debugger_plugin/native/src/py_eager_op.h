// Encodes the execution of an eager op. Runs once for each eager op of the program.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "recorder.h"

namespace tbdbg {

// The numbers of devices. Needs the GIL.
class DeviceNumbers {
 public:
  // `numbers`: a dict, borrowed: numbers by name, which may have to make them.
  explicit DeviceNumbers(PyObject* numbers) : numbers_(numbers) {}
  // The number of a tensor's device; -1 with a Python exception set.
  int64_t Of(PyObject* tensor);

 private:
  PyObject* const numbers_;
  std::string last_name_;
  int64_t last_ = -1;
};

// How the outputs of an op are recorded. 0: not at all. Otherwise bit 0 is set, the next two are Rings
// (alarm.h), and the other bits are the rules by which they may be kept whole. Needs the GIL.
class HowRecorded {
 public:
  // `by_dtype`: a dict, borrowed: that by dtype, which may have to make it.
  explicit HowRecorded(PyObject* by_dtype) : by_dtype_(by_dtype) {}
  // That of an output; -1 with a Python exception set.
  int64_t Of(PyObject* tensor);

 private:
  PyObject* const by_dtype_;
  int last_dtype_ = -1;
  int64_t last_ = -1;
};

// An eager op, as `EagerOps` (capture/eager.py) describes it. All borrowed.
struct EagerOp {
  PyObject* prefix;   // bytes: the encoded fields of its Execution that are not encoded here
  PyObject* inputs;   // a sequence of eager tensors
  PyObject* outputs;  // a sequence of eager tensors
  DeviceNumbers* devices;
  HowRecorded* is_recorded;
  // Takes an output that only Python can read, and its rules; returns a TensorValue
  // (native/structs.py).
  PyObject* summarize;
  int thread = 0;  // number of the running thread, 0 = not known
};

// Records an op. Waits until the outputs are computed, without the GIL. `rang`: the number of a ring of the
// alarm, or 0. False with a Python exception set.
bool RecordEagerOp(const EagerOp& op, Recorder* recorder, int64_t* rang);

// An op that was good, which may go on record later: when what follows it is bad. Holds no tensor.
struct NotedOp {
  std::vector<int64_t> ids;  // numbers of its inputs, then of its outputs
  size_t num_inputs = 0;
  int thread = 0;
  Stamp stamp;
};

// Notes an op. `inputs`, `outputs`: lists or tuples of eager tensors. False with a Python exception set.
bool NoteEagerOp(PyObject* inputs, PyObject* outputs, NotedOp* noted);

// Records a noted op, with the summaries of those outputs that still exist and need no Python. `op`: what is
// known of it; it has no tensors. `tensors`: a dict of tensors by number. False with a Python exception set.
bool RecordNotedOp(const NotedOp& noted, const EagerOp& op, PyObject* tensors, Recorder* recorder);

}  // namespace tbdbg
