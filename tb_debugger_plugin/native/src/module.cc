// The Python module tb_debugger_plugin.native._native. native/__init__.py describes
// its parts.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>  // Python.h has frames only from 3.11 on.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bad_tensors.h"
#include "compiled_op.h"
#include "crc32c.h"
#include "eager_tensor.h"
#include "encode.h"
#include "recorder.h"
#include "tf_api.h"
#include "tf_classes.h"
#include "watch_op.h"

namespace tbdbg {
namespace {

// Fields of an Execution, see protos/debug_event.proto.
constexpr int kInputTensorIds = 4, kOutputTensorIds = 5, kTensorProtos = 7, kOutputTensorDeviceIds = 9;

PyObject* ToBytes(const std::string& bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

std::string FromBytes(PyObject* bytes) {
  return std::string(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
}

// A tensor passed as (buffer, dtype, shape). Holds the buffer.
class Argument {
 public:
  Argument() = default;
  ~Argument() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;

  // False with a Python exception set.
  bool Parse(PyObject* data, int dtype, PyObject* shape) {
    if (PyObject_GetBuffer(data, &buffer_, PyBUF_C_CONTIGUOUS) != 0) return false;
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank < 0) return false;
    if (rank > kMaxRank) {
      PyErr_SetString(PyExc_ValueError, "a tensor has at most 254 dimensions");
      return false;
    }
    view_.num_elements = 1;
    for (Py_ssize_t i = 0; i < rank; ++i) {
      dims_[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
      if (dims_[i] == -1 && PyErr_Occurred()) return false;
      view_.num_elements *= dims_[i];
    }
    view_.data = buffer_.buf;
    view_.byte_size = static_cast<size_t>(buffer_.len);
    view_.dtype = dtype;
    view_.rank = static_cast<int>(rank);
    view_.dims = dims_;
    return FitsBuffer();
  }

  const TensorView& view() const { return view_; }

 private:
  // Whether the buffer has the size that dtype and shape require. Strings do not fit:
  // their layout in NumPy is not that in TensorFlow.
  bool FitsBuffer() {
    const int64_t element = MeasuredBytes(view_.dtype);
    const bool fits = element == 0 || view_.num_elements * element == buffer_.len;
    if (fits && view_.dtype != kString) return true;
    PyErr_SetString(PyExc_ValueError, "the buffer does not have the layout that dtype and shape require");
    return false;
  }

  Py_buffer buffer_{};
  TensorView view_;
  int64_t dims_[kMaxRank];
};

PyObject* LoadTensorflow(PyObject*, PyObject* args) {
  const char* path;
  int knows_classes;
  if (!PyArg_ParseTuple(args, "sp", &path, &knows_classes)) return nullptr;
  std::string failure = LoadTfApi(path);
  if (failure.empty() && knows_classes) LoadTfClasses(path);
  if (failure.empty()) failure = RegisterWatchOps();
  if (failure.empty()) failure = RegisterCompiledOp();
  if (!failure.empty()) {
    PyErr_SetString(PyExc_RuntimeError, failure.c_str());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* ReadsClasses(PyObject*, PyObject*) { return PyBool_FromLong(Classes() != nullptr); }

PyObject* Crc(PyObject*, PyObject* data) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0) return nullptr;
  const uint32_t crc = Crc32c(buffer.buf, static_cast<size_t>(buffer.len));
  PyBuffer_Release(&buffer);
  return PyLong_FromUnsignedLong(crc);
}

PyObject* EncodeTensorSummary(PyObject*, PyObject* args) {
  PyObject *data, *shape;
  int dtype, mode;
  double tensor_id;
  long long max_tensor_bytes = -1;
  if (!PyArg_ParseTuple(args, "OiO!id|L", &data, &dtype, &PyTuple_Type, &shape, &mode, &tensor_id,
                        &max_tensor_bytes)) {
    return nullptr;
  }
  Argument tensor;
  if (!tensor.Parse(data, dtype, shape)) return nullptr;
  std::string encoded;
  Py_BEGIN_ALLOW_THREADS
  EncodeSummary(tensor.view(), static_cast<Mode>(mode), tensor_id, max_tensor_bytes, &encoded);
  Py_END_ALLOW_THREADS
  return ToBytes(encoded);
}

PyObject* PyLoadEagerApi(PyObject*, PyObject* path) {
  const char* text = PyUnicode_AsUTF8(path);
  if (text == nullptr) return nullptr;
  LoadEagerApi(text);
  Py_RETURN_NONE;
}

PyObject* PyAddConstants(PyObject*, PyObject*) { return PyLong_FromLongLong(AddConstants()); }

// The constants with this number, or null with a Python exception set.
Constants* ConstantsOf(long long number) {
  Constants* constants = FindConstants(number);
  if (constants == nullptr) PyErr_SetString(PyExc_LookupError, "there are no constants with this number");
  return constants;
}

// The watch with this number, or null with a Python exception set.
Watch* WatchOf(long long number) {
  Watch* watch = FindWatch(number);
  if (watch == nullptr && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_LookupError, "there is no watch with this number");
  }
  return watch;
}

PyObject* PyAddConstant(PyObject*, PyObject* args) {
  long long number;
  PyObject *prefix, *proto;
  if (!PyArg_ParseTuple(args, "LSS", &number, &prefix, &proto)) return nullptr;
  Constants* constants = ConstantsOf(number);
  if (constants == nullptr) return nullptr;
  constants->Add(FromBytes(prefix), FromBytes(proto));
  Py_RETURN_NONE;
}

// Converts the dims of a tensor, which are None if its rank is not known. False with a
// Python exception set.
bool ToStaticShape(int dtype, PyObject* dims, StaticShape* shape) {
  if (dims == Py_None) return true;
  std::vector<int64_t> numbers;
  const Py_ssize_t rank = PyTuple_Size(dims);
  for (Py_ssize_t i = 0; i < rank; ++i) {
    numbers.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(dims, i)));
  }
  if (PyErr_Occurred() != nullptr) return false;
  *shape = StaticShape(dtype, std::move(numbers));
  return true;
}

PyObject* PyAddWatch(PyObject*, PyObject* args) {
  PyObject *items, *dims, *earlier;
  int dtype;
  long long number;
  if (!PyArg_ParseTuple(args, "O!iOLO!", &PyTuple_Type, &items, &dtype, &dims, &number, &PyTuple_Type,
                        &earlier)) {
    return nullptr;
  }
  StaticShape shape;
  Constants* constants = ConstantsOf(number);
  if (constants == nullptr || !ToStaticShape(dtype, dims, &shape)) return nullptr;
  std::vector<const Watch*> before;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(earlier); ++i) {
    const Watch* watch = WatchOf(PyLong_AsLongLong(PyTuple_GET_ITEM(earlier, i)));
    if (watch == nullptr) return nullptr;
    before.push_back(watch);
  }
  std::vector<TraceTarget> targets;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
    PyObject* prefix;
    double tensor_id;
    int rank;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "Sdi", &prefix, &tensor_id, &rank)) {
      return nullptr;
    }
    targets.push_back({FromBytes(prefix), tensor_id, rank, {}});
  }
  return PyLong_FromLongLong(AddWatch(std::move(targets), std::move(shape), constants, std::move(before)));
}

