#include "gate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include "encode.h"

namespace tbdbg {
namespace {

// Unlike for all rule sets of the process, because threads cache them by their version.
std::atomic<int64_t> last_version{0};

struct Counter {
  std::atomic<int64_t> hits{0};
};

struct CountedRule {
  GateRule rule;
  std::shared_ptr<Counter> counter;
};

}  // namespace

// Constant except for the counters.
struct Gate::RuleSet {
  int64_t version = 0;
  std::vector<CountedRule> rules;
  std::vector<const CountedRule*> for_all;
  std::unordered_map<int64_t, std::vector<const CountedRule*>> by_tensor;

  RuleSet(std::vector<GateRule> list, const RuleSet* before) : version(++last_version) {
    for (GateRule& rule : list) rules.push_back({std::move(rule), std::make_shared<Counter>()});
    for (CountedRule& counted : rules) {
      if (before != nullptr) GoOnCounting(*before, &counted);
      if (!counted.rule.tensor_ids) for_all.push_back(&counted);
      for (const int64_t id : counted.rule.tensor_ids.value_or(std::vector<int64_t>())) {
        by_tensor[id].push_back(&counted);
      }
    }
  }

  static void GoOnCounting(const RuleSet& before, CountedRule* counted) {
    for (const CountedRule& old : before.rules) {
      if (old.rule == counted->rule) counted->counter = old.counter;
    }
  }
};

// One call of Pass.
struct Gate::Visit {
  Visit(const Passing& tensor, int64_t call) : tensor(tensor), call(call), numbers(tensor.numbers) {}

  const Passing& tensor;
  const int64_t call;
  Numbers numbers;
  bool is_measured = false;  // whether the elements were looked at for the numbers
  Passed passed;
  bool is_noted = false;
  // How often rules had held when they held for this tensor: each counts it once.
  std::vector<std::pair<const Counter*, int64_t>> counted;

  void Measure() {
    if (!is_measured && tensor.view != nullptr) numbers = NumbersOf(*tensor.view);
    is_measured = true;
  }

  bool IsBad() const {
    if (tensor.bad) return *tensor.bad != Bad::kNo;
    return tensor.view != nullptr && HowBad(*tensor.view) != Bad::kNo;
  }

  bool Holds(const GateRule& rule) {
    if (rule.only_bad && !IsBad()) return false;
    if (!numbers.HasAll(rule.condition.needs())) Measure();
    return rule.condition.Holds(numbers);
  }

  bool Stops(const CountedRule& counted_rule) {
    const Counter* counter = counted_rule.counter.get();
    for (const auto& [other, hits] : counted) {
      if (other == counter) return hits > counted_rule.rule.ignore;
    }
    if (!Holds(counted_rule.rule)) return false;
    counted.emplace_back(counter, ++counted_rule.counter->hits);
    return counted.back().second > counted_rule.rule.ignore;
  }
};

bool GateRule::operator==(const GateRule& other) const {
  return number == other.number && only_bad == other.only_bad && ignore == other.ignore &&
         condition == other.condition && tensor_ids == other.tensor_ids;
}

Gate::Gate() { SetRulesTo({}); }

std::shared_ptr<const HeldValue> Gate::Pass(const Passing& tensor) {
  if (!wanted()) return nullptr;
  Visit visit(tensor, tensor.in_pipeline ? kNoCall : calls_.CallOf(tensor.step));
  std::shared_ptr<const RuleSet> rules = Rules();
  int64_t stop = Judge(*rules, &visit);
  if (passed_.wanted() || stop != 0) Note(&visit);
  if (stop == 0 && !stops()) return nullptr;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!closed_) {
    if (rules_ != rules) {
      lock.unlock();
      rules = Rules();
      stop = Judge(*rules, &visit);
      lock.lock();
    } else if (held_ == nullptr) {
      const bool is_next = next_ && tensor.is_recorded && !tensor.in_pipeline;
      return stop != 0 || is_next ? Hold(&lock, stop, &visit) : nullptr;
    } else if (stop == 0 && tensor.in_pipeline) {
      return nullptr;
    } else {
      waiting_.push_back(visit.call);
      go_on_.wait(lock);
      waiting_.erase(std::find(waiting_.begin(), waiting_.end(), visit.call));
    }
  }
  return nullptr;
}

std::shared_ptr<const HeldValue> Gate::Hold(std::unique_lock<std::mutex>* lock, int64_t rule, Visit* visit) {
  const Passing& tensor = visit->tensor;
  Note(visit);
  visit->passed.numbers = visit->numbers;
  if (visit->passed.value == nullptr && tensor.holder != nullptr) visit->passed.value = tensor.holder->Hold();
  passed_.Pin(visit->passed);
  Held held;
  held.hit = {++last_hit_,       rule, visit->passed, tensor.cannot_change, tensor.others_may_have_passed,
              tensor.in_pipeline};
  held_ = &held;
  next_ = false;
  Update();
  arrived_.notify_all();
  go_on_.wait(*lock, [&] { return held.is_released; });
  return held.replacement;
}

std::shared_ptr<const Gate::RuleSet> Gate::Rules() const {
  thread_local std::shared_ptr<const RuleSet> cached;
  if (cached == nullptr || cached->version != version_.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> lock(mutex_);
    cached = rules_;
  }
  return cached;
}

int64_t Gate::Judge(const RuleSet& rules, Visit* visit) {
  int64_t stop = 0;
  const auto judge = [&](const std::vector<const CountedRule*>& some) {
    for (const CountedRule* counted : some) {
      if (visit->Stops(*counted) && stop == 0) stop = counted->rule.number;
    }
  };
  const auto own = rules.by_tensor.find(visit->tensor.tensor_id);
  if (own != rules.by_tensor.end()) judge(own->second);
  if (visit->tensor.is_recorded) judge(rules.for_all);
  return stop;
}

