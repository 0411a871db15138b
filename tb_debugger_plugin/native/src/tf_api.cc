#include "tf_api.h"

#include "loaded_library.h"

namespace tbdbg {

TfApi tf;

std::string LoadTfApi(const char* path) {
  const LoadedLibrary library(path);
  if (!library) {
    return std::string("TensorFlow's library is not loaded from ") + path;
  }
#define TBDBG_LOOK_UP(name, result, arguments) library.Find(#name, &tf.name);
#define TBDBG_REQUIRE(name, result, arguments) \
  if (!library.Find(#name, &tf.name)) return std::string("TensorFlow's library lacks ") + #name;
  TBDBG_TF_OPTIONAL_FUNCTIONS(TBDBG_LOOK_UP)
  TBDBG_TF_FUNCTIONS(TBDBG_REQUIRE)
#undef TBDBG_REQUIRE
#undef TBDBG_LOOK_UP
  return "";
}

}  // namespace tbdbg