// Converts a tuple of numbers. False with a Python exception set.
bool ToNumbers(PyObject* tuple, std::vector<int64_t>* numbers) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    numbers->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  }
  return PyErr_Occurred() == nullptr;
}

// Converts an item of the argument of add_compiled_tensors. False with a Python
// exception set.
bool ToCompiledTensor(PyObject* item, CompiledTensor* tensor) {
  long long watch, group, whole, size, size_at;
  PyObject *elements, *proto, *counts;
  if (!PyArg_ParseTuple(item, "LLLO!SLLO!", &watch, &group, &whole, &PyTuple_Type, &elements, &proto, &size,
                        &size_at, &PyTuple_Type, &counts)) {
    return false;
  }
  tensor->watch = WatchOf(watch);
  if (tensor->watch == nullptr) return false;
  tensor->group = group;
  tensor->whole = whole;
  tensor->tensor_proto = FromBytes(proto);
  tensor->size = size;
  tensor->size_at = size_at;
  return ToNumbers(elements, &tensor->elements) && ToNumbers(counts, &tensor->counts);
}

PyObject* PyAddCompiledTensors(PyObject*, PyObject* items) {
  if (!PyList_Check(items)) {
    PyErr_SetString(PyExc_TypeError, "the tensors must be a list");
    return nullptr;
  }
  std::vector<CompiledTensor> tensors(static_cast<size_t>(PyList_GET_SIZE(items)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = PyList_GET_ITEM(items, static_cast<Py_ssize_t>(i));
    if (!PyTuple_Check(item)) {
      PyErr_SetString(PyExc_TypeError, "a tensor must be a tuple");
      return nullptr;
    }
    if (!ToCompiledTensor(item, &tensors[i])) return nullptr;
  }
  return PyLong_FromLongLong(AddCompiledTensors(std::move(tensors)));
}

// ---- Recorder ----

struct RecorderObject {
  PyObject_HEAD
  Recorder* recorder;
};

Recorder* Self(PyObject* self) { return reinterpret_cast<RecorderObject*>(self)->recorder; }

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  const char* base;
  int mode;
  long long circular_buffer_size, max_tensor_bytes = -1;
  if (!PyArg_ParseTuple(args, "siL|L", &base, &mode, &circular_buffer_size, &max_tensor_bytes)) {
    return nullptr;
  }
  auto* recorder = new Recorder(static_cast<Mode>(mode), max_tensor_bytes);
  const std::string failure = recorder->Open(base, circular_buffer_size);
  if (!failure.empty()) {
    recorder->Abandon();
    delete recorder;
    PyErr_SetString(PyExc_OSError, failure.c_str());
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  reinterpret_cast<RecorderObject*>(self)->recorder = recorder;
  SetCurrentRecorder(recorder);
  return self;
}

// The arguments that `EagerOps` (capture/eager.py) passes for an op, all borrowed.
struct EagerOp {
  PyObject *prefix, *inputs, *outputs, *devices, *wanted, *ask;
};

// Converts an object to a number and releases it; -1 with an exception set.
int64_t ToNumber(PyObject* object) {
  const int64_t number = object == nullptr ? -1 : PyLong_AsLongLong(object);
  Py_XDECREF(object);
  return number;
}

int64_t IdOf(PyObject* tensor) {
  static PyObject* attribute = PyUnicode_InternFromString("_id");
  const int64_t id = EagerTensorId(tensor);
  return id >= 0 ? id : ToNumber(PyObject_GetAttr(tensor, attribute));
}

// The number of a tensor's device, which `devices` may have to make.
int64_t DeviceOf(PyObject* tensor, PyObject* devices) {
  static PyObject* attribute = PyUnicode_InternFromString("device");
  PyObject* name = PyObject_GetAttr(tensor, attribute);
  PyObject* number = name == nullptr ? nullptr : PyObject_GetItem(devices, name);
  Py_XDECREF(name);
  return ToNumber(number);
}

// Appends `number_of` each tensor as a packed field. False with an exception set.
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

// Gets the proto of a tensor that only Python can read. False with an exception set.
bool Ask(PyObject* ask, PyObject* tensor, std::string* proto) {
  PyObject* bytes = PyObject_CallFunctionObjArgs(ask, tensor, nullptr);
  const bool ok = bytes != nullptr && PyBytes_Check(bytes);
  if (ok) *proto = FromBytes(bytes);
  if (bytes != nullptr && !ok) PyErr_SetString(PyExc_TypeError, "a tensor proto must be bytes");
  Py_XDECREF(bytes);
  return ok;
}

// Appends the proto of an output, which is empty if the output is not watched. False
// with an exception set.
bool AppendSummary(const EagerOp& op, PyObject* tensor, const Recorder& recorder, std::string* out,
                   Bad* bad) {
  static PyObject* datatype = PyUnicode_InternFromString("_datatype_enum");
  PyObject* dtype = PyObject_CallMethodObjArgs(tensor, datatype, nullptr);
  PyObject* is_wanted = dtype == nullptr ? nullptr : PyObject_GetItem(op.wanted, dtype);
  const int wanted = is_wanted == nullptr ? -1 : PyObject_IsTrue(is_wanted);
  Py_XDECREF(dtype);
  Py_XDECREF(is_wanted);
  if (wanted < 0) return false;
  std::string proto;
  if (wanted > 0) {
    const EagerTensor eager(tensor);
    if (eager.ok()) {
      Py_BEGIN_ALLOW_THREADS
      EncodeSummary(eager.view(), recorder.mode(), -1, recorder.max_tensor_bytes(), &proto);
      Py_END_ALLOW_THREADS
    } else if (!Ask(op.ask, tensor, &proto)) {
      return false;
    }
  }
  WireWriter(out).BytesField(kTensorProtos, proto);
  *bad = std::max(*bad, HowBad(proto, recorder.mode()));
  return true;
}

// Appends the inputs and outputs of the op. False with an exception set.
bool AppendOutcome(const EagerOp& op, const Recorder& recorder, std::string* execution, Bad* bad) {
  const auto device_of = [&](PyObject* tensor) { return DeviceOf(tensor, op.devices); };
  if (!AppendNumbers(kInputTensorIds, op.inputs, IdOf, execution) ||
      !AppendNumbers(kOutputTensorIds, op.outputs, IdOf, execution) ||
      !AppendNumbers(kOutputTensorDeviceIds, op.outputs, device_of, execution)) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(op.outputs); ++i) {
    PyObject* output = PySequence_Fast_GET_ITEM(op.outputs, i);
    if (!AppendSummary(op, output, recorder, execution, bad)) return false;
  }
  return true;
}

