#include "guard_op.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "earlier_calls.h"
#include "kernel.h"
#include "recorder.h"
#include "summary.h"
#include "tf_classes.h"

namespace tbdbg {
namespace {

constexpr char kGuard[] = "TbDebuggerGuard";
constexpr char kHeld[] = "TbDebuggerHeld";
// A program whose calls nobody takes must not fill memory.
constexpr size_t kMostWaiting = 16;
constexpr std::ptrdiff_t kMostOfPipelineSite = 4;

struct Site {
  Site(GuardSite site, const Recorder* made_for) : taken(std::move(site)), recorder(made_for) {}

  GuardSite taken;
  std::atomic<const Recorder*> recorder;  // for which it was made; null when it is closed
  bool is_made = false;                   // whether TensorFlow has made its op
  EarlierCalls earlier;
};

// References to tensors.
class Held {
 public:
  Held() = default;
  Held(Held&& other) noexcept : tensors_(std::move(other.tensors_)), size_(other.size_) {
    other.tensors_.clear();
  }
  Held& operator=(Held&& other) noexcept {
    std::swap(tensors_, other.tensors_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Held() {
    for (TF_Tensor* tensor : tensors_) tf.TF_DeleteTensor(tensor);
  }

  void Add(TF_Tensor* tensor) {
    tensors_.push_back(tensor);
    size_ += tf.TF_TensorByteSize(tensor);
  }
  const std::vector<TF_Tensor*>& tensors() const { return tensors_; }
  size_t size() const { return size_; }

 private:
  std::vector<TF_Tensor*> tensors_;
  size_t size_ = 0;
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
std::deque<BadCall>& InPipelines() {
  static auto* calls = new std::deque<BadCall>;
  return *calls;
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
  Site* site = nullptr;
  // Whether the classes have given the same results as the C API for the checked tensors.
  std::once_flag once;
  std::atomic<bool> agrees{false};
};

struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

bool IsBad(Bytes bytes, int64_t dtype, bool only_nan) {
  const int64_t element = MeasuredBytes(static_cast<int>(dtype));
  if (element == 0 || bytes.data == nullptr) return false;
  const int64_t num_elements = static_cast<int64_t>(bytes.size) / element;
  if (!HasInfOrNan(bytes.data, num_elements, static_cast<int>(dtype))) return false;
  return !only_nan || CountKinds(bytes.data, num_elements, static_cast<int>(dtype)).nan > 0;
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
  const GuardSite& taken = kernel.site->taken;
  const int64_t dtype = taken.dtypes[i];
  if (MeasuredBytes(static_cast<int>(dtype)) == 0) return false;
  const auto told = static_cast<size_t>(taken.num_checked - taken.num_told);
  const bool only_nan = i < told && i >= told - static_cast<size_t>(taken.num_nan);
  const TfClasses* classes = kernel.agrees.load(std::memory_order_acquire) ? Classes() : nullptr;
  if (classes != nullptr) return IsBad(ByClasses(*classes, context, static_cast<int>(i)), dtype, only_nan);
  Input input(context, static_cast<int>(i));
  return IsBad(ByHandle(&input), dtype, only_nan);
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
  for (size_t i = static_cast<size_t>(taken.num_checked); i < taken.dtypes.size(); ++i) {
    TF_Tensor* tensor = nullptr;
    tf.TF_GetInput(context, static_cast<int>(i), &tensor, ThreadStatus());
    if (tf.TF_GetCode(ThreadStatus()) != 0 || tensor == nullptr) return std::nullopt;
    held.Add(tensor);
  }
  if (held.size() > static_cast<size_t>(taken.max_held_bytes)) return std::nullopt;
  return held;
}

// Takes the tensors of a call out of those that are held, so that they are dropped after the lock.
Held Unhold(int64_t call) {
  const auto found = HeldByCall().find(call);
  if (found == HeldByCall().end()) return {};
  Held held = std::move(found->second);
  HeldByCall().erase(found);
  return held;
}

// Takes the first call of a site, of any if it is negative, out of those of pipelines.
std::optional<BadCall> TakeOfPipeline(int64_t site) {
  std::deque<BadCall>& calls = InPipelines();
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [=](const BadCall& call) { return site < 0 || call.site == site; });
  if (found == calls.end()) return std::nullopt;
  BadCall call = std::move(*found);
  calls.erase(found);
  return call;
}

// Keeps the last calls of pipelines: a few of each function, within the limit for all of them.
void KeepOfPipeline(int64_t site, Held held, std::vector<int64_t> bad, size_t limit,
                    std::vector<Held>* dropped) {
  std::deque<BadCall>& calls = InPipelines();
  const auto of_site =
      std::count_if(calls.begin(), calls.end(), [=](const BadCall& call) { return call.site == site; });
  if (of_site >= kMostOfPipelineSite) dropped->push_back(Unhold(TakeOfPipeline(site)->number));
  size_t size = held.size();
  for (const BadCall& call : calls) size += HeldByCall()[call.number].size();
  while (size > limit && !calls.empty()) {
    dropped->push_back(Unhold(TakeOfPipeline(-1)->number));
    size -= dropped->back().size();
  }
  calls.push_back({++last_call, site, std::move(bad), true});
  HeldByCall()[last_call] = std::move(held);
}

void Keep(const GuardKernel& kernel, TF_OpKernelContext* context, std::vector<int64_t> bad) {
  const GuardSite& taken = kernel.site->taken;
  std::optional<Held> held = Hold(taken, context);
  std::vector<Held> dropped;  // after the lock
  std::lock_guard<std::mutex> lock(calls_mutex);
  const Recorder* recorder = CurrentRecorder();
  if (recorder == nullptr || kernel.site->recorder != recorder) return;  // it has just ended
  if (taken.in_pipeline) {
    if (!held) return;
    return KeepOfPipeline(kernel.number, std::move(*held), std::move(bad),
                          static_cast<size_t>(taken.max_held_bytes), &dropped);
  }
  if (Waiting().size() >= kMostWaiting) return;
  Waiting().push_back({++last_call, kernel.number, std::move(bad), held.has_value()});
  if (held) HeldByCall()[last_call] = std::move(*held);
  num_waiting.store(static_cast<int64_t>(Waiting().size()), std::memory_order_release);
}

double Seconds() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// Keeps the numbers of a good call.
void Follow(Site* site, int64_t number, const Recorder& recorder, TF_OpKernelContext* context) {
  constexpr int kColumns = ColumnsOf(Mode::kFullNumerics);
  const std::vector<int64_t>& followed = site->taken.followed;
  const double began = Seconds();
  EarlierCall call{number, recorder.Now(), std::vector<double>(followed.size() * kColumns)};
  double columns[kMaxSummary];
  for (size_t i = 0; i < followed.size(); ++i) {
    Input input(context, static_cast<int>(followed[i]));
    if (!input.ok()) continue;  // no dtype says so
    Summarize(input.View(), Mode::kFullNumerics, -1, columns);
    std::copy_n(columns, kColumns, &call.columns[i * kColumns]);
  }
  site->earlier.Add(std::move(call), Seconds() - began);
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
  const auto num_checked = static_cast<size_t>(taken.num_checked - taken.num_told);
  const int64_t number = kernel->site->earlier.Count();
  size_t i = 0;
  while (i < num_checked && !IsBadInput(*kernel, context, i)) ++i;
  if (i == num_checked) {
    if (!taken.followed.empty() && recorder->wanted() && kernel->site->earlier.IsDue(number)) {
      Follow(kernel->site, number, *recorder, context);
    }
    return;
  }
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
  Sites().emplace_back(std::move(site), CurrentRecorder());
  return static_cast<int64_t>(Sites().size()) - 1;
}

void CloseGuardSite(int64_t site) {
  std::vector<Held> dropped;  // after the lock
  std::lock_guard<std::mutex> lock(calls_mutex);
  if (Site* found = FindSite(site)) {
    found->recorder = nullptr;
    found->earlier.Close();
  }
  while (const std::optional<BadCall> call = TakeOfPipeline(site)) dropped.push_back(Unhold(call->number));
}

bool GuardWasMade(int64_t site) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  const Site* found = FindSite(site);
  return found != nullptr && found->is_made;
}

void RecordEarlierCalls(int64_t site, const std::vector<FollowedInput>& inputs, const std::string& execution,
                        int64_t last_step) {
  constexpr int kColumns = ColumnsOf(Mode::kFullNumerics);
  Recorder* recorder = CurrentRecorder();
  Site* found;
  {
    std::lock_guard<std::mutex> lock(calls_mutex);
    found = FindSite(site);
  }
  if (recorder == nullptr || found == nullptr || found->recorder != recorder) return;
  // Calls that failed before they came to the guard have steps, and no numbers.
  const int64_t first_step = last_step - (found->earlier.calls() - 1);
  for (EarlierCall& call : found->earlier.Take(recorder->last_time())) {
    if (last_step >= 0) call.stamp.step = StepField(std::max<int64_t>(0, first_step + call.number));
    const size_t count = std::min(inputs.size(), call.columns.size() / kColumns);
    for (size_t i = 0; i < count; ++i) {
      double* columns = &call.columns[i * kColumns];
      const bool is_measured = columns[IndexOf(Mode::kFullNumerics, Column::kDtype)] != 0;
      if (inputs[i].prefix.empty() || !is_measured) continue;
      if (HowBad(columns, Mode::kFullNumerics) != Bad::kNo) continue;  // nobody has judged it
      SetIdAndRank(Mode::kFullNumerics, inputs[i].tensor_id, -1, columns);
      recorder->TraceEarlier(inputs[i].prefix, columns, call.stamp);
    }
    recorder->ExecutionEarlier(execution, call.stamp);
  }
}

int64_t NumBadCalls() { return num_waiting.load(std::memory_order_acquire); }

std::optional<BadCall> TakeBadCall(int64_t site) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  const Site* of_call = FindSite(site);
  if (of_call != nullptr && of_call->taken.in_pipeline) return TakeOfPipeline(site);
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
  held = Unhold(number);
}

void ReleaseBadCalls() {
  std::unordered_map<int64_t, Held> held;  // deleted after the lock
  std::lock_guard<std::mutex> lock(calls_mutex);
  held.swap(HeldByCall());
  for (Site& site : Sites()) site.earlier.Close();
  Waiting().clear();
  InPipelines().clear();
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
