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
// Its DataType number; below 0 likewise.
int EagerTensorDtype(PyObject* tensor);
// The name of its device, valid until the next call; null likewise.
const char* EagerTensorDevice(PyObject* tensor);

// An eager tensor in the host's memory.
class EagerTensor {
 public:
  // `tensor`: any object; it must outlive this one.
  explicit EagerTensor(PyObject* tensor);

  // Waits until the tensor is computed. Returns whether the object is an eager tensor that can be read this
  // way. Only this needs no GIL.
  bool Read();
  // The same, but the view has no shape, which costs less.
  bool ReadElements();
  const TensorView& view() const { return view_; }

 private:
  static constexpr int kMaxRank = 16;

  void* handle_ = nullptr;  // TensorFlow's; null if the object is something else
  TensorView view_;
  int64_t dims_[kMaxRank];
};

}  // namespace tbdbg
