#include "running_calls.h"

#include <algorithm>

namespace tbdbg {

void RunningCalls::Begin(int64_t call, bool shows_steps) {
  if (abandoned_) return;
  std::unique_lock<std::mutex> lock(mutex_);
  if (shows_steps && !told_apart_.wait_for(lock, kPatience, [&] { return IsToldApart(); })) {
    for (Run& run : runs_) run.is_waited_for = false;
  }
  runs_.push_back({call, 0, shows_steps});
  Changed();
}

void RunningCalls::End(int64_t call) {
  if (abandoned_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto ended =
      std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& run) { return run.call == call; });
  if (ended == runs_.rend()) return;
  runs_.erase(std::next(ended).base());
  if (runs_.empty()) calls_.clear();
  const auto goes_on = [&](int64_t other) {
    return std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) { return run.call == other; });
  };
  for (auto it = calls_.begin(); it != calls_.end();)
    it = goes_on(it->second) ? std::next(it) : calls_.erase(it);
  Changed();
}

int64_t RunningCalls::CallOf(int64_t step) {
  if (abandoned_) return kNoCall;
  struct Cached {
    const RunningCalls* owner = nullptr;
    int64_t version = 0, step = 0, call = kNoCall;
  };
  thread_local Cached cached;
  if (cached.owner == this && cached.step == step &&
      cached.version == version_.load(std::memory_order_acquire)) {
    return cached.call;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t call = Find(step);
  cached = {this, version_.load(std::memory_order_relaxed), step, call};
  return call;
}

int64_t RunningCalls::Find(int64_t step) {
  if (runs_.empty()) return kNoCall;
  const auto known = calls_.find(step);
  if (known != calls_.end()) return known->second;
  Run* unknown = nullptr;
  int64_t num_unknown = 0;
  for (Run& run : runs_) {
    if (run.step != 0) continue;
    unknown = &run;
    ++num_unknown;
  }
  // What a run starts beside itself has other steps, such as a function that is called from Python inside.
  if (num_unknown == 0 && runs_.size() == 1) unknown = &runs_.front();
  if (num_unknown > 1 || unknown == nullptr) return kNoCall;
  if (step != 0) {
    unknown->step = step;
    calls_[step] = unknown->call;
    Changed();
  }
  return unknown->call;
}

bool RunningCalls::IsToldApart() const {
  return std::none_of(runs_.begin(), runs_.end(),
                      [](const Run& run) { return run.is_waited_for && run.step == 0; });
}

void RunningCalls::Changed() {
  version_.fetch_add(1, std::memory_order_release);
  told_apart_.notify_all();
}

}  // namespace tbdbg
