// Lets the tensors of an op that is running pass the gate.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gate.h"
#include "recorder.h"
#include "tf_api.h"

namespace tbdbg {

// An op whose tensors are in this memory. Used by one thread while the op runs.
class OpAtGate {
 public:
  OpAtGate(TF_OpKernelContext* context, Gate* gate) : context_(context), gate_(gate) {}

  // Lets an input pass, then the tensors with the same elements. `targets`: of the input, and of those.
  // `measured`: what is known of the elements. `cannot_change`: whether the consumers of the input wait for
  // this op, or why they do not. Returns the value that they get instead, or null.
  std::shared_ptr<const HeldValue> Pass(const std::vector<TraceTarget>& targets, const TensorView& view,
                                        size_t input, const Measured& measured, CannotChange cannot_change);

 private:
  TF_OpKernelContext* const context_;
  Gate* const gate_;
};

// Lets a tensor of another device pass. `columns`: what Summarize would have written in `mode`.
void PassNumbers(const TraceTarget& target, const TensorView& columns, Mode mode, TF_OpKernelContext* context,
                 Gate* gate);

// Lets a tensor of a compiled function pass, which has run. `bad`: how bad it is, if that is known.
void PassCompiled(const TraceTarget& target, std::optional<Bad> bad, TF_OpKernelContext* context, Gate* gate);

// Makes a value the first output of an op.
void SetOutput(TF_OpKernelContext* context, const HeldValue& value);

}  // namespace tbdbg
