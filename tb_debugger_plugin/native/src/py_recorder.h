// The Python types Recorder, a recording of this process, and FirstBad, the first bad
// value on record.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// Adds the types to the module. False with a Python exception set.
//
// Recorder(base, mode, circular_buffer_size, max_tensor_bytes=-1) opens the files and
// becomes the recorder that watch ops use, until close() or abandon(). The arguments are
// those of the C++ Recorder. OSError if the files cannot be written.
//
// FirstBad has the fields `is_execution` and `prefix`, those of FirstBad::Value
// (bad_tensors.h).
bool AddRecorderTypes(PyObject* module);

}  // namespace tbdbg
