// Encodes the execution of an eager op. Runs once for each eager op of the program.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "bad_tensors.h"
#include "recorder.h"

namespace tbdbg {

// An eager op, as `EagerOps` (capture/eager.py) describes it. All borrowed.
struct EagerOp {
  PyObject* prefix;   // bytes: the encoded fields of its Execution that are not encoded here
  PyObject* inputs;   // a sequence of eager tensors
  PyObject* outputs;  // a sequence of eager tensors
  PyObject* devices;  // a dict: numbers of devices by name, which may have to make them
  // A dict: how outputs are recorded, by dtype. 0: not at all. Otherwise bit 0 is set, the
  // next two are Rings (alarm.h), and the other bits are the rules by which they may be kept whole.
  PyObject* is_recorded;
  // Takes an output that only Python can read, and its rules; returns a TensorValue
  // (native/structs.py).
  PyObject* summarize;
  int thread = 0;  // number of the running thread, 0 = not known
};

struct EncodedOp {
  std::string execution;               // the fields of an Execution
  Bad bad = Bad::kNo;                  // how bad the worst output is
  Bad ringing = Bad::kNo;              // the same of outputs that may ring the alarm
  std::vector<KeptBytes> kept;         // the outputs that are kept by rules
  std::vector<BadOutput> bad_outputs;  // where outputs are bad, if that is to be recorded
};

// Encodes an op for this recorder. Waits until the outputs are computed, without the
// GIL. False with a Python exception set.
bool EncodeEagerOp(const EagerOp& op, Recorder* recorder, EncodedOp* encoded);

}  // namespace tbdbg
