// Functions and classes that the kernels of our ops share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recorder.h"
#include "summary.h"
#include "tf_api.h"
#include "watches.h"

namespace tbdbg {

class Status {
 public:
  Status() : status_(tf.TF_NewStatus()) {}
  ~Status() { tf.TF_DeleteStatus(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TF_Status* get() const { return status_; }
  bool ok() const { return tf.TF_GetCode(status_) == 0; }
  std::string message() const { return tf.TF_Message(status_); }

 private:
  TF_Status* status_;
};

// The status of this thread. Each call of TensorFlow that takes it sets it anew: a new
// status for each call would cost as much as the call.
TF_Status* ThreadStatus();

// An input of an op that is running. If it is not ok, it holds no tensor, and
// ThreadStatus() has the reason.
class Input {
 public:
  Input(TF_OpKernelContext* context, int index);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  bool ok() const { return tensor_ != nullptr; }
  const TF_Tensor* tensor() const { return tensor_; }
  // The tensor in memory, valid while this object lives.
  TensorView View();

 private:
  TF_Tensor* tensor_ = nullptr;
  int64_t dims_[kMaxRank];
};

// Reads an attribute. Without it the op fails, and this returns false.
bool IntAttr(TF_OpKernelConstruction* construction, const char* name, int64_t* value);

// The trace targets of a watch, completed by the device on which an op runs.
std::vector<TraceTarget> TargetsOn(TF_OpKernelContext* context, const Watch& watch);

// Fails the op that is running if a tensor that it recorded rang the alarm and the recording fails graphs.
// `rang`: number of the ring, or 0. Returns whether the op failed.
bool FailIf(int64_t rang, TF_OpKernelContext* context, Recorder* recorder);

// Registers an op, on CPUs, twice. Under its name it is stateful, so that it is never folded, merged with an
// equal op, or dropped as unused. With kInPipeline behind its name it is not, for functions of input
// pipelines: TensorFlow saves no iterator whose functions have stateful ops. `describe` adds inputs, outputs
// and attributes. Returns an empty string, or an error.
constexpr char kInPipeline[] = "InPipeline";
std::string RegisterOnCpu(const std::string& name,
                          const std::function<void(TF_OpDefinitionBuilder*)>& describe,
                          void* (*create)(TF_OpKernelConstruction*),
                          void (*compute)(void*, TF_OpKernelContext*), void (*destroy)(void*),
                          void (*shape)(TF_ShapeInferenceContext*, TF_Status*) = nullptr);

}  // namespace tbdbg
