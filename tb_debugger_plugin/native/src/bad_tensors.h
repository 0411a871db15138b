// Decides which recorded tensors are bad, and which bad ones are pinned.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

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

// What a bad tensor is to its op, from the least to the most important.
enum class News { kNone, kAgain, kFirstInfinite, kFirstNan };

// Remembers which ops have had a bad tensor, and when. Thread-safe.
//
// A `prefix`, the part of a record that is the same each time (encode.h), stands for the op.
class BadOps {
 public:
  // Says whether a bad tensor is the first infinite one, or the first one with NaN, of its op; or else the
  // first one after a silence: more than `shortest` records, and longer than the recording before it.
  // `now`: how many records there are. Remembers at most kMax ops; infinite tensors may use only the first
  // half of that, so that masks of -inf leave room for NaN.
  News Judge(std::string_view prefix, Bad bad, int64_t now, int64_t shortest);
  // Forgets all of them.
  void Clear();

  static constexpr size_t kMax = 10000;

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, int64_t> last_;  // guarded by mutex_; when, by hash of op and kind
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
