#include "tf_api.h"

#include <dlfcn.h>

namespace tbdbg {

TfApi tf;

std::string LoadTfApi(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    return std::string("TensorFlow's library is not loaded from ") + path;
  }
#define TBDBG_LOOK_UP(name, result, arguments)                                 \
  tf.name = reinterpret_cast<result(*) arguments>(dlsym(library, #name));
#define TBDBG_REQUIRE(name, result, arguments)                                 \
  TBDBG_LOOK_UP(name, result, arguments)                                       \
  if (tf.name == nullptr) return std::string("TensorFlow's library lacks ") + #name;
  TBDBG_TF_OPTIONAL_FUNCTIONS(TBDBG_LOOK_UP)
  TBDBG_TF_FUNCTIONS(TBDBG_REQUIRE)
#undef TBDBG_REQUIRE
#undef TBDBG_LOOK_UP
  return "";
}

}  // namespace tbdbg