PyObject* WriteEagerOp(PyObject* self, PyObject* args) {
  EagerOp op;
  if (!PyArg_ParseTuple(args, "SOOO!O!O", &op.prefix, &op.inputs, &op.outputs, &PyDict_Type, &op.devices,
                        &PyDict_Type, &op.wanted, &op.ask)) {
    return nullptr;
  }
  op.inputs = PySequence_Fast(op.inputs, "inputs must be a sequence");
  if (op.inputs == nullptr) return nullptr;
  op.outputs = PySequence_Fast(op.outputs, "outputs must be a sequence");
  std::string execution = FromBytes(op.prefix);
  Bad bad = Bad::kNo;
  const bool ok = op.outputs != nullptr && AppendOutcome(op, *Self(self), &execution, &bad);
  Py_DECREF(op.inputs);
  Py_XDECREF(op.outputs);
  if (!ok) return nullptr;
  const std::string_view call(PyBytes_AS_STRING(op.prefix), static_cast<size_t>(PyBytes_GET_SIZE(op.prefix)));
  Py_BEGIN_ALLOW_THREADS
  Self(self)->Execution(execution, call, bad);
  Py_END_ALLOW_THREADS
  return PyBool_FromLong(Self(self)->on());
}

PyObject* SetWanted(PyObject* self, PyObject* wanted) {
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  Self(self)->SetWanted(truth != 0);
  Py_RETURN_NONE;
}

