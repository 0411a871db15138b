#include "summary.h"

#include <algorithm>

#include "exponents.h"
#include "float8.h"
#include "float_bits.h"
#include "moments.h"
#include "wide_floats.h"

namespace tbdbg {
namespace {

// Small enough that a count fits into the narrowest word, and that a block is still in
// the cache if it is read a second time.
constexpr int64_t kBlock = 8192;

// Counts the elements of a block for which `is` holds. The counter is as wide as the
// elements, so that the compiler can keep one count in each lane.
template <typename L, typename Is>
TBDBG_INLINE int64_t CountIf(typename L::Element* x, int64_t n, Is is) {
  using Word = typename L::Word;
  Word count = 0;
  for (int64_t i = 0; i < n; ++i) count = static_cast<Word>(count + is(x[i]));
  return static_cast<int64_t>(count);
}

// Counts a block with an infinity or NaN. The magnitude of NaN is above infinity, and
// NaN are the elements of no other kind.
template <typename L>
TBDBG_INLINE Counts CountBadBlock(typename L::Element* x, int64_t n) {
  using Word = typename L::Word;
  Counts counts;
  counts.neg_inf = CountIf<L>(x, n, [](Word bits) { return bits == Word(L::kInf | L::kSign); });
  counts.pos_inf = CountIf<L>(x, n, [](Word bits) { return bits == L::kInf; });
  counts.negative = CountIf<L>(
      x, n, [](Word bits) { return static_cast<Word>(bits - (L::kSign | 1)) < Word(L::kInf - 1); });
  counts.zero = CountIf<L>(x, n, [](Word bits) { return static_cast<Word>(bits << 1) == 0; });
  counts.positive =
      CountIf<L>(x, n, [](Word bits) { return static_cast<Word>(bits - 1) < Word(L::kInf - 1); });
  counts.nan = n - counts.neg_inf - counts.pos_inf - counts.negative - counts.zero - counts.positive;
  return counts;
}

// Counts a block. One pass is enough if the largest magnitude shows that all elements
// are finite, which is the usual case. Doubled bits have no sign. Compilers make the
// fewest instructions of these operations.
template <typename L>
TBDBG_INLINE Counts CountBlock(typename L::Element* x, int64_t n) {
  using Word = typename L::Word;
  constexpr int kSignBit = sizeof(Word) * 8 - 1;
  Word largest = 0, not_zero = 0, negative = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto doubled = static_cast<Word>(x[i] + x[i]);
    const Word is_not_zero = std::min(doubled, Word{1});
    largest = std::max(largest, doubled);
    not_zero = static_cast<Word>(not_zero + is_not_zero);
    negative = static_cast<Word>(negative + (is_not_zero & (x[i] >> kSignBit)));
  }
  if (largest >= static_cast<Word>(L::kInf + L::kInf)) return CountBadBlock<L>(x, n);
  Counts counts;
  counts.negative = static_cast<int64_t>(negative);
  counts.positive = static_cast<int64_t>(not_zero) - counts.negative;
  counts.zero = n - static_cast<int64_t>(not_zero);
  return counts;
}

template <typename L>
TBDBG_INLINE Counts CountAll(const void* data, int64_t n) {
  auto* x = static_cast<typename L::Element*>(data);
  Counts counts;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    counts += CountBlock<L>(x + begin, std::min(kBlock, n - begin));
  }
  return counts;
}

// The first block with a magnitude of at least `least`; `n` if there is none.
template <typename L>
TBDBG_INLINE int64_t BlockOf(typename L::Element* x, int64_t begin, int64_t n, typename L::Word least) {
  using Word = typename L::Word;
  for (; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    Word largest = 0;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, static_cast<Word>(x[i] & ~L::kSign));
    }
    if (largest >= least) return begin;
  }
  return n;
}

template <typename L>
TBDBG_INLINE bool AnyBad(const void* data, int64_t n) {
  return BlockOf<L>(static_cast<typename L::Element*>(data), 0, n, L::kInf) < n;
}

// The first element from `begin` on with a magnitude of at least `least`; -1 if there is none.
template <typename L>
TBDBG_INLINE int64_t FirstFrom(typename L::Element* x, int64_t begin, int64_t n, typename L::Word least) {
  for (int64_t i = BlockOf<L>(x, begin, n, least); i < n; ++i) {
    if (static_cast<typename L::Word>(x[i] & ~L::kSign) >= least) return i;
  }
  return -1;
}

// `parts`: numbers of an element, which is bad as one of them is.
template <typename L>
TBDBG_INLINE BadPositions Find(const void* data, int64_t n, int64_t parts) {
  auto* x = static_cast<typename L::Element*>(data);
  const int64_t first = FirstFrom<L>(x, 0, n * parts, L::kInf);
  if (first < 0) return {};
  const int64_t nan = FirstFrom<L>(x, first, n * parts, L::kInf + 1);
  return {first / parts, nan < 0 ? -1 : nan / parts};
}

