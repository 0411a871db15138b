// The Python types Recorder, a recording of this process, and FirstBad, the first bad
// value on record.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "recorder.h"

namespace tbdbg {

// Adds the types to the module. False with a Python exception set.
//
// Recorder(base, mode, circular_buffer_size, max_tensor_bytes=-1, keep=[]) opens the files
// and becomes the recorder that watch ops use, until close() or abandon(). The arguments are
// those of the C++ Recorder; `keep` is a list of KeepLimits (native/arguments.py). OSError
// if the files cannot be written.
//
// FirstBad has the fields `is_execution` and `prefix`, those of FirstBad::Value
// (bad_tensors.h).
bool AddRecorderTypes(PyObject* module);

// Reads a TensorValue (native/arguments.py). False with a Python exception set.
bool ReadTensorValue(PyObject* value, EncodedTensor* tensor);

}  // namespace tbdbg
