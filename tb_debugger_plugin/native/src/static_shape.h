// The dtype and shape of a tensor as far as its graph has them before it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "summary.h"

namespace tbdbg {

// Completes a shape in which at most one dim is not known, and so below 0, by the number of elements. False
// if that does not determine it.
bool CompleteShape(int64_t num_elements, std::vector<int64_t>* dims);

class StaticShape {
 public:
  // A shape of unknown rank.
  StaticShape() = default;
  // `dims`: below 0 for a dim that is not known.
  StaticShape(int dtype, std::vector<int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  // Makes a view of the tensor of this dtype and shape at `data`. The view is valid as
  // long as this object and `dims`, which has room for rank() numbers. False if the
  // size of the memory does not determine the shape.
  bool View(const void* data, size_t byte_size, int64_t* dims, TensorView* view) const;

 private:
  bool is_usable_ = false;
  int dtype_ = 0;
  std::vector<int64_t> dims_;
  int unknown_ = -1;        // index of the unknown dim; below 0 if all are known
  int64_t known_size_ = 1;  // bytes of a tensor whose unknown dim is 1
};

}  // namespace tbdbg
