// Which call of the program an op computes for.
//
// TensorFlow computes in threads of its own, and says no more of the caller than a step id: a number that all
// ops of one run of a graph have, functions that the graph calls included. So each run is announced before it
// begins, by the thread that calls, and the first step id that is new belongs to the run that has none yet.
// To know which run that is, a run waits until the one before has shown its step id, or has ended, for a
// short time at most. Where two runs cannot be told apart, the call is not known, and nothing is guessed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tbdbg {

// Where the call is not known.
constexpr int64_t kNoCall = -1;

// The calls whose graphs run. Thread-safe.
class RunningCalls {
 public:
  // The calling thread is about to run a graph. Waits at most kPatience for other runs. `call`: from 0.
  // `shows_steps`: whether tensors of the run are asked about; if not, nothing waits for it.
  void Begin(int64_t call, bool shows_steps = true);
  // The graph has run.
  void End(int64_t call);
  // The call of a step, or kNoCall. `step`: from TensorFlow; 0 if it is not known.
  int64_t CallOf(int64_t step);
  // In a forked child, where the lock may be locked for ever: no call is known any more.
  void Abandon() { abandoned_ = true; }

 private:
  static constexpr std::chrono::milliseconds kPatience{500};

  struct Run {
    int64_t call = 0;
    int64_t step = 0;           // 0 until it is known
    bool is_waited_for = true;  // whether the next run waits for its step
  };

  // These need mutex_.
  int64_t Find(int64_t step);
  bool IsToldApart() const;
  void Changed();

  std::atomic<bool> abandoned_{false};
  std::atomic<int64_t> version_{1};  // of the fields below, for caches of threads
  std::mutex mutex_;
  std::condition_variable told_apart_;
  // Guarded by mutex_.
  std::vector<Run> runs_;
  std::unordered_map<int64_t, int64_t> calls_;  // of steps, of runs that go on
};

}  // namespace tbdbg
