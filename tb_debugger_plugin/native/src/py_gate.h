// The Python types Gate, of a Recorder, and Elements, the value of a tensor that is held.
//
// The methods are those of Gate and HeldElements in capture/gate.py.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "gate.h"

namespace tbdbg {

// Adds the types to the module. False with a Python exception set.
bool AddGateTypes(PyObject* module);

// Makes the Python object of a gate, which must never be deleted. Null with a Python exception set.
PyObject* ToPython(Gate* gate);

}  // namespace tbdbg
