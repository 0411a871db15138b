// Finds functions by name in a library that the running program has already loaded, so
// that the extension needs no part of TensorFlow when it is built.
#pragma once

#include <dlfcn.h>

namespace tbdbg {

class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {}

  explicit operator bool() const { return library_ != nullptr; }

  // Whether there is a function of this name; sets `function` to null if there is none.
  template <typename F>
  bool Find(const char* name, F* function) const {
    *function = library_ ? reinterpret_cast<F>(dlsym(library_, name)) : nullptr;
    return *function != nullptr;
  }

 private:
  void* library_;  // never closed, because its functions stay in use
};

}  // namespace tbdbg
