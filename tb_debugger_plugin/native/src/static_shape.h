// What a graph knows of a tensor before it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "summary.h"

namespace tbdbg {

class StaticShape {
 public:
  // Not even the rank is known.
  StaticShape() = default;
  // `dims`: below 0 where one is not known.
  StaticShape(int dtype, std::vector<int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  // The tensor of this dtype and shape that lies at `data`. The view lives as long
  // as this and `dims`, which has room for rank() numbers. False when that memory
  // does not say which tensor it is.
  bool View(const void* data, size_t byte_size, int64_t* dims, TensorView* view) const;

 private:
  bool is_usable_ = false;
  int dtype_ = 0;
  std::vector<int64_t> dims_;
  int unknown_ = -1;        // which dim is not known; below 0 when all are
  int64_t known_size_ = 1;  // bytes of a tensor in which that dim is 1
};

}  // namespace tbdbg
