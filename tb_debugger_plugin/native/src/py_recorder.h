// The Python type Recorder, a recording of this process.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "recorder.h"

namespace tbdbg {

// Adds the type to the module. False with a Python exception set.
//
// Recorder(base, mode, circular_buffer_size, max_tensor_bytes=-1, keep=[]) opens the files
// and becomes the recorder that watch ops use, until close() or abandon(). The arguments are
// those of the C++ Recorder; `keep` is a list of KeepLimits (native/structs.py). OSError
// if the files cannot be written.
bool AddRecorderType(PyObject* module);

// Reads a TensorValue (native/structs.py). False with a Python exception set.
bool ReadTensorValue(PyObject* value, EncodedTensor* tensor);

}  // namespace tbdbg
