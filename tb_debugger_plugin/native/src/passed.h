// The tensors that passed the gate in the current call, and their values.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "numbers.h"
#include "running_calls.h"
#include "summary.h"

namespace tbdbg {

// A tensor in memory, with a reference that keeps the memory.
struct HeldValue {
  std::shared_ptr<const void> owner;
  TensorView view;            // its dims are those below
  std::vector<int64_t> dims;  // constant
};

// Makes a reference to the tensor that an op holds.
class Holder {
 public:
  virtual ~Holder() = default;
  // Null if there is none.
  virtual std::shared_ptr<const HeldValue> Hold() const = 0;
};

// A tensor that passed.
struct Passed {
  int64_t number = 0;  // from 1 on
  int64_t tensor_id = 0;
  int64_t occurrence = 0;  // in its call
  int64_t call = kNoCall;
  int64_t step = 0;  // see Passing
  int dtype = 0;     // 0 if it is not known
  std::optional<std::vector<int64_t>> dims;
  Numbers numbers;  // those that were computed
  int64_t num_bytes = 0;
  std::shared_ptr<const HeldValue> value;  // or null
  bool was_changed = false;
};

// The tensors of the current call. Thread-safe.
class PassedTensors {
 public:
  struct Counts {
    int64_t held_bytes = 0;
    int64_t dropped = 0;  // values that were dropped because of the limit
    int64_t passed = 0;
  };

  // Whether tensors are noted that do not stop their thread. Cheap.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Holds values of at most so many bytes together; 0: notes nothing but hits.
  void SetLimit(int64_t max_bytes);
  // Notes a tensor; sets its number and its occurrence.
  void Note(Passed* tensor);
  // Keeps a tensor with its value, whatever is forgotten or dropped, until Unpin. There is one at a time.
  void Pin(const Passed& tensor);
  void Unpin();
  // Replaces the numbers and the value of a tensor.
  void Change(int64_t number, std::shared_ptr<const HeldValue> value);
  // A new call begins: only tensors of the calls that go on stay.
  void Forget(const std::vector<int64_t>& calls);
  // Forgets all, and notes nothing any more.
  void Close();

  // Those with a number above `after`, at most `limit`, oldest first: of a call and of none that is known, or
  // all, for kNoCall.
  std::vector<Passed> After(int64_t after, size_t limit, int64_t call) const;
  std::shared_ptr<const HeldValue> ValueOf(int64_t number) const;
  // `call`: counts what passed as After() does.
  Counts counts(int64_t call = kNoCall) const;

  static constexpr size_t kMost = 100000;

 private:
  using Values = std::vector<std::shared_ptr<const HeldValue>>;

  // These need mutex_.
  Passed* Find(int64_t number);
  const Passed* Find(int64_t number) const { return const_cast<PassedTensors*>(this)->Find(number); }
  // Drops the value of a tensor, into `dropped`.
  void Drop(Passed* tensor, Values* dropped);
  void KeepLimit(Values* dropped);

  std::atomic<bool> wanted_{false};
  mutable std::mutex mutex_;
  // All guarded by mutex_. Values are destroyed outside of it: what TensorFlow does then is its own affair.
  bool closed_ = false;
  int64_t max_bytes_ = 0;
  int64_t last_number_ = 0;
  std::deque<Passed> tensors_;  // numbers rise
  // By tensor and call, or by step where the call is not known.
  std::map<std::pair<int64_t, int64_t>, int64_t> occurrences_;
  int64_t held_bytes_ = 0;  // of tensors_
  int64_t dropped_ = 0;
  int64_t first_held_ = 0;  // no earlier number has a value, except for the pinned one
  int64_t pinned_ = 0;      // number of the pinned tensor, or 0
};

}  // namespace tbdbg
