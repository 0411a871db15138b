// Decides which tensors are recorded whole, although the recording has summaries.
//
// Python chooses which rules a tensor has when its graph is built, or when an eager op
// first runs on a line. What depends on the value is decided here.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "bad_tensors.h"

namespace tbdbg {

// The part of a KeepValues (capture/keep_values.py) that is applied to each value.
struct KeepLimits {
  bool only_bad;
  int64_t max_tensor_bytes;  // below 0: no limit
  int64_t max_total_bytes;   // below 0: no limit
};

// Bytes of a value on record that count towards the total of a rule. `rule` below 0: they
// count nowhere.
struct KeptBytes {
  int rule = -1;
  int64_t bytes = 0;
};

enum class Choice {
  kSummary,  // no rule wants the value
  kLeftOut,  // a rule wants it, but it is too large
  kWhole,
};

// The rules of one recording. Thread-safe.
class KeepRules {
 public:
  explicit KeepRules(const std::vector<KeepLimits>& limits = {}) {
    for (const KeepLimits& each : limits) rules_.emplace_back(each);
  }

  bool empty() const { return rules_.empty(); }
  // Switches rules off and on, as bits; at first all are on. Thread-safe.
  void SetEnabled(uint64_t enabled) { enabled_.store(enabled, std::memory_order_relaxed); }
  // The rules among `chosen` that are on.
  uint64_t Enabled(uint64_t chosen) const { return chosen & enabled_.load(std::memory_order_relaxed); }
  // Chooses what is recorded of a value of `bytes` bytes. `chosen`: the rules that the
  // tensor has, as bits. For kWhole, the bytes are taken from the first rule that allows
  // it, and `kept` says so.
  Choice Choose(uint64_t chosen, int64_t bytes, Bad bad, KeptBytes* kept);
  // Gives the bytes of a value back, because it is no longer on record.
  void GiveBack(KeptBytes kept);
  // Gives all bytes back, because nothing is on record any more.
  void Reset();

 private:
  struct Rule {
    explicit Rule(const KeepLimits& limits) : limits(limits), left(limits.max_total_bytes) {}
    bool Take(int64_t bytes);

    const KeepLimits limits;
    std::atomic<int64_t> left;  // of the total
  };

  std::deque<Rule> rules_;  // constant but for `left`
  std::atomic<uint64_t> enabled_{~uint64_t{0}};
};

}  // namespace tbdbg
