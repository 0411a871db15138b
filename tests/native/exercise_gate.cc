#include "exercise_gate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "gate.h"

namespace {

using namespace tbdbg;

constexpr int kInt32 = 3;
constexpr double kLong = 60;  // seconds; a test that waits so long has failed

// A tensor of one thread, as an op has it.
class TestTensor : public Holder {
 public:
  explicit TestTensor(int64_t id, std::vector<float> elements = {1, 2, 3}) : id_(id), elements_(elements) {
    dims_[0] = static_cast<int64_t>(elements_.size());
    view_.data = elements_.data();
    view_.byte_size = elements_.size() * sizeof(float);
    view_.dtype = kFloat;
    view_.rank = 1;
    view_.num_elements = dims_[0];
    view_.dims = dims_;
  }
  TestTensor(const TestTensor&) = delete;

  std::shared_ptr<const HeldValue> Hold() const override {
    auto value = std::make_shared<HeldValue>();
    auto copy = std::make_shared<std::vector<float>>(elements_);
    value->dims.assign(dims_, dims_ + 1);
    value->view = view_;
    value->view.data = copy->data();
    value->view.dims = value->dims.data();
    value->owner = std::move(copy);
    return value;
  }

  std::shared_ptr<const HeldValue> Pass(Gate* gate, bool in_pipeline = false) const {
    Passing passing;
    passing.tensor_id = id_;
    passing.view = &view_;
    passing.has_shape = true;
    passing.holder = this;
    passing.cannot_change = CannotChange::kCanChange;
    passing.others_may_have_passed = false;
    passing.in_pipeline = in_pipeline;
    return gate->Pass(passing);
  }

 private:
  const int64_t id_;
  const std::vector<float> elements_;
  int64_t dims_[1];
  TensorView view_;
};

GateRule Rule(int64_t number, std::optional<std::vector<int64_t>> ids, std::vector<Step> steps = {}) {
  GateRule rule;
  rule.number = number;
  rule.tensor_ids = std::move(ids);
  rule.condition = Condition(std::move(steps));
  return rule;
}

Step Constant(double value) { return {StepKind::kConstant, value}; }
Step Of(Number number) { return {StepKind::kNumber, static_cast<double>(number)}; }
Step Do(StepKind kind) { return {kind, 0}; }

void JudgeConditions() {
  const std::vector<Step> range = {Of(Number::kMax), Of(Number::kMin), Do(StepKind::kSubtract), Constant(1),
                                   Do(StepKind::kGt)};
  CHECK(Condition::Problem({}).empty() && Condition::Problem(range).empty());
  CHECK(!Condition::Problem({Do(StepKind::kAdd)}).empty());
  CHECK(!Condition::Problem({Constant(1), Constant(2)}).empty());
  CHECK(!Condition::Problem({{static_cast<StepKind>(18), 0}}).empty());
  CHECK(!Condition::Problem({{StepKind::kNumber, kNumNumbers}}).empty());
  CHECK(!Condition::Problem({{StepKind::kNumber, NAN}}).empty());
  CHECK(!Condition::Problem(std::vector<Step>(65, Constant(1))).empty());
  CHECK(!Condition::Problem(std::vector<Step>(257, Do(StepKind::kNot))).empty());

  const int32_t elements[] = {-3, 0, 4, 5};
  const int64_t dims[] = {4};
  TensorView view;
  view.data = elements;
  view.byte_size = sizeof(elements);
  view.dtype = kInt32;
  view.rank = 1;
  view.num_elements = 4;
  view.dims = dims;
  const Numbers numbers = NumbersOf(view);
  CHECK(numbers[static_cast<int>(Number::kMean)] == 1.5 && numbers[static_cast<int>(Number::kNegative)] == 1);
  CHECK(numbers[static_cast<int>(Number::kVariance)] == 10.25);
  CHECK(Condition(range).Holds(numbers));
  const uint32_t max_and_min = 1u << static_cast<int>(Number::kMax) | 1u << static_cast<int>(Number::kMin);
  CHECK(Condition(range).needs() == max_and_min);
  CHECK(!Condition(range).Holds(Numbers()));  // What is not known never holds.
  CHECK(Condition({Constant(0), Constant(0), Do(StepKind::kDivide)}).Holds(numbers));  // NaN is true.
  CHECK(!Condition({Constant(NAN), Constant(NAN), Do(StepKind::kEq)}).Holds(numbers));
  view.num_elements = 0;
  CHECK(std::isnan(NumbersOf(view)[static_cast<int>(Number::kMin)]));
}

// All threads of a program stop at random tensors, a thousand times.
void StopThreads() {
  Gate gate;
  std::atomic<bool> ends{false};
  std::atomic<int64_t> passed_of_pipeline{0}, passed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const TestTensor own(thread), shared(100);
      while (!ends) {
        if (own.Pass(&gate) == nullptr && shared.Pass(&gate) == nullptr) ++passed;
      }
    });
  }
  std::thread pipeline([&] {
    const TestTensor tensor(200);
    while (!ends) {
      tensor.Pass(&gate, true);
      ++passed_of_pipeline;
    }
  });
  std::thread reader([&] {
    while (!ends) {
      gate.Tensors(0, 10);
      gate.counts();
      gate.hits();
      gate.waiting_calls();
    }
  });
  gate.HoldValues(1 << 12);
  for (int stop = 0; stop < 1000; ++stop) {
    if (stop % 3 == 0) gate.SetRules({Rule(1, std::vector<int64_t>{stop % 4})});
    if (stop % 3 == 1) gate.SetRules({Rule(2, std::nullopt)});
    if (stop % 3 == 2) gate.StopAtNext(true);
    const std::optional<Hit> hit = gate.Wait(kLong);
    CHECK(hit && hit->tensor.value != nullptr);
    CHECK(gate.ValueOf(hit->tensor.number) == hit->tensor.value);
    if (stop % 100 == 0 && hit->rule != 2) {  // Threads of pipelines go on meanwhile, others do not.
      const int64_t before = passed_of_pipeline;
      gate.SetRules({});
      while (passed_of_pipeline < before + 10) std::this_thread::yield();
      CHECK(gate.hit() && gate.hit()->number == hit->number);
    }
    if (stop % 5 == 0) gate.Forget();
    CHECK(gate.ValueOf(hit->tensor.number) != nullptr);  // also after it was forgotten
    gate.SetRules({});
    CHECK(gate.Release(hit->number) && !gate.Release(hit->number));
  }
  gate.StopAtNext(true);
  CHECK(gate.Wait(kLong));
  ends = true;
  gate.Close();  // while a thread is held
  for (std::thread& thread : threads) thread.join();
  pipeline.join();
  reader.join();
  CHECK(passed > 0 && !gate.Wait(0) && !gate.wanted());
  gate.SetRules({Rule(1, std::nullopt)});
  gate.StopAtNext(true);
  gate.HoldValues(1);
  TestTensor(1).Pass(&gate);  // It is closed for ever.
  CHECK(!gate.wanted() && gate.Tensors(0, 10).empty());
}

