// Makes the key of a Python stack. Runs once for each eager op of the program. A method
// of the module (module.cc), with a Python exception set when it returns null.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>  // Python.h has frames only from 3.11 on.

#include <string>

namespace tbdbg {

// Appends the bytes that stack_key returns for the innermost running frame.
void AppendStackKey(std::string* key);

// stack_key(frame): 16 bytes that are equal for equal stacks that end in this frame: a
// digest of the addresses of their code and of the instructions that they run. They
// identify the stack only while the code objects live.
PyObject* PyStackKey(PyObject* module, PyObject* frame);

}  // namespace tbdbg
