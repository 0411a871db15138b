// A library that the running program has already loaded, and its functions by
// name: so the extension needs nothing of TensorFlow when it is built.
#pragma once

#include <dlfcn.h>

namespace tbdbg {

class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {}

  explicit operator bool() const { return library_ != nullptr; }

  // Whether there is a function of this name; null is noted when there is none.
  template <typename F>
  bool Find(const char* name, F* function) const {
    *function = library_ ? reinterpret_cast<F>(dlsym(library_, name)) : nullptr;
    return *function != nullptr;
  }

 private:
  void* library_;  // stays open as long as the program: its functions are called
};

}  // namespace tbdbg
