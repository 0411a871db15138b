// Python's eager tensors, read without NumPy, which takes several times as long
// as the recorder does with a small one.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "summary.h"

namespace tbdbg {

// Looks up what is needed in the library at `path`, which must be loaded already,
// and in those that it needs. Without it no tensor can be read this way.
void LoadEagerApi(const char* path);

// The number that TensorFlow has given a tensor; below 0 where it has to be asked
// in Python. `tensor`: any object.
int64_t EagerTensorId(PyObject* tensor);

// An eager tensor in the host's memory.
class EagerTensor {
 public:
  // Waits until the tensor is computed, and lets go of the GIL meanwhile.
  // `tensor`: any object; it must live as long as this.
  explicit EagerTensor(PyObject* tensor);

  // Whether there is one, and it can be read this way.
  bool ok() const { return ok_; }
  const TensorView& view() const { return view_; }

 private:
  static constexpr int kMaxRank = 16;

  bool ok_ = false;
  TensorView view_;
  int64_t dims_[kMaxRank];
};

}  // namespace tbdbg
