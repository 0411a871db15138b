// Connects the module with the TensorFlow that the program has loaded. Methods of the
// module (module.cc), with a Python exception set when they return null.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tbdbg {

// load_tensorflow(path, knows_classes): registers the ops with the loaded
// libtensorflow_framework. `knows_classes`: whether the classes of its version are
// those of tf_classes.h. RuntimeError if TensorFlow lacks a function, or refuses an op.
PyObject* PyLoadTensorflow(PyObject* module, PyObject* args);

// load_eager_api(path): see LoadEagerApi. `path`: of TensorFlow's Python extension.
PyObject* PyLoadEagerApi(PyObject* module, PyObject* path);

// reads_classes(): whether watch ops read tensors through TensorFlow's C++ classes.
PyObject* PyReadsClasses(PyObject* module, PyObject*);

}  // namespace tbdbg
