#include "py_op_callback.h"

#include <structmember.h>  // T_BOOL; Python.h has a name for it only from 3.12 on.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "py_eager_op.h"
#include "py_guard.h"
#include "py_recorder.h"
#include "py_stack_key.h"
#include "py_values.h"

namespace tbdbg {
namespace {

// An op and the stack that runs it. The objects are owned.
struct CallSite {
  CallSite(PyObject* prefix, PyObject* is_recorded)
      : prefix(Py_NewRef(prefix)), by_dtype(Py_NewRef(is_recorded)), is_recorded(is_recorded) {}

  const Owned prefix;
  const Owned by_dtype;
  HowRecorded is_recorded;
};

// How many of the last good ops are noted.
constexpr size_t kMostNoted = 128;

enum class Work { kNothing, kRecord, kCheck };

struct NotedAtSite {
  std::shared_ptr<CallSite> site;
  NotedOp op;
};

// What an OpCallback has; all guarded by the GIL.
struct State {
  Owned otherwise, handle, of_thread;
  Recorder* recorder = nullptr;  // never deleted
  Work work = Work::kNothing;
  Owned device_numbers, summarize;
  std::unique_ptr<DeviceNumbers> devices;
  // Shared, because another thread may drop them while this one records without the GIL.
  std::unordered_map<std::string, std::shared_ptr<CallSite>> sites;
  int64_t id = 0;  // of no other OpCallback
  // To check:
  Owned own, changing;
  std::vector<NotedAtSite> noted;  // a ring
  size_t num_noted = 0;            // so many that the next one replaces noted[num_noted % kMostNoted]
};

struct OpCallback {
  PyObject_HEAD
  char is_plain;
  char notes_changes;
  State* state;  // never null, but its objects are after Clear
};

OpCallback* Cast(PyObject* self) { return reinterpret_cast<OpCallback*>(self); }
State* Of(PyObject* self) { return Cast(self)->state; }

// The number that this thread has in a recording.
struct ThreadNumber {
  int64_t callback = 0;
  int number = 0;
};
thread_local ThreadNumber this_thread;
// The OpCallback that leaves all ops of this thread to Python; 0 if none does.
thread_local int64_t following = 0;

Owned NewRef(PyObject* object) { return Owned(Py_NewRef(object)); }

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  static std::atomic<int64_t> last_id{0};
  PyObject *recorder, *otherwise, *handle, *of_thread;
  if (!PyArg_ParseTuple(args, "OOOO", &recorder, &otherwise, &handle, &of_thread)) return nullptr;
  Recorder* of = RecorderOf(recorder);
  if (of == nullptr) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* state = Cast(self)->state = new State;
  state->otherwise = NewRef(otherwise);
  state->handle = NewRef(handle);
  state->of_thread = NewRef(of_thread);
  state->recorder = of;
  state->id = ++last_id;
  return self;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const State* state = Of(self);
  for (const Owned* object : {&state->otherwise, &state->handle, &state->of_thread, &state->device_numbers,
                              &state->summarize, &state->own, &state->changing}) {
    Py_VISIT(object->get());
  }
  for (const auto& [key, site] : state->sites) Py_VISIT(site->by_dtype.get());
  return 0;
}

int Clear(PyObject* self) {
  State dropped;  // last: what is released may run Python code that calls this object
  std::swap(dropped, *Of(self));
  return 0;
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete Of(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// The text of an op type, a str or bytes; nothing with a Python exception set.
bool TextOf(PyObject* op_type, std::string_view* text) {
  if (PyBytes_Check(op_type)) {
    *text = BytesOf(op_type);
    return true;
  }
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(op_type, &size);
  if (data == nullptr) return false;
  *text = {data, static_cast<size_t>(size)};
  return true;
}

// Begins the key of a call site, which ends with that of the stack.
void BeginKey(std::string_view op_type, int64_t num_outputs, std::string* key) {
  key->assign(op_type);
  key->push_back('\0');
  key->append(reinterpret_cast<const char*>(&num_outputs), sizeof(num_outputs));
}

enum class Outcome { kDone, kForPython, kFailed };

// Of a failure that has set an exception: Python meets it again, except for what ends the program.
Outcome Failed() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return Outcome::kFailed;
  PyErr_Clear();
  return Outcome::kForPython;
}

// The call site of an op that has just run; null if it or the thread is new.
std::shared_ptr<CallSite> FindSite(const State& state, std::string_view op_type, PyObject* outputs) {
  if (this_thread.callback != state.id) return nullptr;
  thread_local std::string key;
  BeginKey(op_type, PySequence_Fast_GET_SIZE(outputs), &key);
  AppendStackKey(&key);
  const auto found = state.sites.find(key);
  return found == state.sites.end() ? nullptr : found->second;
}

EagerOp MakeOp(const State& state, CallSite* site, PyObject* inputs, PyObject* outputs) {
  EagerOp op;
  op.prefix = site->prefix.get();
  op.inputs = inputs;
  op.outputs = outputs;
  op.devices = state.devices.get();
  op.is_recorded = &site->is_recorded;
  op.summarize = state.summarize.get();
  op.thread = this_thread.number;
  return op;
}

bool IsRecorded(const CallSite& site) { return PyBytes_GET_SIZE(site.prefix.get()) > 0; }

Outcome Record(State* state, std::string_view op_type, PyObject* inputs, PyObject* outputs) {
  const std::shared_ptr<CallSite> site = FindSite(*state, op_type, outputs);
  if (site == nullptr) return Outcome::kForPython;
  if (!IsRecorded(*site)) return Outcome::kDone;
  const EagerOp op = MakeOp(*state, site.get(), inputs, outputs);
  int64_t rang = 0;
  Recorder* recorder = state->recorder;
  if (!RecordEagerOp(op, recorder, &rang)) return Failed();
  const int64_t to_handle = AfterRecord(recorder, rang);
  if (to_handle == 0) return Outcome::kDone;
  const Owned number(PyLong_FromLongLong(to_handle));
  if (number == nullptr) return Outcome::kFailed;
  const Owned handled(PyObject_CallFunctionObjArgs(state->handle.get(), number.get(), nullptr));
  return handled == nullptr ? Outcome::kFailed : Outcome::kDone;
}

// Whether a type begins with one of the strings of a tuple.
bool BeginsWithOne(std::string_view op_type, PyObject* beginnings) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(beginnings); ++i) {
    std::string_view beginning;
    if (!TextOf(PyTuple_GET_ITEM(beginnings, i), &beginning)) {
      PyErr_Clear();
      return true;
    }
    if (op_type.substr(0, beginning.size()) == beginning) return true;
  }
  return false;
}

