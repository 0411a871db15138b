// Counts 32 floats at a time, on processors with AVX-512.
#pragma once

#include <cstdint>

#include "summary.h"

namespace tbdbg {

// Whether this processor has AVX-512.
bool HasWideFloats();

// Adds the kinds of `n` floats, 65535 at most, to `counts`. Returns false and adds
// nothing if one of them is infinite or NaN.
bool AddFiniteFloats(const void* data, int64_t n, Counts* counts);

}  // namespace tbdbg
