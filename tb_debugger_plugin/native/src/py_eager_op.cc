#include "py_eager_op.h"

#include <algorithm>

#include "eager_tensor.h"
#include "encode.h"
#include "generated/wire.h"
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

// Whether an output is recorded; -1 if it fails.
int IsRecorded(PyObject* tensor, PyObject* is_recorded) {
  static PyObject* method = PyUnicode_InternFromString("_datatype_enum");
  const Owned dtype(PyObject_CallMethodObjArgs(tensor, method, nullptr));
  if (dtype == nullptr) return -1;
  const Owned answer(PyObject_GetItem(is_recorded, dtype.get()));
  return answer == nullptr ? -1 : PyObject_IsTrue(answer.get());
}

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

// Gets the proto of a tensor that only Python can read.
bool SummarizeInPython(PyObject* summarize, PyObject* tensor, std::string* proto) {
  const Owned bytes(PyObject_CallFunctionObjArgs(summarize, tensor, nullptr));
  if (bytes == nullptr) return false;
  if (!PyBytes_Check(bytes.get())) {
    PyErr_SetString(PyExc_TypeError, "a tensor proto must be bytes");
    return false;
  }
  *proto = BytesOf(bytes.get());
  return true;
}

bool EncodeOutput(const EagerOp& op, PyObject* tensor, const Recorder& recorder, std::string* proto) {
  const EagerTensor eager(tensor);
  if (!eager.ok()) return SummarizeInPython(op.summarize, tensor, proto);
  Py_BEGIN_ALLOW_THREADS
  EncodeSummary(eager.view(), recorder.mode(), -1, recorder.max_tensor_bytes(), proto);
  Py_END_ALLOW_THREADS
  return true;
}

// Appends the proto of an output, which is empty if the output is not recorded.
bool AppendSummary(const EagerOp& op, PyObject* tensor, const Recorder& recorder, EncodedOp* encoded) {
  const int is_recorded = IsRecorded(tensor, op.is_recorded);
  if (is_recorded < 0) return false;
  std::string proto;
  if (is_recorded && !EncodeOutput(op, tensor, recorder, &proto)) return false;
  WireWriter(&encoded->execution).BytesField(kTensorProtos, proto);
  encoded->bad = std::max(encoded->bad, HowBad(proto, recorder.mode()));
  return true;
}

}  // namespace

bool EncodeEagerOp(const EagerOp& op, const Recorder& recorder, EncodedOp* encoded) {
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
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(outputs.get()); ++i) {
    PyObject* output = PySequence_Fast_GET_ITEM(outputs.get(), i);
    if (!AppendSummary(op, output, recorder, encoded)) return false;
  }
  return true;
}

}  // namespace tbdbg
