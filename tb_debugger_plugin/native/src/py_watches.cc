#include "py_watches.h"

#include <string>
#include <utility>
#include <vector>

#include "compiled_op.h"
#include "py_recorder.h"
#include "py_values.h"
#include "recorder.h"
#include "static_shape.h"
#include "watches.h"

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
  if (!FromPython(dims, &numbers)) return false;
  *shape = StaticShape(dtype, std::move(numbers));
  return true;
}

bool ToWatches(PyObject* tuple, std::vector<const Watch*>* watches) {
  std::vector<int64_t> numbers;
  if (!FromPython(tuple, &numbers)) return false;
  for (const int64_t number : numbers) {
    watches->push_back(WatchOf(number));
    if (watches->back() == nullptr) return false;
  }
  return true;
}

bool ToTarget(PyObject* value, TraceTarget* target) {
  return Read(value, "prefix", &target->prefix) && Read(value, "tensor_id", &target->tensor_id) &&
         Read(value, "rank", &target->rank) && Read(value, "keep", &target->keep) &&
         Read(value, "rings", &target->rings) && Read(value, "in_pipeline", &target->in_pipeline) &&
         Read(value, "is_added_into", &target->is_added_into) &&
         Read(value, "is_recorded", &target->is_recorded) && Read(value, "dims", &target->dims);
}

bool ToCompiledTensor(PyObject* value, CompiledTensor* tensor) {
  int64_t watch;
  if (!Read(value, "watch", &watch)) return false;
  tensor->watch = WatchOf(watch);
  return tensor->watch != nullptr && Read(value, "group", &tensor->group) &&
         Read(value, "whole", &tensor->whole) && Read(value, "elements", &tensor->elements) &&
         Read(value, "tensor_proto", &tensor->tensor_proto) && Read(value, "size", &tensor->size) &&
         Read(value, "size_at", &tensor->size_at) && Read(value, "counts", &tensor->counts);
}

}  // namespace

PyObject* PyAddConstants(PyObject*, PyObject*) { return PyLong_FromLongLong(AddConstants()); }

PyObject* PyAddConstant(PyObject*, PyObject* args) {
  long long number;
  PyObject *prefix, *value;
  if (!PyArg_ParseTuple(args, "LSO", &number, &prefix, &value)) return nullptr;
  Constants* constants = ConstantsOf(number);
  EncodedTensor tensor;
  if (constants == nullptr || !ReadTensorValue(value, &tensor)) return nullptr;
  constants->Add(std::string(BytesOf(prefix)), std::move(tensor));
  Py_RETURN_NONE;
}

PyObject* PyAddWatch(PyObject*, PyObject* args) {
  PyObject *items, *dims, *earlier;
  int dtype;
  long long number;
  if (!PyArg_ParseTuple(args, "O!iOLO", &PyList_Type, &items, &dtype, &dims, &number, &earlier)) {
    return nullptr;
  }
  StaticShape shape;
  std::vector<const Watch*> before;
  std::vector<TraceTarget> targets;
  Constants* constants = ConstantsOf(number);
  if (constants == nullptr || !ToStaticShape(dtype, dims, &shape) || !ToWatches(earlier, &before) ||
      !ToItems(items, ToTarget, &targets)) {
    return nullptr;
  }
  return PyLong_FromLongLong(AddWatch(std::move(targets), std::move(shape), constants, std::move(before)));
}

PyObject* PyAddCompiledTensors(PyObject*, PyObject* items) {
  std::vector<CompiledTensor> tensors;
  if (!ToItems(items, ToCompiledTensor, &tensors)) return nullptr;
  return PyLong_FromLongLong(AddCompiledTensors(std::move(tensors)));
}

}  // namespace tbdbg
