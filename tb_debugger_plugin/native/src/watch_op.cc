#include "watch_op.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "encode.h"
#include "gate_op.h"
#include "kernel.h"
#include "recorder.h"
#include "tf_classes.h"
#include "watches.h"

namespace tbdbg {
namespace {

constexpr char kBeside[] = "TbDebuggerWatch";
constexpr char kInline[] = "TbDebuggerWatchInline";
constexpr char kSeveralBeside[] = "TbDebuggerWatchSeveral";
constexpr char kSeveralInline[] = "TbDebuggerWatchSeveralInline";
constexpr char kReduced[] = "TbDebuggerWatchReduced";

// The state of one node: its watch, and members that its first run sets.
struct WatchKernel {
  Watch* watch = nullptr;
  Mode mode = Mode::kNoTensor;  // of a reduced tensor's numbers

  void Prepare(TF_OpKernelContext* context);
  // Null until they have given the same results as the C API for the inputs.
  const TfClasses* classes() const { return agrees.load(std::memory_order_acquire) ? Classes() : nullptr; }

  std::once_flag once;
  // The trace targets of the watch and of those before it, completed by the device.
  std::vector<std::vector<TraceTarget>> targets;
  std::atomic<bool> agrees{false};
};

const StaticShape& ShapeOf(const Watch& watch, size_t input) {
  return input == 0 ? watch.shape : watch.before[input - 1]->shape;
}

// An input of a watch op. It is read through TensorFlow's classes if `classes` is not
// null; otherwise, or if that is not enough, through a handle of the C API.
class WatchedInput {
 public:
  WatchedInput(TF_OpKernelContext* context, size_t index, const TfClasses* classes)
      : context_(context), index_(static_cast<int>(index)), classes_(classes) {
    if (classes_ != nullptr) tensor_ = &classes_->input(context, index_);
  }

  // Makes a view of the tensor, valid while this object lives. False if it cannot be
  // read: then it is not recorded, and the program goes on.
  bool View(const StaticShape& shape, TensorView* view) {
    if (tensor_ != nullptr && ViewAsItIs(shape, view)) return true;
    if (!handle().ok()) return false;
    *view = handle_->View();
    return true;
  }

  // Makes the input the op's output.
  void PassOn() {
    if (tensor_ != nullptr) return classes_->set_output(context_, 0, *tensor_);
    TF_Status* status = ThreadStatus();
    if (handle().ok()) tf.TF_SetOutput(context_, 0, handle_->tensor(), status);
    if (tf.TF_GetCode(status) != 0) tf.TF_OpKernelContext_Failure(context_, status);
  }

  // Whether the classes and the C API give the same results for it.
  bool Agrees(const StaticShape& shape) {
    TensorView view;
    if (!handle().ok() || !ViewAsItIs(shape, &view)) return false;
    const TensorView expected = handle_->View();
    if (view.data != expected.data || view.byte_size != expected.byte_size) {
      DistrustClasses();
      return false;
    }
    return view.dtype == expected.dtype && view.rank == expected.rank &&
           std::equal(view.dims, view.dims + view.rank, expected.dims);
  }

 private:
  bool ViewAsItIs(const StaticShape& shape, TensorView* view) {
    const void* data = classes_->data(*tensor_);
    return data != nullptr && shape.View(data, classes_->byte_size(*tensor_), dims_, view);
  }

  Input& handle() {
    if (!handle_) handle_.emplace(context_, index_);
    return *handle_;
  }

