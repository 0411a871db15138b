#include "py_watches.h"

#include <string>
#include <utility>
#include <vector>

#include "compiled_op.h"
#include "py_values.h"
#include "recorder.h"
#include "static_shape.h"

namespace tbdbg {
namespace {

// All functions that fail have set a Python exception.

// The constants with this number, or null.
Constants* ConstantsOf(int64_t number) {
  Constants* constants = FindConstants(number);
  if (constants == nullptr) PyErr_SetString(PyExc_LookupError, "there are no constants with this number");
  return constants;
}

// The watch with this number, or null.
const Watch* WatchOf(int64_t number) {
  const Watch* watch = FindWatch(number);
  if (watch == nullptr) PyErr_SetString(PyExc_LookupError, "there is no watch with this number");
  return watch;
}

// Converts the dims of a tensor, which are None if its rank is not known.
bool ToStaticShape(int dtype, PyObject* dims, StaticShape* shape) {
  if (dims == Py_None) return true;
  std::vector<int64_t> numbers;
  if (!ToNumbers(dims, &numbers)) return false;
  *shape = StaticShape(dtype, std::move(numbers));
  return true;
}

bool ToWatches(PyObject* tuple, std::vector<const Watch*>* watches) {
  std::vector<int64_t> numbers;
  if (!ToNumbers(tuple, &numbers)) return false;
  for (const int64_t number : numbers) {
    watches->push_back(WatchOf(number));
    if (watches->back() == nullptr) return false;
  }
  return true;
}

bool ToTarget(PyObject* tuple, TraceTarget* target) {
  PyObject* prefix;
  if (!PyArg_ParseTuple(tuple, "Sdi", &prefix, &target->tensor_id, &target->rank)) return false;
  target->prefix = BytesOf(prefix);
  return true;
}

bool ToTargets(PyObject* tuple, std::vector<TraceTarget>* targets) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!ToTarget(PyTuple_GET_ITEM(tuple, i), &targets->emplace_back())) return false;
  }
  return true;
}

bool ToCompiledTensor(PyObject* tuple, CompiledTensor* tensor) {
  long long watch, group, whole, size, size_at;
  PyObject *elements, *proto, *counts;
  if (!PyArg_ParseTuple(tuple, "LLLOSLLO", &watch, &group, &whole, &elements, &proto, &size, &size_at,
                        &counts)) {
    return false;
  }
  tensor->watch = WatchOf(watch);
  tensor->group = group;
  tensor->whole = whole;
  tensor->tensor_proto = BytesOf(proto);
  tensor->size = size;
  tensor->size_at = size_at;
  return tensor->watch != nullptr && ToNumbers(elements, &tensor->elements) &&
         ToNumbers(counts, &tensor->counts);
}

bool ToCompiledTensors(PyObject* list, std::vector<CompiledTensor>* tensors) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!PyTuple_Check(item)) {
      PyErr_SetString(PyExc_TypeError, "a tensor must be a tuple");
      return false;
    }
    if (!ToCompiledTensor(item, &tensors->emplace_back())) return false;
  }
  return true;
}

}  // namespace

PyObject* PyAddConstants(PyObject*, PyObject*) { return PyLong_FromLongLong(AddConstants()); }

PyObject* PyAddConstant(PyObject*, PyObject* args) {
  long long number;
  PyObject *prefix, *proto;
  if (!PyArg_ParseTuple(args, "LSS", &number, &prefix, &proto)) return nullptr;
  Constants* constants = ConstantsOf(number);
  if (constants == nullptr) return nullptr;
  constants->Add(std::string(BytesOf(prefix)), std::string(BytesOf(proto)));
  Py_RETURN_NONE;
}

PyObject* PyAddWatch(PyObject*, PyObject* args) {
  PyObject *items, *dims, *earlier;
  int dtype;
  long long number;
  if (!PyArg_ParseTuple(args, "O!iOLO", &PyTuple_Type, &items, &dtype, &dims, &number, &earlier)) {
    return nullptr;
  }
  StaticShape shape;
  std::vector<const Watch*> before;
  std::vector<TraceTarget> targets;
  Constants* constants = ConstantsOf(number);
  if (constants == nullptr || !ToStaticShape(dtype, dims, &shape) || !ToWatches(earlier, &before) ||
      !ToTargets(items, &targets)) {
    return nullptr;
  }
  return PyLong_FromLongLong(AddWatch(std::move(targets), std::move(shape), constants, std::move(before)));
}

PyObject* PyAddCompiledTensors(PyObject*, PyObject* items) {
  if (!PyList_Check(items)) {
    PyErr_SetString(PyExc_TypeError, "the tensors must be a list");
    return nullptr;
  }
  std::vector<CompiledTensor> tensors;
  if (!ToCompiledTensors(items, &tensors)) return nullptr;
  return PyLong_FromLongLong(AddCompiledTensors(std::move(tensors)));
}

}  // namespace tbdbg
