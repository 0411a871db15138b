// Keeps the program alive when mapped memory has lost the file behind it.
//
// A store into such memory raises SIGBUS, which kills: the file was cut by
// somebody, its disk failed, the server that has it does not answer. What is
// stored there is ours, and no reason for the program to end.
#pragma once

#include <cstddef>

namespace tbdbg {

struct GuardedRange;

// Guards one range of mapped memory from Begin to End. The first access to it
// that raises SIGBUS puts memory of no file, all zeros, in place of the range,
// and the program goes on.
//
// While anything is guarded, the process has a handler for SIGBUS that hands
// every other one to the handler that was there before.
class BusGuard {
 public:
  BusGuard() = default;
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;
  ~BusGuard() { End(); }

  // When very many ranges are guarded already, this one is not.
  void Begin(void* start, size_t size);
  // Works in a forked child, too, where other threads may have left locks behind.
  void End();

  // Whether the range has lost its file, and what stood in it.
  bool lost() const;

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace tbdbg
