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

// Appends a tuple of ints. False if the object is something else.
bool ToNumbers(PyObject* tuple, std::vector<int64_t>* numbers);

// Each reads an attribute, such as a field of a NamedTuple. False if there is none, or
// if it is of another type.
bool Read(PyObject* object, const char* attribute, int64_t* number);
bool Read(PyObject* object, const char* attribute, double* number);
bool Read(PyObject* object, const char* attribute, std::string* bytes);
bool Read(PyObject* object, const char* attribute, std::vector<int64_t>* numbers);

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
