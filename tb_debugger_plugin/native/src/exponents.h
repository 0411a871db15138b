// Counts the elements of a tensor by the power of two that their magnitude reaches.
#pragma once

#include <cstdint>

#include "summary.h"

namespace tbdbg {

// Writes kNumExponents counts of the finite elements that are not zero: below the first of
// kExponentEdges, from each edge to the next, and from the last. All are NaN for complex
// tensors. `zeros`: number of the tensor's zeros.
void CountExponents(const void* data, int64_t num_elements, int dtype, int64_t zeros, double* out);

}  // namespace tbdbg