// False with a Python exception set.
bool NoteOp(State* state, std::shared_ptr<CallSite> site, PyObject* inputs, PyObject* outputs) {
  if (!IsRecorded(*site)) return true;
  thread_local NotedOp noted;  // Python may run until it is whole
  if (!NoteEagerOp(inputs, outputs, &noted)) return false;
  noted.thread = this_thread.number;
  noted.stamp = state->recorder->Now();
  if (state->noted.size() < kMostNoted) state->noted.resize(kMostNoted);
  NotedAtSite& place = state->noted[state->num_noted++ % kMostNoted];
  place.site = std::move(site);
  std::swap(place.op, noted);  // its memory is used again
  return true;
}

Outcome Check(State* state, bool notes_changes, PyObject* op_type, std::string_view text, PyObject* inputs,
              PyObject* outputs) {
  if (following == state->id) return Outcome::kForPython;
  if (notes_changes && BeginsWithOne(text, state->changing.get())) return Outcome::kForPython;
  const int is_own = PySet_Contains(state->own.get(), op_type);
  if (is_own < 0) return Failed();
  if (is_own > 0 || !state->recorder->wanted()) return Outcome::kDone;
  PyObject* looked_at = text == "AssignVariableOp" ? inputs : outputs;
  if (HasBad(looked_at)) return Outcome::kForPython;
  std::shared_ptr<CallSite> site = FindSite(*state, text, outputs);
  if (site == nullptr) return Outcome::kForPython;
  return NoteOp(state, std::move(site), inputs, outputs) ? Outcome::kDone : Failed();
}

