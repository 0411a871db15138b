// Looks up the functions of TensorFlow's stable C API that the watch ops call, in the
// library that the running program has already loaded.
//
// They are looked up by name when the recorder starts. So the extension builds without
// TensorFlow's headers, one binary works with every version from 2.16 on, and the
// extension can be imported without TensorFlow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" {
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_Status TF_Status;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_StringView {
  const char* data;
  size_t len;
} TF_StringView;
}

namespace tbdbg {

// name, result, arguments
#define TBDBG_TF_FUNCTIONS(X)                                                                                \
  X(TF_NewStatus, TF_Status*, (void))                                                                        \
  X(TF_DeleteStatus, void, (TF_Status*))                                                                     \
  X(TF_GetCode, int, (const TF_Status*))                                                                     \
  X(TF_SetStatus, void, (TF_Status*, int, const char*))                                                      \
  X(TF_Message, const char*, (const TF_Status*))                                                             \
  X(TF_NewOpDefinitionBuilder, TF_OpDefinitionBuilder*, (const char*))                                       \
  X(TF_OpDefinitionBuilderAddAttr, void, (TF_OpDefinitionBuilder*, const char*))                             \
  X(TF_OpDefinitionBuilderAddInput, void, (TF_OpDefinitionBuilder*, const char*))                            \
  X(TF_OpDefinitionBuilderAddOutput, void, (TF_OpDefinitionBuilder*, const char*))                           \
  X(TF_OpDefinitionBuilderSetIsStateful, void, (TF_OpDefinitionBuilder*, bool))                              \
  X(TF_OpDefinitionBuilderSetShapeInferenceFunction, void,                                                   \
    (TF_OpDefinitionBuilder*, void (*)(TF_ShapeInferenceContext*, TF_Status*)))                              \
  X(TF_RegisterOpDefinition, void, (TF_OpDefinitionBuilder*, TF_Status*))                                    \
  X(TF_NewShapeHandle, TF_ShapeHandle*, (void))                                                              \
  X(TF_DeleteShapeHandle, void, (TF_ShapeHandle*))                                                           \
  X(TF_ShapeInferenceContextGetInput, void, (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))   \
  X(TF_ShapeInferenceContextSetOutput, void, (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))  \
  X(TF_NewKernelBuilder, TF_KernelBuilder*,                                                                  \
    (const char*, const char*, void* (*)(TF_OpKernelConstruction*), void (*)(void*, TF_OpKernelContext*),    \
     void (*)(void*)))                                                                                       \
  X(TF_RegisterKernelBuilder, void, (const char*, TF_KernelBuilder*, TF_Status*))                            \
  X(TF_OpKernelConstruction_GetAttrInt64, void,                                                              \
    (TF_OpKernelConstruction*, const char*, int64_t*, TF_Status*))                                           \
  X(TF_OpKernelConstruction_Failure, void, (TF_OpKernelConstruction*, TF_Status*))                           \
  X(TF_OpKernelContext_Failure, void, (TF_OpKernelContext*, TF_Status*))                                     \
  X(TF_GetInput, void, (TF_OpKernelContext*, int, TF_Tensor**, TF_Status*))                                  \
  X(TF_SetOutput, void, (TF_OpKernelContext*, int, const TF_Tensor*, TF_Status*))                            \
  X(TF_AllocateOutput, TF_Tensor*, (TF_OpKernelContext*, int, int, const int64_t*, int, size_t, TF_Status*)) \
  X(TF_DeleteTensor, void, (TF_Tensor*))                                                                     \
  X(TF_TensorType, int, (const TF_Tensor*))                                                                  \
  X(TF_NumDims, int, (const TF_Tensor*))                                                                     \
  X(TF_Dim, int64_t, (const TF_Tensor*, int))                                                                \
  X(TF_TensorByteSize, size_t, (const TF_Tensor*))                                                           \
  X(TF_TensorData, void*, (const TF_Tensor*))

// Not in every version; null if it is missing.
#define TBDBG_TF_OPTIONAL_FUNCTIONS(X)                      \
  X(TF_GetDeviceName, TF_StringView, (TF_OpKernelContext*)) \
  X(TF_StepId, int64_t, (TF_OpKernelContext*))

struct TfApi {
#define TBDBG_DECLARE(name, result, arguments) result(*name) arguments = nullptr;
  TBDBG_TF_FUNCTIONS(TBDBG_DECLARE)
  TBDBG_TF_OPTIONAL_FUNCTIONS(TBDBG_DECLARE)
#undef TBDBG_DECLARE
};

// Valid after LoadTfApi has succeeded.
extern TfApi tf;

// Looks the functions up in the library at `path`, which must be loaded
// already. Returns an empty string, or an error that names what is missing.
std::string LoadTfApi(const char* path);

}  // namespace tbdbg
