#include "py_encode.h"

#include <string>

#include "bad_tensors.h"
#include "crc32c.h"
#include "encode.h"
#include "py_values.h"
#include "summary.h"

namespace tbdbg {
namespace {

// A tensor passed as buffer, dtype and shape. Holds the buffer.
class TensorArgument {
 public:
  TensorArgument() = default;
  ~TensorArgument() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }
  TensorArgument(const TensorArgument&) = delete;
  TensorArgument& operator=(const TensorArgument&) = delete;

  // False with a Python exception set. `shape`: a tuple.
  bool Parse(PyObject* buffer, int dtype, PyObject* shape) {
    if (PyObject_GetBuffer(buffer, &buffer_, PyBUF_C_CONTIGUOUS) != 0 || !ParseShape(shape)) return false;
    view_.data = buffer_.buf;
    view_.byte_size = static_cast<size_t>(buffer_.len);
    view_.dtype = dtype;
    return FitsBuffer();
  }

  const TensorView& view() const { return view_; }

 private:
  bool ParseShape(PyObject* shape) {
    const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    if (rank > kMaxRank) {
      PyErr_SetString(PyExc_ValueError, "a tensor has at most 254 dimensions");
      return false;
    }
    view_.num_elements = 1;
    for (Py_ssize_t i = 0; i < rank; ++i) {
      dims_[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
      if (dims_[i] == -1 && PyErr_Occurred()) return false;
      view_.num_elements *= dims_[i];
    }
    view_.rank = static_cast<int>(rank);
    view_.dims = dims_;
    return true;
  }

  bool FitsBuffer() const {
    const int64_t element = MeasuredBytes(view_.dtype);
    const bool fits = element == 0 || view_.num_elements * element == buffer_.len;
    if (fits && view_.dtype != kString) return true;
    PyErr_SetString(PyExc_ValueError, "the buffer does not have the layout that dtype and shape require");
    return false;
  }

  Py_buffer buffer_{};
  TensorView view_;
  int64_t dims_[kMaxRank];
};

}  // namespace

PyObject* PyEncodeSummary(PyObject*, PyObject* args) {
  PyObject *buffer, *shape;
  int dtype, mode;
  double tensor_id;
  long long max_tensor_bytes = -1;
  if (!PyArg_ParseTuple(args, "OiO!id|L", &buffer, &dtype, &PyTuple_Type, &shape, &mode, &tensor_id,
                        &max_tensor_bytes)) {
    return nullptr;
  }
  TensorArgument tensor;
  if (!tensor.Parse(buffer, dtype, shape)) return nullptr;
  std::string encoded;
  Py_BEGIN_ALLOW_THREADS
  EncodeSummary(tensor.view(), static_cast<Mode>(mode), tensor_id, max_tensor_bytes, &encoded);
  Py_END_ALLOW_THREADS
  return ToBytes(encoded);
}

PyObject* PyBadElement(PyObject*, PyObject* args) {
  PyObject *buffer, *shape, *summary;
  int dtype, mode;
  if (!PyArg_ParseTuple(args, "OiO!Si", &buffer, &dtype, &PyTuple_Type, &shape, &summary, &mode)) {
    return nullptr;
  }
  TensorArgument tensor;
  if (!tensor.Parse(buffer, dtype, shape)) return nullptr;
  BadPositions at;
  Py_BEGIN_ALLOW_THREADS
  if (HowBad(BytesOf(summary), static_cast<Mode>(mode)) != Bad::kNo) {
    at = FindBad(tensor.view().data, tensor.view().num_elements, dtype);
  }
  Py_END_ALLOW_THREADS
  if (at.first < 0) Py_RETURN_NONE;
  return Py_BuildValue("LL", static_cast<long long>(at.first), static_cast<long long>(at.first_nan));
}

PyObject* PyCrc32c(PyObject*, PyObject* buffer) {
  Py_buffer bytes;
  if (PyObject_GetBuffer(buffer, &bytes, PyBUF_SIMPLE) != 0) return nullptr;
  const uint32_t crc = Crc32c(bytes.buf, static_cast<size_t>(bytes.len));
  PyBuffer_Release(&bytes);
  return PyLong_FromUnsignedLong(crc);
}

}  // namespace tbdbg
