#include "py_eager_op.h"

#include <algorithm>
#include <vector>

#include "eager_tensor.h"
#include "encode.h"
#include "generated/wire.h"
#include "py_recorder.h"
#include "py_values.h"

namespace tbdbg {
namespace {

using namespace wire::execution;

// All functions that fail have set a Python exception.

struct EncodedOp {
  std::string execution;               // the fields of an Execution
  Bad bad = Bad::kNo;                  // how bad the worst output is
  Bad ringing = Bad::kNo;              // the same of outputs that may ring the alarm
  std::vector<KeptBytes> kept;         // the outputs that are kept by rules
  std::vector<BadOutput> bad_outputs;  // where outputs are bad, if that is to be recorded
};

// Converts an object to a number; -1 if it fails or the object is null.
int64_t ToNumber(const Owned& object) { return object == nullptr ? -1 : PyLong_AsLongLong(object.get()); }

int64_t IdOf(PyObject* tensor) {
  static PyObject* attribute = PyUnicode_InternFromString("_id");
  const int64_t id = EagerTensorId(tensor);
  return id >= 0 ? id : ToNumber(Owned(PyObject_GetAttr(tensor, attribute)));
}

// The parts of what HowRecorded returns.
Rings RingsOf(int64_t how) { return static_cast<Rings>(how >> 1 & kAllRing); }
int64_t KeepOf(int64_t how) { return how >> 3; }

// Appends `number_of` each tensor as a packed field. `tensors`: a list or tuple.
template <typename NumberOf>
bool AppendNumbers(int field, PyObject* tensors, NumberOf number_of, std::string* out) {
  thread_local std::string packed;
  packed.clear();
  WireWriter writer(&packed);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tensors); ++i) {
    const int64_t number = number_of(PySequence_Fast_GET_ITEM(tensors, i));
    if (number == -1 && PyErr_Occurred()) return false;
    writer.Varint(static_cast<uint64_t>(number));
  }
  if (!packed.empty()) WireWriter(out).BytesField(field, packed);
  return true;
}

void AppendPacked(int field, const int64_t* numbers, size_t count, std::string* out) {
  std::string packed;
  WireWriter writer(&packed);
  for (size_t i = 0; i < count; ++i) writer.Varint(static_cast<uint64_t>(numbers[i]));
  if (count > 0) WireWriter(out).BytesField(field, packed);
}

void AppendThread(int thread, std::string* execution) {
  if (thread > 0) WireWriter(execution).VarintField(kThreadId, static_cast<uint64_t>(thread));
}

// Encodes a tensor that only Python can read.
bool SummarizeInPython(PyObject* summarize, PyObject* tensor, int64_t keep, EncodedTensor* encoded) {
  const Owned rules(PyLong_FromLongLong(keep));
  if (rules == nullptr) return false;
  const Owned value(PyObject_CallFunctionObjArgs(summarize, tensor, rules.get(), nullptr));
  return value != nullptr && ReadTensorValue(value.get(), encoded);
}

// An output, how it is recorded, and how bad it is.
struct Output {
  Output(PyObject* tensor, int slot, int64_t how, Mode mode)
      : tensor(tensor), slot(slot), how(how), eager(tensor) {
    encoded.mode = mode;
  }

  PyObject* tensor;
  int slot;
  int64_t how;
  EagerTensor eager;
  bool for_python = false;  // whether only Python can read it
  EncodedTensor encoded;
  Bad bad = Bad::kNo;
};

// Finds how bad an output is, and where, if that is to be recorded. `view`: the output; null if Python read
// it.
void Judge(std::string_view prefix, const TensorView* view, Recorder* recorder, Output* output) {
  EncodedTensor& encoded = output->encoded;
  output->bad = HowBad(encoded.proto, encoded.mode);
  if (!recorder->WantsElement(prefix, output->slot, output->bad)) {
    encoded.element = {};
  } else if (view != nullptr) {
    encoded.element = FindBadElement(*view);
  }
}

// Encodes an output without the GIL, unless only Python can read it. The proto is empty if it is not
// recorded.
void EncodeOutput(std::string_view prefix, Recorder* recorder, Output* output) {
  if (output->how == 0) return;
  output->for_python = !output->eager.Read();
  if (output->for_python) return;
  const TensorView& view = output->eager.view();
  recorder->Encode(view, -1, static_cast<uint64_t>(KeepOf(output->how)), &output->encoded);
  Judge(prefix, &view, recorder, output);
}

