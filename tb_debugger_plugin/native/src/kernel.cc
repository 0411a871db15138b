#include "kernel.h"

namespace tbdbg {
namespace {

constexpr char kDeviceNameTag = 6 << 3 | 2;  // GraphExecutionTrace.device_name

// TF_INVALID_ARGUMENT, which TensorFlow's own op CheckNumerics fails with.
constexpr int kInvalidArgument = 3;

void NoShape(TF_ShapeInferenceContext*, TF_Status*) {}

}  // namespace

TF_Status* ThreadStatus() {
  thread_local Status status;
  return status.get();
}

Input::Input(TF_OpKernelContext* context, int index) {
  TF_Status* status = ThreadStatus();
  tf.TF_GetInput(context, index, &tensor_, status);
  if (tf.TF_GetCode(status) != 0) tensor_ = nullptr;
}

TensorView Input::View() {
  TensorView view;
  view.data = tf.TF_TensorData(tensor_);
  view.byte_size = tf.TF_TensorByteSize(tensor_);
  view.dtype = tf.TF_TensorType(tensor_);
  view.rank = tf.TF_NumDims(tensor_);
  view.num_elements = 1;
  view.dims = dims_;
  for (int i = 0; i < view.rank; ++i) {
    dims_[i] = tf.TF_Dim(tensor_, i);
    view.num_elements *= dims_[i];
  }
  return view;
}

Input::~Input() {
  if (tensor_ != nullptr) tf.TF_DeleteTensor(tensor_);
}

bool IntAttr(TF_OpKernelConstruction* construction, const char* name, int64_t* value) {
  Status status;
  tf.TF_OpKernelConstruction_GetAttrInt64(construction, name, value, status.get());
  if (!status.ok()) tf.TF_OpKernelConstruction_Failure(construction, status.get());
  return status.ok();
}

std::vector<TraceTarget> TargetsOn(TF_OpKernelContext* context, const Watch& watch) {
  std::string device;
  if (tf.TF_GetDeviceName != nullptr) {
    const TF_StringView name = tf.TF_GetDeviceName(context);
    if (name.len > 0 && name.len < 128) {  // one length byte
      device = {kDeviceNameTag, static_cast<char>(name.len)};
      device.append(name.data, name.len);
    }
  }
  std::vector<TraceTarget> targets = watch.targets;
  for (TraceTarget& target : targets) {
    target.prefix += device;
    target.PrepareTo(watch.recorder->mode());
  }
  return targets;
}

bool FailIf(int64_t rang, TF_OpKernelContext* context, Recorder* recorder) {
  if (rang == 0 || !recorder->alarm().fails_graphs()) return false;
  // Python finds the number (capture/alarm.py) and replaces the message.
  const std::string message =
      "A tensor has an infinity or NaN [tb_debugger_plugin " + std::to_string(rang) + "]";
  Status status;
  tf.TF_SetStatus(status.get(), kInvalidArgument, message.c_str());
  tf.TF_OpKernelContext_Failure(context, status.get());
  return true;
}

std::string RegisterOnCpu(const std::string& name,
                          const std::function<void(TF_OpDefinitionBuilder*)>& describe,
                          void* (*create)(TF_OpKernelConstruction*),
                          void (*compute)(void*, TF_OpKernelContext*), void (*destroy)(void*),
                          void (*shape)(TF_ShapeInferenceContext*, TF_Status*)) {
  for (const bool stateful : {true, false}) {
    const std::string registered = stateful ? name : name + kInPipeline;
    Status status;
    TF_OpDefinitionBuilder* op = tf.TF_NewOpDefinitionBuilder(registered.c_str());
    describe(op);
    // Given false, TensorFlow's function makes the op stateful, too.
    if (stateful) tf.TF_OpDefinitionBuilderSetIsStateful(op, true);
    tf.TF_OpDefinitionBuilderSetShapeInferenceFunction(op, shape == nullptr ? NoShape : shape);
    tf.TF_RegisterOpDefinition(op, status.get());
    if (!status.ok()) return status.message();
    TF_KernelBuilder* kernel = tf.TF_NewKernelBuilder(registered.c_str(), "CPU", create, compute, destroy);
    tf.TF_RegisterKernelBuilder(registered.c_str(), kernel, status.get());
    if (!status.ok()) return status.message();
  }
  return "";
}

}  // namespace tbdbg
