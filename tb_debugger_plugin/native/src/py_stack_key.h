// Makes the key of a Python stack. Runs once for each eager op of the program. A method
// of the module (module.cc), with a Python exception set when it returns null.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>  // Python.h has frames only from 3.11 on.

#include <string>

namespace tbdbg {

// Appends the bytes that stack_key returns.
void AppendStackKey(PyFrameObject* innermost, std::string* key);

// stack_key(frame): bytes that are equal for equal stacks that end in this frame: the
// code objects of the frames and the instructions that they run. The bytes identify the
// stack only while the code objects live.
PyObject* PyStackKey(PyObject* module, PyObject* frame);

}  // namespace tbdbg
