// Conditions over the numbers of a tensor, in postfix order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "numbers.h"

namespace tbdbg {

struct Step {
  StepKind kind;
  double value;  // of kConstant; the index of kNumber

  bool operator==(const Step& other) const { return kind == other.kind && value == other.value; }
};

// A condition. Constant after it is made.
class Condition {
 public:
  // A condition that always holds.
  Condition() = default;
  // Only if Problem(steps) is empty.
  explicit Condition(std::vector<Step> steps);

  // Why the steps are no condition; empty if they are one.
  static std::string Problem(const std::vector<Step>& steps);

  bool empty() const { return steps_.empty(); }
  // The numbers that it names, as bits.
  uint32_t needs() const { return needs_; }
  // Whether it holds. It does not if it names a number that is not known.
  bool Holds(const Numbers& numbers) const;

  bool operator==(const Condition& other) const { return steps_ == other.steps_; }

 private:
  std::vector<Step> steps_;
  uint32_t needs_ = 0;
};

}  // namespace tbdbg
