// Decides which recorded tensors are bad, and which bad ones are pinned.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "summary.h"

namespace tbdbg {

enum class Bad { kNo, kInfinite, kNan };

// Returns how bad a tensor is that EncodeSummary (encode.h) encoded in `mode`.
// CURT_HEALTH does not distinguish infinity from NaN: there, any bad tensor counts
// as NaN. Returns kNo if nothing was counted.
Bad HowBad(std::string_view tensor_proto, Mode mode);
// The same for the columns that Summarize wrote.
Bad HowBad(const double* columns, Mode mode);
// The same for a tensor in memory.
Bad HowBad(const TensorView& tensor);

// Remembers which ops have had a bad tensor. Thread-safe.
//
// A `prefix`, the part of a record that is the same each time (encode.h), stands for the op.
class BadOps {
 public:
  // Whether a bad tensor is the first infinite one, or the first one with NaN, of
  // its op. Returns true at most kMax times. Infinite tensors may use only the first half
  // of them, so that masks of -inf leave room for NaN.
  bool IsFirst(std::string_view prefix, Bad bad);
  // Forgets all of them.
  void Clear();

  static constexpr size_t kMax = 1000;

 private:
  std::atomic<bool> full_{false};
  std::mutex mutex_;
  std::unordered_set<size_t> seen_;  // guarded by mutex_; hashes of op and kind
};

// Remembers the bad value that a recording names when it ends. Thread-safe.
//
// It is the first bad value. If a constant of the program was infinite before, such as a mask, it is the
// first NaN.
class FirstBad {
 public:
  struct Value {
    std::string prefix;  // of a trace or of an execution; empty if there is no bad value
    bool is_execution = false;
    bool is_nan = false;
  };

  // Whether Note would remember a value that is this bad. Cheap.
  bool IsNews(Bad bad) const { return static_cast<int>(bad) > worst_.load(std::memory_order_relaxed); }
  void Note(Bad bad, std::string_view prefix, bool is_execution);
  void NoteConstant(Bad bad);
  Value Get() const;

 private:
  std::atomic<int> worst_{0};  // the worst Bad that was noted
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Value first_, first_nan_;
  bool constant_was_first_ = false;
};

}  // namespace tbdbg
