#include "earlier_calls.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tbdbg {

void EarlierCalls::Add(EarlierCall call, double seconds) {
  constexpr double kMostCalls = 1 << 20;
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return;
  double wait = 1;
  if (call.number >= kFirst) {
    const double passed = call.stamp.wall_time - last_time_;
    const double calls = static_cast<double>(call.number - last_number_);
    // A clock that was set back says nothing.
    if (passed > 0) wait = std::clamp(std::ceil(seconds * calls / (kShare * passed)), 1.0, kMostCalls);
  }
  last_number_ = call.number;
  last_time_ = call.stamp.wall_time;
  const int64_t due = call.number + static_cast<int64_t>(wait);
  kept_.push_back(std::move(call));
  if (kept_.size() > kMost) kept_.pop_front();
  due_.store(due, std::memory_order_relaxed);
}

void EarlierCalls::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  kept_.clear();
}

std::vector<EarlierCall> EarlierCalls::Take(double after) {
  std::deque<EarlierCall> kept;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    kept.swap(kept_);
  }
  std::vector<EarlierCall> taken;
  for (EarlierCall& call : kept) {
    if (call.stamp.wall_time > after) taken.push_back(std::move(call));
  }
  return taken;
}

}  // namespace tbdbg
