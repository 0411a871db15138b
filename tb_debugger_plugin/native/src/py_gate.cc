#include "py_gate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
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

PyObject* ToPython(bool truth) { return PyBool_FromLong(truth); }

// A tuple.
PyObject* ToPython(const std::vector<int64_t>& numbers) {
  const Owned list(MakeList(numbers.size(), [&](size_t i) { return PyLong_FromLongLong(numbers[i]); }));
  return list == nullptr ? nullptr : PyList_AsTuple(list.get());
}

// A tuple of the numbers that are known, None for others; None if none is known.
PyObject* ToPython(const Numbers& numbers) {
  if (numbers.empty()) Py_RETURN_NONE;
  const Owned list(MakeList(kNumNumbers, [&](size_t i) {
    const int number = static_cast<int>(i);
    return numbers.Has(number) ? PyFloat_FromDouble(numbers[number]) : Py_NewRef(Py_None);
  }));
  return list == nullptr ? nullptr : PyList_AsTuple(list.get());
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
                             tensor.dims ? ToPython(*tensor.dims) : Py_NewRef(Py_None),
                             ToPython(tensor.numbers), PyLong_FromLongLong(tensor.num_bytes),
                             PyBool_FromLong(tensor.value != nullptr), PyBool_FromLong(tensor.was_changed),
                             PyLong_FromLongLong(tensor.call)});
}

PyObject* ToPython(const std::vector<Passed>& tensors) {
  return MakeList(tensors.size(), [&](size_t i) { return ToPython(tensors[i]); });
}

// The Elements; None if there are none.
PyObject* ToPython(std::shared_ptr<const HeldValue> value) {
  if (value == nullptr) Py_RETURN_NONE;
  PyObject* elements = elements_type->tp_alloc(elements_type, 0);
  if (elements == nullptr) return nullptr;
  auto* held = new std::shared_ptr<const HeldValue>(std::move(value));
  reinterpret_cast<ElementsObject*>(elements)->value = held;
  return elements;
}

// None if there is no hit.
PyObject* ToPython(const std::optional<Hit>& hit) {
  if (!hit) Py_RETURN_NONE;
  return hit_struct.Make(
      {PyLong_FromLongLong(hit->number), PyLong_FromLongLong(hit->rule), ToPython(hit->tensor),
       PyObject_CallFunction(cannot_change_type, "i", static_cast<int>(hit->cannot_change)),
       PyBool_FromLong(hit->others_may_have_passed), PyBool_FromLong(hit->in_pipeline)});
}

// Reads a ConditionStep.
bool ToStep(PyObject* value, Step* step) {
  return Read(value, "kind", &step->kind) && Read(value, "value", &step->value);
}

bool ToCondition(PyObject* value, Condition* condition) {
  std::vector<Step> steps;
  if (!ToItems(value, ToStep, &steps)) return false;
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
  if (items == nullptr || !FromPython(items.get(), &ids->emplace())) return false;
  std::sort((*ids)->begin(), (*ids)->end());
  return true;
}

// Reads a GateRule (native/structs.py).
bool ToRule(PyObject* value, GateRule* rule) {
  const Owned ids(PyObject_GetAttrString(value, "tensor_ids"));
  if (ids == nullptr || !ToTensorIds(ids.get(), &rule->tensor_ids)) return false;
  const Owned condition(PyObject_GetAttrString(value, "condition"));
  if (condition == nullptr || !ToCondition(condition.get(), &rule->condition)) return false;
  if (!Read(value, "number", &rule->number) || !Read(value, "only_bad", &rule->only_bad) ||
      !Read(value, "ignore", &rule->ignore)) {
    return false;
  }
  if (rule->number < 1) {
    PyErr_SetString(PyExc_ValueError, "the number of a rule must be 1 or more");
    return false;
  }
  return true;
}

using tbdbg::FromPython;
bool FromPython(PyObject* value, std::vector<GateRule>* rules) { return ToItems(value, ToRule, rules); }

// Runs something without the GIL, and returns its result for Python.
template <typename Run>
PyObject* Answer(Run run) {
  if constexpr (std::is_void_v<decltype(run())>) {
    WithoutGil(run);
    Py_RETURN_NONE;
  } else {
    decltype(run()) result{};
    WithoutGil([&] { result = run(); });
    return ToPython(result);
  }
}

