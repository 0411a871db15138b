// Records where bad tensors are bad: the position of the first NaN or infinity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "bad_tensors.h"
#include "encode.h"
#include "summary.h"

namespace tbdbg {

// Finds where a tensor is bad. `dims`: its shape as a graph has it, with at most one dim below 0, which
// follows from the size; null for the shape of `tensor`, which has the same elements.
BadElement FindBadElement(const TensorView& tensor, const std::vector<int64_t>* dims = nullptr);

// Writes a BadElement for the first infinite tensor, and for the first one with NaN, of each output of each
// op. Thread-safe.
//
// They go to .graphs, which is no circular buffer. Python appends to it, too: each record is one write to one
// open file, so the two never mix. A write is in the system's hands at once, so a kill loses none.
class BadElements {
 public:
  BadElements() = default;
  BadElements(const BadElements&) = delete;
  BadElements& operator=(const BadElements&) = delete;

  // `file`: a descriptor that was opened for appending, of which a copy is made; below 0 to write nothing.
  void Open(int file);

  // Whether the tensor is to be written: once true for each kind of bad. `prefix`, `slot`: see
  // EncodeBadElement.
  bool Wants(std::string_view prefix, int slot, Bad bad);
  // Returns an empty string, or the reason why recording has to stop. `stamp`: that of the tensor's record.
  std::string Write(const Stamp& stamp, std::string_view prefix, int slot, const BadElement& found);

  // Wants all of them again, as if the recording began now.
  void Clear() { ops_.Clear(); }
  // Later calls do nothing. Not thread-safe in a forked child, where the lock may be locked for ever: there,
  // nothing writes.
  void Close();

 private:
  // As many as BadOps remembers, of both kinds; more only after Clear.
  static constexpr size_t kMost = 2 * BadOps::kMax;

  BadOps ops_;
  std::mutex mutex_;
  int file_ = -1;       // guarded by mutex_
  size_t written_ = 0;  // guarded by mutex_
};

}  // namespace tbdbg
