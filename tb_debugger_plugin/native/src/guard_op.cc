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
constexpr char kLook[] = "TbDebuggerLook";
constexpr char kHold[] = "TbDebuggerHold";
// A program whose calls nobody takes must not fill memory.
constexpr size_t kMostWaiting = 16;
constexpr std::ptrdiff_t kMostOfPipelineSite = 4;

struct Site {
  Site(GuardSite site, const Recorder* made_for) : taken(std::move(site)), recorder(made_for) {}

  GuardSite taken;
  std::atomic<const Recorder*> recorder;  // for which it was made; null when it is closed
  bool is_made = false;                   // whether TensorFlow has made its op
  std::atomic<int64_t> updates{0};        // how often its variables were updated
  std::atomic<int64_t> last_look{0};      // which of these the guard last looked at
  std::atomic<int64_t> changes{0};        // how often others changed its variables, besides num_changes
  std::atomic<int64_t> noted{-1};         // how often variables had changed from outside before its last call
  std::atomic<int64_t> seen{-1};          // how often of these the guard has looked at them
  std::atomic<bool> is_large{false};  // whether something was large at the last call that looked at variables
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
// How often variables became what no guard expects: the program assigned to one, or a guard found a large
// one.
std::atomic<int64_t> num_changes{0};

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
  const bool only_nan = i < taken.only_nan.size() && taken.only_nan[i] != 0;
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
  calls.push_back({++last_call, site, std::move(bad), true, false});
  HeldByCall()[last_call] = std::move(held);
}

void Keep(const GuardKernel& kernel, TF_OpKernelContext* context, std::vector<int64_t> bad, bool is_held) {
  const GuardSite& taken = kernel.site->taken;
  std::optional<Held> held = is_held ? Hold(taken, context) : std::nullopt;
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
  Waiting().push_back({++last_call, kernel.number, std::move(bad), held.has_value(), !is_held});
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
  // That old variables are held for it takes TensorFlow a copy of each, about as long again.
  const int times = site->taken.num_looks == 0 ? 1 : 2;
  site->earlier.Add(std::move(call), times * (Seconds() - began));
}

// What TbDebuggerLook gives, in bits.
constexpr int32_t kFoundLarge = 1;  // something may overflow when variables are updated
constexpr int32_t kFoundBad = 2;    // something is bad that must not be
constexpr int32_t kDue = 4;         // of TbDebuggerHold: the call is held for another reason

// DataTypes of TensorFlow.
constexpr int kDtInt32 = 3;
constexpr int kDtBool = 10;

int32_t StatusInput(TF_OpKernelContext* context, int index) {
  Input input(context, index);
  return input.ok() ? *static_cast<const int32_t*>(input.View().data) : 0;
}

template <typename Value>
void SetScalar(TF_OpKernelContext* context, int slot, int dtype, Value value) {
  TF_Status* status = ThreadStatus();
  TF_Tensor* output = tf.TF_AllocateOutput(context, slot, dtype, nullptr, 0, sizeof(value), status);
  if (tf.TF_GetCode(status) != 0) return tf.TF_OpKernelContext_Failure(context, status);
  *static_cast<Value*>(tf.TF_TensorData(output)) = value;
  tf.TF_DeleteTensor(output);
}

// What was found by looks that are inputs of a guard.
struct Looked {
  int32_t found = 0;
  bool is_held = true;        // whether what the guard holds is there
  bool at_variables = false;  // whether variables were looked at after the call
};

Looked LookedAt(const GuardSite& taken, TF_OpKernelContext* context) {
  Looked looked;
  if (taken.num_looks == 0) return looked;
  const int first = static_cast<int>(taken.dtypes.size());
  looked.is_held = StatusInput(context, first) != 0;  // of TbDebuggerHold
  looked.at_variables = StatusInput(context, first + 1) != 0;
  looked.found = StatusInput(context, first) & (kFoundBad | kFoundLarge);
  for (int i = 2; i < static_cast<int>(taken.num_looks); ++i) looked.found |= StatusInput(context, first + i);
  return looked;
}

