// Adds what graphs record: constants, watches and the tensors of compiled functions.
// Methods of the module (module.cc), with a Python exception set when they return null.
//
// Each thing that is added gets a number, by which ops and later calls refer to it.
// LookupError for a number that was never given.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// add_constants(): returns the number of a new graph's constants.
PyObject* PyAddConstants(PyObject* module, PyObject*);

// add_constant(constants, prefix, value): adds a TensorValue (native/structs.py) that is
// recorded when the graph first runs; see Constants.
PyObject* PyAddConstant(PyObject* module, PyObject* args);

// add_watch(targets, dtype, dims, constants, before): returns the number of a new watch.
// `targets`: a list of TraceTarget (native/structs.py), first the watched tensor, then
// those that hold the same elements. `dims`: of the watched tensor, -1 for one that is
// not known; None if the rank is not known. `constants`: of its graph. `before`: the
// watches that its op records before it.
PyObject* PyAddWatch(PyObject* module, PyObject* args);

// add_compiled_tensors(tensors): returns the number of the tensors that a compiled
// function passes to its watch op. `tensors`: a list of CompiledTensor
// (native/structs.py).
PyObject* PyAddCompiledTensors(PyObject* module, PyObject* tensors);

}  // namespace tbdbg
