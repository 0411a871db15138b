#include "gate_op.h"

#include <cstring>
#include <string>

#include "kernel.h"
#include "static_shape.h"

namespace tbdbg {
namespace {

// Makes references to an input of an op.
class InputHolder : public Holder {
 public:
  // `dims`: the shape of the tensor that has the elements of the input; must live as long.
  InputHolder(TF_OpKernelContext* context, size_t input, const std::vector<int64_t>& dims, bool copies)
      : context_(context), input_(static_cast<int>(input)), dims_(dims), copies_(copies) {}

  std::shared_ptr<const HeldValue> Hold() const override {
    TF_Tensor* tensor = nullptr;
    TF_Status* status = ThreadStatus();
    tf.TF_GetInput(context_, input_, &tensor, status);
    if (tf.TF_GetCode(status) != 0) return nullptr;
    auto value = std::make_shared<HeldValue>();
    value->owner = std::shared_ptr<const void>(tensor, [](TF_Tensor* held) { tf.TF_DeleteTensor(held); });
    Describe(tensor, value.get());
    if (copies_ && value->view.dtype != kString) Copy(value.get());
    return value;
  }

 private:
  void Describe(const TF_Tensor* tensor, HeldValue* value) const {
    TensorView& view = value->view;
    view.data = tf.TF_TensorData(tensor);
    view.byte_size = tf.TF_TensorByteSize(tensor);
    view.dtype = tf.TF_TensorType(tensor);
    view.num_elements = 1;
    for (const int64_t dim : dims_) view.num_elements *= dim;
    value->dims = dims_;
    view.rank = static_cast<int>(dims_.size());
    view.dims = value->dims.data();
  }

  static void Copy(HeldValue* value) {
    auto bytes = std::make_shared<const std::string>(static_cast<const char*>(value->view.data),
                                                     value->view.byte_size);
    value->view.data = bytes->data();
    value->owner = std::move(bytes);
  }

  TF_OpKernelContext* const context_;
  const int input_;
  const std::vector<int64_t>& dims_;
  const bool copies_;
};

std::vector<int64_t> DimsOf(const TensorView& view) { return {view.dims, view.dims + view.rank}; }

int64_t StepOf(TF_OpKernelContext* context) { return tf.TF_StepId == nullptr ? 0 : tf.TF_StepId(context); }

// Whether elements of a dtype are plain numbers.
bool HasNumbers(const TensorView& view) { return view.dtype != kString; }

}  // namespace

std::shared_ptr<const HeldValue> OpAtGate::Pass(const std::vector<TraceTarget>& targets,
                                                const TensorView& view, size_t input,
                                                const Measured& measured, CannotChange cannot_change) {
  std::shared_ptr<const HeldValue> replacement;
  for (const TraceTarget& target : targets) {
    const bool is_first = &target == &targets[0];
    std::vector<int64_t> dims = is_first ? DimsOf(view) : target.dims;
    const bool has_shape = CompleteShape(view.num_elements, &dims);
    if (!has_shape) dims = DimsOf(view);  // The elements can be read all the same.
    const InputHolder holder(context_, input, dims, target.is_added_into);
    TensorView own_view = view;
    own_view.rank = static_cast<int>(dims.size());
    own_view.dims = dims.data();
    Passing passing;
    passing.tensor_id = static_cast<int64_t>(target.tensor_id);
    passing.view = &own_view;
    passing.has_shape = has_shape;
    passing.holder = &holder;
    passing.numbers = measured.numbers;
    passing.numbers.Set(Number::kSize, static_cast<double>(view.num_elements));
    passing.bad = measured.bad;
    passing.cannot_change = is_first ? cannot_change : CannotChange::kCoalesced;
    passing.others_may_have_passed = passing.cannot_change != CannotChange::kCanChange;
    passing.in_pipeline = target.in_pipeline;
    passing.step = StepOf(context_);
    passing.is_recorded = target.is_recorded;
    if (passing.cannot_change == CannotChange::kCanChange && !HasNumbers(view)) {
      passing.cannot_change = CannotChange::kNoNumbers;
    }
    std::shared_ptr<const HeldValue> changed = gate_->Pass(passing);
    if (changed != nullptr) replacement = std::move(changed);
  }
  return replacement;
}

void PassNumbers(const TraceTarget& target, const TensorView& columns, Mode mode, TF_OpKernelContext* context,
                 Gate* gate) {
  Passing passing;
  passing.tensor_id = static_cast<int64_t>(target.tensor_id);
  if (columns.num_elements >= ColumnsOf(mode)) {
    const auto* values = static_cast<const double*>(columns.data);
    passing.numbers = NumbersOf(values, mode);
    if (SpecOf(mode).judges) passing.bad = HowBad(values, mode);
  }
  passing.cannot_change = CannotChange::kOtherDevice;
  passing.step = StepOf(context);
  passing.in_pipeline = target.in_pipeline;
  gate->Pass(passing);
}

void PassCompiled(const TraceTarget& target, std::optional<Bad> bad, TF_OpKernelContext* context,
                  Gate* gate) {
  Passing passing;
  passing.tensor_id = static_cast<int64_t>(target.tensor_id);
  passing.bad = bad;
  passing.cannot_change = CannotChange::kCompiled;
  passing.step = StepOf(context);
  passing.in_pipeline = target.in_pipeline;
  gate->Pass(passing);
}

void SetOutput(TF_OpKernelContext* context, const HeldValue& value) {
  TF_Status* status = ThreadStatus();
  const TensorView& view = value.view;
  TF_Tensor* output =
      tf.TF_AllocateOutput(context, 0, view.dtype, view.dims, view.rank, view.byte_size, status);
  if (tf.TF_GetCode(status) != 0) return tf.TF_OpKernelContext_Failure(context, status);
  if (view.byte_size > 0) std::memcpy(tf.TF_TensorData(output), view.data, view.byte_size);
  tf.TF_DeleteTensor(output);
}

}  // namespace tbdbg
