// Counting 32 floats at a time, on processors with AVX-512.
#pragma once

#include <cstdint>

#include "summary.h"

namespace tbdbg {

// Whether this processor can.
bool HasWideFloats();

// Adds the kinds of `n` floats, 65535 at most, to `counts`. False, and nothing
// added, when one of them is infinite or NaN.
bool AddFiniteFloats(const void* data, int64_t n, Counts* counts);

}  // namespace tbdbg
