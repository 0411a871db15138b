// Keeps the program alive when a mapped file is lost.
//
// A store into mapped memory raises SIGBUS when the file was truncated, when its
// disk failed, or when its server does not answer. The signal would end the
// program, but only data of the recorder are lost.
#pragma once

#include <cstddef>

namespace tbdbg {

struct GuardedRange;

// Guards one range of mapped memory from Begin to End. At the first access to it
// that raises SIGBUS, memory without a file, filled with zeros, replaces the range,
// and the program goes on.
//
// While anything is guarded, the process has a handler for SIGBUS that passes
// all other SIGBUS signals to the previous handler.
class BusGuard {
 public:
  BusGuard() = default;
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;
  ~BusGuard() { End(); }

  // Does nothing when 64 ranges are guarded already.
  void Begin(void* start, size_t size);
  // Also works in a forked child, where locks of other threads may still be held.
  void End();

  // Whether the range has lost its file and its contents.
  bool lost() const;

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace tbdbg