// What TbDebuggerLook looks for: its attribute.
enum class LookFor : int64_t {
  kFinite = 0,       // bad: an infinity or NaN; large: what is large
  kNan = 1,          // bad: NaN
  kSmall = 2,        // large: an infinity, NaN, or what is large
  kNotNegative = 3,  // the same as the first, and large: what is negative
};

int32_t LookAt(const TensorView& view, LookFor look_for) {
  if (MeasuredBytes(view.dtype) == 0 || view.num_elements == 0) return 0;
  if (look_for == LookFor::kNan) {
    if (!HasInfOrNan(view.data, view.num_elements, view.dtype)) return 0;
    return CountKinds(view.data, view.num_elements, view.dtype).nan > 0 ? kFoundBad : 0;
  }
  const bool is_negative =
      look_for == LookFor::kNotNegative && HasNegative(view.data, view.num_elements, view.dtype);
  if (!HasLarge(view.data, view.num_elements, view.dtype)) return is_negative ? kFoundLarge : 0;
  if (look_for == LookFor::kSmall) return kFoundLarge;
  return HasInfOrNan(view.data, view.num_elements, view.dtype) ? kFoundLarge | kFoundBad : kFoundLarge;
}

struct LookKernel {
  LookFor look_for;
  int num_tensors;
  bool only_if;  // whether its last input says whether to look
};

void* CreateLook(TF_OpKernelConstruction* construction) {
  int64_t look_for, num_tensors, only_if;
  if (!IntAttr(construction, "look_for", &look_for) || !IntAttr(construction, "num_tensors", &num_tensors) ||
      !IntAttr(construction, "N", &only_if)) {
    return nullptr;
  }
  return new LookKernel{static_cast<LookFor>(look_for), static_cast<int>(num_tensors), only_if > 0};
}

void DeleteLook(void* kernel) { delete static_cast<LookKernel*>(kernel); }

void ComputeLook(void* state, TF_OpKernelContext* context) {
  const auto& kernel = *static_cast<LookKernel*>(state);
  int32_t found = 0;
  if (CurrentRecorder() != nullptr && !(kernel.only_if && StatusInput(context, kernel.num_tensors) == 0)) {
    for (int i = 0; i < kernel.num_tensors; ++i) {
      Input input(context, i);
      if (input.ok()) found |= LookAt(input.View(), kernel.look_for);
    }
  }
  SetScalar(context, 0, kDtInt32, found);
}

// How often variables are looked at (`capture/engines/guard/look_first.py` proves that it suffices).
constexpr int64_t kLookEvery = 32;

struct HoldKernel {
  Site* site = nullptr;
  int num_looks = 0;
};

void* CreateHold(TF_OpKernelConstruction* construction) {
  int64_t number = -1, num_looks = 0;
  if (!IntAttr(construction, "site", &number) || !IntAttr(construction, "N", &num_looks)) return nullptr;
  std::lock_guard<std::mutex> lock(calls_mutex);
  return new HoldKernel{FindSite(number), static_cast<int>(num_looks)};
}

void DeleteHold(void* kernel) { delete static_cast<HoldKernel*>(kernel); }