// Encodes the outputs that only Python can read.
bool EncodeInPython(const EagerOp& op, Recorder* recorder, std::vector<Output>* outputs) {
  for (Output& each : *outputs) {
    if (!each.for_python) continue;
    if (!SummarizeInPython(op.summarize, each.tensor, KeepOf(each.how), &each.encoded)) return false;
    Judge(BytesOf(op.prefix), nullptr, recorder, &each);
  }
  return true;
}

// Appends the protos of the outputs. An Execution has one mode: if one output has the mode
// FULL_TENSOR, the summaries of the others say which mode they have.
void AppendProtos(std::vector<Output>* outputs, Recorder* recorder, EncodedOp* encoded) {
  Mode mode = recorder->mode();
  for (const Output& each : *outputs) {
    if (each.encoded.mode == Mode::kFullTensor) mode = Mode::kFullTensor;
  }
  WireWriter writer(&encoded->execution);
  for (size_t slot = 0; slot < outputs->size(); ++slot) {
    EncodedTensor& each = (*outputs)[slot].encoded;
    encoded->bad = std::max(encoded->bad, (*outputs)[slot].bad);
    if (each.element.is_known()) {
      encoded->bad_outputs.push_back({static_cast<int>(slot), std::move(each.element)});
    }
    if (each.mode != mode && !each.proto.empty()) AppendSummaryMode(each.mode, &each.proto);
    writer.BytesField(kTensorProtos, each.proto);
    if (each.kept.rule >= 0) encoded->kept.push_back(each.kept);
  }
  // The last value of a field counts, so this replaces the mode of the prefix.
  if (mode != recorder->mode()) writer.VarintField(kTensorDebugMode, static_cast<uint64_t>(mode));
}

// A list of the tensors with some numbers; None for each that does not exist. `tensors`: a dict by number.
PyObject* Existing(const int64_t* ids, size_t count, PyObject* tensors) {
  return MakeList(count, [=](size_t i) -> PyObject* {
    const Owned id(PyLong_FromLongLong(ids[i]));
    if (id == nullptr) return nullptr;
    PyObject* tensor = PyDict_GetItemWithError(tensors, id.get());
    if (tensor == nullptr && PyErr_Occurred()) return nullptr;
    return Py_NewRef(tensor == nullptr ? Py_None : tensor);
  });
}

// None stands for an output that does not exist any more.
bool AddOutputs(const EagerOp& op, PyObject* tensors, Mode mode, std::vector<Output>* outputs) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(tensors);
  outputs->reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* tensor = PySequence_Fast_GET_ITEM(tensors, i);
    const int64_t how = tensor == Py_None ? 0 : op.is_recorded->Of(tensor);
    if (how < 0) return false;
    outputs->emplace_back(tensor, static_cast<int>(i), how, mode);
  }
  return true;
}

// Writes an op whose outputs are encoded. Returns the number of a ring, or 0.
int64_t Write(std::string_view prefix, std::vector<Output>* outputs, Recorder* recorder, EncodedOp* encoded) {
  for (const Output& each : *outputs) {
    if (RingsOf(each.how) & (each.slot == 0 ? kFirstRings : kOthersRing)) {
      encoded->ringing = std::max(encoded->ringing, each.bad);
    }
  }
  AppendProtos(outputs, recorder, encoded);
  return recorder->Execution(encoded->execution, prefix, encoded->bad, encoded->kept, encoded->ringing,
                             encoded->bad_outputs);
}

}  // namespace

int64_t DeviceNumbers::Of(PyObject* tensor) {
  static PyObject* attribute = PyUnicode_InternFromString("device");
  const char* known = EagerTensorDevice(tensor);
  if (known != nullptr && last_name_ == known) return last_;
  const Owned name(PyObject_GetAttr(tensor, attribute));
  if (name == nullptr) return -1;
  const int64_t number = ToNumber(Owned(PyObject_GetItem(numbers_, name.get())));
  if (known != nullptr && number >= 0) {
    const char* text = PyUnicode_AsUTF8(name.get());
    if (text == nullptr) return -1;
    last_name_ = text;
    last_ = number;
  }
  return number;
}

