#include "condition.h"

#include <cmath>
#include <utility>

namespace tbdbg {
namespace {

int Operands(StepKind kind) { return kOperands[static_cast<int>(kind)]; }

double OfOne(StepKind kind, double a) {
  switch (kind) {
    case StepKind::kNegative: return -a;
    case StepKind::kNot: return a == 0;
    case StepKind::kAbs: return std::fabs(a);
    default: return std::sqrt(a);
  }
}

// Python's %: it has the sign of the divisor, unlike that of C.
double Remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double OfTwo(StepKind kind, double a, double b) {
  switch (kind) {
    case StepKind::kAdd: return a + b;
    case StepKind::kSubtract: return a - b;
    case StepKind::kMultiply: return a * b;
    case StepKind::kDivide: return a / b;
    case StepKind::kRemainder: return Remainder(a, b);
    case StepKind::kLt: return a < b;
    case StepKind::kLe: return a <= b;
    case StepKind::kGt: return a > b;
    case StepKind::kGe: return a >= b;
    case StepKind::kEq: return a == b;
    case StepKind::kNe: return a != b;
    case StepKind::kAnd: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

bool IsKnown(const Step& step) {
  const int kind = static_cast<int>(step.kind);
  if (kind < 0 || kind >= kNumStepKinds) return false;
  return step.kind != StepKind::kNumber || (step.value >= 0 && step.value < kNumNumbers);
}

}  // namespace

std::string Condition::Problem(const std::vector<Step>& steps) {
  if (steps.size() > kMaxSteps) return "the condition is too long";
  int depth = 0;
  for (const Step& step : steps) {
    if (!IsKnown(step)) return "the condition has a step that is not known";
    depth -= Operands(step.kind);
    if (depth < 0) return "the condition has a step that lacks a value";
    if (++depth > kMaxStack) return "the condition is nested too deeply";
  }
  return steps.empty() || depth == 1 ? "" : "the condition has more than one result";
}

Condition::Condition(std::vector<Step> steps) : steps_(std::move(steps)) {
  for (const Step& step : steps_) {
    if (step.kind == StepKind::kNumber) needs_ |= 1u << static_cast<int>(step.value);
  }
}

bool Condition::Holds(const Numbers& numbers) const {
  if (empty()) return true;
  double stack[kMaxStack];
  double* end = stack;
  for (const Step& step : steps_) {
    if (step.kind == StepKind::kConstant) {
      *end++ = step.value;
    } else if (step.kind == StepKind::kNumber) {
      const int number = static_cast<int>(step.value);
      if (!numbers.Has(number)) return false;
      *end++ = numbers[number];
    } else if (Operands(step.kind) == 1) {
      end[-1] = OfOne(step.kind, end[-1]);
    } else {
      --end;
      end[-1] = OfTwo(step.kind, end[-1], *end);
    }
  }
  return end[-1] != 0;
}

}  // namespace tbdbg
