// The numbers of a tensor that conditions name.
#pragma once

#include <array>
#include <cstdint>

#include "generated/gate_table.h"
#include "summary.h"

namespace tbdbg {

// Some of the numbers of one tensor.
class Numbers {
 public:
  bool empty() const { return known_ == 0; }
  bool Has(int number) const { return (known_ >> number & 1) != 0; }
  // Whether all of some numbers are known. `wanted`: as bits.
  bool HasAll(uint32_t wanted) const { return (wanted & ~known_) == 0; }
  // Only for a number that is known.
  double operator[](int number) const { return values_[static_cast<size_t>(number)]; }
  void Set(Number number, double value) {
    values_[static_cast<size_t>(number)] = value;
    known_ |= 1u << static_cast<int>(number);
  }

 private:
  std::array<double, kNumNumbers> values_{};
  uint32_t known_ = 0;  // as bits
};

// The numbers of a tensor in memory: all for a dtype whose health is measured, for integers and for booleans;
// else its size. Complex numbers have no moments: those are NaN.
Numbers NumbersOf(const TensorView& tensor);

// The numbers among the columns that Summarize wrote in `mode`.
Numbers NumbersOf(const double* columns, Mode mode);

}  // namespace tbdbg
