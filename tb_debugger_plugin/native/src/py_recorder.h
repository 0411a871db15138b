// The Python type Recorder: a recording of this process.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// Adds the type to the module. False with a Python exception set.
//
// Recorder(base, mode, circular_buffer_size, max_tensor_bytes=-1) opens the files and
// becomes the recorder that watch ops use, until close() or abandon(). The arguments are
// those of the C++ Recorder. OSError if the files cannot be written.
bool AddRecorderType(PyObject* module);

}  // namespace tbdbg
