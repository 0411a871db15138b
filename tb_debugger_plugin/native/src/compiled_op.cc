#include "compiled_op.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <numeric>

#include "encode.h"
#include "gate_op.h"
#include "kernel.h"
#include "recorder.h"

namespace tbdbg {
namespace {

constexpr char kName[] = "TbDebuggerWatchCompiled";
// The bits of infinity as a float64.
constexpr int64_t kInfinity = 0x7FF0000000000000;
// The columns of CompiledTensor::counts.
constexpr int kBadCounts[] = {IndexOf(Mode::kConciseHealth, Column::kNegInf),
                              IndexOf(Mode::kConciseHealth, Column::kPosInf),
                              IndexOf(Mode::kConciseHealth, Column::kNan)};
constexpr int kMeasurements = 0, kFirstBadTurn = 1, kFirstWhole = 2;  // indices of inputs

using Tensors = std::vector<CompiledTensor>;

std::mutex tables_mutex;
// A deque never moves its elements. Guarded by tables_mutex.
std::deque<Tensors>& Tables() {
  static auto* tables = new std::deque<Tensors>;
  return *tables;
}

// XLA has just compiled more than it would without a recorder, and the allocator
// keeps the memory that this took: 100 MB for a transformer of four layers.
void GiveMemoryBack() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

bool IsMeasured(const CompiledTensor& tensor) { return tensor.whole < 0 && tensor.tensor_proto.empty(); }

bool HasSize(const CompiledTensor& tensor) { return tensor.size >= 0 || tensor.size_at >= 0; }

struct CompiledKernel {
  const Tensors* tensors = nullptr;
  std::once_flag once;
  // The trace targets of the watches, with the device. Those of a measured tensor are
  // prepared: `targets` for its counts, `curt_targets` for whether it is bad; each
  // only if the tensor can be recorded so.
  std::vector<std::vector<TraceTarget>> targets, curt_targets;
  std::vector<size_t> by_group;

  void Prepare(TF_OpKernelContext* context) {
    std::call_once(once, [&] {
      for (const auto& tensor : *tensors) {
        targets.push_back(TargetsOn(context, *tensor.watch));
        curt_targets.emplace_back();
        if (!IsMeasured(tensor)) continue;
        if (tensor.counts.empty()) {
          curt_targets.back() = targets.back();
          curt_targets.back()[0].PrepareTo(Mode::kCurtHealth);
        }
        if (HasSize(tensor)) targets.back()[0].PrepareTo(Mode::kConciseHealth);
      }
      by_group.resize(tensors->size());
      std::iota(by_group.begin(), by_group.end(), 0);
      std::stable_sort(by_group.begin(), by_group.end(),
                       [&](size_t a, size_t b) { return (*tensors)[a].group < (*tensors)[b].group; });
      GiveMemoryBack();
    });
  }
};

// An input as a vector of numbers; empty when there is no such input.
class Vector {
 public:
  Vector(TF_OpKernelContext* context, int index) : input_(context, index) {
    if (!input_.ok()) return;
    const TensorView view = input_.View();
    data_ = static_cast<const int64_t*>(view.data);
    size_ = view.byte_size / sizeof(int64_t);
  }

  bool Has(int64_t i) const { return i >= 0 && static_cast<size_t>(i) < size_; }
  int64_t operator[](int64_t i) const { return data_[i]; }
  bool AnyAbove(int64_t number) const {
    return std::any_of(data_, data_ + size_, [=](int64_t element) { return element > number; });
  }

 private:
  Input input_;
  const int64_t* data_ = nullptr;
  size_t size_ = 0;
};

// The largest of a tensor's elements of `measurements` or `first_bad_turn`.
int64_t LargestOf(const CompiledTensor& tensor, const Vector& vector) {
  int64_t largest = -1;
  for (const int64_t i : tensor.elements) {
    if (vector.Has(i)) largest = std::max(largest, vector[i]);
  }
  return largest;
}

// Indices of the tensors in the order in which they are recorded. Most often no
// tensor was bad in a later turn of a loop; then it is the order of groups, which the
// kernel has.
std::vector<size_t> Order(const Tensors& tensors, const Vector& first_bad_turn,
                          const std::vector<size_t>& by_group) {
  if (!first_bad_turn.AnyAbove(0)) return by_group;
  std::vector<size_t> order = by_group;
  std::vector<int64_t> turns;
  turns.reserve(tensors.size());
  for (const auto& tensor : tensors) turns.push_back(std::max(LargestOf(tensor, first_bad_turn), int64_t{0}));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (tensors[a].group != tensors[b].group) return tensors[a].group < tensors[b].group;
    return turns[a] < turns[b];
  });
  return order;
}

// How bad a tensor is that was computed and has this magnitude.
Bad HowBad(int64_t magnitude) {
  return magnitude < kInfinity ? Bad::kNo : magnitude == kInfinity ? Bad::kInfinite : Bad::kNan;
}

using CurtColumns = std::array<double, ColumnsOf(Mode::kCurtHealth)>;
using ConciseColumns = std::array<double, ColumnsOf(Mode::kConciseHealth)>;

CurtColumns CurtColumnsOf(double tensor_id, Bad bad) {
  CurtColumns columns{};
  columns[IndexOf(Mode::kCurtHealth, Column::kTensorId)] = tensor_id;
  columns[IndexOf(Mode::kCurtHealth, Column::kAnyBad)] = bad == Bad::kNo ? 0.0 : 1.0;
  return columns;
}