int64_t HowRecorded::Of(PyObject* tensor) {
  static PyObject* method = PyUnicode_InternFromString("_datatype_enum");
  const int known = EagerTensorDtype(tensor);
  if (known >= 0 && known == last_dtype_) return last_;
  const Owned dtype(PyObject_CallMethodObjArgs(tensor, method, nullptr));
  const int64_t how = dtype == nullptr ? -1 : ToNumber(Owned(PyObject_GetItem(by_dtype_, dtype.get())));
  if (known >= 0 && how >= 0) {
    last_dtype_ = known;
    last_ = how;
  }
  return how;
}

bool NoteEagerOp(PyObject* inputs, PyObject* outputs, NotedOp* noted) {
  noted->ids.clear();
  for (PyObject* tensors : {inputs, outputs}) {
    noted->num_inputs = noted->ids.size();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tensors); ++i) {
      noted->ids.push_back(IdOf(PySequence_Fast_GET_ITEM(tensors, i)));
      if (noted->ids.back() < 0) return false;
    }
  }
  return true;
}

bool RecordNotedOp(const NotedOp& noted, const EagerOp& op, PyObject* tensors, Recorder* recorder) {
  const size_t num_outputs = noted.ids.size() - noted.num_inputs;
  const int64_t* ids = noted.ids.data();
  const Owned found(Existing(ids + noted.num_inputs, num_outputs, tensors));
  if (found == nullptr) return false;
  EncodedOp encoded;
  std::vector<Output> outputs;
  const std::string_view prefix = BytesOf(op.prefix);
  encoded.execution = prefix;
  AppendPacked(kInputTensorIds, ids, noted.num_inputs, &encoded.execution);
  AppendPacked(kOutputTensorIds, ids + noted.num_inputs, num_outputs, &encoded.execution);
  const auto device_of = [&](PyObject* tensor) { return op.devices->Of(tensor); };
  const bool exist = PySequence_Contains(found.get(), Py_None) == 0;
  if (exist && !AppendNumbers(kOutputTensorDeviceIds, found.get(), device_of, &encoded.execution))
    return false;
  if (!AddOutputs(op, found.get(), recorder->mode(), &outputs)) return false;
  AppendThread(noted.thread, &encoded.execution);
  Py_BEGIN_ALLOW_THREADS
  for (Output& each : outputs) EncodeOutput(prefix, recorder, &each);
  AppendProtos(&outputs, recorder, &encoded);
  recorder->ExecutionEarlier(encoded.execution, noted.stamp);
  Py_END_ALLOW_THREADS
  return true;
}

bool RecordEagerOp(const EagerOp& op, Recorder* recorder, int64_t* rang) {
  const Owned inputs(PySequence_Fast(op.inputs, "inputs must be a sequence"));
  if (inputs == nullptr) return false;
  const Owned tensors(PySequence_Fast(op.outputs, "outputs must be a sequence"));
  if (tensors == nullptr) return false;
  const auto device_of = [&](PyObject* tensor) { return op.devices->Of(tensor); };
  const std::string_view prefix = BytesOf(op.prefix);
  constexpr size_t kMoreForAFewTensors = 256;
  EncodedOp encoded;
  std::vector<Output> outputs;
  encoded.execution.reserve(prefix.size() + kMoreForAFewTensors);
  encoded.execution = prefix;
  if (!AppendNumbers(kInputTensorIds, inputs.get(), IdOf, &encoded.execution) ||
      !AppendNumbers(kOutputTensorIds, tensors.get(), IdOf, &encoded.execution) ||
      !AppendNumbers(kOutputTensorDeviceIds, tensors.get(), device_of, &encoded.execution) ||
      !AddOutputs(op, tensors.get(), recorder->mode(), &outputs)) {
    return false;
  }
  AppendThread(op.thread, &encoded.execution);
  bool are_encoded = true;
  // Once for all of it: the GIL costs as much as a small tensor.
  Py_BEGIN_ALLOW_THREADS
  for (Output& each : outputs) {
    EncodeOutput(prefix, recorder, &each);
    are_encoded &= !each.for_python;
  }
  if (are_encoded) *rang = Write(prefix, &outputs, recorder, &encoded);
  Py_END_ALLOW_THREADS
  if (are_encoded) return true;
  if (!EncodeInPython(op, recorder, &outputs)) return false;
  Py_BEGIN_ALLOW_THREADS
  *rang = Write(prefix, &outputs, recorder, &encoded);
  Py_END_ALLOW_THREADS
  return true;
}

}  // namespace tbdbg