// Converts an argument, and answers with what is done with it.
template <typename Argument, typename Run>
PyObject* AnswerWith(PyObject* value, Run run) {
  Argument argument{};
  if (!FromPython(value, &argument)) return nullptr;
  return Answer([&] { return run(std::move(argument)); });
}

template <typename Argument, typename Result>
PyObject* CallWith(PyObject* self, Result (Gate::*method)(Argument), PyObject* value) {
  return AnswerWith<Argument>(
      value, [&](Argument argument) { return (GateOf(self)->*method)(std::move(argument)); });
}

// The method of Python for a method of the gate that takes an argument.
template <auto method>
PyObject* With(PyObject* self, PyObject* value) {
  return CallWith(self, method, value);
}

// The same for one that takes none; `Unused` is void for an attribute.
template <auto method, typename Unused = PyObject>
PyObject* Call(PyObject* self, Unused*) {
  return Answer([&] { return (GateOf(self)->*method)(); });
}

PyObject* ForgetValues(PyObject* self, PyObject* args) {
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "|O", &value)) return nullptr;
  std::vector<int64_t> calls;
  const Owned items(value == nullptr ? PyTuple_New(0) : PySequence_Tuple(value));
  if (items == nullptr || !FromPython(items.get(), &calls)) return nullptr;
  return Answer([&] { GateOf(self)->Forget(calls); });
}

PyObject* BeginRun(PyObject* self, PyObject* number) {
  Gate* gate = GateOf(self);
  return AnswerWith<int64_t>(number, [&](int64_t call) { gate->calls().Begin(call, gate->wanted()); });
}

PyObject* EndRun(PyObject* self, PyObject* number) {
  return AnswerWith<int64_t>(number, [&](int64_t call) { GateOf(self)->calls().End(call); });
}

PyObject* Tensors(PyObject* self, PyObject* args) {
  long long after = 0, limit = 1000, call = kNoCall;
  if (!PyArg_ParseTuple(args, "|LLL", &after, &limit, &call)) return nullptr;
  const auto most = static_cast<size_t>(std::max(limit, 0LL));
  return Answer([&] { return GateOf(self)->Tensors(after, most, call); });
}

PyObject* ElementsOf(PyObject* self, PyObject* number) {
  return AnswerWith<int64_t>(number, [&](int64_t tensor) { return GateOf(self)->ValueOf(tensor); });
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

PyMethodDef gate_methods[] = {
    {"set_rules", With<&Gate::SetRules>, METH_O, "set_rules(rules): replace all rules."},
    {"stop_at_next", With<&Gate::StopAtNext>, METH_O, "stop_at_next(wanted): stop at the next tensor."},
    {"wait", With<&Gate::Wait>, METH_O, "wait(timeout): the next GateHit, or None."},
    {"release", With<&Gate::Release>, METH_O,
     "release(hit): let the thread of a hit go on; whether it was held."},
    {"let_all_pass", Call<&Gate::LetAllPass>, METH_NOARGS,
     "let_all_pass(): remove the rules, and let all threads go on."},
    {"close", Call<&Gate::Close>, METH_NOARGS, "close(): let all threads go on, for ever."},
    {"hold_values", With<&Gate::HoldValues>, METH_O,
     "hold_values(max_bytes): hold values of the current call; 0: none."},
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
    {"hit", Call<&Gate::hit, void>, nullptr, "The GateHit at which a thread is held, or None.", nullptr},
    {"held_calls", Call<&Gate::waiting_calls, void>, nullptr,
     "The calls of the threads that wait because another is held.", nullptr},
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
  const long long first = std::max(begin, 0LL), num_elements = view.num_elements;
  const long long size = std::max(std::min(end, num_elements) - first, 0LL);
  return MakeList(static_cast<size_t>(size),
                  [&](size_t i) { return ToBytes(StringAt(view, first + static_cast<int64_t>(i))); });
}

PyObject* GetDtype(PyObject* self, void*) { return PyLong_FromLong(ValueOf(self).view.dtype); }
PyObject* GetShape(PyObject* self, void*) { return ToPython(ValueOf(self).dims); }
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
