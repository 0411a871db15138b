#include "py_gate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encode.h"
#include "py_values.h"

namespace tbdbg {
namespace {

// All functions that return null or false have set a Python exception.

struct GateObject {
  PyObject_HEAD
  Gate* gate;  // lives for ever
};

struct ElementsObject {
  PyObject_HEAD
  std::shared_ptr<const HeldValue>* value;  // owned
};

PyTypeObject* gate_type = nullptr;      // never deleted
PyTypeObject* elements_type = nullptr;  // never deleted

Gate* GateOf(PyObject* self) { return reinterpret_cast<GateObject*>(self)->gate; }

const HeldValue& ValueOf(PyObject* self) { return **reinterpret_cast<ElementsObject*>(self)->value; }

// Runs something without the GIL.
template <typename Run>
void WithoutGil(Run run) {
  Py_BEGIN_ALLOW_THREADS
  run();
  Py_END_ALLOW_THREADS
}

PyObject* ToTuple(const std::vector<int64_t>& numbers) {
  Owned tuple(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; tuple != nullptr && i < numbers.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple.release();
}

// The numbers that are known, None for others; None if none is known.
PyObject* ToTuple(const Numbers& numbers) {
  if (numbers.empty()) Py_RETURN_NONE;
  Owned tuple(PyTuple_New(kNumNumbers));
  for (int i = 0; tuple != nullptr && i < kNumNumbers; ++i) {
    PyObject* number = numbers.Has(i) ? PyFloat_FromDouble(numbers[i]) : Py_NewRef(Py_None);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, number);
  }
  return tuple.release();
}

Struct passed_struct, hit_struct, counts_struct;
PyObject* cannot_change_type = nullptr;  // never deleted

bool LoadStructs() {
  cannot_change_type = Import("tb_debugger_plugin.events.gate_table", "CannotChange").release();
  return cannot_change_type != nullptr &&
         passed_struct.Load("Passed", {"number", "tensor_id", "occurrence", "dtype", "shape", "numbers",
                                       "num_bytes", "is_held", "was_changed", "call"}) &&
         hit_struct.Load("GateHit", {"number", "rule", "tensor", "cannot_change", "others_may_have_passed",
                                     "in_pipeline"}) &&
         counts_struct.Load("GateCounts", {"hits", "held_bytes", "dropped_values", "passed"});
}

PyObject* ToPython(const Passed& tensor) {
  return passed_struct.Make({PyLong_FromLongLong(tensor.number), PyLong_FromLongLong(tensor.tensor_id),
                             PyLong_FromLongLong(tensor.occurrence), PyLong_FromLong(tensor.dtype),
                             tensor.dims ? ToTuple(*tensor.dims) : Py_NewRef(Py_None),
                             ToTuple(tensor.numbers), PyLong_FromLongLong(tensor.num_bytes),
                             PyBool_FromLong(tensor.value != nullptr), PyBool_FromLong(tensor.was_changed),
                             PyLong_FromLongLong(tensor.call)});
}

// None if there is no hit.
PyObject* ToPython(const std::optional<Hit>& hit) {
  if (!hit) Py_RETURN_NONE;
  return hit_struct.Make(
      {PyLong_FromLongLong(hit->number), PyLong_FromLongLong(hit->rule), ToPython(hit->tensor),
       PyObject_CallFunction(cannot_change_type, "i", static_cast<int>(hit->cannot_change)),
       PyBool_FromLong(hit->others_may_have_passed), PyBool_FromLong(hit->in_pipeline)});
}

// Reads the condition of a GateRule: a sequence of ConditionStep.
bool ToCondition(PyObject* value, Condition* condition) {
  const Owned items(PySequence_Tuple(value));
  if (items == nullptr) return false;
  std::vector<Step> steps;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    int64_t kind;
    double number;
    if (!Read(item, "kind", &kind) || !Read(item, "value", &number)) return false;
    steps.push_back({static_cast<StepKind>(kind), number});
  }
  const std::string problem = Condition::Problem(steps);
  if (!problem.empty()) {
    PyErr_SetString(PyExc_ValueError, problem.c_str());
    return false;
  }
  *condition = Condition(std::move(steps));
  return true;
}

bool ToTensorIds(PyObject* value, std::optional<std::vector<int64_t>>* ids) {
  if (value == Py_None) return true;
  const Owned items(PySequence_Tuple(value));
  if (items == nullptr || !ToNumbers(items.get(), &ids->emplace())) return false;
  std::sort((*ids)->begin(), (*ids)->end());
  return true;
}

// Reads a GateRule (native/structs.py).
bool ToRule(PyObject* value, GateRule* rule) {
  int64_t only_bad;
  const Owned ids(PyObject_GetAttrString(value, "tensor_ids"));
  if (ids == nullptr || !ToTensorIds(ids.get(), &rule->tensor_ids)) return false;
  const Owned condition(PyObject_GetAttrString(value, "condition"));
  if (condition == nullptr || !ToCondition(condition.get(), &rule->condition)) return false;
  if (!Read(value, "number", &rule->number) || !Read(value, "only_bad", &only_bad) ||
      !Read(value, "ignore", &rule->ignore)) {
    return false;
  }
  if (rule->number < 1) {
    PyErr_SetString(PyExc_ValueError, "the number of a rule must be 1 or more");
    return false;
  }
  rule->only_bad = only_bad != 0;
  return true;
}

PyObject* SetRules(PyObject* self, PyObject* value) {
  const Owned items(PySequence_Tuple(value));
  if (items == nullptr) return nullptr;
  std::vector<GateRule> rules(static_cast<size_t>(PyTuple_GET_SIZE(items.get())));
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!ToRule(PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)), &rules[i])) return nullptr;
  }
  WithoutGil([&] { GateOf(self)->SetRules(std::move(rules)); });
  Py_RETURN_NONE;
}

