#include "moments.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "float8.h"
#include "float_bits.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tbdbg {
namespace {

// While it lives, the running thread computes with denormals.
class WithDenormals {
 public:
  WithDenormals(const WithDenormals&) = delete;
  WithDenormals& operator=(const WithDenormals&) = delete;
#if defined(__SSE2__)
  WithDenormals() : flags_(_mm_getcsr()) { _mm_setcsr(flags_ & ~kFlushing); }
  ~WithDenormals() { _mm_setcsr(flags_); }

 private:
  static constexpr unsigned kFlushing = 0x8040;  // flush to zero, denormals are zero
  const unsigned flags_;
#else
  WithDenormals() {
    std::fegetenv(&flags_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~WithDenormals() { std::fesetenv(&flags_); }

 private:
  std::fenv_t flags_;
#endif
};

template <typename To, typename From>
TBDBG_INLINE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// The value of a finite element with these bits.
TBDBG_INLINE double Value(Float, uint32_t bits) { return BitCast<float>(bits); }
TBDBG_INLINE double Value(Double, uint64_t bits) { return BitCast<double>(bits); }
TBDBG_INLINE double Value(Bfloat16, uint16_t bits) {
  return BitCast<float>(static_cast<uint32_t>(bits) << 16);
}
TBDBG_INLINE double Value(Half, uint16_t bits) {
  // The shift aligns the exponent's lowest bit; the factor corrects the bias, and
  // makes denormal numbers normal.
  const uint32_t moved = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  return BitCast<float>(moved | sign) * 0x1p112f;
}

// Signed integers whose order is that of the elements' values.
template <typename L>
using Key = std::make_signed_t<typename L::Word>;

template <typename L>
TBDBG_INLINE Key<L> KeyOf(typename L::Word bits) {
  const auto key = static_cast<Key<L>>(bits);
  constexpr int kShift = sizeof(bits) * 8 - 1;
  return static_cast<Key<L>>(key ^ ((key >> kShift) & std::numeric_limits<Key<L>>::max()));
}

template <typename L>
TBDBG_INLINE double ValueOfKey(Key<L> key) {
  // The mapping is its own inverse. Adding 0.0 removes the sign of a zero.
  return Value(L{}, static_cast<typename L::Word>(KeyOf<L>(static_cast<typename L::Word>(key)))) + 0.0;
}

// All ones if an element is finite, else zero. Masks instead of conditions let the
// compiler process several elements at a time.
template <typename L>
TBDBG_INLINE typename L::Word FiniteMask(typename L::Word bits) {
  using Word = typename L::Word;
  return static_cast<Word>(-static_cast<Word>(static_cast<Word>(bits & ~L::kSign) < L::kInf));
}

// Independent sums, so that the compiler may add several at a time.
constexpr int kLanes = 16;

// The moments of some elements. `mean` and `squares` are those of the elements times a
// scale.
struct Part {
  int64_t size = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double squares = 0;  // the sum of squared distances from the mean
};

// The moments of both together (Chan, Golub and LeVeque): the method never subtracts
// large numbers that are nearly equal.
Part Merge(const Part& a, const Part& b) {
  if (a.size == 0) return b;
  if (b.size == 0) return a;
  const int64_t size = a.size + b.size;
  const double share = static_cast<double>(b.size) / static_cast<double>(size);
  const double distance = b.mean - a.mean;
  return {size, std::min(a.min, b.min), std::max(a.max, b.max), a.mean + distance * share,
          a.squares + b.squares + distance * distance * static_cast<double>(a.size) * share};
}

// Elements that fit into the first level cache while they are processed.
template <typename L>
class Block {
 public:
  TBDBG_INLINE Block(const void* data, int64_t n, double scale)
      : x_(static_cast<typename L::Element*>(data)), n_(n), scale_(scale) {}

  TBDBG_INLINE Part Measure() {
    FindExtremes<true>();
    // The keys of infinities and NaN are beyond those of the largest numbers.
    if (min_ >= KeyOf<L>(L::kSign | (L::kInf - 1)) && max_ < KeyOf<L>(L::kInf)) {
      return Measure<true>();
    }
    FindExtremes<false>();
    return finite_ == 0 ? Part{} : Measure<false>();
  }

 private:
  // Finds the smallest and the largest element, and counts the finite ones.
  template <bool kAllFinite>
  TBDBG_INLINE void FindExtremes() {
    using Word = typename L::Word;
    constexpr Key<L> kLowest = std::numeric_limits<Key<L>>::min();
    constexpr Key<L> kHighest = std::numeric_limits<Key<L>>::max();
    Key<L> min = kHighest, max = kLowest;
    Word finite = 0;
    for (int64_t i = 0; i < n_; ++i) {
      const auto good = static_cast<Key<L>>(kAllFinite ? ~Word{0} : FiniteMask<L>(x_[i]));
      const Key<L> key = KeyOf<L>(x_[i]);
      finite = static_cast<Word>(finite - good);
      min = std::min(min, static_cast<Key<L>>((key & good) | (kHighest & ~good)));
      max = std::max(max, static_cast<Key<L>>((key & good) | (kLowest & ~good)));
    }
    finite_ = finite;
    min_ = min;
    max_ = max;
  }

  template <bool kAllFinite>
  TBDBG_INLINE Part Measure() const {
    const double mean = SumOf<kAllFinite, false>(0.0) / static_cast<double>(finite_);
    return {finite_, ValueOfKey<L>(min_), ValueOfKey<L>(max_), mean, SumOf<kAllFinite, true>(mean)};
  }

  // The sum of the finite elements' distances from `center`, or of their squares.
  template <bool kAllFinite, bool kSquared>
  TBDBG_INLINE double SumOf(double center) const {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n_; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) lanes[j] += Term<kAllFinite, kSquared>(x_[i + j], center);
    }
    for (int j = 0; i + j < n_; ++j) lanes[j] += Term<kAllFinite, kSquared>(x_[i + j], center);
    double sum = 0;
    for (int j = 0; j < kLanes; ++j) sum += lanes[j];
    return sum;
  }

