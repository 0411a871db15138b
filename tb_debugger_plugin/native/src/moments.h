// Computes the smallest, largest, mean and variance of a tensor's finite elements.
#pragma once

#include <cstdint>

#include "summary.h"

namespace tbdbg {

// All are NaN if no element is finite. `variance` is the variance of the elements as a
// whole population; it is infinite if it is too large for a float64.
struct Moments {
  double min;
  double max;
  double mean;
  double variance;
};

// Measures the finite elements of a floating tensor (of a complex one, nothing) and
// adds the kinds of all elements to `counts`. Memory is read once. Denormals count as
// denormals, also in a thread that flushes them.
Moments CountAndMeasure(const void* data, int64_t num_elements, int dtype, Counts* counts);

}  // namespace tbdbg
