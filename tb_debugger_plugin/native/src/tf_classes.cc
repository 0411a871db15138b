#include "tf_classes.h"

#include <dlfcn.h>

#include <atomic>

namespace tbdbg {
namespace {

TfClasses classes;
std::atomic<const TfClasses*> used{nullptr};

template <typename F>
bool LookUp(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

const TfClasses* Classes() { return used.load(std::memory_order_acquire); }

void LoadTfClasses(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  // A context of the C API is the class's own by another name.
  const bool found =
      library != nullptr &&
      LookUp(library, "_ZNK10tensorflow15OpKernelContext5inputEi", &classes.input) &&
      LookUp(library, "_ZN10tensorflow15OpKernelContext10set_outputEiRKNS_6TensorE",
             &classes.set_output) &&
      LookUp(library, "_ZNK10tensorflow6Tensor4dataEv", &classes.data) &&
      LookUp(library, "_ZNK10tensorflow6Tensor10TotalBytesEv", &classes.byte_size);
  if (found) used.store(&classes, std::memory_order_release);
}

void DistrustClasses() { used.store(nullptr, std::memory_order_release); }

}  // namespace tbdbg