template <typename L>
TBDBG_INLINE Counts CountPairs(const void* data, int64_t n) {
  using Word = typename L::Word;
  auto* x = static_cast<typename L::Element*>(data);
  Counts counts;
  for (int64_t i = 0; i < 2 * n; i += 2) {
    const Word real = x[i] & ~L::kSign, imaginary = x[i + 1] & ~L::kSign;
    const Word largest = std::max(real, imaginary);
    const bool negative = ((real != 0 ? x[i] : x[i + 1]) & L::kSign) != 0;
    if (largest > L::kInf) {
      ++counts.nan;
    } else if (largest == L::kInf) {
      ++(negative ? counts.neg_inf : counts.pos_inf);
    } else if (largest == 0) {
      ++counts.zero;
    } else {
      ++(negative ? counts.negative : counts.positive);
    }
  }
  return counts;
}

TBDBG_CLONES Counts CountAnyFloat(const void* x, int64_t n) { return CountAll<Float>(x, n); }
TBDBG_CLONES Counts CountDouble(const void* x, int64_t n) { return CountAll<Double>(x, n); }
TBDBG_CLONES Counts CountHalf(const void* x, int64_t n) { return CountAll<Half>(x, n); }
TBDBG_CLONES Counts CountBfloat16(const void* x, int64_t n) { return CountAll<Bfloat16>(x, n); }

Counts CountFloat(const void* data, int64_t n) {
  constexpr int64_t kFew = 32;  // the wide sums of fewer cost more than counting them
  if (n < kFew || !HasWideFloats()) return CountAnyFloat(data, n);
  auto* x = static_cast<Float::Element*>(data);
  Counts counts;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    if (!AddFiniteFloats(x + begin, size, &counts)) counts += CountAnyFloat(x + begin, size);
  }
  return counts;
}

Counts CountFloat8(const void* data, int64_t n, int dtype) {
  Counts counts;
  ForEachWidened(data, n, dtype, [&](const float* x, int64_t size) { counts += CountFloat(x, size); });
  return counts;
}

TBDBG_CLONES bool AnyBadFloat(const void* x, int64_t n) { return AnyBad<Float>(x, n); }
TBDBG_CLONES bool AnyBadDouble(const void* x, int64_t n) { return AnyBad<Double>(x, n); }
TBDBG_CLONES bool AnyBadHalf(const void* x, int64_t n) { return AnyBad<Half>(x, n); }
TBDBG_CLONES bool AnyBadBfloat16(const void* x, int64_t n) { return AnyBad<Bfloat16>(x, n); }

TBDBG_CLONES BadPositions FindFloat(const void* x, int64_t n, int64_t parts) {
  return Find<Float>(x, n, parts);
}
TBDBG_CLONES BadPositions FindDouble(const void* x, int64_t n, int64_t parts) {
  return Find<Double>(x, n, parts);
}
TBDBG_CLONES BadPositions FindHalf(const void* x, int64_t n) { return Find<Half>(x, n, 1); }
TBDBG_CLONES BadPositions FindBfloat16(const void* x, int64_t n) { return Find<Bfloat16>(x, n, 1); }

BadPositions FindFloat8(const void* data, int64_t n, int dtype) {
  BadPositions found;
  int64_t begin = 0;
  ForEachWidened(data, n, dtype, [&](const float* x, int64_t size) {
    const BadPositions here = found.first_nan < 0 ? FindFloat(x, size, 1) : BadPositions();
    if (found.first < 0 && here.first >= 0) found.first = begin + here.first;
    if (here.first_nan >= 0) found.first_nan = begin + here.first_nan;
    begin += size;
  });
  return found;
}

// The summary of one tensor in a mode that is known when this is compiled: columns that
// the mode does not have cost nothing.
template <Mode mode>
class Row {
 public:
  explicit Row(double* out) : out_(out) {}

  static constexpr bool Has(Column column) { return IndexOf(mode, column) >= 0; }

  template <Column column>
  void Set(double value) {
    if constexpr (Has(column)) out_[IndexOf(mode, column)] = value;
  }
  // The first of columns that follow each other.
  double* At(Column column) const { return out_ + IndexOf(mode, column); }

  template <Column column>
  void Set(int64_t value) {
    Set<column>(static_cast<double>(value));
  }

 private:
  double* const out_;
};

template <Mode mode>
void Describe(const TensorView& tensor, double tensor_id, Row<mode> row) {
  row.template Set<Column::kTensorId>(tensor_id);
  row.template Set<Column::kDeviceId>(-1.0);  // the host's memory
  row.template Set<Column::kDtype>(int64_t{tensor.dtype});
  row.template Set<Column::kRank>(int64_t{tensor.rank});
  row.template Set<Column::kSize>(tensor.num_elements);
}

// The last dims; 0 for those that the tensor does not have.
void WriteDims(const TensorView& tensor, double* out) {
  std::fill(out, out + kShapeDims, 0.0);
  const int kept = std::min(tensor.rank, kShapeDims);
  for (int i = 0; i < kept; ++i) out[i] = static_cast<double>(tensor.dims[tensor.rank - kept + i]);
}

