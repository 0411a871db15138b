#include "py_op_runner.h"

#include <frameobject.h>   // Python.h has frames only from 3.11 on.
#include <structmember.h>  // T_OBJECT; Python.h has a name for it only from 3.12 on.

#include <atomic>
#include <cstddef>

#include "py_values.h"

namespace tbdbg {
namespace {

struct OpRunner {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *run, *begin, *failed, *changed;  // owned
  int64_t id;  // of the threads that have begun; of no other OpRunner, and another one after forget_threads
};

OpRunner* Cast(PyObject* self) { return reinterpret_cast<OpRunner*>(self); }

int64_t NewId() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

// The OpRunner that has begun in this thread.
thread_local int64_t begun = 0;

bool Begin(OpRunner* self, PyObject* op_type) {
  const int64_t id = self->id;
  PyFrameObject* frame = PyEval_GetFrame();
  PyObject* running = frame == nullptr ? Py_None : reinterpret_cast<PyObject*>(frame);
  const Owned is_done(PyObject_CallFunctionObjArgs(self->begin, op_type, running, nullptr));
  const int truth = is_done == nullptr ? -1 : PyObject_IsTrue(is_done.get());
  if (truth > 0) begun = id;
  return truth >= 0;
}

// Replaces the exception of an op that has failed by what `failed` raises. What ends the program stays.
void Replace(OpRunner* self) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  const Owned result(PyObject_CallFunctionObjArgs(self->failed, error, nullptr));
  if (result == nullptr) {
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
  } else {
    PyErr_Restore(type, error, traceback);
  }
}

PyObject* Call(PyObject* object, PyObject* const* args, size_t flags, PyObject* names) {
  OpRunner* self = Cast(object);
  if (self->run == nullptr) Py_RETURN_NONE;  // it is being deleted
  const Owned kept(Py_NewRef(object));       // another thread may put TensorFlow's function back meanwhile
  if (begun != self->id && !Begin(self, PyVectorcall_NARGS(flags) > 1 ? args[1] : Py_None)) return nullptr;
  PyObject* result = PyObject_Vectorcall(self->run, args, flags & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names);
  if (result == nullptr) {
    if (self->failed != Py_None) Replace(self);
    return nullptr;
  }
  if (self->changed == Py_None || self->changed == nullptr) return result;  // null: it was deleted
  const Owned before(result), changed(Py_NewRef(self->changed));
  return PyObject_CallFunctionObjArgs(changed.get(), before.get(), nullptr);
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *run, *begin, *failed;
  if (!PyArg_ParseTuple(args, "OOO", &run, &begin, &failed)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  Cast(self)->vectorcall = Call;
  Cast(self)->run = Py_NewRef(run);
  Cast(self)->begin = Py_NewRef(begin);
  Cast(self)->failed = Py_NewRef(failed);
  Cast(self)->changed = Py_NewRef(Py_None);
  Cast(self)->id = NewId();
  return self;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  for (PyObject* object : {Cast(self)->run, Cast(self)->begin, Cast(self)->failed, Cast(self)->changed}) {
    Py_VISIT(object);
  }
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(Cast(self)->run);
  Py_CLEAR(Cast(self)->begin);
  Py_CLEAR(Cast(self)->failed);
  Py_CLEAR(Cast(self)->changed);
  return 0;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* ForgetThreads(PyObject* self, PyObject*) {
  Cast(self)->id = NewId();
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"forget_threads", ForgetThreads, METH_NOARGS, "Let all threads begin again."},
                         {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"changed", T_OBJECT, offsetof(OpRunner, changed), 0, "None, or what changes the results of ops."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpRunner, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"tb_debugger_plugin.native._native.OpRunner", sizeof(OpRunner), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool AddOpRunnerType(PyObject* module) {
  const Owned type(PyType_FromSpec(&spec));
  return type != nullptr && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace tbdbg
