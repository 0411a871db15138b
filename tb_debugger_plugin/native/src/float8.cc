#include "float8.h"

#include <array>
#include <cmath>
#include <limits>

namespace tbdbg {
namespace {

// `mantissa`: number of its bits; the exponent has the other bits, without the sign.
float Magnitude(int bits, int mantissa, int bias) {
  const int exponent = bits >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  return exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa)
                       : std::ldexp(static_cast<float>(fraction | 1 << mantissa), exponent - bias - mantissa);
}

float E5m2(int bits) {
  constexpr int kInfinite = 0x7c;
  if (bits > kInfinite) return std::numeric_limits<float>::quiet_NaN();
  return bits == kInfinite ? std::numeric_limits<float>::infinity() : Magnitude(bits, 2, 15);
}

// This dtype has no infinity, and one NaN of each sign.
float E4m3fn(int bits) {
  return bits == 0x7f ? std::numeric_limits<float>::quiet_NaN() : Magnitude(bits, 3, 7);
}

std::array<float, 256> TableOf(float (*magnitude)(int)) {
  std::array<float, 256> table;
  for (int bits = 0; bits < 128; ++bits) {
    table[bits] = magnitude(bits);
    table[bits | 0x80] = -table[bits];
  }
  return table;
}

}  // namespace

const float* Float8Values(int dtype) {
  static const std::array<float, 256> e5m2 = TableOf(E5m2), e4m3fn = TableOf(E4m3fn);
  return (dtype == kFloat8E5m2 ? e5m2 : e4m3fn).data();
}

}  // namespace tbdbg
