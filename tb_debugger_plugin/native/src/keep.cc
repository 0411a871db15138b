#include "keep.h"

namespace tbdbg {

bool KeepRules::Rule::Take(int64_t bytes) {
  if (limits.max_tensor_bytes >= 0 && bytes > limits.max_tensor_bytes) return false;
  if (limits.max_total_bytes < 0) return true;
  int64_t now = left.load(std::memory_order_relaxed);
  while (bytes <= now) {
    if (left.compare_exchange_weak(now, now - bytes, std::memory_order_relaxed)) return true;
  }
  return false;
}

Choice KeepRules::Choose(uint64_t chosen, int64_t bytes, Bad bad, KeptBytes* kept) {
  Choice choice = Choice::kSummary;
  chosen = Enabled(chosen);
  for (size_t i = 0; i < rules_.size(); ++i) {
    if ((chosen >> i & 1) == 0 || (rules_[i].limits.only_bad && bad == Bad::kNo)) continue;
    if (rules_[i].Take(bytes)) {
      *kept = {static_cast<int>(i), bytes};
      return Choice::kWhole;
    }
    choice = Choice::kLeftOut;
  }
  return choice;
}

void KeepRules::GiveBack(KeptBytes kept) {
  if (kept.rule < 0 || static_cast<size_t>(kept.rule) >= rules_.size()) return;
  Rule& rule = rules_[kept.rule];
  if (rule.limits.max_total_bytes >= 0) rule.left.fetch_add(kept.bytes, std::memory_order_relaxed);
}

void KeepRules::Reset() {
  for (Rule& rule : rules_) rule.left = rule.limits.max_total_bytes;
}

}  // namespace tbdbg
