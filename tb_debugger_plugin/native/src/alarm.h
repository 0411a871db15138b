// Rings when a bad value is recorded that the program must not go on with.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "bad_tensors.h"

namespace tbdbg {

// Which outputs of an op may ring.
enum Rings : uint8_t { kNoneRings = 0, kFirstRings = 1, kOthersRing = 2, kAllRing = 3 };

// The alarm of one recording. Thread-safe. Until Arm it never rings.
//
// In a recording that fails graphs, each bad tensor rings, and the op that recorded it fails with the number
// of the ring. Otherwise the first one rings, and no other until TakePending.
class Alarm {
 public:
  struct Settings {
    bool infinities = true;  // whether infinite tensors ring
    bool nans = true;        // whether tensors with NaN ring
    // Whether infinite tensors are meant as soon as a constant of the program is infinite.
    bool spares_masks = false;
    bool fails_graphs = false;
  };
  // What rang: a prefix as in FirstBad, and how bad the tensor is.
  struct Value {
    std::string prefix;  // empty if the ring is too long ago
    bool is_execution = false;
    Bad bad = Bad::kNo;
  };

  // Called before anything is recorded.
  void Arm(const Settings& settings);

  bool fails_graphs() const { return fails_graphs_; }
  // Rings if the tensor is bad enough. Returns the number of the ring, from 1 on, or 0.
  int64_t RingIf(Bad bad, std::string_view prefix, bool is_execution) {
    return bad != Bad::kNo && Hears(bad) ? Ring(bad, prefix, is_execution) : 0;
  }
  void NoteConstant(Bad bad) {
    if (bad == Bad::kInfinite && spares_masks_) infinities_ = false;
  }
  // The first ring that nobody took, or 0. Cheap. Always 0 if graphs fail.
  int64_t TakePending() { return pending_.load(std::memory_order_relaxed) == 0 ? 0 : pending_.exchange(0); }
  Value Get(int64_t number) const;

  static constexpr size_t kKept = 100;  // rings that can be asked for

 private:
  bool Hears(Bad bad) const {
    if (bad == Bad::kNan ? !nans_ : !infinities_.load(std::memory_order_relaxed)) return false;
    return fails_graphs_ || pending_.load(std::memory_order_relaxed) == 0;
  }
  int64_t Ring(Bad bad, std::string_view prefix, bool is_execution);

  bool nans_ = false, spares_masks_ = false, fails_graphs_ = false;  // constant after Arm
  std::atomic<bool> infinities_{false};
  std::atomic<int64_t> pending_{0};
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Value> last_;
  int64_t rings_ = 0;
};

}  // namespace tbdbg
