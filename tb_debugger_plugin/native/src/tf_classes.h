// Reads tensors through TensorFlow's C++ classes, as its own kernels do, without the
// handle that the C API makes for each tensor. A handle takes two allocations, a
// reference and 0.1 us, as much as all the rest of recording a small tensor.
//
// The functions are looked up by name like those of tf_api.h. They are not a stable
// interface: they are used only with versions that were tested (native/__init__.py),
// and by a watch op only after they gave the same results as the C API for its tensors.
#pragma once

#include <cstddef>

#include "tf_api.h"

namespace tbdbg {

struct Tensor;  // tensorflow::Tensor

struct TfClasses {
  const Tensor& (*input)(TF_OpKernelContext*, int) = nullptr;
  void (*set_output)(TF_OpKernelContext*, int, const Tensor&) = nullptr;
  const void* (*data)(const Tensor&) = nullptr;  // null for a tensor without memory
  size_t (*byte_size)(const Tensor&) = nullptr;  // only for a tensor with memory
};

// The functions; null if the classes are not used.
const TfClasses* Classes();

// Looks the functions up in the library at `path`, which is loaded already; does
// nothing if one of them is missing.
void LoadTfClasses(const char* path);

// Ends the use of the classes.
void DistrustClasses();

}  // namespace tbdbg