  TF_OpKernelContext* const context_;
  const int index_;
  const TfClasses* const classes_;
  const Tensor* tensor_ = nullptr;
  std::optional<Input> handle_;
  int64_t dims_[kMaxRank];
};

void WatchKernel::Prepare(TF_OpKernelContext* context) {
  std::call_once(once, [&] {
    targets.push_back(TargetsOn(context, *watch));
    for (const Watch* earlier : watch->before) targets.push_back(TargetsOn(context, *earlier));
    if (Classes() == nullptr) return;
    bool all = true;
    for (size_t i = 0; i < targets.size(); ++i) {
      all = all && WatchedInput(context, i, Classes()).Agrees(ShapeOf(*watch, i));
    }
    agrees.store(all, std::memory_order_release);
  });
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

// What is known of the tensors of a node; empty if nothing is.
using AllMeasured = std::vector<Measured>;

// Records the tensors of a node. Returns the number of a ring of the alarm, or 0. `*measured`: gets what was
// computed for that, if it is not empty.
int64_t Record(WatchKernel* kernel, TF_OpKernelContext* context, WatchedInput* input, Recorder* recorder,
               AllMeasured* measured) {
  const auto of = [&](size_t i) { return i < measured->size() ? &(*measured)[i] : nullptr; };
  const Watch& watch = *kernel->watch;
  watch.constants->RecordOnce(recorder);
  kernel->Prepare(context);
  TraceBatch batch(recorder);
  TensorView view;
  for (size_t i = 1; i < kernel->targets.size(); ++i) {
    WatchedInput earlier(context, i, kernel->classes());
    if (earlier.View(ShapeOf(watch, i), &view)) batch.Trace(kernel->targets[i], view, of(i));
  }
  if (input->View(watch.shape, &view)) batch.Trace(kernel->targets[0], view, of(0));
  return batch.rang();
}

// Lets the tensors of a node pass the gate in the order in which they were computed. Returns the value that
// the consumers get instead of the input, or null.
std::shared_ptr<const HeldValue> PassGate(WatchKernel* kernel, TF_OpKernelContext* context,
                                          WatchedInput* input, Recorder* recorder,
                                          const AllMeasured& measured, bool is_inline) {
  const Watch& watch = *kernel->watch;
  kernel->Prepare(context);
  OpAtGate op(context, &recorder->gate());
  const auto of = [&](size_t i) { return i < measured.size() ? measured[i] : Measured(); };
  TensorView view;
  for (size_t i = 1; i < kernel->targets.size(); ++i) {
    WatchedInput earlier(context, i, kernel->classes());
    if (earlier.View(ShapeOf(watch, i), &view))
      op.Pass(kernel->targets[i], view, i, of(i), CannotChange::kCoalesced);
  }
  if (!input->View(watch.shape, &view)) return nullptr;
  const CannotChange cannot_change = is_inline ? CannotChange::kCanChange : CannotChange::kBeside;
  return op.Pass(kernel->targets[0], view, 0, of(0), cannot_change);
}

// The recorder for which this node was made, if it records; else null.
Recorder* RecorderOf(const WatchKernel* kernel) {
  Recorder* recorder = CurrentRecorder();
  if (recorder == nullptr || !recorder->on()) return nullptr;
  return kernel->watch != nullptr && kernel->watch->recorder == recorder ? recorder : nullptr;
}

// Records the tensors of a node, and lets them pass the gate. Returns whether the op failed; `*replacement`:
// the value that the consumers get instead, or null.
bool RecordAndPass(WatchKernel* kernel, TF_OpKernelContext* context, WatchedInput* input, bool is_inline,
                   std::shared_ptr<const HeldValue>* replacement) {
  Recorder* recorder = RecorderOf(kernel);
  if (recorder == nullptr) return false;
  AllMeasured measured(recorder->gate().wanted() ? 1 + kernel->watch->before.size() : 0);
  int64_t rang = 0;
  const bool is_recorded = recorder->wanted() && kernel->watch->targets.front().is_recorded;
  if (is_recorded) rang = Record(kernel, context, input, recorder, &measured);
  if (recorder->gate().wanted()) {
    *replacement = PassGate(kernel, context, input, recorder, measured, is_inline);
    if (*replacement != nullptr) {  // It is on record too. What was bad is mended.
      if (is_recorded) TraceBatch(recorder).Trace(kernel->targets[0], (*replacement)->view);
      return false;
    }
  }
  return FailIf(rang, context, recorder);
}

void ComputeBeside(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  WatchedInput input(context, 0, kernel->classes());
  std::shared_ptr<const HeldValue> replacement;
  RecordAndPass(kernel, context, &input, false, &replacement);
}

void ComputeInline(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  WatchedInput input(context, 0, kernel->classes());
  std::shared_ptr<const HeldValue> replacement;
  if (RecordAndPass(kernel, context, &input, true, &replacement)) return;
  if (replacement == nullptr) return input.PassOn();
  SetOutput(context, *replacement);
}

// Returns the number of a ring of the alarm, or 0.
int64_t RecordReduced(const WatchKernel& kernel, const TensorView& view, Recorder* recorder) {
  kernel.watch->constants->RecordOnce(recorder);
  const TraceTarget& target = kernel.watch->targets.front();
  thread_local EncodedTensor encoded;
  encoded.proto.clear();
  encoded.mode = kernel.mode;
  if (recorder->mode() == Mode::kNoTensor) {
    encoded.mode = Mode::kNoTensor;
    EncodeSummary(view, encoded.mode, target.tensor_id, -1, &encoded.proto);
  } else {
    EncodeVector(static_cast<const double*>(view.data), static_cast<int>(view.num_elements), &encoded.proto);
  }
  TraceBatch batch(recorder);
  batch.Trace(target, encoded);
  return batch.rang();
}

// Records the numbers in the input; in NO_TENSOR, only that the tensor was computed.
// This runs on another device than the tensor's.
void ComputeReduced(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<WatchKernel*>(state);
  Recorder* recorder = RecorderOf(kernel);
  if (recorder == nullptr) return;
  Input input(context, 0);
  if (!input.ok()) return;
  const TensorView view = input.View();
  const int64_t rang = recorder->wanted() ? RecordReduced(*kernel, view, recorder) : 0;
  const TraceTarget& target = kernel->watch->targets.front();
  if (recorder->gate().wanted()) PassNumbers(target, view, kernel->mode, context, &recorder->gate());
  FailIf(rang, context, recorder);
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
  const auto describe = [=](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "T: type");
    tf.TF_OpDefinitionBuilderAddAttr(op, "watch: int");
    tf.TF_OpDefinitionBuilderAddInput(op, "tensor: T");
    if (several) {
      tf.TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
      tf.TF_OpDefinitionBuilderAddInput(op, "before: N * T");
    }
    if (passes_through) tf.TF_OpDefinitionBuilderAddOutput(op, "output: T");
  };
  return RegisterOnCpu(name, describe, Create, compute, Delete, passes_through ? InlineShape : nullptr);
}

std::string RegisterReduced() {
  const auto describe = [](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "watch: int");
    tf.TF_OpDefinitionBuilderAddAttr(op, "mode: int");
    tf.TF_OpDefinitionBuilderAddInput(op, "numbers: double");
  };
  return RegisterOnCpu(kReduced, describe, CreateReduced, ComputeReduced, Delete);
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
