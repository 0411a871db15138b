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

// The C++ Recorder of a Recorder; null with a Python exception set if it is something else. Never deleted.
Recorder* RecorderOf(PyObject* object);

// What has to be done after something was recorded: -1 if recording has stopped, -2 the first time after the
// byte limit was reached, -3 once when it is clear how fast the files grow, else the number of a ring that
// Python has to handle, or 0. `rang`: number of the ring of what was just recorded.
int64_t AfterRecord(Recorder* recorder, int64_t rang);

// Reads a TensorValue (native/structs.py). False with a Python exception set.
bool ReadTensorValue(PyObject* value, EncodedTensor* tensor);

}  // namespace tbdbg
