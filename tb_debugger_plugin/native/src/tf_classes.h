// Tensors as TensorFlow's own kernels see them: without the handle that the C API
// makes of each, which takes two allocations, a reference and 0.1 us, as much as
// all the rest of recording a small one.
//
// These are functions of TensorFlow's C++ classes, looked up by name like those
// of tf_api.h. They are no stable interface: they are used only in versions that
// were tested (native/__init__.py), and by a watch op only after the C API has
// said the same of its tensors.
#pragma once

#include <cstddef>

#include "tf_api.h"

namespace tbdbg {

struct Tensor;  // tensorflow::Tensor

struct TfClasses {
  const Tensor& (*input)(TF_OpKernelContext*, int) = nullptr;
  void (*set_output)(TF_OpKernelContext*, int, const Tensor&) = nullptr;
  const void* (*data)(const Tensor&) = nullptr;  // null of one without memory
  size_t (*byte_size)(const Tensor&) = nullptr;  // of one with memory
};

// Null where the classes are not used.
const TfClasses* Classes();

// Looks the functions up in the library at `path`, which is loaded already; does
// nothing when one of them is missing.
void LoadTfClasses(const char* path);

// From now on they are not used.
void DistrustClasses();

}  // namespace tbdbg
