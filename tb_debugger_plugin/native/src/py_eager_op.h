// Encodes the execution of an eager op. Runs once for each eager op of the program.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "bad_tensors.h"
#include "recorder.h"

namespace tbdbg {

// An eager op, as `EagerOps` (capture/eager.py) describes it. All borrowed.
struct EagerOp {
  PyObject* prefix;       // bytes: the encoded fields of its Execution that are not encoded here
  PyObject* inputs;       // a sequence of eager tensors
  PyObject* outputs;      // a sequence of eager tensors
  PyObject* devices;      // a dict: numbers of devices by name, which may have to make them
  PyObject* is_recorded;  // a dict: whether outputs are recorded, by dtype
  PyObject* summarize;    // returns the TensorProto of an output that only Python can read
};

struct EncodedOp {
  std::string execution;  // the fields of an Execution
  Bad bad = Bad::kNo;     // how bad the worst output is
};

// Encodes an op for this recorder. Waits until the outputs are computed, without the
// GIL. False with a Python exception set.
bool EncodeEagerOp(const EagerOp& op, const Recorder& recorder, EncodedOp* encoded);

}  // namespace tbdbg