PyObject* Flush(PyObject* self, PyObject*) {
  Py_BEGIN_ALLOW_THREADS
  Self(self)->Flush();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* Close(PyObject* self, PyObject*) {
  if (CurrentRecorder() == Self(self)) SetCurrentRecorder(nullptr);
  Py_BEGIN_ALLOW_THREADS
  Self(self)->Close();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject* Abandon(PyObject* self, PyObject*) {
  if (CurrentRecorder() == Self(self)) SetCurrentRecorder(nullptr);
  Self(self)->Abandon();
  Py_RETURN_NONE;
}

PyObject* GetOn(PyObject* self, void*) { return PyBool_FromLong(Self(self)->on()); }
PyObject* GetExecutions(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->executions()); }
PyObject* GetTraces(PyObject* self, void*) { return PyLong_FromLongLong(Self(self)->traces()); }
// (is_execution, prefix) of the value that FirstBad names; None if there is none.
PyObject* GetFirstBad(PyObject* self, void*) {
  const FirstBad::Value value = Self(self)->first_bad();
  if (value.op.empty()) Py_RETURN_NONE;
  return Py_BuildValue("(Oy#)", value.is_execution ? Py_True : Py_False, value.op.data(),
                       static_cast<Py_ssize_t>(value.op.size()));
}
PyObject* GetFailure(PyObject* self, void*) { return PyUnicode_FromString(Self(self)->failure().c_str()); }

PyMethodDef recorder_methods[] = {
    {"eager_op", WriteEagerOp, METH_VARARGS,
     "eager_op(prefix, inputs, outputs, devices, wanted, ask): record the execution of an op with these "
     "eager tensors; returns whether recording goes on."},
    {"set_wanted", SetWanted, METH_O,
     "set_wanted(wanted): decide whether tensors that graphs compute from now on are recorded."},
    {"flush", Flush, METH_NOARGS, "Write buffered records to the event files."},
    {"close", Close, METH_NOARGS, "Flush and end the recording."},
    {"abandon", Abandon, METH_NOARGS, "End the recording without changing the files, for a forked child."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef recorder_attributes[] = {
    {"on", GetOn, nullptr, "Whether the recorder still records.", nullptr},
    {"executions", GetExecutions, nullptr, "Number of executions so far.", nullptr},
    {"traces", GetTraces, nullptr, "Number of graph execution traces so far.", nullptr},
    {"first_bad", GetFirstBad, nullptr,
     "(is_execution, prefix) of the first bad value, or None; see FirstBad in bad_tensors.h.", nullptr},
    {"failure", GetFailure, nullptr, "Why recording stopped early, or ''.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot recorder_slots[] = {{Py_tp_new, reinterpret_cast<void*>(New)},
                                {Py_tp_methods, recorder_methods},
                                {Py_tp_getset, recorder_attributes},
                                {0, nullptr}};

PyType_Spec recorder_spec = {"tb_debugger_plugin.native._native.Recorder", sizeof(RecorderObject), 0,
                             Py_TPFLAGS_DEFAULT, recorder_slots};

// The index of the instruction that a frame runs; -1 if it is not known.
int64_t InstructionOf(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  PyObject* index = PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_lasti");
  const int64_t value = index == nullptr ? -1 : PyLong_AsLongLong(index);
  Py_XDECREF(index);
  PyErr_Clear();
  return value;
#endif
}

PyObject* StackKey(PyObject*, PyObject* innermost) {
  if (!PyFrame_Check(innermost)) {
    PyErr_SetString(PyExc_TypeError, "the argument must be a frame");
    return nullptr;
  }
  thread_local std::string key;
  key.clear();
  auto* frame = reinterpret_cast<PyFrameObject*>(innermost);
  Py_INCREF(frame);
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const int64_t instruction = InstructionOf(frame);
    key.append(reinterpret_cast<const char*>(&code), sizeof(code));
    key.append(reinterpret_cast<const char*>(&instruction), sizeof(instruction));
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return ToBytes(key);
}

PyMethodDef module_methods[] = {
    {"stack_key", StackKey, METH_O,
     "stack_key(frame): bytes that identify the stack that ends in this frame, while its code objects "
     "live."},
    {"load_tensorflow", LoadTensorflow, METH_VARARGS,
     "load_tensorflow(path, knows_classes): register the watch ops with the loaded "
     "libtensorflow_framework. knows_classes: whether the classes of its version are known."},
    {"reads_classes", ReadsClasses, METH_NOARGS,
     "reads_classes(): whether watch ops read tensors through TensorFlow's C++ classes."},
    {"crc32c", Crc, METH_O, "crc32c(buffer): the unmasked checksum."},
    {"load_eager_api", PyLoadEagerApi, METH_O,
     "load_eager_api(path of TensorFlow's Python extension): read eager tensors without Python."},
    {"encode_summary", EncodeTensorSummary, METH_VARARGS,
     "encode_summary(buffer, dtype, shape, mode, tensor_id, max_tensor_bytes=-1): an encoded "
     "TensorProto."},
    {"add_constants", PyAddConstants, METH_NOARGS,
     "add_constants(): returns the number of a new graph's constants."},
    {"add_constant", PyAddConstant, METH_VARARGS,
     "add_constant(constants, prefix, tensor_proto): add a value to record when the graph first runs."},
    {"add_watch", PyAddWatch, METH_VARARGS,
     "add_watch(((prefix, tensor_id, rank), ...), dtype, dims, constants, before): returns the number of a "
     "new watch. The first argument has the watched tensor, then those that hold the same elements, each "
     "with its rank. dims: None, or -1 for a dim that is not known. before: the watches that its op records "
     "before it."},
    {"add_compiled_tensors", PyAddCompiledTensors, METH_O,
     "add_compiled_tensors([(watch, group, whole, elements, tensor_proto, size, size_at, counts), ...]): "
     "returns the number of the tensors that a compiled function passes to its watch op."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                 "_native",
                                 "Watch ops, record encoder and event files.",
                                 -1,
                                 module_methods,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

}  // namespace
}  // namespace tbdbg

PyMODINIT_FUNC PyInit__native() {
  PyObject* module = PyModule_Create(&tbdbg::module_definition);
  if (module == nullptr) return nullptr;
  PyObject* type = PyType_FromSpec(&tbdbg::recorder_spec);
  if (type == nullptr || PyModule_AddObject(module, "Recorder", type) != 0) {
    Py_XDECREF(type);
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
