#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tbdbg {
namespace {

// Numbers of TensorFlow's DataType enum: the integers.
enum IntegerType : int {
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kInt64 = 9,
  kBool = 10,
  kUint16 = 17,
  kUint32 = 22,
  kUint64 = 23,
};

// Calls `visit` with each element as a double.
template <typename T, typename Visit>
void ForEach(const TensorView& tensor, Visit visit) {
  const auto* bytes = static_cast<const char*>(tensor.data);
  for (int64_t i = 0; i < tensor.num_elements; ++i) {
    T element;
    std::memcpy(&element, bytes + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    visit(static_cast<double>(element));
  }
}

void SetMoments(double min, double max, double mean, double variance, Numbers* numbers) {
  numbers->Set(Number::kMin, min);
  numbers->Set(Number::kMax, max);
  numbers->Set(Number::kMean, mean);
  numbers->Set(Number::kVariance, variance);
}

template <typename T>
void CountIntegers(const TensorView& tensor, Numbers* numbers) {
  int64_t negative = 0, zero = 0;
  double min = INFINITY, max = -INFINITY, sum = 0, squares = 0;
  ForEach<T>(tensor, [&](double element) {
    negative += element < 0;
    zero += element == 0;
    min = std::min(min, element);
    max = std::max(max, element);
    sum += element;
  });
  const auto size = static_cast<double>(tensor.num_elements);
  const double mean = sum / size;
  ForEach<T>(tensor, [&](double element) { squares += (element - mean) * (element - mean); });
  for (const Number number : {Number::kNegInf, Number::kPosInf, Number::kNan}) numbers->Set(number, 0);
  numbers->Set(Number::kNegative, static_cast<double>(negative));
  numbers->Set(Number::kZero, static_cast<double>(zero));
  numbers->Set(Number::kPositive, static_cast<double>(tensor.num_elements - negative - zero));
  if (tensor.num_elements > 0) return SetMoments(min, max, mean, squares / size, numbers);
  SetMoments(NAN, NAN, NAN, NAN, numbers);
}

void CountElements(const TensorView& tensor, Numbers* numbers) {
  switch (tensor.dtype) {
    case kInt32: return CountIntegers<int32_t>(tensor, numbers);
    case kUint8:
    case kBool: return CountIntegers<uint8_t>(tensor, numbers);
    case kInt16: return CountIntegers<int16_t>(tensor, numbers);
    case kInt8: return CountIntegers<int8_t>(tensor, numbers);
    case kInt64: return CountIntegers<int64_t>(tensor, numbers);
    case kUint16: return CountIntegers<uint16_t>(tensor, numbers);
    case kUint32: return CountIntegers<uint32_t>(tensor, numbers);
    case kUint64: return CountIntegers<uint64_t>(tensor, numbers);
    default: return;
  }
}

}  // namespace

Numbers NumbersOf(const TensorView& tensor) {
  if (MeasuredBytes(tensor.dtype) > 0) {
    double columns[kMaxSummary];
    Summarize(tensor, Mode::kFullNumerics, 0, columns);
    return NumbersOf(columns, Mode::kFullNumerics);
  }
  Numbers numbers;
  numbers.Set(Number::kSize, static_cast<double>(tensor.num_elements));
  CountElements(tensor, &numbers);
  return numbers;
}

Numbers NumbersOf(const double* columns, Mode mode) {
  Numbers numbers;
  for (int i = 0; i < kNumNumbers; ++i) {
    const int at = IndexOf(mode, kColumnOf[i]);
    if (at >= 0) numbers.Set(static_cast<Number>(i), columns[at]);
  }
  return numbers;
}

}  // namespace tbdbg