// The columns of a tensor with a size. Counts that were not measured are zeros.
ConciseColumns ConciseColumnsOf(const CompiledTensor& tensor, double tensor_id, const Vector& measurements) {
  const int64_t size = measurements.Has(tensor.size_at) ? measurements[tensor.size_at] : tensor.size;
  ConciseColumns columns{};
  columns[IndexOf(Mode::kConciseHealth, Column::kTensorId)] = tensor_id;
  columns[IndexOf(Mode::kConciseHealth, Column::kSize)] = static_cast<double>(size);
  for (size_t kind = 0; kind < tensor.counts.size(); ++kind) {
    const int64_t index = tensor.counts[kind];
    if (measurements.Has(index)) columns[kBadCounts[kind]] = static_cast<double>(measurements[index]);
  }
  return columns;
}

// Records a measured tensor.
void Record(const CompiledKernel& kernel, size_t i, const Vector& measurements, Bad bad, TraceBatch* batch) {
  const CompiledTensor& tensor = (*kernel.tensors)[i];
  const bool is_counted = bad == Bad::kNo || !tensor.counts.empty();
  if (HasSize(tensor) && is_counted) {
    const TraceTarget& target = kernel.targets[i][0];
    batch->Trace(target, ConciseColumnsOf(tensor, target.tensor_id, measurements).data(), bad);
  } else {
    const TraceTarget& target = kernel.curt_targets[i][0];
    batch->Trace(target, CurtColumnsOf(target.tensor_id, bad).data(), bad);
  }
}

// Returns the number of a ring of the alarm, or 0.
int64_t RecordAll(CompiledKernel* kernel, TF_OpKernelContext* context, Recorder* recorder) {
  const Vector measurements(context, kMeasurements);
  const Vector first_bad_turn(context, kFirstBadTurn);
  kernel->Prepare(context);
  TraceBatch batch(recorder);
  for (const size_t i : Order(*kernel->tensors, first_bad_turn, kernel->by_group)) {
    const CompiledTensor& tensor = (*kernel->tensors)[i];
    tensor.watch->constants->RecordOnce(recorder);
    const std::vector<TraceTarget>& targets = kernel->targets[i];
    if (tensor.whole >= 0) {
      Input whole(context, kFirstWhole + static_cast<int>(tensor.whole));
      if (whole.ok()) batch.Trace(targets, whole.View());
      continue;
    }
    const int64_t magnitude = LargestOf(tensor, measurements);
    if (magnitude < 0) continue;  // in a branch that was not taken
    if (!tensor.tensor_proto.empty()) {
      batch.Trace(targets[0], {tensor.tensor_proto, recorder->mode(), {}});
      continue;
    }
    Record(*kernel, i, measurements, HowBad(magnitude), &batch);
  }
  return batch.rang();
}

// Lets the tensors that were computed pass the gate. Their function has run.
void PassAll(CompiledKernel* kernel, TF_OpKernelContext* context, Recorder* recorder) {
  const Vector measurements(context, kMeasurements);
  const Vector first_bad_turn(context, kFirstBadTurn);
  kernel->Prepare(context);
  OpAtGate op(context, &recorder->gate());
  for (const size_t i : Order(*kernel->tensors, first_bad_turn, kernel->by_group)) {
    const CompiledTensor& tensor = (*kernel->tensors)[i];
    if (tensor.whole >= 0) {
      const int input = kFirstWhole + static_cast<int>(tensor.whole);
      Input whole(context, input);
      if (whole.ok()) {
        op.Pass(kernel->targets[i], whole.View(), static_cast<size_t>(input), {}, CannotChange::kCompiled);
      }
      continue;
    }
    const int64_t magnitude = LargestOf(tensor, measurements);
    if (magnitude < 0) continue;  // in a branch that was not taken
    std::optional<Bad> bad;
    if (tensor.tensor_proto.empty()) bad = HowBad(magnitude);
    PassCompiled(kernel->targets[i][0], bad, context, &recorder->gate());
  }
}

void* Create(TF_OpKernelConstruction* construction) {
  int64_t number = -1;
  if (!IntAttr(construction, "tensors", &number)) return nullptr;
  auto* kernel = new CompiledKernel;
  std::lock_guard<std::mutex> lock(tables_mutex);
  if (number >= 0 && number < static_cast<int64_t>(Tables().size())) {
    kernel->tensors = &Tables()[number];
  }
  return kernel;
}

void Compute(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<CompiledKernel*>(state);
  Recorder* recorder = CurrentRecorder();
  if (recorder == nullptr || !recorder->on()) return;
  if (kernel->tensors == nullptr || kernel->tensors->empty()) return;
  if (kernel->tensors->front().watch->recorder != recorder) return;
  const int64_t rang = recorder->wanted() ? RecordAll(kernel, context, recorder) : 0;
  if (recorder->gate().wanted()) PassAll(kernel, context, recorder);
  FailIf(rang, context, recorder);
}

void Delete(void* kernel) { delete static_cast<CompiledKernel*>(kernel); }

}  // namespace

int64_t AddCompiledTensors(std::vector<CompiledTensor> tensors) {
  std::lock_guard<std::mutex> lock(tables_mutex);
  Tables().push_back(std::move(tensors));
  return static_cast<int64_t>(Tables().size()) - 1;
}

std::string RegisterCompiledOp() {
  static const std::string failure = [] {
    const auto describe = [](TF_OpDefinitionBuilder* op) {
      tf.TF_OpDefinitionBuilderAddAttr(op, "T: list(type) >= 0");
      tf.TF_OpDefinitionBuilderAddAttr(op, "tensors: int");
      tf.TF_OpDefinitionBuilderAddInput(op, "measurements: int64");
      tf.TF_OpDefinitionBuilderAddInput(op, "first_bad_turn: int64");
      tf.TF_OpDefinitionBuilderAddInput(op, "whole: T");
    };
    return RegisterOnCpu(kName, describe, Create, Compute, Delete);
  }();
  return failure;
}

}  // namespace tbdbg