void Gate::Note(Visit* visit) {
  if (visit->is_noted) return;
  visit->is_noted = true;
  const Passing& tensor = visit->tensor;
  Passed& passed = visit->passed;
  passed.tensor_id = tensor.tensor_id;
  passed.call = visit->call;
  passed.step = tensor.in_pipeline ? 0 : tensor.step;
  passed.numbers = visit->numbers;
  if (tensor.view != nullptr) {
    const TensorView& view = *tensor.view;
    passed.dtype = view.dtype;
    passed.num_bytes = ValueBytes(view);
    if (tensor.has_shape) passed.dims.emplace(view.dims, view.dims + view.rank);
  }
  if (tensor.holder != nullptr && passed_.wanted()) passed.value = tensor.holder->Hold();
  passed_.Note(&passed);
}

void Gate::SetRules(std::vector<GateRule> rules) {
  if (abandoned_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_) SetRulesTo(std::move(rules));
}

void Gate::SetRulesTo(std::vector<GateRule> rules) {
  rules_ = std::make_shared<const RuleSet>(std::move(rules), rules_.get());
  version_.store(rules_->version, std::memory_order_release);
  Update();
  go_on_.notify_all();  // Threads that wait see the new rules.
}

void Gate::StopAtNext(bool wanted) {
  if (abandoned_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  next_ = wanted && !closed_;
  Update();
}

std::optional<Hit> Gate::Wait(double seconds) {
  if (abandoned_) return std::nullopt;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto arrived = [&] { return closed_ || (held_ != nullptr && held_->hit.number > delivered_); };
  // A longer time than the clock has means none.
  const auto time = std::chrono::duration<double>(std::isnan(seconds) ? 0 : std::clamp(seconds, 0.0, 1e8));
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  if (!arrived_.wait_until(lock, until, arrived) || held_ == nullptr) return std::nullopt;
  delivered_ = held_->hit.number;
  return held_->hit;
}

bool Gate::Release(int64_t hit) {
  if (abandoned_) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (held_ == nullptr || held_->hit.number != hit) return false;
  Free();
  return true;
}

void Gate::Free() {
  passed_.Unpin();
  held_->is_released = true;
  held_ = nullptr;
  Update();
  go_on_.notify_all();
}

void Gate::LetAllPass() {
  if (abandoned_) return;
  std::lock_guard<std::mutex> lock(mutex_);
  next_ = false;
  SetRulesTo({});
  if (held_ != nullptr) Free();
}

void Gate::Close() {
  if (abandoned_) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    next_ = false;
    SetRulesTo({});
    closed_ = true;
    if (held_ != nullptr) Free();
    arrived_.notify_all();
  }
  passed_.Close();
  std::lock_guard<std::mutex> lock(mutex_);
  Update();
}

void Gate::HoldValues(int64_t max_bytes) {
  if (abandoned_) return;
  passed_.SetLimit(max_bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  Update();
}

std::string Gate::Replace(int64_t hit, std::string_view data, bool* wrong_size) {
  *wrong_size = false;
  if (abandoned_) return "no thread is held";
  std::lock_guard<std::mutex> lock(mutex_);
  if (held_ == nullptr || held_->hit.number != hit) return "no thread is held at this hit";
  Passed& tensor = held_->hit.tensor;
  if (held_->hit.cannot_change != CannotChange::kCanChange || tensor.value == nullptr) {
    return "the value of this tensor cannot be changed";
  }
  *wrong_size = data.size() != tensor.value->view.byte_size;
  if (*wrong_size) return "the new value has another number of bytes";
  auto bytes = std::make_shared<const std::string>(data);
  auto value = std::make_shared<HeldValue>(*tensor.value);
  value->view.data = bytes->data();
  value->view.dims = value->dims.data();
  value->owner = std::move(bytes);
  tensor.value = value;
  tensor.numbers = {};
  tensor.was_changed = true;
  held_->replacement = value;
  passed_.Change(tensor.number, value);
  return "";
}

std::optional<Hit> Gate::hit() const {
  if (abandoned_) return std::nullopt;
  std::lock_guard<std::mutex> lock(mutex_);
  if (held_ == nullptr) return std::nullopt;
  return held_->hit;
}

std::vector<int64_t> Gate::waiting_calls() const {
  if (abandoned_) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  return waiting_;
}

std::vector<std::pair<int64_t, int64_t>> Gate::hits() const {
  std::vector<std::pair<int64_t, int64_t>> hits;
  if (abandoned_) return hits;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const CountedRule& counted : rules_->rules)
    hits.emplace_back(counted.rule.number, counted.counter->hits);
  return hits;
}

void Gate::Forget(const std::vector<int64_t>& calls) {
  if (!abandoned_) passed_.Forget(calls);
}

std::vector<Passed> Gate::Tensors(int64_t after, size_t limit, int64_t call) const {
  return abandoned_ ? std::vector<Passed>() : passed_.After(after, limit, call);
}

std::shared_ptr<const HeldValue> Gate::ValueOf(int64_t number) const {
  return abandoned_ ? nullptr : passed_.ValueOf(number);
}

PassedTensors::Counts Gate::counts(int64_t call) const {
  return abandoned_ ? PassedTensors::Counts() : passed_.counts(call);
}

void Gate::Abandon() {
  abandoned_ = true;
  calls_.Abandon();
  wanted_ = false;
  stops_ = false;
}

void Gate::Update() {
  stops_ = next_ || held_ != nullptr;
  wanted_ = !rules_->rules.empty() || next_ || held_ != nullptr || passed_.wanted();
}

}  // namespace tbdbg
