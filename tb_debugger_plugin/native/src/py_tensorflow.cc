#include "py_tensorflow.h"

#include <string>

#include "compiled_op.h"
#include "eager_tensor.h"
#include "guard_op.h"
#include "tf_api.h"
#include "tf_classes.h"
#include "watch_op.h"

namespace tbdbg {

PyObject* PyLoadTensorflow(PyObject*, PyObject* args) {
  const char* path;
  int knows_classes;
  if (!PyArg_ParseTuple(args, "sp", &path, &knows_classes)) return nullptr;
  std::string failure = LoadTfApi(path);
  if (failure.empty() && knows_classes) LoadTfClasses(path);
  if (failure.empty()) failure = RegisterWatchOps();
  if (failure.empty()) failure = RegisterCompiledOp();
  if (failure.empty()) failure = RegisterGuardOps();
  if (!failure.empty()) {
    PyErr_SetString(PyExc_RuntimeError, failure.c_str());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* PyLoadEagerApi(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (text == nullptr) return nullptr;
  LoadEagerApi(text);
  Py_RETURN_NONE;
}

PyObject* PyReadsClasses(PyObject*, PyObject*) { return PyBool_FromLong(Classes() != nullptr); }

}  // namespace tbdbg
