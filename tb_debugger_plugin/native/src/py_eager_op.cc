#include "py_eager_op.h"

#include <algorithm>

#include "eager_tensor.h"
#include "encode.h"
#include "generated/wire.h"
#include "py_recorder.h"
#include "py_values.h"

namespace tbdbg {
namespace {

using namespace wire::execution;

// All functions that fail have set a Python exception.

// Converts an object to a number; -1 if it fails or the object is null.
int64_t ToNumber(const Owned& object) { return object == nullptr ? -1 : PyLong_AsLongLong(object.get()); }

int64_t IdOf(PyObject* tensor) {
  static PyObject* attribute = PyUnicode_InternFromString("_id");
  const int64_t id = EagerTensorId(tensor);
  return id >= 0 ? id : ToNumber(Owned(PyObject_GetAttr(tensor, attribute)));
}

// The number of a tensor's device.
int64_t DeviceOf(PyObject* tensor, PyObject* devices) {
  static PyObject* attribute = PyUnicode_InternFromString("device");
  const Owned name(PyObject_GetAttr(tensor, attribute));
  return name == nullptr ? -1 : ToNumber(Owned(PyObject_GetItem(devices, name.get())));
}

// How an output is recorded, see EagerOp::is_recorded; -1 if it fails.
int64_t HowRecorded(PyObject* tensor, PyObject* is_recorded) {
  static PyObject* method = PyUnicode_InternFromString("_datatype_enum");
  const Owned dtype(PyObject_CallMethodObjArgs(tensor, method, nullptr));
  return dtype == nullptr ? -1 : ToNumber(Owned(PyObject_GetItem(is_recorded, dtype.get())));
}

// The parts of such a number.
Rings RingsOf(int64_t how) { return static_cast<Rings>(how >> 1 & kAllRing); }
int64_t KeepOf(int64_t how) { return how >> 3; }

// Appends `number_of` each tensor as a packed field. `tensors`: of PySequence_Fast.
template <typename Number>
bool AppendNumbers(int field, PyObject* tensors, Number number_of, std::string* out) {
  std::string packed;
  WireWriter writer(&packed);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tensors); ++i) {
    const int64_t number = number_of(PySequence_Fast_GET_ITEM(tensors, i));
    if (number == -1 && PyErr_Occurred()) return false;
    writer.Varint(static_cast<uint64_t>(number));
  }
  if (!packed.empty()) WireWriter(out).BytesField(field, packed);
  return true;
}

// Encodes a tensor that only Python can read.
bool SummarizeInPython(PyObject* summarize, PyObject* tensor, int64_t keep, EncodedTensor* encoded) {
  const Owned rules(PyLong_FromLongLong(keep));
  if (rules == nullptr) return false;
  const Owned value(PyObject_CallFunctionObjArgs(summarize, tensor, rules.get(), nullptr));
  return value != nullptr && ReadTensorValue(value.get(), encoded);
}

// An output, and how bad it is.
struct Output {
  EncodedTensor encoded;
  Bad bad = Bad::kNo;
};

// Finds how bad an output is, and where, if that is to be recorded. `view`: the output; null if Python read
// it.
void Judge(std::string_view prefix, int slot, const TensorView* view, Recorder* recorder, Output* output) {
  EncodedTensor& encoded = output->encoded;
  output->bad = HowBad(encoded.proto, encoded.mode);
  if (!recorder->WantsElement(prefix, slot, output->bad)) {
    encoded.element = {};
  } else if (view != nullptr) {
    encoded.element = FindBadElement(*view);
  }
}

// Encodes an output. The proto is empty if the output is not recorded. `how`: see EagerOp::is_recorded.
bool EncodeOutput(const EagerOp& op, PyObject* tensor, int slot, int64_t how, Recorder* recorder,
                  Output* output) {
  output->encoded.mode = recorder->mode();
  if (how < 0) return false;
  if (how == 0) return true;
  const int64_t keep = KeepOf(how);
  const std::string_view prefix = BytesOf(op.prefix);
  const EagerTensor eager(tensor);
  if (!eager.ok()) {
    if (!SummarizeInPython(op.summarize, tensor, keep, &output->encoded)) return false;
    Judge(prefix, slot, nullptr, recorder, output);
    return true;
  }
  Py_BEGIN_ALLOW_THREADS
  recorder->Encode(eager.view(), -1, static_cast<uint64_t>(keep), &output->encoded);
  Judge(prefix, slot, &eager.view(), recorder, output);
  Py_END_ALLOW_THREADS
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

}  // namespace

bool EncodeEagerOp(const EagerOp& op, Recorder* recorder, EncodedOp* encoded) {
  const Owned inputs(PySequence_Fast(op.inputs, "inputs must be a sequence"));
  if (inputs == nullptr) return false;
  const Owned outputs(PySequence_Fast(op.outputs, "outputs must be a sequence"));
  if (outputs == nullptr) return false;
  const auto device_of = [&](PyObject* tensor) { return DeviceOf(tensor, op.devices); };
  std::string* execution = &encoded->execution;
  *execution = BytesOf(op.prefix);
  if (!AppendNumbers(kInputTensorIds, inputs.get(), IdOf, execution) ||
      !AppendNumbers(kOutputTensorIds, outputs.get(), IdOf, execution) ||
      !AppendNumbers(kOutputTensorDeviceIds, outputs.get(), device_of, execution)) {
    return false;
  }
  if (op.thread > 0) WireWriter(execution).VarintField(kThreadId, static_cast<uint64_t>(op.thread));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(outputs.get());
  std::vector<Output> tensors(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* output = PySequence_Fast_GET_ITEM(outputs.get(), i);
    const int64_t how = HowRecorded(output, op.is_recorded);
    Output& tensor = tensors[static_cast<size_t>(i)];
    if (!EncodeOutput(op, output, static_cast<int>(i), how, recorder, &tensor)) return false;
    if (RingsOf(how) & (i == 0 ? kFirstRings : kOthersRing)) {
      encoded->ringing = std::max(encoded->ringing, tensor.bad);
    }
  }
  AppendProtos(&tensors, recorder, encoded);
  return true;
}

}  // namespace tbdbg