Outcome HandleOp(PyObject* self, PyObject* op_type, PyObject* inputs, PyObject* outputs) {
  State* state = Of(self);
  const auto is_sequence = [](PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); };
  std::string_view text;
  if (!is_sequence(inputs) || !is_sequence(outputs) || !state->recorder->on()) return Outcome::kForPython;
  if (!TextOf(op_type, &text)) return Failed();
  switch (state->work) {
    case Work::kNothing: return Outcome::kForPython;
    case Work::kRecord:
      return state->recorder->wanted() ? Record(state, text, inputs, outputs) : Outcome::kDone;
    case Work::kCheck: return Check(state, Cast(self)->notes_changes != 0, op_type, text, inputs, outputs);
  }
  Py_UNREACHABLE();
}

// What a callback returns: None if it is the last of its thread, because the program would get a tuple
// instead of a list, else the outputs for the next one.
PyObject* ResultOf(PyObject* self, PyObject* outputs) {
  static PyObject* attribute = PyUnicode_InternFromString("op_callbacks");
  const Owned callbacks(PyObject_GetAttr(Of(self)->of_thread.get(), attribute));
  if (callbacks == nullptr) return nullptr;
  const Py_ssize_t size = PyList_Check(callbacks.get()) ? PyList_GET_SIZE(callbacks.get()) : 0;
  const bool is_last = size == 0 || PyList_GET_ITEM(callbacks.get(), size - 1) == self;
  return Py_NewRef(is_last ? Py_None : outputs);
}

PyObject* Call(PyObject* self, PyObject* args, PyObject* kwargs) {
  enum { kOpType, kInputs, kAttrs, kOutputs, kOpName, kGraph };
  if (Of(self)->otherwise == nullptr) Py_RETURN_NONE;  // it is being deleted
  const Owned kept = NewRef(self);                     // the list of callbacks may drop it meanwhile
  const Py_ssize_t size = PyTuple_GET_SIZE(args);
  const bool is_eager =
      (kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0) && size > kOutputs && size <= kGraph;
  if (Cast(self)->is_plain != 0 && is_eager) {
    PyObject* outputs = PyTuple_GET_ITEM(args, kOutputs);
    switch (HandleOp(self, PyTuple_GET_ITEM(args, kOpType), PyTuple_GET_ITEM(args, kInputs), outputs)) {
      case Outcome::kDone: return ResultOf(self, outputs);
      case Outcome::kFailed: return nullptr;
      case Outcome::kForPython: break;
    }
  }
  return PyObject_Call(Of(self)->otherwise.get(), args, kwargs);
}

PyObject* Records(PyObject* self, PyObject* args) {
  PyObject *devices, *summarize;
  if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &devices, &summarize)) return nullptr;
  State* state = Of(self);
  state->device_numbers = NewRef(devices);
  state->devices = std::make_unique<DeviceNumbers>(devices);
  state->summarize = NewRef(summarize);
  state->work = Work::kRecord;
  Py_RETURN_NONE;
}

PyObject* Checks(PyObject* self, PyObject* args) {
  PyObject *own, *changing, *devices;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PySet_Type, &own, &PyTuple_Type, &changing, &PyDict_Type,
                        &devices)) {
    return nullptr;
  }
  State* state = Of(self);
  state->own = NewRef(own);
  state->changing = NewRef(changing);
  state->device_numbers = NewRef(devices);
  state->devices = std::make_unique<DeviceNumbers>(devices);
  state->work = Work::kCheck;
  Py_RETURN_NONE;
}

PyObject* AddThread(PyObject* self, PyObject* number) {
  const long value = PyLong_AsLong(number);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  this_thread = {Of(self)->id, static_cast<int>(value)};
  Py_RETURN_NONE;
}

PyObject* AddCallSite(PyObject* self, PyObject* args) {
  PyObject *op_type, *stack_key, *prefix, *is_recorded;
  Py_ssize_t num_outputs;
  if (!PyArg_ParseTuple(args, "OnSSO!", &op_type, &num_outputs, &stack_key, &prefix, &PyDict_Type,
                        &is_recorded)) {
    return nullptr;
  }
  std::string_view text;
  if (!TextOf(op_type, &text)) return nullptr;
  std::string key;
  BeginKey(text, num_outputs, &key);
  key.append(BytesOf(stack_key));
  Of(self)->sites.try_emplace(std::move(key), std::make_shared<CallSite>(prefix, is_recorded));
  Py_RETURN_NONE;
}