void ComputeHold(void* state, TF_OpKernelContext* context) {
  const auto& kernel = *static_cast<HoldKernel*>(state);
  const Recorder* recorder = CurrentRecorder();
  int32_t found = 0;
  bool look = false;
  if (kernel.site != nullptr && recorder != nullptr && kernel.site->recorder == recorder) {
    for (int i = 0; i < kernel.num_looks; ++i) found |= StatusInput(context, i);
    const EarlierCalls& earlier = kernel.site->earlier;
    const bool is_followed = !kernel.site->taken.followed.empty() && recorder->wanted();
    const int64_t changes = num_changes + kernel.site->changes;
    kernel.site->noted = changes;
    if (kernel.site->seen != changes || kernel.site->is_large || earlier.calls() < EarlierCalls::kFirst ||
        (is_followed && earlier.MayBeDue())) {
      found |= kDue;
    }
    const int64_t updates = ++kernel.site->updates;
    look = found != 0 || updates - kernel.site->last_look >= kLookEvery;
  }
  SetScalar(context, 0, kDtBool, found != 0);
  SetScalar(context, 1, kDtInt32, found);
  SetScalar(context, 2, kDtInt32, int32_t{look});
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
  const Looked looked = LookedAt(taken, context);
  if (looked.at_variables) {
    const bool is_large = (looked.found & kFoundLarge) != 0;
    if (is_large && !kernel->site->is_large) NoteChangedVariables(-1);
    kernel->site->is_large = is_large;
    kernel->site->last_look = kernel->site->updates.load();
    kernel->site->seen = kernel->site->noted.load();
  }
  size_t i = 0;
  while (i < num_checked && !IsBadInput(*kernel, context, i)) ++i;
  if (i == num_checked && (looked.found & kFoundBad) == 0) {
    if (looked.is_held && !taken.followed.empty() && recorder->wanted() &&
        kernel->site->earlier.IsDue(number)) {
      Follow(kernel->site, number, *recorder, context);
    }
    return;
  }
  std::vector<int64_t> bad;
  for (i = 0; i < taken.dtypes.size(); ++i) {
    if (IsBadInput(*kernel, context, i)) bad.push_back(static_cast<int64_t>(i));
  }
  Keep(*kernel, context, std::move(bad), looked.is_held);
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
    tf.TF_OpDefinitionBuilderAddAttr(op, "N: int >= 0");
    tf.TF_OpDefinitionBuilderAddInput(op, "checked: Tchecked");
    tf.TF_OpDefinitionBuilderAddInput(op, "held: Theld");
    tf.TF_OpDefinitionBuilderAddInput(op, "looks: N * int32");
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

std::string RegisterLook() {
  const auto describe = [](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "T: list(type) >= 1");
    tf.TF_OpDefinitionBuilderAddAttr(op, "N: int >= 0");
    tf.TF_OpDefinitionBuilderAddAttr(op, "num_tensors: int");
    tf.TF_OpDefinitionBuilderAddAttr(op, "look_for: int");
    tf.TF_OpDefinitionBuilderAddInput(op, "tensors: T");
    tf.TF_OpDefinitionBuilderAddInput(op, "only_if: N * int32");
    tf.TF_OpDefinitionBuilderAddOutput(op, "found: int32");
  };
  return RegisterOnCpu(kLook, describe, CreateLook, ComputeLook, DeleteLook);
}

std::string RegisterHold() {
  const auto describe = [](TF_OpDefinitionBuilder* op) {
    tf.TF_OpDefinitionBuilderAddAttr(op, "N: int >= 1");
    tf.TF_OpDefinitionBuilderAddAttr(op, "site: int");
    tf.TF_OpDefinitionBuilderAddInput(op, "looks: N * int32");
    tf.TF_OpDefinitionBuilderAddOutput(op, "hold: bool");
    tf.TF_OpDefinitionBuilderAddOutput(op, "found: int32");
    tf.TF_OpDefinitionBuilderAddOutput(op, "look: int32");
  };
  return RegisterOnCpu(kHold, describe, CreateHold, ComputeHold, DeleteHold);
}

}  // namespace

int64_t ReserveGuardSite() { return AddGuardSite(GuardSite(), -1); }

int64_t AddGuardSite(GuardSite site, int64_t reserved) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  if (Site* found = FindSite(reserved)) {
    found->taken = std::move(site);
    return reserved;
  }
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

void NoteChangedVariables(int64_t site) {
  if (site < 0) {
    ++num_changes;
    return;
  }
  std::lock_guard<std::mutex> lock(calls_mutex);
  if (Site* found = FindSite(site)) ++found->changes;
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
    std::string failure;
    for (const auto add : {RegisterGuard, RegisterHeld, RegisterLook, RegisterHold}) {
      if (failure.empty()) failure = add();
    }
    return failure;
  }();
  return failure;
}

}  // namespace tbdbg
