// The op that stands behind a call of a function that XLA has compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder.h"

namespace tbdbg {

// A tensor inside a compiled function, as the function hands it over.
struct CompiledTensor {
  const Watch* watch;
  // What is recorded comes in the order of groups; inside a group, in that of
  // the `first_bad_turn` of what is bad.
  int64_t group;
  // Above -1: which of the tensors that are handed over whole.
  int64_t whole;
  // Which elements of `measurements` tell of it: it is bad when one of them is the
  // magnitude of infinity or above, and was not computed when all are below 0.
  std::vector<int64_t> elements;
  // What is recorded in place of its health; empty when its health is.
  std::string tensor_proto;
  // How many elements it has, or where in `measurements` that stands; both below 0 when
  // only its health is wanted.
  int64_t size, size_at;
  // Where in `measurements` stands how many of them are -inf, +inf and NaN; empty when
  // nobody has counted.
  std::vector<int64_t> counts;
};

// Returns the number by which the op's attribute refers to them.
int64_t AddCompiledTensors(std::vector<CompiledTensor> tensors);

// `TbDebuggerWatchCompiled` has the inputs `measurements` and `first_bad_turn`, int64 vectors of
// one length: the bits of the largest absolute value of each tensor, as a float64,
// and in which turn of a loop it first was bad; between the magnitudes, `measurements` has
// counts and sizes. Then come the tensors handed over whole.
// A tensor whose size is there is recorded in CONCISE_HEALTH: with its counts, or
// with zeros when it is good. Others, and what is bad and was not counted, are
// recorded in CURT_HEALTH.
// It has the attributes T (their dtypes) and tensors (the number of what
// AddCompiledTensors was given), and runs on the CPU.
//
// LoadTfApi must have succeeded. Returns an empty string, or what went wrong.
// A second call does nothing.
std::string RegisterCompiledOp();

}  // namespace tbdbg
