#include "exponents.h"

#include <algorithm>
#include <array>
#include <limits>

#include "float8.h"
#include "float_bits.h"

namespace tbdbg {
namespace {

// A slot is the exponent as a float32 has it, for 2^-126 and above; smaller magnitudes and zeros
// are in the first.
constexpr int kBias = 127;
constexpr int kNotFinite = 255;
constexpr int kBeyondFloat = 256;  // 2^128 and above, which only a float64 has
constexpr int kSlots = 257;

// The range of each slot. Elements that are not finite are in one that is not on record.
constexpr std::array<uint8_t, kSlots> RangeOfSlots() {
  std::array<uint8_t, kSlots> ranges{};
  for (int slot = 0; slot < kSlots; ++slot) {
    int range = 0;
    for (const int edge : kExponentEdges) range += slot > 0 && edge <= slot - kBias ? 1 : 0;
    ranges[slot] = static_cast<uint8_t>(slot == kNotFinite     ? kNumExponents
                                        : slot == kBeyondFloat ? kNumExponents - 1
                                                               : range);
  }
  return ranges;
}
constexpr std::array<uint8_t, kSlots> kRangeOfSlot = RangeOfSlots();

TBDBG_INLINE int SlotOf(Float, uint32_t bits) { return static_cast<int>(bits >> 23 & 0xff); }
TBDBG_INLINE int SlotOf(Bfloat16, uint16_t bits) { return bits >> 7 & 0xff; }
TBDBG_INLINE int SlotOf(Half, uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return kNotFinite;
  if (exponent != 0) return exponent + kBias - 15;
  if (mantissa == 0) return 0;
  return kBias - 24 + (31 - __builtin_clz(static_cast<unsigned>(mantissa)));  // denormal
}
TBDBG_INLINE int SlotOf(Double, uint64_t bits) {
  constexpr int kDoubleBias = 1023;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) return kNotFinite;
  return std::min(std::max(exponent - kDoubleBias + kBias, 0) + (exponent - kDoubleBias > 127 ? 1 : 0),
                  kBeyondFloat);
}

using Totals = std::array<int64_t, kNumExponents + 1>;

// Few elements cost less than clearing the counters of all slots.
constexpr int64_t kFew = 256;
// So many that a counter of 32 bits holds them.
constexpr int64_t kBlock = int64_t{1} << 30;

template <typename L>
void AddBlock(typename L::Element* x, int64_t n, Totals* totals) {
  // Neighbours are often in one slot: with four counters for each, an addition does not wait
  // for the previous one.
  constexpr int kLanes = 4;
  uint32_t counts[kLanes][kSlots] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) ++counts[lane][SlotOf(L{}, x[i + lane])];
  }
  for (; i < n; ++i) ++counts[0][SlotOf(L{}, x[i])];
  for (int slot = 0; slot < kSlots; ++slot) {
    int64_t sum = 0;
    for (const auto& lane : counts) sum += lane[slot];
    (*totals)[kRangeOfSlot[slot]] += sum;
  }
}

template <typename L>
void Add(const void* data, int64_t n, Totals* totals) {
  auto* x = static_cast<typename L::Element*>(data);
  if (n < kFew) {
    for (int64_t i = 0; i < n; ++i) ++(*totals)[kRangeOfSlot[SlotOf(L{}, x[i])]];
    return;
  }
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    AddBlock<L>(x + begin, std::min(kBlock, n - begin), totals);
  }
}

bool AddAny(const void* data, int64_t n, int dtype, Totals* totals) {
  switch (dtype) {
    case kFloat: Add<Float>(data, n, totals); return true;
    case kDouble: Add<Double>(data, n, totals); return true;
    case kHalf: Add<Half>(data, n, totals); return true;
    case kBfloat16: Add<Bfloat16>(data, n, totals); return true;
    case kFloat8E5m2:
    case kFloat8E4m3fn:
      ForEachWidened(data, n, dtype, [&](const float* x, int64_t size) { Add<Float>(x, size, totals); });
      return true;
    default: return false;
  }
}

}  // namespace

void CountExponents(const void* data, int64_t num_elements, int dtype, int64_t zeros, double* out) {
  Totals totals{};
  if (!AddAny(data, num_elements, dtype, &totals)) {
    std::fill(out, out + kNumExponents, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  totals[0] -= zeros;
  for (int range = 0; range < kNumExponents; ++range) out[range] = static_cast<double>(totals[range]);
}

}  // namespace tbdbg
