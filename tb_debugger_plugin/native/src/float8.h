// Converts floating-point numbers of one byte to float32, which represents each of
// them exactly.
#pragma once

#include <algorithm>
#include <cstdint>

#include "summary.h"

namespace tbdbg {

// The 256 values of kFloat8E5m2 or kFloat8E4m3fn.
const float* Float8Values(int dtype);

// Calls `use(values, size)` for each block of elements, in order.
template <typename Use>
void ForEachWidened(const void* data, int64_t n, int dtype, Use use) {
  constexpr int64_t kBlock = 512;
  const float* table = Float8Values(dtype);
  const auto* bytes = static_cast<const uint8_t*>(data);
  float values[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    for (int64_t i = 0; i < size; ++i) values[i] = table[bytes[begin + i]];
    use(values, size);
  }
}

}  // namespace tbdbg
