#include "guard_op.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "kernel.h"
#include "recorder.h"
#include "summary.h"
#include "tf_classes.h"

namespace tbdbg {
namespace {

constexpr char kGuard[] = "TbDebuggerGuard";
constexpr char kHeld[] = "TbDebuggerHeld";
// A program whose calls nobody takes must not fill memory, nor one function keep out the others.
constexpr size_t kMostWaiting = 256;
constexpr std::ptrdiff_t kMostWaitingOfSite = 16;

struct Site {
  GuardSite taken;
  const Recorder* recorder;  // for which it was made
  bool is_made = false;      // whether TensorFlow has made its op
};

// References to tensors.
class Held {
 public:
  Held() = default;
  Held(Held&& other) noexcept : tensors_(std::move(other.tensors_)) { other.tensors_.clear(); }
  Held& operator=(Held&& other) noexcept {
    std::swap(tensors_, other.tensors_);
    return *this;
  }
  ~Held() {
    for (TF_Tensor* tensor : tensors_) tf.TF_DeleteTensor(tensor);
  }

  void Add(TF_Tensor* tensor) { tensors_.push_back(tensor); }
  const std::vector<TF_Tensor*>& tensors() const { return tensors_; }

 private:
  std::vector<TF_Tensor*> tensors_;
};

std::mutex calls_mutex;
// All guarded by calls_mutex; a deque never moves its elements.
std::deque<Site>& Sites() {
  static auto* sites = new std::deque<Site>;
  return *sites;
}
std::deque<BadCall>& Waiting() {
  static auto* waiting = new std::deque<BadCall>;
  return *waiting;
}
std::unordered_map<int64_t, Held>& HeldByCall() {
  static auto* held = new std::unordered_map<int64_t, Held>;
  return *held;
}
int64_t last_call = 0;
std::atomic<int64_t> num_waiting{0};

Site* FindSite(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(Sites().size()) ? &Sites()[number] : nullptr;
}

struct GuardKernel {
  int64_t number = -1;
  const Site* site = nullptr;
  // Whether the classes have given the same results as the C API for the checked tensors.
  std::once_flag once;
  std::atomic<bool> agrees{false};
};

struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

bool IsBad(Bytes bytes, int64_t dtype) {
  const int64_t element = MeasuredBytes(static_cast<int>(dtype));
  if (element == 0 || bytes.data == nullptr) return false;
  return HasInfOrNan(bytes.data, static_cast<int64_t>(bytes.size) / element, static_cast<int>(dtype));
}

// The memory of an input, through TensorFlow's classes. Empty for a tensor without any.
Bytes ByClasses(const TfClasses& classes, TF_OpKernelContext* context, int index) {
  const Tensor& tensor = classes.input(context, index);
  const void* data = classes.data(tensor);
  return data == nullptr ? Bytes() : Bytes{data, classes.byte_size(tensor)};
}

Bytes ByHandle(Input* input) {
  if (!input->ok()) return {};
  const TensorView view = input->View();
  return {view.data, view.byte_size};
}

bool IsBadInput(const GuardKernel& kernel, TF_OpKernelContext* context, size_t i) {
  const int64_t dtype = kernel.site->taken.dtypes[i];
  if (MeasuredBytes(static_cast<int>(dtype)) == 0) return false;
  const TfClasses* classes = kernel.agrees.load(std::memory_order_acquire) ? Classes() : nullptr;
  if (classes != nullptr) return IsBad(ByClasses(*classes, context, static_cast<int>(i)), dtype);
  Input input(context, static_cast<int>(i));
  return IsBad(ByHandle(&input), dtype);
}

void CompareClasses(GuardKernel* kernel, TF_OpKernelContext* context) {
  const TfClasses* classes = Classes();
  if (classes == nullptr) return;
  for (int i = 0; i < kernel->site->taken.num_checked; ++i) {
    Input input(context, i);
    const Bytes expected = ByHandle(&input), found = ByClasses(*classes, context, i);
    if (expected.size != 0 && (expected.data != found.data || expected.size != found.size)) {
      return DistrustClasses();
    }
  }
  kernel->agrees.store(true, std::memory_order_release);
}

// The references to all tensors to hold; nothing if one cannot be held, or if they are larger than the limit.
std::optional<Held> Hold(const GuardSite& taken, TF_OpKernelContext* context) {
  Held held;
  size_t size = 0;
  for (size_t i = static_cast<size_t>(taken.num_checked); i < taken.dtypes.size(); ++i) {
    TF_Tensor* tensor = nullptr;
    tf.TF_GetInput(context, static_cast<int>(i), &tensor, ThreadStatus());
    if (tf.TF_GetCode(ThreadStatus()) != 0 || tensor == nullptr) return std::nullopt;
    held.Add(tensor);
    size += tf.TF_TensorByteSize(tensor);
  }
  if (size > static_cast<size_t>(taken.max_held_bytes)) return std::nullopt;
  return held;
}

void Keep(const GuardKernel& kernel, TF_OpKernelContext* context, std::vector<int64_t> bad) {
  std::optional<Held> held = Hold(kernel.site->taken, context);
  std::lock_guard<std::mutex> lock(calls_mutex);
  const std::ptrdiff_t of_site = std::count_if(
      Waiting().begin(), Waiting().end(), [&](const BadCall& call) { return call.site == kernel.number; });
  if (Waiting().size() >= kMostWaiting || of_site >= kMostWaitingOfSite) return;
  Waiting().push_back({++last_call, kernel.number, std::move(bad), held.has_value()});
  if (held) HeldByCall()[last_call] = std::move(*held);
  num_waiting.store(static_cast<int64_t>(Waiting().size()), std::memory_order_release);
}

void* CreateGuard(TF_OpKernelConstruction* construction) {
  int64_t number = -1;
  if (!IntAttr(construction, "site", &number)) return nullptr;
  auto* kernel = new GuardKernel;
  kernel->number = number;
  std::lock_guard<std::mutex> lock(calls_mutex);
  // A graph from another process may hold a number that means nothing here.
  if (Site* site = FindSite(number)) {
    site->is_made = true;
    kernel->site = site;
  }
  return kernel;
}

void DeleteGuard(void* kernel) { delete static_cast<GuardKernel*>(kernel); }

void ComputeGuard(void* state, TF_OpKernelContext* context) {
  auto* kernel = static_cast<GuardKernel*>(state);
  const Recorder* recorder = CurrentRecorder();
  if (kernel->site == nullptr || recorder == nullptr || kernel->site->recorder != recorder) return;
  std::call_once(kernel->once, [&] { CompareClasses(kernel, context); });
  const GuardSite& taken = kernel->site->taken;
  const auto num_checked = static_cast<size_t>(taken.num_checked);
  size_t i = 0;
  while (i < num_checked && !IsBadInput(*kernel, context, i)) ++i;
  if (i == num_checked) return;
  std::vector<int64_t> bad = {static_cast<int64_t>(i)};
  for (++i; i < taken.dtypes.size(); ++i) {
    if (IsBadInput(*kernel, context, i)) bad.push_back(static_cast<int64_t>(i));
  }
  Keep(*kernel, context, std::move(bad));
}

void* CreateHeld(TF_OpKernelConstruction* construction) {
  int64_t number = -1;
  return IntAttr(construction, "call", &number) ? new int64_t(number) : nullptr;
}

void DeleteHeld(void* number) { delete static_cast<int64_t*>(number); }

void ComputeHeld(void* state, TF_OpKernelContext* context) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  const auto found = HeldByCall().find(*static_cast<int64_t*>(state));
  TF_Status* status = ThreadStatus();
  if (found == HeldByCall().end()) {
    tf.TF_SetStatus(status, 5, "there is no such call");  // TF_NOT_FOUND
    return tf.TF_OpKernelContext_Failure(context, status);
  }
  int slot = 0;
  for (const TF_Tensor* tensor : found->second.tensors()) {
    tf.TF_SetOutput(context, slot++, tensor, status);
    if (tf.TF_GetCode(status) != 0) return tf.TF_OpKernelContext_Failure(context, status);
  }
}

std::string RegisterGuard() {
  const auto describe = [](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "Tchecked: list(type) >= 0");
    tf.TF_OpDefinitionBuilderAddAttr(op, "Theld: list(type) >= 0");
    tf.TF_OpDefinitionBuilderAddAttr(op, "site: int");
    tf.TF_OpDefinitionBuilderAddInput(op, "checked: Tchecked");
    tf.TF_OpDefinitionBuilderAddInput(op, "held: Theld");
  };
  return RegisterOnCpu(kGuard, describe, CreateGuard, ComputeGuard, DeleteGuard);
}

