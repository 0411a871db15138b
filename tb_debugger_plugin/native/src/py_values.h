// Converts values between Python and C++.
//
// A function that fails has set a Python exception. All need the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tbdbg {

struct Release {
  void operator()(PyObject* object) const { Py_DECREF(object); }
};
// An owned reference, or null. A plain PyObject* argument is borrowed; a plain
// PyObject* result is a new reference, as in Python's own API.
using Owned = std::unique_ptr<PyObject, Release>;

// Makes a Python bytes object; null if there is no memory.
PyObject* ToBytes(std::string_view bytes);

// The contents of a Python bytes object, valid as long as the object.
inline std::string_view BytesOf(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

// Each converts a value; the last one appends a tuple of ints. False if the value is something else.
bool FromPython(PyObject* value, int64_t* number);
bool FromPython(PyObject* value, double* number);
bool FromPython(PyObject* value, std::string* bytes);
bool FromPython(PyObject* value, std::vector<int64_t>* numbers);
// The same for an int or a bool, as another type of numbers.
template <typename Number>
bool FromPython(PyObject* value, Number* number) {
  int64_t wide;
  if (!FromPython(value, &wide)) return false;
  *number = static_cast<Number>(wide);
  return true;
}

// Reads an attribute, such as a field of a NamedTuple. False if there is none, or if it is of another type.
template <typename Value>
bool Read(PyObject* object, const char* attribute, Value* value) {
  const Owned found(PyObject_GetAttrString(object, attribute));
  return found != nullptr && FromPython(found.get(), value);
}

// Converts each item of a sequence by `to_item`, and appends it.
template <typename Item>
bool ToItems(PyObject* sequence, bool (*to_item)(PyObject*, Item*), std::vector<Item>* items) {
  const Owned tuple(PySequence_Tuple(sequence));  // Its own: to read an item may run Python code.
  for (Py_ssize_t i = 0; tuple != nullptr && i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    if (!to_item(PyTuple_GET_ITEM(tuple.get(), i), &items->emplace_back())) return false;
  }
  return tuple != nullptr;
}

// Makes a list of `item_of` each index. Null if one of the items is.
template <typename ItemOf>
PyObject* MakeList(size_t size, ItemOf item_of) {
  Owned list(PyList_New(static_cast<Py_ssize_t>(size)));
  for (size_t i = 0; list != nullptr && i < size; ++i) {
    PyObject* item = item_of(i);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

// A class of native/structs.py, whose values C++ makes by the names of their fields. Lives for ever.
class Struct {
 public:
  // Imports the class. False if it is not there.
  bool Load(const char* name, std::initializer_list<const char*> fields);
  // Makes a value of the values of the fields, which it takes over. Null if one of them is.
  PyObject* Make(std::initializer_list<PyObject*> values) const;

 private:
  PyObject* type_ = nullptr;
  PyObject* fields_ = nullptr;  // a tuple of their names
};

// Imports an object; null if there is none.
Owned Import(const char* module, const char* name);

}  // namespace tbdbg
