// The numbers of the last calls of a guarded function, so that a bad call shows what grew before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <vector>

#include "encode.h"

namespace tbdbg {

struct EarlierCall {
  int64_t number = 0;  // among the calls of the function, from 0 on
  Stamp stamp;
  std::vector<double> columns;  // the FULL_NUMERICS columns of each tensor, one tensor after the other
};

// The first calls are measured, and then every few: as many as take a small share of the program's time. The
// last ones are kept.
// Thread-safe.
class EarlierCalls {
 public:
  // How many calls there were.
  int64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  // Counts a call; returns its number.
  int64_t Count() { return calls_.fetch_add(1, std::memory_order_relaxed); }
  // Whether a call is to be measured, now and by nobody else. If so, Add must follow.
  bool IsDue(int64_t number) {
    int64_t due = due_.load(std::memory_order_relaxed);
    return number >= due && due_.compare_exchange_strong(due, kNever, std::memory_order_relaxed);
  }
  // Keeps a call. `seconds`: how long it took to measure it.
  void Add(EarlierCall call, double seconds);
  // Takes the calls that ended after a time, oldest first, and drops the others.
  std::vector<EarlierCall> Take(double after);
  // Drops all calls, and keeps none any more.
  void Close();

  static constexpr int64_t kFirst = 16;
  static constexpr size_t kMost = 32;
  // Of the time between calls, the part that measuring may take.
  static constexpr double kShare = 0.003;

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> due_{0};  // the first call to measure
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<EarlierCall> kept_;
  bool closed_ = false;
  int64_t last_number_ = -1;  // the last call that was measured, and when
  double last_time_ = 0;
};

}  // namespace tbdbg
