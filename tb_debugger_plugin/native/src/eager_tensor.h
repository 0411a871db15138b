// Reads Python's eager tensors without NumPy: for a small tensor, NumPy takes several
// times as long as the recorder.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "summary.h"

namespace tbdbg {

// Looks up functions in the library at `path`, which must be loaded already, and in
// the libraries that it needs. If one is missing, no tensor can be read this way.
void LoadEagerApi(const char* path);

// The number that TensorFlow has given a tensor; below 0 when Python code has to get
// it. `tensor`: any object.
int64_t EagerTensorId(PyObject* tensor);

// An eager tensor in the host's memory.
class EagerTensor {
 public:
  // Waits until the tensor is computed, without the GIL. `tensor`: any object; it must
  // outlive this one.
  explicit EagerTensor(PyObject* tensor);

  // Whether the object is an eager tensor that can be read this way.
  bool ok() const { return ok_; }
  const TensorView& view() const { return view_; }

 private:
  static constexpr int kMaxRank = 16;

  bool ok_ = false;
  TensorView view_;
  int64_t dims_[kMaxRank];
};

}  // namespace tbdbg
