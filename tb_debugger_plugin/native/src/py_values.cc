#include "py_values.h"

namespace tbdbg {

PyObject* ToBytes(std::string_view bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

bool ToNumbers(PyObject* tuple, std::vector<int64_t>* numbers) {
  if (!PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "numbers must be a tuple");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    numbers->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace tbdbg
