// The op that records the tensors of a function that XLA has compiled, after its
// call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "watches.h"

namespace tbdbg {

// A tensor inside a compiled function.
struct CompiledTensor {
  const Watch* watch;
  // Tensors are recorded in the order of their groups; inside a group, in the order
  // of their `first_bad_turn`.
  int64_t group;
  // At least 0: index of the tensor among the op's inputs `whole`. -1: the tensor is
  // not passed whole.
  int64_t whole;
  // Indices of the tensor's magnitudes in `measurements`: the tensor is bad when one
  // of them is the magnitude of infinity or above, and was not computed when all are
  // below 0.
  std::vector<int64_t> elements;
  // The proto to record instead of its health; empty when its health is recorded.
  std::string tensor_proto;
  // Number of its elements, or the index of that number in `measurements`; both below
  // 0 when only its health is recorded.
  int64_t size, size_at;
  // Indices in `measurements` of its counts of -inf, +inf and NaN; empty when they are
  // not counted.
  std::vector<int64_t> counts;
};

// Returns the number by which the op's attribute refers to the tensors.
int64_t AddCompiledTensors(std::vector<CompiledTensor> tensors);

// `TbDebuggerWatchCompiled` has the inputs `measurements` and `first_bad_turn`, int64
// vectors of equal length. `measurements` holds the bits of the largest absolute value
// of each tensor, as a float64, with counts and sizes between these magnitudes;
// `first_bad_turn` holds the turn of a loop in which the tensor first was bad. The
// input `whole` follows: the tensors that are passed whole.
//
// A tensor with a known size is recorded in CONCISE_HEALTH: with its counts, or with
// zeros when it is good. Other tensors, and bad tensors without counts, are recorded
// in CURT_HEALTH.
//
// The op has the attributes T (the dtypes of `whole`) and tensors (the number that
// AddCompiledTensors returned), and runs on the CPU.
//
// LoadTfApi must have succeeded. Returns an empty string, or an error.
// A second call does nothing.
std::string RegisterCompiledOp();

}  // namespace tbdbg