PyObject* StopAtNext(PyObject* self, PyObject* wanted) {
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  WithoutGil([&] { GateOf(self)->StopAtNext(truth != 0); });
  Py_RETURN_NONE;
}

PyObject* Wait(PyObject* self, PyObject* timeout) {
  const double seconds = PyFloat_AsDouble(timeout);
  if (PyErr_Occurred()) return nullptr;
  std::optional<Hit> hit;
  WithoutGil([&] { hit = GateOf(self)->Wait(seconds); });
  return ToPython(hit);
}

PyObject* ReleaseHit(PyObject* self, PyObject* number) {
  const long long hit = PyLong_AsLongLong(number);
  if (hit == -1 && PyErr_Occurred()) return nullptr;
  bool released = false;
  WithoutGil([&] { released = GateOf(self)->Release(hit); });
  return PyBool_FromLong(released);
}

PyObject* LetAllPass(PyObject* self, PyObject*) {
  WithoutGil([&] { GateOf(self)->LetAllPass(); });
  Py_RETURN_NONE;
}

PyObject* Close(PyObject* self, PyObject*) {
  WithoutGil([&] { GateOf(self)->Close(); });
  Py_RETURN_NONE;
}

PyObject* HoldValues(PyObject* self, PyObject* max_bytes) {
  const long long bytes = PyLong_AsLongLong(max_bytes);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  WithoutGil([&] { GateOf(self)->HoldValues(bytes); });
  Py_RETURN_NONE;
}

PyObject* ForgetValues(PyObject* self, PyObject* args) {
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "|O", &value)) return nullptr;
  std::vector<int64_t> calls;
  const Owned items(value == nullptr ? PyTuple_New(0) : PySequence_Tuple(value));
  if (items == nullptr || !ToNumbers(items.get(), &calls)) return nullptr;
  WithoutGil([&] { GateOf(self)->Forget(calls); });
  Py_RETURN_NONE;
}

PyObject* BeginRun(PyObject* self, PyObject* number) {
  const long long call = PyLong_AsLongLong(number);
  if (call == -1 && PyErr_Occurred()) return nullptr;
  WithoutGil([&] { GateOf(self)->calls().Begin(call, GateOf(self)->wanted()); });
  Py_RETURN_NONE;
}

PyObject* EndRun(PyObject* self, PyObject* number) {
  const long long call = PyLong_AsLongLong(number);
  if (call == -1 && PyErr_Occurred()) return nullptr;
  WithoutGil([&] { GateOf(self)->calls().End(call); });
  Py_RETURN_NONE;
}

