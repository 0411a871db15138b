#include "watch_op.h"

#include "encode.h"
#include "kernel.h"
#include "recorder.h"

namespace tbdbg {
namespace {

constexpr char kBeside[] = "TbDebuggerWatch";
constexpr char kInline[] = "TbDebuggerWatchInline";
constexpr char kSeveralBeside[] = "TbDebuggerWatchSeveral";
constexpr char kSeveralInline[] = "TbDebuggerWatchSeveralInline";
constexpr char kReduced[] = "TbDebuggerWatchReduced";

// The state of one node: which watch it is, and the places of that watch and of
// those before it, completed by the device, which is known when the op first runs.
struct WatchKernel {
  Watch* watch = nullptr;
  Mode mode = Mode::kNoTensor;  // of what a reduced tensor's numbers are
  std::mutex mutex;
  std::vector<std::vector<Place>> places;  // by input; guarded by mutex until `ready`
  std::atomic<bool> ready{false};

  const std::vector<std::vector<Place>>& PlacesOn(TF_OpKernelContext* context);
};

const std::vector<std::vector<Place>>& WatchKernel::PlacesOn(TF_OpKernelContext* context) {
  if (ready.load(std::memory_order_acquire)) return places;
  std::lock_guard<std::mutex> lock(mutex);
  if (ready.load(std::memory_order_relaxed)) return places;
  places.push_back(tbdbg::PlacesOn(context, *watch));
  for (const Watch* earlier : watch->before) places.push_back(tbdbg::PlacesOn(context, *earlier));
  ready.store(true, std::memory_order_release);
  return places;
}

void* Create(TF_OpKernelConstruction* construction) {
  int64_t number = -1;
  if (!IntAttr(construction, "watch", &number)) return nullptr;
  // A graph from another process may hold a number that means nothing here; it
  // runs, and nothing is recorded.
  auto* kernel = new WatchKernel;
  kernel->watch = FindWatch(number);
  return kernel;
}

void* CreateReduced(TF_OpKernelConstruction* construction) {
  int64_t mode = 0;
  if (!IntAttr(construction, "mode", &mode)) return nullptr;
  void* kernel = Create(construction);
  if (kernel != nullptr) static_cast<WatchKernel*>(kernel)->mode = static_cast<Mode>(mode);
  return kernel;
}

void Delete(void* kernel) { delete static_cast<WatchKernel*>(kernel); }

void Record(WatchKernel* kernel, TF_OpKernelContext* context, Input* input,
            Recorder* recorder) {
  kernel->watch->constants->RecordOnce(recorder);
  const auto& places = kernel->PlacesOn(context);
  Sighting sighting(recorder);
  for (size_t i = 1; i < places.size(); ++i) {
    Input earlier(context, static_cast<int>(i));
    if (earlier.ok()) sighting.Trace(places[i], earlier.View());
  }
  sighting.Trace(places[0], input->View());
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
  Input input(context, 0);
  // A tensor that can't be read is not recorded; the program goes on.
  if (input.ok()) Record(kernel, context, &input, recorder);
}

void ComputeInline(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  Input input(context, 0);
  if (!input.ok()) return tf.TF_OpKernelContext_Failure(context, ThreadStatus());
  Recorder* recorder = WatchingRecorder(kernel);
  if (recorder != nullptr) Record(kernel, context, &input, recorder);
  TF_Status* status = ThreadStatus();
  tf.TF_SetOutput(context, 0, input.tensor(), status);
  if (tf.TF_GetCode(status) != 0) tf.TF_OpKernelContext_Failure(context, status);
}

// Records the numbers that are the input, or, where only that it was computed is
// recorded, that they came. The device that this runs on is not the tensor's.
void ComputeReduced(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  Recorder* recorder = WatchingRecorder(kernel);
  if (recorder == nullptr) return;
  Input input(context, 0);
  if (!input.ok()) return;
  kernel->watch->constants->RecordOnce(recorder);
  const Place& tensor = kernel->watch->places.front();
  const TensorView view = input.View();
  thread_local std::string proto;
  proto.clear();
  Mode mode = kernel->mode;
  if (recorder->mode() == Mode::kNoTensor) {
    mode = Mode::kNoTensor;
    EncodeSummary(view, mode, tensor.tensor_id, -1, &proto);
  } else {
    EncodeVector(static_cast<const double*>(view.data), static_cast<int>(view.num_elements), &proto);
  }
  recorder->Trace(tensor.prefix, mode, proto);
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

std::string Register(const char* name, bool passes_through, bool several,
                     void (*compute)(void*, TF_OpKernelContext*)) {
  TF_OpDefinitionBuilder* op = tf.TF_NewOpDefinitionBuilder(name);
  tf.TF_OpDefinitionBuilderAddAttr(op, "T: type");
  tf.TF_OpDefinitionBuilderAddAttr(op, "watch: int");
  tf.TF_OpDefinitionBuilderAddInput(op, "tensor: T");
  if (several) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
    tf.TF_OpDefinitionBuilderAddInput(op, "before: N * T");
  }
  if (passes_through) tf.TF_OpDefinitionBuilderAddOutput(op, "output: T");
  return RegisterOnCpu(name, op, Create, compute, Delete, passes_through ? InlineShape : nullptr);
}

std::string RegisterReduced() {
  TF_OpDefinitionBuilder* op = tf.TF_NewOpDefinitionBuilder(kReduced);
  tf.TF_OpDefinitionBuilderAddAttr(op, "watch: int");
  tf.TF_OpDefinitionBuilderAddAttr(op, "mode: int");
  tf.TF_OpDefinitionBuilderAddInput(op, "numbers: double");
  return RegisterOnCpu(kReduced, op, CreateReduced, ComputeReduced, Delete);
}

}  // namespace

std::string RegisterWatchOps() {
  static const std::string failure = [] {
    std::string failure = Register(kBeside, false, false, ComputeBeside);
    if (failure.empty()) failure = Register(kInline, true, false, ComputeInline);
    if (failure.empty()) failure = Register(kSeveralBeside, false, true, ComputeBeside);
    if (failure.empty()) failure = Register(kSeveralInline, true, true, ComputeInline);
    return failure.empty() ? RegisterReduced() : failure;
  }();
  return failure;
}

}  // namespace tbdbg
