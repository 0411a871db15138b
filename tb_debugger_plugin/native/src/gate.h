// The gate: where threads that compute tensors of graphs are held, so that a user can look at the program.
//
// A watch op asks the gate after it has recorded a tensor. One thread at a time is held at a hit: a tensor
// that a rule stops at, or the next one. Until it is released, other threads that ask wait too. Threads of
// input pipelines are an exception: they wait only if a rule stops them.
//
// A thread that is held or waits has none of the recorder's locks and no GIL. So whoever releases it cannot
// be kept from doing so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bad_tensors.h"
#include "condition.h"
#include "numbers.h"
#include "passed.h"
#include "running_calls.h"

namespace tbdbg {

// See GateRule in native/structs.py.
struct GateRule {
  int64_t number = 0;
  std::optional<std::vector<int64_t>> tensor_ids;  // sorted
  Condition condition;
  bool only_bad = false;
  int64_t ignore = 0;

  bool operator==(const GateRule& other) const;
};

// A tensor that was computed, for the time of Gate::Pass.
struct Passing {
  int64_t tensor_id = 0;
  const TensorView* view = nullptr;  // null if it is not in this memory
  bool has_shape = false;            // whether the view has its shape, not only its elements
  const Holder* holder = nullptr;    // of the view; may be null
  Numbers numbers;                   // those that are known without a look at its elements
  std::optional<Bad> bad;            // how bad it is, if that is known
  CannotChange cannot_change = CannotChange::kBeside;
  bool others_may_have_passed = true;  // whether consumers may have run already
  bool in_pipeline = false;
  int64_t step = 0;  // TensorFlow's number of the run of the graph; 0 if it is not known
  // Whether it is on record. Another one stops only where a rule names it.
  bool is_recorded = true;
};

// A thread that is held.
struct Hit {
  int64_t number = 0;  // from 1 on
  int64_t rule = 0;    // 0 if the next tensor was wanted
  Passed tensor;
  CannotChange cannot_change = CannotChange::kBeside;
  bool others_may_have_passed = true;
  bool in_pipeline = false;
};

// The gate of one recording. Thread-safe. At first nothing is wanted.
class Gate {
 public:
  Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whether Pass does anything. One atomic load.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Lets a tensor pass; this may take as long as a user thinks. Returns the value that its consumers get
  // instead, or null.
  std::shared_ptr<const HeldValue> Pass(const Passing& tensor);

  // The following are for the thread that controls the program; see Gate in capture/gate.py.
  void SetRules(std::vector<GateRule> rules);
  void StopAtNext(bool wanted);
  std::optional<Hit> Wait(double seconds);
  bool Release(int64_t hit);
  void LetAllPass();
  void Close();
  void HoldValues(int64_t max_bytes);
  // Empty, or why the value cannot be replaced; `*wrong_size`: whether that is because of the size.
  std::string Replace(int64_t hit, std::string_view data, bool* wrong_size);
  std::optional<Hit> hit() const;
  // The call of each thread that waits because another is held; kNoCall where it is not known.
  std::vector<int64_t> waiting_calls() const;
  // The hits of each rule, by its number.
  std::vector<std::pair<int64_t, int64_t>> hits() const;
  // See PassedTensors.
  void Forget(const std::vector<int64_t>& calls = {});
  std::vector<Passed> Tensors(int64_t after, size_t limit, int64_t call = kNoCall) const;
  std::shared_ptr<const HeldValue> ValueOf(int64_t number) const;
  PassedTensors::Counts counts(int64_t call = kNoCall) const;
  // Of the threads of the program.
  RunningCalls& calls() { return calls_; }

  // Ends it in a forked child, where the locks may be locked for ever. Later calls do nothing.
  void Abandon();

 private:
  struct RuleSet;
  struct Visit;
  // A hit, in the thread that is held.
  struct Held {
    Hit hit;
    bool is_released = false;
    std::shared_ptr<const HeldValue> replacement;
  };

  // The rules that are set, from a cache of the thread.
  std::shared_ptr<const RuleSet> Rules() const;
  // The number of a rule that stops the tensor, or 0. Counts its hits.
  static int64_t Judge(const RuleSet& rules, Visit* visit);
  void Note(Visit* visit);
  // Whether threads have to take the mutex.
  bool stops() const { return stops_.load(std::memory_order_relaxed); }

  // These need mutex_.
  void SetRulesTo(std::vector<GateRule> rules);
  std::shared_ptr<const HeldValue> Hold(std::unique_lock<std::mutex>* lock, int64_t rule, Visit* visit);
  void Free();
  void Update();

  std::atomic<bool> wanted_{false}, stops_{false}, abandoned_{false};
  std::atomic<int64_t> version_{0};  // of rules_
  PassedTensors passed_;
  RunningCalls calls_;
  mutable std::mutex mutex_;  // taken before that of passed_
  std::condition_variable go_on_, arrived_;
  // All guarded by mutex_.
  std::shared_ptr<const RuleSet> rules_;
  bool next_ = false, closed_ = false;
  Held* held_ = nullptr;
  int64_t last_hit_ = 0, delivered_ = 0;
  std::vector<int64_t> waiting_;  // the call of each thread that waits
};

}  // namespace tbdbg
