// Which recorded tensors are bad, and which of these are worth keeping for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <unordered_set>

#include "summary.h"

namespace tbdbg {

enum class Bad { kNo, kInfinite, kNan };

// How bad a tensor is that EncodeSummary (encode.h) encoded in `mode`.
// CURT_HEALTH does not tell infinity from NaN: there, any bad tensor counts as
// NaN. kNo also where nothing was counted.
Bad HowBad(std::string_view tensor_proto, Mode mode);
// The same of the columns that Summarize wrote.
Bad HowBad(const double* columns, Mode mode);

// Remembers which ops were bad before. Thread-safe.
class BadOps {
 public:
  // Whether a bad tensor is the first infinite one, or the first with NaN, of
  // its op. Only kMax are; infinite ones only while there are fewer than half
  // of that, so that masks of -inf do not use up what a NaN will need.
  bool IsFirst(std::string_view op, Bad bad);

  static constexpr size_t kMax = 1000;

 private:
  std::atomic<bool> full_{false};
  std::mutex mutex_;
  std::unordered_set<size_t> seen_;  // guarded by mutex_; hashes of op and kind
};

}  // namespace tbdbg
