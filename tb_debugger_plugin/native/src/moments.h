// Smallest, largest, mean and variance of the finite elements of a tensor.
#pragma once

#include <cstdint>

#include "summary.h"

namespace tbdbg {

// All NaN when no element is finite. `variance` is that of the elements as a
// whole population; it is infinite when it is too large for a float64.
struct Moments {
  double min;
  double max;
  double mean;
  double variance;
};

// Measures the finite elements of a floating tensor (of a complex one, nothing)
// and adds the kinds of all of them to `counts`. Memory is gone through once. Denormals count as what they
// are, also in a thread that flushes them.
Moments CountAndMeasure(const void* data, int64_t num_elements, int dtype, Counts* counts);

}  // namespace tbdbg
