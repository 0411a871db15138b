#include "eager_tensor.h"

#include <string_view>

#include "kernel.h"
#include "loaded_library.h"

namespace tbdbg {
namespace {

struct Handle;  // TensorFlow's TFE_TensorHandle

// Functions of TensorFlow's Python extension, and of its C API for eager tensors.
struct {
  bool (*is_tensor)(const PyObject*);
  Handle* (*handle_of)(const PyObject*);
  int64_t (*id_of)(const PyObject*);
  int (*dtype)(Handle*);
  int (*rank)(Handle*, TF_Status*);
  int64_t (*dim)(Handle*, int, TF_Status*);
  const char* (*device_name)(Handle*, TF_Status*);
  const char* (*device)(Handle*, TF_Status*);
  void* (*data)(Handle*, TF_Status*);
  size_t (*byte_size)(Handle*, TF_Status*);
} api;
bool loaded = false;

// True for a name such as "/job:localhost/replica:0/task:0/device:CPU:0".
bool IsLocalCpu(const char* device) {
  if (device == nullptr) return false;
  const std::string_view name(device);
  const size_t part = name.find("/device:");
  return name.substr(0, 14) == "/job:localhost" && part != name.npos && name.substr(part + 8, 4) == "CPU:";
}

bool CanRead(PyObject* tensor) { return loaded && api.is_tensor(tensor); }

bool IsGood(TF_Status* status) { return tf.TF_GetCode(status) == 0; }

// Whether the elements can be read. The memory layout is known only for dtypes that are measured.
bool ReadElementsOf(Handle* handle, TensorView* view) {
  TF_Status* status = ThreadStatus();
  view->dtype = api.dtype(handle);
  const int64_t element = MeasuredBytes(view->dtype);
  if (element == 0) return false;
  const char* device = api.device(handle, status);
  if (!IsGood(status) || !IsLocalCpu(device)) return false;
  view->data = api.data(handle, status);
  if (!IsGood(status)) return false;
  view->byte_size = api.byte_size(handle, status);
  view->num_elements = static_cast<int64_t>(view->byte_size) / element;
  return IsGood(status);
}

// Whether the shape can be read, and is that of the elements; `dims` has room for `max_rank` numbers.
bool ReadShape(Handle* handle, int max_rank, int64_t* dims, TensorView* view) {
  TF_Status* status = ThreadStatus();
  view->rank = api.rank(handle, status);
  if (!IsGood(status) || view->rank > max_rank) return false;
  view->dims = dims;
  int64_t num_elements = 1;
  for (int i = 0; i < view->rank; ++i) {
    dims[i] = api.dim(handle, i, status);
    if (!IsGood(status)) return false;
    num_elements *= dims[i];
  }
  const bool are_all_there = num_elements <= view->num_elements;
  view->num_elements = num_elements;
  view->byte_size = static_cast<size_t>(num_elements * MeasuredBytes(view->dtype));
  return are_all_there;
}

}  // namespace

void LoadEagerApi(const char* path) {
  const LoadedLibrary library(path);
  loaded = library.Find("_Z22EagerTensor_CheckExactPK7_object", &api.is_tensor) &&
           library.Find("_Z18EagerTensor_HandlePK7_object", &api.handle_of) &&
           library.Find("_Z16PyEagerTensor_IDPK7_object", &api.id_of) &&
           library.Find("TFE_TensorHandleDataType", &api.dtype) &&
           library.Find("TFE_TensorHandleNumDims", &api.rank) &&
           library.Find("TFE_TensorHandleDim", &api.dim) &&
           library.Find("TFE_TensorHandleDeviceName", &api.device_name) &&
           library.Find("TFE_TensorHandleBackingDeviceName", &api.device) &&
           library.Find("TFE_TensorHandleDevicePointer", &api.data) &&
           library.Find("TFE_TensorHandleDeviceMemorySize", &api.byte_size);
}

int64_t EagerTensorId(PyObject* tensor) { return CanRead(tensor) ? api.id_of(tensor) : -1; }

int EagerTensorDtype(PyObject* tensor) { return CanRead(tensor) ? api.dtype(api.handle_of(tensor)) : -1; }

const char* EagerTensorDevice(PyObject* tensor) {
  if (!CanRead(tensor)) return nullptr;
  const char* name = api.device_name(api.handle_of(tensor), ThreadStatus());
  return tf.TF_GetCode(ThreadStatus()) == 0 ? name : nullptr;
}

EagerTensor::EagerTensor(PyObject* tensor) : handle_(CanRead(tensor) ? api.handle_of(tensor) : nullptr) {}

bool EagerTensor::ReadElements() {
  return handle_ != nullptr && ReadElementsOf(static_cast<Handle*>(handle_), &view_);
}

bool EagerTensor::Read() {
  return ReadElements() && ReadShape(static_cast<Handle*>(handle_), kMaxRank, dims_, &view_);
}

}  // namespace tbdbg
