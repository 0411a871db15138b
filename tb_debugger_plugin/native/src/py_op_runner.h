// The Python type OpRunner, which TensorFlow calls in place of its function that runs an eager op. Runs once
// for each eager op of the program.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// Adds the type to the module. False with a Python exception set.
//
// OpRunner(run, begin, failed): called with any arguments, which `run` gets. `begin`: called before that with
// the second argument and the running frame, in each thread until it has returned True; forget_threads() lets
// all threads begin again. `failed`: None, or called with the exception of an op; what it raises replaces
// that. `changed`: an attribute, at first None; if it is something else, it is called with the result and
// returns another one.
bool AddOpRunnerType(PyObject* module);

}  // namespace tbdbg
