#include "static_shape.h"

#include <algorithm>
#include <utility>

namespace tbdbg {

bool CompleteShape(int64_t num_elements, std::vector<int64_t>* dims) {
  int64_t known = 1;
  int64_t* unknown = nullptr;
  for (int64_t& dim : *dims) {
    if (dim >= 0) {
      known *= dim;
    } else if (unknown == nullptr) {
      unknown = &dim;
    } else {
      return false;
    }
  }
  if (unknown == nullptr) return known == num_elements;
  if (known == 0 || num_elements % known != 0) return false;
  *unknown = num_elements / known;
  return true;
}

StaticShape::StaticShape(int dtype, std::vector<int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)), known_size_(MeasuredBytes(dtype)) {
  int unknown = 0;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] >= 0) {
      known_size_ *= dims_[i];
    } else {
      unknown_ = i;
      ++unknown;
    }
  }
  // The memory layout is known only for dtypes that are measured, and the size of an
  // empty tensor does not determine an unknown dim.
  is_usable_ = known_size_ > 0 && unknown <= 1;
}

bool StaticShape::View(const void* data, size_t byte_size, int64_t* dims, TensorView* view) const {
  const auto size = static_cast<int64_t>(byte_size);
  if (!is_usable_ || size == 0) return false;
  if (unknown_ < 0 ? size != known_size_ : size % known_size_ != 0) return false;
  view->dims = dims_.data();
  if (unknown_ >= 0) {
    std::copy(dims_.begin(), dims_.end(), dims);
    dims[unknown_] = size / known_size_;
    view->dims = dims;
  }
  view->data = data;
  view->byte_size = byte_size;
  view->dtype = dtype_;
  view->rank = rank();
  view->num_elements = size / MeasuredBytes(dtype_);
  return true;
}

}  // namespace tbdbg