std::string RegisterHeld() {
  const auto describe = [](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "Theld: list(type) >= 0");
    tf.TF_OpDefinitionBuilderAddAttr(op, "call: int");
    tf.TF_OpDefinitionBuilderAddOutput(op, "held: Theld");
  };
  return RegisterOnCpu(kHeld, describe, CreateHeld, ComputeHeld, DeleteHeld);
}

}  // namespace

int64_t AddGuardSite(GuardSite site) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  Sites().push_back({std::move(site), CurrentRecorder()});
  return static_cast<int64_t>(Sites().size()) - 1;
}

bool GuardWasMade(int64_t site) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  const Site* found = FindSite(site);
  return found != nullptr && found->is_made;
}

int64_t NumBadCalls() { return num_waiting.load(std::memory_order_acquire); }

std::optional<BadCall> TakeBadCall(int64_t site) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  std::deque<BadCall>& waiting = Waiting();
  const auto found =
      std::find_if(waiting.begin(), waiting.end(), [=](const BadCall& call) { return call.site == site; });
  if (found == waiting.end()) return std::nullopt;
  BadCall call = std::move(*found);
  waiting.erase(found);
  num_waiting.store(static_cast<int64_t>(Waiting().size()), std::memory_order_release);
  return call;
}

void ReleaseBadCall(int64_t number) {
  Held held;  // deleted after the lock
  std::lock_guard<std::mutex> lock(calls_mutex);
  const auto found = HeldByCall().find(number);
  if (found == HeldByCall().end()) return;
  held = std::move(found->second);
  HeldByCall().erase(found);
}

void ReleaseBadCalls() {
  std::unordered_map<int64_t, Held> held;  // deleted after the lock
  std::lock_guard<std::mutex> lock(calls_mutex);
  held.swap(HeldByCall());
  Waiting().clear();
  num_waiting.store(0, std::memory_order_release);
}

std::string RegisterGuardOps() {
  static const std::string failure = [] {
    std::string failure = RegisterGuard();
    return failure.empty() ? RegisterHeld() : failure;
  }();
  return failure;
}

}  // namespace tbdbg
