#include "py_stack_key.h"

#include "py_values.h"

namespace tbdbg {
namespace {

// The index of the instruction that a frame runs; -1 if it is not known.
int64_t InstructionOf(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  const Owned index(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_lasti"));
  const int64_t value = index == nullptr ? -1 : PyLong_AsLongLong(index.get());
  PyErr_Clear();
  return value;
#endif
}

void AppendFrame(PyFrameObject* frame, std::string* key) {
  struct {
    PyCodeObject* code;
    int64_t instruction;
  } const at = {PyFrame_GetCode(frame), InstructionOf(frame)};
  Py_DECREF(at.code);
  key->append(reinterpret_cast<const char*>(&at), sizeof(at));
}

}  // namespace

void AppendStackKey(PyFrameObject* innermost, std::string* key) {
  auto* frame = reinterpret_cast<PyFrameObject*>(Py_NewRef(innermost));
  while (frame != nullptr) {
    AppendFrame(frame, key);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
}

PyObject* PyStackKey(PyObject*, PyObject* innermost) {
  if (!PyFrame_Check(innermost)) {
    PyErr_SetString(PyExc_TypeError, "the argument must be a frame");
    return nullptr;
  }
  thread_local std::string key;
  key.clear();
  AppendStackKey(reinterpret_cast<PyFrameObject*>(innermost), &key);
  return ToBytes(key);
}

}  // namespace tbdbg
