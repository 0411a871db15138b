#include "summary.h"

#include <algorithm>
#include <cstring>

// One source, several instruction sets: the loader picks at run time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define TBDBG_CLONES                                                           \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TBDBG_CLONES
#endif

namespace tbdbg {
namespace {

// The bits of a float, seen as an unsigned integer of its width. Comparing
// bits keeps denormals apart from zero whatever the rounding flags of the
// thread are; TensorFlow's threads flush them.
template <typename Bits, Bits kInfinity>
struct Layout {
  using Word = Bits;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  static constexpr Bits kInf = kInfinity;
};
using Float = Layout<uint32_t, 0x7f800000u>;
using Double = Layout<uint64_t, 0x7ff0000000000000ull>;
using Half = Layout<uint16_t, 0x7c00u>;
using Bfloat16 = Layout<uint16_t, 0x7f80u>;

// Short enough that a count fits into the narrowest word.
constexpr int64_t kBlock = 32768;

// The finite kinds of one block. The counters are as wide as the elements, so
// that the compiler can keep one count a lane.
template <typename L>
inline __attribute__((always_inline)) void CountFinite(const typename L::Word* x, int64_t n,
                                                       Counts* counts) {
  using Word = typename L::Word;
  Word negative = 0, zero = 0, positive = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Word bits = x[i];
    positive = static_cast<Word>(positive + (static_cast<Word>(bits - 1) < Word(L::kInf - 1)));
    negative = static_cast<Word>(
        negative + (static_cast<Word>(bits - (L::kSign | 1)) < Word(L::kInf - 1)));
    zero = static_cast<Word>(zero + (static_cast<Word>(bits << 1) == 0));
  }
  counts->negative += negative;
  counts->zero += zero;
  counts->positive += positive;
}

template <typename L>
inline __attribute__((always_inline)) void CountInfinite(const typename L::Word* x, int64_t n,
                                                         Counts* counts) {
  using Word = typename L::Word;
  Word neg_inf = 0, pos_inf = 0;
  for (int64_t i = 0; i < n; ++i) {
    pos_inf = static_cast<Word>(pos_inf + (x[i] == L::kInf));
    neg_inf = static_cast<Word>(neg_inf + (x[i] == Word(L::kInf | L::kSign)));
  }
  counts->neg_inf += neg_inf;
  counts->pos_inf += pos_inf;
}

template <typename L>
inline __attribute__((always_inline)) Counts CountAll(const void* data, int64_t n) {
  const auto* x = static_cast<const typename L::Word*>(data);
  Counts counts;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    const int64_t before = counts.negative + counts.zero + counts.positive;
    CountFinite<L>(x + begin, size, &counts);
    const int64_t bad = size - (counts.negative + counts.zero + counts.positive - before);
    if (bad == 0) continue;  // the usual case costs one pass
    const int64_t infinite_before = counts.neg_inf + counts.pos_inf;
    CountInfinite<L>(x + begin, size, &counts);
    counts.nan += bad - (counts.neg_inf + counts.pos_inf - infinite_before);
  }
  return counts;
}

template <typename L>
inline __attribute__((always_inline)) bool AnyBad(const void* data, int64_t n) {
  using Word = typename L::Word;
  const auto* x = static_cast<const Word*>(data);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    Word largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, static_cast<Word>(x[i] & ~L::kSign));
    }
    if (largest >= L::kInf) return true;
  }
  return false;
}

TBDBG_CLONES Counts CountFloat(const void* x, int64_t n) { return CountAll<Float>(x, n); }
TBDBG_CLONES Counts CountDouble(const void* x, int64_t n) { return CountAll<Double>(x, n); }
TBDBG_CLONES Counts CountHalf(const void* x, int64_t n) { return CountAll<Half>(x, n); }
TBDBG_CLONES Counts CountBfloat16(const void* x, int64_t n) { return CountAll<Bfloat16>(x, n); }

TBDBG_CLONES bool AnyBadFloat(const void* x, int64_t n) { return AnyBad<Float>(x, n); }
TBDBG_CLONES bool AnyBadDouble(const void* x, int64_t n) { return AnyBad<Double>(x, n); }
TBDBG_CLONES bool AnyBadHalf(const void* x, int64_t n) { return AnyBad<Half>(x, n); }
TBDBG_CLONES bool AnyBadBfloat16(const void* x, int64_t n) { return AnyBad<Bfloat16>(x, n); }

constexpr int kShapeDims = 6;

int SummarizeShape(const TensorView& tensor, double tensor_id, double out[kMaxSummary]) {
  out[0] = tensor_id;
  out[1] = tensor.dtype;
  out[2] = tensor.rank;
  out[3] = static_cast<double>(tensor.num_elements);
  std::fill(out + 4, out + 4 + kShapeDims, 0.0);
  const int kept = std::min(tensor.rank, kShapeDims);
  for (int i = 0; i < kept; ++i) {
    out[4 + i] = static_cast<double>(tensor.dims[tensor.rank - kept + i]);
  }
  return 4 + kShapeDims;
}

}  // namespace

Counts CountKinds(const void* data, int64_t num_elements, int dtype) {
  switch (dtype) {
    case kFloat: return CountFloat(data, num_elements);
    case kDouble: return CountDouble(data, num_elements);
    case kHalf: return CountHalf(data, num_elements);
    case kBfloat16: return CountBfloat16(data, num_elements);
    default: return Counts{};
  }
}

bool HasInfOrNan(const void* data, int64_t num_elements, int dtype) {
  switch (dtype) {
    case kFloat: return AnyBadFloat(data, num_elements);
    case kDouble: return AnyBadDouble(data, num_elements);
    case kHalf: return AnyBadHalf(data, num_elements);
    case kBfloat16: return AnyBadBfloat16(data, num_elements);
    default: return false;
  }
}

int Summarize(const TensorView& tensor, Mode mode, double tensor_id, double out[kMaxSummary]) {
  if (mode == Mode::kShape) return SummarizeShape(tensor, tensor_id, out);
  if (mode == Mode::kCurtHealth) {
    out[0] = tensor_id;
    out[1] = HasInfOrNan(tensor.data, tensor.num_elements, tensor.dtype) ? 1.0 : 0.0;
    return 2;
  }
  if (mode != Mode::kConciseHealth && mode != Mode::kFullHealth) return 0;
  const Counts counts = CountKinds(tensor.data, tensor.num_elements, tensor.dtype);
  double* next = out;
  *next++ = tensor_id;
  if (mode == Mode::kFullHealth) {
    *next++ = -1;  // the host's memory
    *next++ = tensor.dtype;
    *next++ = tensor.rank;
  }
  *next++ = static_cast<double>(tensor.num_elements);
  *next++ = static_cast<double>(counts.neg_inf);
  *next++ = static_cast<double>(counts.pos_inf);
  *next++ = static_cast<double>(counts.nan);
  if (mode == Mode::kFullHealth) {
    *next++ = static_cast<double>(counts.negative);
    *next++ = static_cast<double>(counts.zero);
    *next++ = static_cast<double>(counts.positive);
  }
  return static_cast<int>(next - out);
}

}  // namespace tbdbg
