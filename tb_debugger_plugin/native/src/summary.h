// Computes the summaries of tensors: the columns of each debug mode.
//
// The NumPy twin (tests/support/twin.py) defines their meaning; tests compare the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "generated/modes.h"

namespace tbdbg {

// Numbers of TensorFlow's DataType enum: the dtypes whose health is measured, and the
// one whose elements are not plain bytes.
enum DType : int {
  kFloat = 1,
  kDouble = 2,
  kString = 7,
  kComplex64 = 8,
  kBfloat16 = 14,
  kComplex128 = 18,
  kHalf = 19,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
};

// Bytes of an element of a dtype whose health is measured; 0 for others.
constexpr int64_t MeasuredBytes(int dtype) {
  switch (dtype) {
    case kFloat8E5m2:
    case kFloat8E4m3fn: return 1;
    case kHalf:
    case kBfloat16: return 2;
    case kFloat: return 4;
    case kDouble:
    case kComplex64: return 8;
    case kComplex128: return 16;
    default: return 0;
  }
}

constexpr int kMaxRank = 254;  // TensorFlow's own limit

// A tensor in host memory. Not owned.
struct TensorView {
  const void* data = nullptr;
  size_t byte_size = 0;
  int dtype = 0;
  int rank = 0;
  int64_t num_elements = 0;
  const int64_t* dims = nullptr;
};

struct Counts {
  int64_t neg_inf = 0;
  int64_t pos_inf = 0;
  int64_t nan = 0;
  int64_t negative = 0;  // finite and below zero
  int64_t zero = 0;      // of either sign
  int64_t positive = 0;  // finite and above zero

  Counts& operator+=(const Counts& other);
};

// Counts every element in exactly one field. A complex number is NaN if one of its
// parts is NaN, else infinite if one is infinite; its sign is that of its real part,
// or of its imaginary part if the real one is zero. Elements of a dtype whose health
// is not measured are not counted.
Counts CountKinds(const void* data, int64_t num_elements, int dtype);

// Whether any element is infinite or NaN.
bool HasInfOrNan(const void* data, int64_t num_elements, int dtype);

// Positions of elements; -1 for none.
struct BadPositions {
  int64_t first = -1;      // the first one that is infinite or NaN
  int64_t first_nan = -1;  // the first one that is NaN
};

// Finds the first bad elements. Reads no further than to the first NaN.
BadPositions FindBad(const void* data, int64_t num_elements, int dtype);

// Writes the columns of `mode` (docs/event-format.md) to `out` and returns their
// number; 0 for modes without a vector.
int Summarize(const TensorView& tensor, Mode mode, double tensor_id, double out[kMaxSummary]);

// Changes the columns to those of another tensor with the same elements. `rank`: below
// 0 = keep the rank.
void SetIdAndRank(Mode mode, double tensor_id, int rank, double columns[kMaxSummary]);

}  // namespace tbdbg
