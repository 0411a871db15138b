#include "wide_floats.h"

#include "float_bits.h"

#ifdef TBDBG_CLONED
// Some intrinsics use vectors of any value, which GCC takes for uninitialized.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#endif

namespace tbdbg {

// For the loop in summary.cc, compilers make six to eight instructions for each
// vector. Counting both kinds in one word, without a mask for each, takes six
// instructions, and one and a half cycles for a vector of 64 bytes.
#ifdef TBDBG_CLONED
namespace {

#define TBDBG_AVX512 __attribute__((target("avx512f")))

struct Sums {
  __m512i largest;  // twice the magnitude
  __m512i kinds;    // in each lane: number of non-zeros, and, from bit 16 on, of negatives
};

TBDBG_AVX512 TBDBG_INLINE void Add(__m512i bits, Sums* sums) {
  constexpr int kFirstAndSecondOrThird = 0xea;
  const __m512i doubled = _mm512_add_epi32(bits, bits);  // no sign
  const __m512i one = _mm512_set1_epi32(1), sign = _mm512_set1_epi32(1 << 16);
  const __m512i kind =
      _mm512_ternarylogic_epi32(_mm512_srli_epi32(bits, 15), sign, one, kFirstAndSecondOrThird);
  const __mmask16 not_zero = _mm512_test_epi32_mask(doubled, doubled);
  sums->largest = _mm512_max_epu32(sums->largest, doubled);
  sums->kinds = _mm512_mask_add_epi32(sums->kinds, not_zero, sums->kinds, kind);
}

}  // namespace

bool HasWideFloats() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

TBDBG_AVX512 bool AddFiniteFloats(const void* data, int64_t n, Counts* counts) {
  constexpr int kLanes = 16;
  const auto* x = static_cast<const char*>(data);
  const auto* end = x + n * 4;
  // Two sums, so that an addition does not wait for the previous one.
  Sums even{}, odd{};
  for (; end - x >= 2 * 64; x += 2 * 64) {
    Add(_mm512_loadu_si512(x), &even);
    Add(_mm512_loadu_si512(x + 64), &odd);
  }
  for (; x < end; x += 64) {
    const int64_t left = (end - x) / 4;
    const auto mask = static_cast<__mmask16>(left < kLanes ? (1u << left) - 1 : 0xffffu);
    Add(_mm512_maskz_loadu_epi32(mask, x), &even);
  }
  const uint32_t largest = _mm512_reduce_max_epu32(_mm512_max_epu32(even.largest, odd.largest));
  if (largest >= 2 * Float::kInf) return false;
  const auto kinds = static_cast<uint32_t>(_mm512_reduce_add_epi32(_mm512_add_epi32(even.kinds, odd.kinds)));
  const int64_t not_zero = kinds & 0xffff, negative = kinds >> 16;
  counts->negative += negative;
  counts->positive += not_zero - negative;
  counts->zero += n - not_zero;
  return true;
}
#else
bool HasWideFloats() { return false; }
bool AddFiniteFloats(const void*, int64_t, Counts*) { return false; }
#endif

}  // namespace tbdbg
