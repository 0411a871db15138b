#include "alarm.h"

namespace tbdbg {

void Alarm::Arm(const Settings& settings) {
  nans_ = settings.nans;
  spares_masks_ = settings.spares_masks;
  fails_graphs_ = settings.fails_graphs;
  infinities_ = settings.infinities;
}

int64_t Alarm::Ring(Bad bad, std::string_view prefix, bool is_execution) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!Hears(bad)) return 0;
  last_.push_back({std::string(prefix), is_execution, bad});
  if (last_.size() > kKept) last_.pop_front();
  ++rings_;
  if (!fails_graphs_) pending_ = rings_;
  return rings_;
}

Alarm::Value Alarm::Get(int64_t number) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t first = rings_ - static_cast<int64_t>(last_.size()) + 1;
  if (number < first || number > rings_) return {};
  return last_[static_cast<size_t>(number - first)];
}

}  // namespace tbdbg
