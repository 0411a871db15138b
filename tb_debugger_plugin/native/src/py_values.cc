#include "py_values.h"

#include <algorithm>

namespace tbdbg {

PyObject* ToBytes(std::string_view bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

bool FromPython(PyObject* value, int64_t* number) {
  *number = PyLong_AsLongLong(value);
  return *number != -1 || PyErr_Occurred() == nullptr;
}

bool FromPython(PyObject* value, double* number) {
  *number = PyFloat_AsDouble(value);
  return *number != -1 || PyErr_Occurred() == nullptr;
}

bool FromPython(PyObject* value, std::string* bytes) {
  if (!PyBytes_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "the value must be bytes");
    return false;
  }
  *bytes = BytesOf(value);
  return true;
}

bool FromPython(PyObject* value, std::vector<int64_t>* numbers) {
  if (!PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "numbers must be a tuple");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    numbers->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(value, i)));
  }
  return PyErr_Occurred() == nullptr;
}

Owned Import(const char* module, const char* name) {
  const Owned imported(PyImport_ImportModule(module));
  return Owned(imported == nullptr ? nullptr : PyObject_GetAttrString(imported.get(), name));
}

bool Struct::Load(const char* name, std::initializer_list<const char*> fields) {
  type_ = Import("tb_debugger_plugin.native.structs", name).release();
  fields_ = PyTuple_New(static_cast<Py_ssize_t>(fields.size()));
  Py_ssize_t i = 0;
  for (const char* field : fields) {
    if (fields_ != nullptr) PyTuple_SET_ITEM(fields_, i++, PyUnicode_InternFromString(field));
  }
  return type_ != nullptr && PyErr_Occurred() == nullptr;
}

PyObject* Struct::Make(std::initializer_list<PyObject*> values) const {
  const bool are_whole = std::find(values.begin(), values.end(), nullptr) == values.end();
  PyObject* made = are_whole ? PyObject_Vectorcall(type_, values.begin(), 0, fields_) : nullptr;
  for (PyObject* value : values) Py_XDECREF(value);
  return made;
}

}  // namespace tbdbg
