#include "py_recorder.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard_op.h"
#include "py_eager_op.h"
#include "py_gate.h"
#include "py_values.h"
#include "recorder.h"

namespace tbdbg {
namespace {

struct RecorderObject {
  PyObject_HEAD
  Recorder* recorder;  // never deleted, see CurrentRecorder
};

Recorder* Self(PyObject* self) { return reinterpret_cast<RecorderObject*>(self)->recorder; }

bool ToLimits(PyObject* value, KeepLimits* limits) {
  return Read(value, "only_bad", &limits->only_bad) &&
         Read(value, "max_tensor_bytes", &limits->max_tensor_bytes) &&
         Read(value, "max_total_bytes", &limits->max_total_bytes);
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* base;
  int mode;
  long long circular_buffer_size, max_tensor_bytes = -1, max_bytes = 0;
  int graphs = -1;
  PyObject* keep = nullptr;
  if (!PyArg_ParseTuple(args, "siL|LO!Li", &base, &mode, &circular_buffer_size, &max_tensor_bytes,
                        &PyList_Type, &keep, &max_bytes, &graphs)) {
    return nullptr;
  }
  std::vector<KeepLimits> limits;
  if (keep != nullptr && !ToItems(keep, ToLimits, &limits)) return nullptr;
  Owned self(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  auto recorder = std::make_unique<Recorder>(static_cast<Mode>(mode), max_tensor_bytes, limits, max_bytes);
  const std::string failure = recorder->Open(base, circular_buffer_size, graphs);
  if (!failure.empty()) {
    recorder->Abandon();
    PyErr_SetString(PyExc_OSError, failure.c_str());
    return nullptr;
  }
  SetCurrentRecorder(recorder.get());
  reinterpret_cast<RecorderObject*>(self.get())->recorder = recorder.release();
  return self.release();
}

PyObject* Arm(PyObject* self, PyObject* args) {
  int infinities, nans, spares_masks, fails_graphs;
  if (!PyArg_ParseTuple(args, "pppp", &infinities, &nans, &spares_masks, &fails_graphs)) return nullptr;
  Self(self)->alarm().Arm({infinities != 0, nans != 0, spares_masks != 0, fails_graphs != 0});
  Py_RETURN_NONE;
}

PyObject* WriteEagerOp(PyObject* self, PyObject* args) {
  EagerOp op;
  PyObject *devices, *is_recorded;
  if (!PyArg_ParseTuple(args, "SOOO!O!O|i", &op.prefix, &op.inputs, &op.outputs, &PyDict_Type, &devices,
                        &PyDict_Type, &is_recorded, &op.summarize, &op.thread)) {
    return nullptr;
  }
  DeviceNumbers numbers(devices);
  HowRecorded how(is_recorded);
  op.devices = &numbers;
  op.is_recorded = &how;
  int64_t rang = 0;
  if (!RecordEagerOp(op, Self(self), &rang)) return nullptr;
  return PyLong_FromLongLong(AfterRecord(Self(self), rang));
}

PyObject* ChooseKeep(PyObject* self, PyObject* args) {
  long long keep, num_bytes;
  int is_bad;
  if (!PyArg_ParseTuple(args, "LLp", &keep, &num_bytes, &is_bad)) return nullptr;
  KeptBytes kept;
  const Bad bad = is_bad != 0 ? Bad::kNan : Bad::kNo;
  switch (Self(self)->rules().Choose(static_cast<uint64_t>(keep), num_bytes, bad, &kept)) {
    case Choice::kWhole: return PyLong_FromLong(kept.rule);
    case Choice::kLeftOut: return PyLong_FromLong(-1);
    case Choice::kSummary: Py_RETURN_NONE;
  }
  Py_UNREACHABLE();
}

PyObject* WriteSessionRun(PyObject* self, PyObject* args) {
  PyObject* prefix;
  long long run;
  double begin_time;
  if (!PyArg_ParseTuple(args, "SLd", &prefix, &run, &begin_time)) return nullptr;
  Py_BEGIN_ALLOW_THREADS
  Self(self)->SessionRun(BytesOf(prefix), run, begin_time);
  Py_END_ALLOW_THREADS
  return PyLong_FromLongLong(AfterRecord(Self(self), 0));
}

PyObject* WriteAboutSessionRun(PyObject* self, PyObject* event) {
  if (!PyBytes_Check(event)) {
    PyErr_SetString(PyExc_TypeError, "an event must be bytes");
    return nullptr;
  }
  Py_BEGIN_ALLOW_THREADS
  Self(self)->AboutSessionRun(BytesOf(event));
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* SetWanted(PyObject* self, PyObject* wanted) {
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  Self(self)->SetWanted(truth != 0);
  Py_RETURN_NONE;
}

PyObject* SetStep(PyObject* self, PyObject* step) {
  const long long number = PyLong_AsLongLong(step);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  Self(self)->SetStep(number);
  Py_RETURN_NONE;
}

PyObject* EnableRules(PyObject* self, PyObject* enabled) {
  const unsigned long long rules = PyLong_AsUnsignedLongLong(enabled);
  if (PyErr_Occurred()) return nullptr;
  Self(self)->rules().SetEnabled(rules);
  Py_RETURN_NONE;
}

PyObject* TakeBounded(PyObject* self, PyObject*) { return PyBool_FromLong(Self(self)->TakeBounded()); }

// Calls a method that may write files.
template <void (Recorder::*method)()>
PyObject* WithoutGil(PyObject* self, PyObject*) {
  Py_BEGIN_ALLOW_THREADS(Self(self)->*method)
  ();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* Close(PyObject* self, PyObject* nothing) {
  if (CurrentRecorder() == Self(self)) {
    SetCurrentRecorder(nullptr);
    ReleaseBadCalls();  // threads of input pipelines may go on, but add none from here on
  }
  return WithoutGil<&Recorder::Close>(self, nothing);
}

// For a forked child: it takes no lock, which a thread of the parent may hold for ever.
PyObject* Abandon(PyObject* self, PyObject*) {
  if (CurrentRecorder() == Self(self)) SetCurrentRecorder(nullptr);
  Self(self)->Abandon();
  Py_RETURN_NONE;
}

Struct bad_record_struct;

// The BadRecord of a value; None for an empty one.
PyObject* ToBadRecord(const std::string& prefix, bool is_execution, bool is_nan) {
  if (prefix.empty()) Py_RETURN_NONE;
  return bad_record_struct.Make({PyBool_FromLong(is_execution), ToBytes(prefix), PyBool_FromLong(is_nan)});
}

PyObject* GetFirstBad(PyObject* self, void*) {
  const FirstBad::Value value = Self(self)->first_bad();
  return ToBadRecord(value.prefix, value.is_execution, value.is_nan);
}

PyObject* GetRing(PyObject* self, PyObject* number) {
  const long long which = PyLong_AsLongLong(number);
  if (which == -1 && PyErr_Occurred()) return nullptr;
  const Alarm::Value value = Self(self)->alarm().Get(which);
  return ToBadRecord(value.prefix, value.is_execution, value.bad == Bad::kNan);
}

PyObject* GetGate(PyObject* self, void*) { return ToPython(&Self(self)->gate()); }
PyObject* GetOn(PyObject* self, void*) { return PyBool_FromLong(Self(self)->on()); }
PyObject* GetExecutions(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->executions()); }
PyObject* GetTraces(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->traces()); }
PyObject* GetNumBytes(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->num_bytes()); }

PyObject* GetNumBad(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->num_bad()); }
PyObject* GetFailure(PyObject* self, void*) { return PyUnicode_FromString(Self(self)->failure().c_str()); }

PyMethodDef methods[] = {
    {"eager_op", WriteEagerOp, METH_VARARGS,
     "eager_op(prefix, inputs, outputs, devices, is_recorded, summarize, thread=0): record the execution of an op, see "
     "EagerOp in py_eager_op.h; returns -1 if recording has stopped, the number of a ring of the alarm to handle, or 0."},
    {"arm", Arm, METH_VARARGS,
     "arm(infinities, nans, spares_masks, fails_graphs): let bad values ring, see alarm.h. Before anything is recorded."},
    {"ring", GetRing, METH_O, "ring(number): the BadRecord that rang; None if it was too long ago."},
    {"choose_keep", ChooseKeep, METH_VARARGS,
     "choose_keep(keep, num_bytes, is_bad): the rule that keeps a value, -1 if it is too large for its rules, "
     "None if no rule wants it. `keep`: the rules of the tensor, as bits."},
    {"session_run", WriteSessionRun, METH_VARARGS,
     "session_run(prefix, run, begin_time): record a run of a session that ends now, see recorder.h; returns "
     "as eager_op."},
    {"about_session_run", WriteAboutSessionRun, METH_O,
     "about_session_run(event): append another encoded DebugEvent about a run of a session."},
    {"set_wanted", SetWanted, METH_O,
     "set_wanted(wanted): decide whether tensors that graphs compute from now on are recorded."},
    {"set_step", SetStep, METH_O,
     "set_step(step): set the step of what is recorded from now on; 0 at first."},
    {"enable_rules", EnableRules, METH_O,
     "enable_rules(rules): switch rules for values that are kept whole on, as bits, and the others off."},
    {"take_bounded", TakeBounded, METH_NOARGS,
     "Whether the byte limit has been reached and nobody has been told; once true, then false."},
    {"discard", WithoutGil<&Recorder::Discard>, METH_NOARGS, "Drop the records of the circular buffers."},
    {"flush", WithoutGil<&Recorder::Flush>, METH_NOARGS, "Write buffered records to the event files."},
    {"close", Close, METH_NOARGS, "Flush and end the recording."},
    {"abandon", Abandon, METH_NOARGS, "End the recording without changing the files, for a forked child."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef attributes[] = {
    {"on", GetOn, nullptr, "Whether the recorder still records.", nullptr},
    {"executions", GetExecutions, nullptr, "Number of executions so far.", nullptr},
    {"traces", GetTraces, nullptr, "Number of graph execution traces so far.", nullptr},
    {"num_bytes", GetNumBytes, nullptr, "Bytes of the records in the event files.", nullptr},
    {"num_bad", GetNumBad, nullptr, "Number of bad tensors on record so far.", nullptr},
    {"first_bad", GetFirstBad, nullptr, "The first BadRecord, or None.", nullptr},
    {"gate", GetGate, nullptr, "The Gate at which threads of graphs are held.", nullptr},
    {"failure", GetFailure, nullptr, "Why recording stopped early, or ''.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, attributes},
                       {0, nullptr}};

PyType_Spec recorder_spec = {"tb_debugger_plugin.native._native.Recorder", sizeof(RecorderObject), 0,
                             Py_TPFLAGS_DEFAULT, slots};

// Reads where a TensorValue is bad.
bool ReadElement(PyObject* value, BadElement* element) {
  element->has_shape = true;
  return Read(value, "element", &element->at.first) && Read(value, "nan_element", &element->at.first_nan) &&
         Read(value, "shape", &element->dims);
}

PyTypeObject* recorder_type = nullptr;

}  // namespace

Recorder* RecorderOf(PyObject* object) {
  if (PyObject_TypeCheck(object, recorder_type)) return Self(object);
  PyErr_SetString(PyExc_TypeError, "the object must be a Recorder");
  return nullptr;
}

int64_t AfterRecord(Recorder* recorder, int64_t rang) {
  if (!recorder->on()) return -1;
  if (rang == 0 && recorder->TakeBounded()) return -2;
  if (rang == 0 && recorder->TakeGrowth()) return -3;
  Alarm& alarm = recorder->alarm();
  return alarm.fails_graphs() ? rang : alarm.TakePending();
}

bool ReadTensorValue(PyObject* value, EncodedTensor* tensor) {
  return Read(value, "tensor_proto", &tensor->proto) && Read(value, "mode", &tensor->mode) &&
         Read(value, "rule", &tensor->kept.rule) && Read(value, "num_bytes", &tensor->kept.bytes) &&
         ReadElement(value, &tensor->element);
}

bool AddRecorderType(PyObject* module) {
  recorder_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&recorder_spec));  // lives for ever
  return recorder_type != nullptr &&
         bad_record_struct.Load("BadRecord", {"is_execution", "prefix", "is_nan"}) &&
         PyModule_AddType(module, recorder_type) == 0;
}

}  // namespace tbdbg