PyObject* Tensors(PyObject* self, PyObject* args) {
  long long after = 0, limit = 1000, call = kNoCall;
  if (!PyArg_ParseTuple(args, "|LLL", &after, &limit, &call)) return nullptr;
  std::vector<Passed> tensors;
  WithoutGil(
      [&] { tensors = GateOf(self)->Tensors(after, static_cast<size_t>(std::max(limit, 0LL)), call); });
  Owned list(PyList_New(0));
  for (size_t i = 0; list != nullptr && i < tensors.size(); ++i) {
    const Owned tensor(ToPython(tensors[i]));
    if (tensor == nullptr || PyList_Append(list.get(), tensor.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* ElementsOf(PyObject* self, PyObject* number) {
  const long long tensor = PyLong_AsLongLong(number);
  if (tensor == -1 && PyErr_Occurred()) return nullptr;
  std::shared_ptr<const HeldValue> value;
  WithoutGil([&] { value = GateOf(self)->ValueOf(tensor); });
  if (value == nullptr) Py_RETURN_NONE;
  Owned elements(elements_type->tp_alloc(elements_type, 0));
  if (elements == nullptr) return nullptr;
  reinterpret_cast<ElementsObject*>(elements.get())->value =
      new std::shared_ptr<const HeldValue>(std::move(value));
  return elements.release();
}

PyObject* Replace(PyObject* self, PyObject* args) {
  long long hit;
  Py_buffer data;
  if (!PyArg_ParseTuple(args, "Ly*", &hit, &data)) return nullptr;
  std::string problem;
  bool wrong_size = false;
  WithoutGil([&] {
    const std::string_view bytes(static_cast<const char*>(data.buf), static_cast<size_t>(data.len));
    problem = GateOf(self)->Replace(hit, bytes, &wrong_size);
  });
  PyBuffer_Release(&data);
  if (problem.empty()) Py_RETURN_NONE;
  PyErr_SetString(wrong_size ? PyExc_ValueError : PyExc_RuntimeError, problem.c_str());
  return nullptr;
}

PyObject* GetCounts(PyObject* self, PyObject* args) {
  long long call = kNoCall;
  if (!PyArg_ParseTuple(args, "|L", &call)) return nullptr;
  std::vector<std::pair<int64_t, int64_t>> hits;
  PassedTensors::Counts counts;
  WithoutGil([&] {
    hits = GateOf(self)->hits();
    counts = GateOf(self)->counts(call);
  });
  Owned by_rule(PyDict_New());
  if (by_rule == nullptr) return nullptr;
  for (const auto& [rule, number] : hits) {
    const Owned key(PyLong_FromLongLong(rule)), value(PyLong_FromLongLong(number));
    if (key == nullptr || value == nullptr || PyDict_SetItem(by_rule.get(), key.get(), value.get()) != 0) {
      return nullptr;
    }
  }
  return counts_struct.Make({by_rule.release(), PyLong_FromLongLong(counts.held_bytes),
                             PyLong_FromLongLong(counts.dropped), PyLong_FromLongLong(counts.passed)});
}

PyObject* GetHit(PyObject* self, void*) {
  std::optional<Hit> hit;
  WithoutGil([&] { hit = GateOf(self)->hit(); });
  return ToPython(hit);
}

PyObject* GetHeldCalls(PyObject* self, void*) {
  std::vector<int64_t> calls;
  WithoutGil([&] { calls = GateOf(self)->waiting_calls(); });
  return ToTuple(calls);
}

PyMethodDef gate_methods[] = {
    {"set_rules", SetRules, METH_O, "set_rules(rules): replace all rules."},
    {"stop_at_next", StopAtNext, METH_O, "stop_at_next(wanted): stop at the next tensor."},
    {"wait", Wait, METH_O, "wait(timeout): the next GateHit, or None."},
    {"release", ReleaseHit, METH_O, "release(hit): let the thread of a hit go on; whether it was held."},
    {"let_all_pass", LetAllPass, METH_NOARGS, "let_all_pass(): remove the rules, and let all threads go on."},
    {"close", Close, METH_NOARGS, "close(): let all threads go on, for ever."},
    {"hold_values", HoldValues, METH_O, "hold_values(max_bytes): hold values of the current call; 0: none."},
    {"forget_values", ForgetValues, METH_VARARGS,
     "forget_values(calls=()): forget all but the tensors of calls."},
    {"begin_run", BeginRun, METH_O, "begin_run(call): a graph is about to run for a call."},
    {"end_run", EndRun, METH_O, "end_run(call): the graph has run."},
    {"tensors", Tensors, METH_VARARGS, "tensors(after=0, limit=1000, call=-1): each Passed."},
    {"elements", ElementsOf, METH_O, "elements(number): the Elements of a tensor, or None."},
    {"replace", Replace, METH_VARARGS, "replace(hit, data): give the consumers another value."},
    {"counts", GetCounts, METH_VARARGS, "counts(call=-1): the GateCounts."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef gate_attributes[] = {
    {"hit", GetHit, nullptr, "The GateHit at which a thread is held, or None.", nullptr},
    {"held_calls", GetHeldCalls, nullptr, "The calls of the threads that wait because another is held.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot gate_slots[] = {{Py_tp_methods, gate_methods}, {Py_tp_getset, gate_attributes}, {0, nullptr}};

PyType_Spec gate_spec = {"tb_debugger_plugin.native._native.Gate", sizeof(GateObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, gate_slots};

void DeleteElements(PyObject* self) {
  auto* value = reinterpret_cast<ElementsObject*>(self)->value;
  PyTypeObject* type = Py_TYPE(self);
  delete value;
  type->tp_free(self);
  Py_DECREF(type);
}

int GetBuffer(PyObject* self, Py_buffer* buffer, int flags) {
  const TensorView& view = ValueOf(self).view;
  if (view.dtype == kString) {
    PyErr_SetString(PyExc_BufferError, "a tensor of strings has no buffer: use strings(begin, end)");
    return -1;
  }
  static char nothing;  // A buffer of no bytes still has an address.
  void* data = view.byte_size == 0 ? &nothing : const_cast<void*>(view.data);
  return PyBuffer_FillInfo(buffer, self, data, static_cast<Py_ssize_t>(view.byte_size), 1, flags);
}

PyObject* Strings(PyObject* self, PyObject* args) {
  long long begin, end;
  if (!PyArg_ParseTuple(args, "LL", &begin, &end)) return nullptr;
  const TensorView& view = ValueOf(self).view;
  if (view.dtype != kString) {
    PyErr_SetString(PyExc_TypeError, "the tensor has no strings");
    return nullptr;
  }
  Owned list(PyList_New(0));
  end = std::min(end, static_cast<long long>(view.num_elements));
  for (long long i = std::max(begin, 0LL); list != nullptr && i < end; ++i) {
    const Owned bytes(ToBytes(StringAt(view, i)));
    if (bytes == nullptr || PyList_Append(list.get(), bytes.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* GetDtype(PyObject* self, void*) { return PyLong_FromLong(ValueOf(self).view.dtype); }
PyObject* GetShape(PyObject* self, void*) { return ToTuple(ValueOf(self).dims); }
PyObject* GetNumBytes(PyObject* self, void*) { return PyLong_FromLongLong(ValueBytes(ValueOf(self).view)); }

PyMethodDef elements_methods[] = {
    {"strings", Strings, METH_VARARGS, "strings(begin, end): some elements of a tensor of strings."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef elements_attributes[] = {
    {"dtype", GetDtype, nullptr, "TensorFlow's DataType number.", nullptr},
    {"shape", GetShape, nullptr, "The shape.", nullptr},
    {"num_bytes", GetNumBytes, nullptr, "Bytes in memory; for strings, of their contents.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot elements_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(DeleteElements)},
                                {Py_tp_methods, elements_methods},
                                {Py_tp_getset, elements_attributes},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
                                {0, nullptr}};

PyType_Spec elements_spec = {"tb_debugger_plugin.native._native.Elements", sizeof(ElementsObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, elements_slots};

}  // namespace

bool AddGateTypes(PyObject* module) {
  gate_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&gate_spec));
  elements_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&elements_spec));
  return LoadStructs() && gate_type != nullptr && elements_type != nullptr &&
         PyModule_AddType(module, gate_type) == 0 && PyModule_AddType(module, elements_type) == 0;
}

PyObject* ToPython(Gate* gate) {
  PyObject* self = gate_type->tp_alloc(gate_type, 0);
  if (self != nullptr) reinterpret_cast<GateObject*>(self)->gate = gate;
  return self;
}

}  // namespace tbdbg