template <Mode mode>
void WriteCounts(const Counts& counts, Row<mode> row) {
  row.template Set<Column::kNegInf>(counts.neg_inf);
  row.template Set<Column::kPosInf>(counts.pos_inf);
  row.template Set<Column::kNan>(counts.nan);
  row.template Set<Column::kNegative>(counts.negative);
  row.template Set<Column::kZero>(counts.zero);
  row.template Set<Column::kPositive>(counts.positive);
}

template <Mode mode>
void WriteMoments(const Moments& moments, Row<mode> row) {
  row.template Set<Column::kMin>(moments.min);
  row.template Set<Column::kMax>(moments.max);
  row.template Set<Column::kMean>(moments.mean);
  row.template Set<Column::kVariance>(moments.variance);
}

// Reads the elements as far as the columns of the mode need it.
template <Mode mode>
void Measure(const TensorView& tensor, Row<mode> row) {
  using R = Row<mode>;
  constexpr bool moments =
      R::Has(Column::kMin) || R::Has(Column::kMax) || R::Has(Column::kMean) || R::Has(Column::kVariance);
  if constexpr (moments) {
    Counts counts;
    WriteMoments(CountAndMeasure(tensor.data, tensor.num_elements, tensor.dtype, &counts), row);
    WriteCounts(counts, row);
    if constexpr (R::Has(Column::kTiny)) {
      CountExponents(tensor.data, tensor.num_elements, tensor.dtype, counts.zero, row.At(Column::kTiny));
    }
  } else if constexpr (R::Has(Column::kNan)) {
    WriteCounts(CountKinds(tensor.data, tensor.num_elements, tensor.dtype), row);
  } else if constexpr (R::Has(Column::kAnyBad)) {
    row.template Set<Column::kAnyBad>(HasInfOrNan(tensor.data, tensor.num_elements, tensor.dtype) ? 1.0
                                                                                                  : 0.0);
  }
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  neg_inf += other.neg_inf;
  pos_inf += other.pos_inf;
  nan += other.nan;
  negative += other.negative;
  zero += other.zero;
  positive += other.positive;
  return *this;
}

Counts CountKinds(const void* data, int64_t num_elements, int dtype) {
  switch (dtype) {
    case kFloat: return CountFloat(data, num_elements);
    case kDouble: return CountDouble(data, num_elements);
    case kHalf: return CountHalf(data, num_elements);
    case kBfloat16: return CountBfloat16(data, num_elements);
    case kComplex64: return CountPairs<Float>(data, num_elements);
    case kComplex128: return CountPairs<Double>(data, num_elements);
    case kFloat8E5m2:
    case kFloat8E4m3fn: return CountFloat8(data, num_elements, dtype);
    default: return Counts{};
  }
}

bool HasInfOrNan(const void* data, int64_t num_elements, int dtype) {
  switch (dtype) {
    case kFloat: return AnyBadFloat(data, num_elements);
    case kDouble: return AnyBadDouble(data, num_elements);
    case kHalf: return AnyBadHalf(data, num_elements);
    case kBfloat16: return AnyBadBfloat16(data, num_elements);
    case kComplex64: return AnyBadFloat(data, 2 * num_elements);
    case kComplex128: return AnyBadDouble(data, 2 * num_elements);
    case kFloat8E5m2:
    case kFloat8E4m3fn: {
      const Counts counts = CountFloat8(data, num_elements, dtype);
      return counts.neg_inf + counts.pos_inf + counts.nan > 0;
    }
    default: return false;
  }
}

BadPositions FindBad(const void* data, int64_t num_elements, int dtype) {
  switch (dtype) {
    case kFloat: return FindFloat(data, num_elements, 1);
    case kDouble: return FindDouble(data, num_elements, 1);
    case kHalf: return FindHalf(data, num_elements);
    case kBfloat16: return FindBfloat16(data, num_elements);
    case kComplex64: return FindFloat(data, num_elements, 2);
    case kComplex128: return FindDouble(data, num_elements, 2);
    case kFloat8E5m2:
    case kFloat8E4m3fn: return FindFloat8(data, num_elements, dtype);
    default: return {};
  }
}

int Summarize(const TensorView& tensor, Mode mode, double tensor_id, double out[kMaxSummary]) {
  const auto summarize_in = [&](auto constant) {
    constexpr Mode kMode = decltype(constant)::value;
    Row<kMode> row(out);
    Describe(tensor, tensor_id, row);
    Measure(tensor, row);
    if constexpr (row.Has(Column::kDim0)) WriteDims(tensor, out + IndexOf(kMode, Column::kDim0));
    return ColumnsOf(kMode);
  };
  return VisitMode(mode, summarize_in, 0);
}

void SetIdAndRank(Mode mode, double tensor_id, int rank, double columns[kMaxSummary]) {
  const ModeSpec spec = SpecOf(mode);
  const int id_at = spec.index[static_cast<int>(Column::kTensorId)];
  const int rank_at = spec.index[static_cast<int>(Column::kRank)];
  if (id_at >= 0) columns[id_at] = tensor_id;
  if (rank >= 0 && rank_at >= 0) columns[rank_at] = rank;
}

}  // namespace tbdbg