PyObject* ForgetCallSites(PyObject* self, PyObject*) {
  Of(self)->num_noted = 0;
  const auto noted = std::exchange(Of(self)->noted, {});
  const auto dropped = std::exchange(Of(self)->sites, {});
  Py_RETURN_NONE;
}

PyObject* Note(PyObject* self, PyObject* args) {
  PyObject *op_type, *stack_key, *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "OSOO", &op_type, &stack_key, &inputs, &outputs)) return nullptr;
  const Owned given(PySequence_Tuple(inputs)), made(PySequence_Tuple(outputs));
  std::string_view text;
  if (given == nullptr || made == nullptr || !TextOf(op_type, &text)) return nullptr;
  std::string key;
  BeginKey(text, PyTuple_GET_SIZE(made.get()), &key);
  key.append(BytesOf(stack_key));
  State* state = Of(self);
  const auto found = state->sites.find(key);
  if (found == state->sites.end()) Py_RETURN_NONE;
  if (!NoteOp(state, found->second, given.get(), made.get())) return nullptr;
  Py_RETURN_NONE;
}

PyObject* RecordNoted(PyObject* self, PyObject* tensors) {
  if (!PyDict_Check(tensors)) {
    PyErr_SetString(PyExc_TypeError, "the tensors must be a dict");
    return nullptr;
  }
  State* state = Of(self);
  const std::vector<NotedAtSite> noted = std::exchange(state->noted, {});
  const size_t end = std::exchange(state->num_noted, 0);
  const double last_time = state->recorder->last_execution_time();
  for (size_t i = end - std::min(end, kMostNoted); i < end; ++i) {
    const NotedAtSite& each = noted[i % kMostNoted];
    if (each.op.stamp.wall_time < last_time) continue;  // times rise
    const EagerOp op = MakeOp(*state, each.site.get(), nullptr, nullptr);
    if (!RecordNotedOp(each.op, op, tensors, state->recorder)) return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* Follow(PyObject* self, PyObject* wanted) {
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  following = truth != 0 ? Of(self)->id : 0;
  Py_RETURN_NONE;
}

PyObject* End(PyObject* self, PyObject* nothing) {
  Of(self)->work = Work::kNothing;
  return ForgetCallSites(self, nothing);
}

PyMethodDef methods[] = {
    {"records", Records, METH_VARARGS, "records(devices, summarize): record each op."},
    {"checks", Checks, METH_VARARGS, "checks(own, changing, devices): look for bad values only."},
    {"note", Note, METH_VARARGS, "note(op_type, stack_key, inputs, outputs): note a good op."},
    {"record_noted", RecordNoted, METH_O, "record_noted(tensors): record the ops that are noted."},
    {"add_thread", AddThread, METH_O, "add_thread(number): give the running thread its number."},
    {"add_call_site", AddCallSite, METH_VARARGS,
     "add_call_site(op_type, num_outputs, stack_key, prefix, is_recorded): record an op on a stack from now on."},
    {"forget_call_sites", ForgetCallSites, METH_NOARGS, "Drop all call sites, and the ops that are noted."},
    {"follow", Follow, METH_O, "follow(wanted): leave all ops of this thread to Python, or no longer."},
    {"end", End, METH_NOARGS, "Leave all ops to Python for good."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"is_plain", T_BOOL, offsetof(OpCallback, is_plain), 0, "Whether eager ops need no Python."},
    {"notes_changes", T_BOOL, offsetof(OpCallback, notes_changes), 0,
     "Whether Python takes ops that may change variables."},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                       {Py_tp_call, reinterpret_cast<void*>(Call)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"tb_debugger_plugin.native._native.OpCallback", sizeof(OpCallback), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

bool AddOpCallbackType(PyObject* module) {
  const Owned type(PyType_FromSpec(&spec));
  return type != nullptr && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace tbdbg