  template <bool kAllFinite, bool kSquared>
  TBDBG_INLINE double Term(typename L::Word bits, double center) const {
    const auto good = kAllFinite ? static_cast<typename L::Word>(-1) : FiniteMask<L>(bits);
    const double distance = (Value(L{}, bits & good) * scale_ - center) * (good & 1);
    return kSquared ? distance * distance : distance;
  }

  typename L::Element* x_;
  const int64_t n_;
  const double scale_;
  int64_t finite_ = 0;
  Key<L> min_ = 0, max_ = 0;
};

TBDBG_CLONES Part MeasureFloat(const void* x, int64_t n) { return Block<Float>(x, n, 1.0).Measure(); }
TBDBG_CLONES Part MeasureHalf(const void* x, int64_t n) { return Block<Half>(x, n, 1.0).Measure(); }
TBDBG_CLONES Part MeasureBfloat16(const void* x, int64_t n) { return Block<Bfloat16>(x, n, 1.0).Measure(); }
TBDBG_CLONES Part MeasureDouble(const void* x, int64_t n, double scale) {
  return Block<Double>(x, n, scale).Measure();
}

Part MeasureBlock(const void* x, int64_t n, int dtype, double scale) {
  switch (dtype) {
    case kFloat: return MeasureFloat(x, n);
    case kDouble: return MeasureDouble(x, n, scale);
    case kHalf: return MeasureHalf(x, n);
    case kBfloat16: return MeasureBfloat16(x, n);
    case kFloat8E5m2:
    case kFloat8E4m3fn: {
      Part all;
      ForEachWidened(x, n, dtype, [&](const float* values, int64_t size) {
        all = Merge(all, MeasureFloat(values, size));
      });
      return all;
    }
    default: return Part{};  // Complex numbers have no order, so no smallest one.
  }
}

constexpr int64_t kBlock = 2048;

// Calls `measure(first element, number of elements)` for each block, in order.
template <typename Measure>
void ForEachBlock(const void* data, int64_t n, int dtype, Measure measure) {
  const int64_t element = MeasuredBytes(dtype);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    measure(static_cast<const char*>(data) + begin * element, std::min(kBlock, n - begin));
  }
}

Moments ResultOf(const Part& all, double scale) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (all.size == 0) return {none, none, none, none};
  if (all.min == all.max) return {all.min, all.max, all.min, 0.0};
  return {all.min, all.max, std::min(std::max(all.mean / scale, all.min), all.max),
          all.squares / static_cast<double>(all.size) / scale / scale};
}

// Squares of larger numbers, or the sum of as many squares as memory holds, may be too
// large for a float64. Only tensors of float64 have such numbers.
constexpr double kSquareable = 0x1p480;
constexpr double kDown = 0x1p-600;

}  // namespace

Moments CountAndMeasure(const void* data, int64_t num_elements, int dtype, Counts* counts) {
  const WithDenormals with_denormals;
  Part all;
  ForEachBlock(data, num_elements, dtype, [&](const void* x, int64_t n) {
    *counts += CountKinds(x, n, dtype);
    all = Merge(all, MeasureBlock(x, n, dtype, 1.0));
  });
  if (all.size == 0 || std::max(-all.min, all.max) < kSquareable) return ResultOf(all, 1.0);
  Part scaled;
  ForEachBlock(data, num_elements, dtype,
               [&](const void* x, int64_t n) { scaled = Merge(scaled, MeasureBlock(x, n, dtype, kDown)); });
  return ResultOf(scaled, kDown);
}

}  // namespace tbdbg
