#include "watch_op.h"

#include "recorder.h"
#include "tf_api.h"

namespace tbdbg {
namespace {

constexpr char kBeside[] = "TbDebuggerWatch";
constexpr char kInline[] = "TbDebuggerWatchInline";
constexpr int kMaxRank = 254;  // TensorFlow's own limit

class Status {
 public:
  Status() : status_(tf.TF_NewStatus()) {}
  ~Status() { tf.TF_DeleteStatus(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TF_Status* get() const { return status_; }
  bool ok() const { return tf.TF_GetCode(status_) == 0; }
  std::string message() const { return tf.TF_Message(status_); }

 private:
  TF_Status* status_;
};

// The state of one node: which watch it is, and that watch's prefix completed
// by the device, which is known when the op first runs.
struct WatchKernel {
  Watch* watch = nullptr;
  std::mutex mutex;
  std::string prefix;  // guarded by mutex until `ready`
  std::atomic<bool> ready{false};

  const std::string& PrefixOn(TF_OpKernelContext* context);
};

constexpr char kDeviceNameTag = 6 << 3 | 2;  // GraphExecutionTrace.device_name

const std::string& WatchKernel::PrefixOn(TF_OpKernelContext* context) {
  if (ready.load(std::memory_order_acquire)) return prefix;
  std::lock_guard<std::mutex> lock(mutex);
  if (ready.load(std::memory_order_relaxed)) return prefix;
  prefix = watch->prefix;
  if (tf.TF_GetDeviceName != nullptr) {
    const TF_StringView name = tf.TF_GetDeviceName(context);
    if (name.len > 0 && name.len < 128) {  // one length byte
      prefix.push_back(kDeviceNameTag);
      prefix.push_back(static_cast<char>(name.len));
      prefix.append(name.data, name.len);
    }
  }
  ready.store(true, std::memory_order_release);
  return prefix;
}

void* Create(TF_OpKernelConstruction* construction) {
  Status status;
  int64_t number = -1;
  tf.TF_OpKernelConstruction_GetAttrInt64(construction, "watch", &number, status.get());
  if (!status.ok()) {
    tf.TF_OpKernelConstruction_Failure(construction, status.get());
    return nullptr;
  }
  // A graph from another process may hold a number that means nothing here; it
  // runs, and nothing is recorded.
  auto* kernel = new WatchKernel;
  kernel->watch = FindWatch(number);
  return kernel;
}

void Delete(void* kernel) { delete static_cast<WatchKernel*>(kernel); }

void Record(WatchKernel* kernel, TF_OpKernelContext* context, const TF_Tensor* tensor,
            Recorder* recorder) {
  int64_t dims[kMaxRank];
  TensorView view;
  view.data = tf.TF_TensorData(tensor);
  view.byte_size = tf.TF_TensorByteSize(tensor);
  view.dtype = tf.TF_TensorType(tensor);
  view.rank = tf.TF_NumDims(tensor);
  view.num_elements = 1;
  view.dims = dims;
  for (int i = 0; i < view.rank; ++i) {
    dims[i] = tf.TF_Dim(tensor, i);
    view.num_elements *= dims[i];
  }
  kernel->watch->constants->RecordOnce(recorder);
  recorder->Trace(kernel->PrefixOn(context), kernel->watch->tensor_id, view);
}

// The recorder that wants to see this node's tensor, or null.
Recorder* WatchingRecorder(const WatchKernel* kernel) {
  Recorder* recorder = CurrentRecorder();
  if (recorder == nullptr || !recorder->wanted()) return nullptr;
  return kernel->watch != nullptr && kernel->watch->recorder == recorder ? recorder : nullptr;
}

void ComputeBeside(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  Recorder* recorder = WatchingRecorder(kernel);
  if (recorder == nullptr) return;
  Status status;
  TF_Tensor* tensor = nullptr;
  tf.TF_GetInput(context, 0, &tensor, status.get());
  // A tensor that can't be read is not recorded; the program goes on.
  if (!status.ok()) return;
  Record(kernel, context, tensor, recorder);
  tf.TF_DeleteTensor(tensor);
}

void ComputeInline(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  Status status;
  TF_Tensor* tensor = nullptr;
  tf.TF_GetInput(context, 0, &tensor, status.get());
  if (!status.ok()) return tf.TF_OpKernelContext_Failure(context, status.get());
  Recorder* recorder = WatchingRecorder(kernel);
  if (recorder != nullptr) Record(kernel, context, tensor, recorder);
  tf.TF_SetOutput(context, 0, tensor, status.get());
  tf.TF_DeleteTensor(tensor);
  if (!status.ok()) tf.TF_OpKernelContext_Failure(context, status.get());
}

// The output has the shape of the input.
void InlineShape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* shape = tf.TF_NewShapeHandle();
  tf.TF_ShapeInferenceContextGetInput(context, 0, shape, status);
  if (tf.TF_GetCode(status) == 0) {
    tf.TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
  }
  tf.TF_DeleteShapeHandle(shape);
}

void NoShape(TF_ShapeInferenceContext*, TF_Status*) {}

std::string Register(const char* name, bool passes_through,
                     void (*compute)(void*, TF_OpKernelContext*)) {
  Status status;
  TF_OpDefinitionBuilder* op = tf.TF_NewOpDefinitionBuilder(name);
  tf.TF_OpDefinitionBuilderAddAttr(op, "T: type");
  tf.TF_OpDefinitionBuilderAddAttr(op, "watch: int");
  tf.TF_OpDefinitionBuilderAddInput(op, "tensor: T");
  if (passes_through) tf.TF_OpDefinitionBuilderAddOutput(op, "output: T");
  // Stateful: never folded, merged with its like, or dropped as unused.
  tf.TF_OpDefinitionBuilderSetIsStateful(op, true);
  tf.TF_OpDefinitionBuilderSetShapeInferenceFunction(op, passes_through ? InlineShape : NoShape);
  tf.TF_RegisterOpDefinition(op, status.get());
  if (!status.ok()) return status.message();
  TF_KernelBuilder* kernel = tf.TF_NewKernelBuilder(name, "CPU", Create, compute, Delete);
  tf.TF_RegisterKernelBuilder(name, kernel, status.get());
  return status.ok() ? "" : status.message();
}

}  // namespace

std::string RegisterWatchOps() {
  static const std::string failure = [] {
    const std::string beside = Register(kBeside, false, ComputeBeside);
    return beside.empty() ? Register(kInline, true, ComputeInline) : beside;
  }();
  return failure;
}

}  // namespace tbdbg
