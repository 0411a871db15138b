#include "tf_classes.h"

#include <atomic>

#include "loaded_library.h"

namespace tbdbg {
namespace {

TfClasses classes;
std::atomic<const TfClasses*> used{nullptr};

}  // namespace

const TfClasses* Classes() { return used.load(std::memory_order_acquire); }

void LoadTfClasses(const char* path) {
  const LoadedLibrary library(path);
  // A context of the C API is a context of the class, under another name.
  const bool has_all =
      library.Find("_ZNK10tensorflow15OpKernelContext5inputEi", &classes.input) &&
      library.Find("_ZN10tensorflow15OpKernelContext10set_outputEiRKNS_6TensorE", &classes.set_output) &&
      library.Find("_ZNK10tensorflow6Tensor4dataEv", &classes.data) &&
      library.Find("_ZNK10tensorflow6Tensor10TotalBytesEv", &classes.byte_size);
  if (has_all) used.store(&classes, std::memory_order_release);
}

void DistrustClasses() { used.store(nullptr, std::memory_order_release); }

}  // namespace tbdbg