// Threads run graphs at the same time, and each tensor belongs to the call of the thread that ran it.
void TellCallsApart() {
  RunningCalls calls;
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const int64_t call = thread * 1000 + i, step = -1 - call;
        calls.Begin(call);
        for (int tensor = 0; tensor < 3; ++tensor) wrong += calls.CallOf(step) != call;
        calls.End(call);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0 && calls.CallOf(-1) == kNoCall);
  calls.Begin(1);
  CHECK(calls.CallOf(0) == 1);  // The only one, also without a step id.
  calls.Begin(2);               // After a while: neither has shown a step id.
  CHECK(calls.CallOf(-7) == kNoCall && calls.CallOf(0) == kNoCall);
  calls.End(1);
  CHECK(calls.CallOf(-7) == 2 && calls.CallOf(-8) == 2);
  calls.End(1);  // It runs no more.
  calls.End(2);
  CHECK(calls.CallOf(-7) == kNoCall);
  calls.Begin(3);
  calls.Abandon();
  CHECK(calls.CallOf(-9) == kNoCall);
}

// While one thread is held, others wait; rules that are set meanwhile hold for those too.
void StopsAll() {
  Gate gate;
  gate.SetRules({Rule(1, std::vector<int64_t>{1})});
  std::thread first([&] { TestTensor(1).Pass(&gate); });
  const std::optional<Hit> hit = gate.Wait(kLong);
  CHECK(hit && hit->rule == 1);
  std::thread second([&] { TestTensor(2).Pass(&gate); });
  while (gate.waiting_calls().empty()) std::this_thread::yield();
  CHECK(!gate.Wait(0.01));
  gate.SetRules({Rule(2, std::vector<int64_t>{2})});
  CHECK(gate.Release(hit->number));
  const std::optional<Hit> other = gate.Wait(kLong);
  CHECK(other && other->rule == 2 && other->tensor.tensor_id == 2);
  gate.LetAllPass();
  first.join();
  second.join();
  CHECK(!gate.wanted() && gate.hits().empty());
}

void ReplaceAValue() {
  Gate gate;
  gate.StopAtNext(true);
  std::shared_ptr<const HeldValue> value;
  std::thread thread([&] { value = TestTensor(7).Pass(&gate); });
  const std::optional<Hit> hit = gate.Wait(kLong);
  const float others[] = {4, 5, 6};
  const std::string_view bytes(reinterpret_cast<const char*>(others), sizeof(others));
  bool wrong_size = false;
  CHECK(!gate.Replace(hit->number, bytes.substr(1), &wrong_size).empty() && wrong_size);
  CHECK(!gate.Replace(hit->number + 1, bytes, &wrong_size).empty() && !wrong_size);
  CHECK(gate.Replace(hit->number, bytes, &wrong_size).empty());
  CHECK(gate.hit()->tensor.was_changed && gate.Tensors(0, 1)[0].was_changed);
  CHECK(gate.Release(hit->number));
  thread.join();
  CHECK(value != nullptr && std::memcmp(value->view.data, others, sizeof(others)) == 0);
  CHECK(value->view.dims[0] == 3);
}

void CountHits() {
  Gate gate;
  GateRule rule = Rule(5, std::nullopt, {Of(Number::kNan), Constant(0), Do(StepKind::kGt)});
  rule.only_bad = true;
  rule.ignore = 2;
  gate.SetRules({rule, Rule(6, std::vector<int64_t>{9})});
  const TestTensor good(1), bad(2, {NAN});
  good.Pass(&gate);
  bad.Pass(&gate);
  gate.SetRules({rule});  // The rule goes on; the other ends.
  bad.Pass(&gate);
  CHECK((gate.hits() == std::vector<std::pair<int64_t, int64_t>>{{5, 2}}));
  std::thread thread([&] { bad.Pass(&gate); });
  const std::optional<Hit> hit = gate.Wait(kLong);
  CHECK(hit && hit->rule == 5 && hit->tensor.numbers[static_cast<int>(Number::kNan)] == 1);
  gate.LetAllPass();
  thread.join();
  gate.SetRules({rule});
  CHECK(gate.hits()[0].second == 0);
}

// The elements are looked at only for numbers that are not known, and then for all.
void TakeKnownNumbers() {
  Gate gate;
  const auto at_least = [](int64_t number, Number of, double limit) {
    GateRule rule = Rule(number, std::nullopt, {Of(of), Constant(limit), Do(StepKind::kGe)});
    rule.ignore = 1 << 30;
    return rule;
  };
  const float elements[] = {1, 2, 3};
  const int64_t dims[] = {3};
  TensorView view;
  view.data = elements;
  view.byte_size = sizeof(elements);
  view.dtype = kFloat;
  view.rank = 1;
  view.num_elements = 3;
  view.dims = dims;
  Passing passing;
  passing.tensor_id = 1;
  passing.view = &view;
  passing.numbers.Set(Number::kMax, 100);
  passing.bad = Bad::kNan;
  GateRule bad = Rule(1, std::nullopt);
  bad.only_bad = true;
  bad.ignore = 1 << 30;
  gate.SetRules({bad, at_least(2, Number::kMax, 100), Rule(3, std::vector<int64_t>{2})});
  gate.Pass(passing);
  CHECK((gate.hits() == std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 1}, {3, 0}}));
  gate.SetRules({at_least(4, Number::kMin, 1), at_least(5, Number::kMax, 100), at_least(6, Number::kMax, 3)});
  gate.Pass(passing);
  CHECK((gate.hits() == std::vector<std::pair<int64_t, int64_t>>{{4, 1}, {5, 0}, {6, 1}}));
  passing.view = nullptr;  // on another device
  gate.Pass(passing);
  CHECK((gate.hits() == std::vector<std::pair<int64_t, int64_t>>{{4, 1}, {5, 1}, {6, 2}}));
}

void HoldAFewValues() {
  Gate gate;
  gate.HoldValues(30);  // two of twelve bytes
  const TestTensor tensor(3);
  for (int i = 0; i < 4; ++i) tensor.Pass(&gate);
  std::vector<Passed> passed = gate.Tensors(0, 10);
  CHECK(passed.size() == 4 && passed[1].value == nullptr && passed[2].value != nullptr);
  CHECK(passed[3].occurrence == 4 && gate.counts().dropped == 2 && gate.counts().held_bytes == 24);
  CHECK(gate.Tensors(2, 1).size() == 1 && gate.Tensors(2, 1)[0].number == 3);
  gate.Forget();
  CHECK(gate.counts().held_bytes == 0 && gate.counts().passed == 0);
  tensor.Pass(&gate);
  passed = gate.Tensors(0, 10);
  CHECK(passed.size() == 1 && passed[0].number == 5 && passed[0].occurrence == 1);
  gate.HoldValues(0);
  CHECK(!gate.wanted() && gate.counts().held_bytes == 0);
  for (size_t i = 0; i < PassedTensors::kMost + 10; ++i) {
    if (i == 0) gate.HoldValues(1000);
    tensor.Pass(&gate);
  }
  CHECK(gate.counts().passed == static_cast<int64_t>(PassedTensors::kMost));
}

// A child has no gate, whatever locks the parent had.
void Fork() {
  Gate gate;
  gate.StopAtNext(true);
  std::thread thread([&] { TestTensor(1).Pass(&gate); });
  CHECK(gate.Wait(kLong));
  const pid_t child = fork();
  if (child == 0) {
    gate.Abandon();
    TestTensor(1).Pass(&gate);
    gate.SetRules({Rule(1, std::nullopt)});
    gate.Close();
    _exit(!gate.wanted() && !gate.hit() && !gate.Wait(kLong) ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  gate.Close();
  thread.join();
}

}  // namespace

void ExerciseGate() {
  TellCallsApart();
  JudgeConditions();
  StopThreads();
  StopsAll();
  ReplaceAValue();
  CountHits();
  TakeKnownNumbers();
  HoldAFewValues();
  Fork();
}
