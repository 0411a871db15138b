#include "recorder.h"

#include <time.h>

#include <algorithm>

namespace tbdbg {
namespace {

// How much of the limit of pinned records may be used when a tensor is pinned, by its importance: what is
// likely to be meant leaves room for the NaN that is not.
constexpr double ShareOf(News news) {
  return news == News::kFirstNan ? 1 : news == News::kFirstInfinite ? 0.5 : 0.25;
}

// An op that is bad again counts only after so many rings of records.
constexpr int kSilentRings = 4;

std::atomic<Recorder*> current{nullptr};

// Whether a mode records tensors of a dtype without any rule.
bool Measures(Mode mode, int dtype) { return !SpecOf(mode).judges || MeasuredBytes(dtype) > 0; }

void Note(const TensorView& tensor, Mode mode, const double* columns, Measured* measured) {
  if (measured == nullptr) return;
  if (MeasuredBytes(tensor.dtype) > 0) measured->numbers = NumbersOf(columns, mode);
  if (SpecOf(mode).judges) measured->bad = HowBad(columns, mode);
}

}  // namespace

Stamp Recorder::Now() const {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  const double seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  return {seconds, step_.load(std::memory_order_relaxed)};
}

std::string Recorder::Open(const std::string& base, int64_t circular_buffer_size, int graphs) {
  std::string failure = executions_.Open(base + ".execution", circular_buffer_size, &budget_, &rules_);
  if (failure.empty()) {
    failure = traces_.Open(base + ".graph_execution_traces", circular_buffer_size, &budget_, &rules_);
  }
  base_ = base;
  circular_buffer_size_ = circular_buffer_size;
  bad_elements_.Open(graphs);
  on_ = failure.empty();
  return failure;
}

void TraceTarget::PrepareTo(Mode mode) {
  const bool has_one_size = ColumnsOf(mode) > 0 || mode == Mode::kNoTensor;
  if (has_one_size) trace = {prefix, mode, ColumnsOf(mode)};
}

void Recorder::Encode(const TensorView& tensor, double tensor_id, uint64_t keep, EncodedTensor* encoded) {
  Choice choice = Choice::kSummary;
  int64_t bytes = 0;
  if (keep != 0 && rules_.Enabled(keep) == 0 && !Measures(mode_, tensor.dtype)) return;
  keep = rules_.Enabled(keep);
  if (keep != 0) {
    bytes = ValueBytes(tensor);
    choice = rules_.Choose(keep, bytes, HowBad(tensor), &encoded->kept);
  }
  encoded->mode = choice == Choice::kSummary ? mode_ : Mode::kFullTensor;
  switch (choice) {
    case Choice::kWhole: return EncodeTensor(tensor, &encoded->proto);
    case Choice::kLeftOut: return EncodeLeftOut(tensor, mode_, tensor_id, bytes, &encoded->proto);
    case Choice::kSummary: EncodeSummary(tensor, mode_, tensor_id, max_tensor_bytes_, &encoded->proto);
  }
}

Bad Recorder::Trace(const std::string& prefix, const EncodedTensor& tensor, const Stamp& now) {
  if (!on()) return Bad::kNo;
  const Bad bad = HowBad(tensor.proto, tensor.mode);
  CountIf(bad);
  if (pins()) PinIfNews(prefix, bad);
  if (tensor.element.is_known() && bad_elements_.Wants(prefix, -1, bad)) {
    StopIf(bad_elements_.Write(now, prefix, -1, tensor.element));
  }
  AppendTrace(prefix, tensor, now);
  return bad;
}

void Recorder::AppendTrace(const std::string& prefix, const EncodedTensor& tensor, const Stamp& now) {
  thread_local std::string event;
  event.assign(kHeadSize, 0);
  EncodeTrace(now, prefix, tensor.mode, tensor.proto, &event);
  if (tensor.kept.rule < 0) return StopIf(traces_.Append(now.wall_time, &event));
  StopIf(traces_.Append(now.wall_time, &event, {tensor.kept}));
}

void Recorder::TraceConstant(const std::string& prefix, const EncodedTensor& tensor) {
  const Bad bad = Trace(prefix, tensor);
  first_bad_.NoteConstant(bad);
  alarm_.NoteConstant(bad);
}

int64_t Recorder::Execution(const std::string& execution, std::string_view prefix, Bad bad,
                            const std::vector<KeptBytes>& kept, Bad ringing,
                            const std::vector<BadOutput>& bad_outputs) {
  if (!on()) return 0;
  CountIf(bad);
  NoteBad(prefix, bad, true);
  thread_local std::string event;
  event.assign(kHeadSize, 0);
  const Stamp now = Now();
  for (const BadOutput& each : bad_outputs) {
    StopIf(bad_elements_.Write(now, prefix, each.slot, each.element));
  }
  EncodeExecution(now, execution, &event);
  StopIf(executions_.Append(now.wall_time, &event, kept));
  return alarm_.RingIf(ringing, prefix, true);
}

void Recorder::TraceEarlier(const std::string& prefix, const double* columns, const Stamp& stamp) {
  if (!on()) return;
  EncodedTensor tensor;
  tensor.mode = Mode::kFullNumerics;
  EncodeVector(columns, ColumnsOf(tensor.mode), &tensor.proto);
  AppendTrace(prefix, tensor, stamp);
}

void Recorder::ExecutionEarlier(const std::string& execution, const Stamp& stamp) {
  if (!on()) return;
  std::string event(kHeadSize, 0);
  EncodeExecution(stamp, execution, &event);
  StopIf(executions_.Append(stamp.wall_time, &event));
}

void Recorder::SessionRun(std::string_view prefix, int64_t run, double begin_time) {
  std::string event(kHeadSize, 0);
  const Stamp now = Now();
  EncodeSessionRun(now, prefix, run, begin_time, &event);
  AppendSessionRun(now.wall_time, &event);
}

void Recorder::AboutSessionRun(std::string_view event) {
  std::string record(kHeadSize, 0);
  record.append(event);
  AppendSessionRun(Now().wall_time, &record);
}

void Recorder::AppendSessionRun(double wall_time, std::string* event) {
  if (!on()) return;  // before any lock, which may be locked for ever in a forked child
  std::string failure;
  {
    std::lock_guard<std::mutex> lock(sessions_mutex_);
    if (!on()) return;
    if (!has_session_runs_) {
      failure = session_runs_.Open(base_ + ".session_runs", circular_buffer_size_, &budget_);
      has_session_runs_ = failure.empty();
    }
    if (failure.empty()) failure = session_runs_.Append(wall_time, event);
  }
  StopIf(failure);
}

void Recorder::NoteBad(std::string_view prefix, Bad bad, bool is_execution) {
  if (bad == Bad::kNo) return;
  first_bad_.Note(bad, prefix, is_execution);
  if (pins()) PinIfNews(prefix, bad);
}

void Recorder::PinIfNews(std::string_view prefix, Bad bad) {
  if (bad == Bad::kNo) return;
  const int64_t now = executions_.appended() + traces_.appended();
  const News news = bad_ops_.Judge(prefix, bad, now, kSilentRings * std::max<int64_t>(traces_.limit(), 1));
  if (news == News::kNone) return;
  executions_.Pin(ShareOf(news));
  traces_.Pin(ShareOf(news));
  session_runs_.Pin(ShareOf(news));
}

void Recorder::Discard() {
  if (!on()) return;
  executions_.Discard();
  traces_.Discard();
  session_runs_.Discard();
  rules_.Reset();
  bad_ops_.Clear();
  bad_elements_.Clear();
  discards_.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::Flush() {
  if (!on()) return;
  StopIf(executions_.Flush());
  StopIf(traces_.Flush());
  StopIf(session_runs_.Flush());
}

void Recorder::Close() {
  on_ = false;
  gate_.Close();
  StopIf(executions_.Close());
  StopIf(traces_.Close());
  std::string failure;
  {
    std::lock_guard<std::mutex> lock(sessions_mutex_);
    failure = session_runs_.Close();
  }
  StopIf(failure);
  bad_elements_.Close();
}

void Recorder::Abandon() {
  on_ = false;
  gate_.Abandon();
  executions_.Abandon();
  traces_.Abandon();
  session_runs_.Abandon();
}

std::string Recorder::failure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void Recorder::StopIf(const std::string& failure) {
  if (failure.empty()) return;
  on_ = false;
  gate_.Close();
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.empty()) failure_ = failure;
}

void TraceBatch::Trace(const std::vector<TraceTarget>& targets, const TensorView& tensor,
                       Measured* measured) {
  const Mode mode = recorder_->mode_;
  if (targets[0].keep != 0) {
    if (recorder_->rules_.Enabled(targets[0].keep) != 0) return TraceByRules(targets, tensor, measured);
    if (!Measures(mode, tensor.dtype)) return;
  }
  if (targets[0].trace.empty()) {
    thread_local EncodedTensor encoded;
    encoded.proto.clear();
    recorder_->Encode(tensor, targets[0].tensor_id, 0, &encoded);
    return NoteElement(targets, tensor, Trace(targets[0], encoded));
  }
  double columns[kMaxSummary];
  Summarize(tensor, mode, targets[0].tensor_id, columns);
  Note(tensor, mode, columns, measured);
  const Bad bad = HowBad(columns, mode);
  NoteElement(targets, tensor, bad);
  TraceColumns(&targets[0], &targets[0] + targets.size(), columns, bad);
}

void TraceBatch::NoteElement(const std::vector<TraceTarget>& targets, const TensorView& tensor, Bad bad) {
  if (bad == Bad::kNo || !recorder_->on()) return;
  BadElements& elements = recorder_->bad_elements_;
  for (const TraceTarget& target : targets) {
    if (!elements.Wants(target.prefix, -1, bad)) continue;
    const BadElement found = FindBadElement(tensor, target.rank < 0 ? nullptr : &target.dims);
    recorder_->StopIf(elements.Write(now_, target.prefix, -1, found));
  }
}

void TraceBatch::TraceByRules(const std::vector<TraceTarget>& targets, const TensorView& tensor,
                              Measured* measured) {
  const Mode mode = recorder_->mode_;
  const TraceTarget &target = targets[0], *end = &target + targets.size();
  double columns[kMaxSummary];
  Summarize(tensor, mode, target.tensor_id, columns);
  Note(tensor, mode, columns, measured);
  const Bad bad = SpecOf(mode).judges ? HowBad(columns, mode) : HowBad(tensor);
  thread_local EncodedTensor encoded;
  encoded = {std::move(encoded.proto), Mode::kFullTensor, {}};
  encoded.proto.clear();
  const int64_t bytes = ValueBytes(tensor);
  const Choice choice = recorder_->rules_.Choose(target.keep, bytes, bad, &encoded.kept);
  if (choice == Choice::kSummary) return TraceColumns(&target, end, columns, bad);
  if (choice == Choice::kWhole) {
    EncodeTensor(tensor, &encoded.proto);
  } else if (ColumnsOf(mode) > 0 && MeasuredBytes(tensor.dtype) > 0) {
    EncodeLeftOut(columns, mode, bytes, &encoded.proto);  // Reading a large tensor again takes long.
  } else {
    EncodeLeftOut(tensor, mode, target.tensor_id, bytes, &encoded.proto);
  }
  Send();  // Earlier tensors are written before.
  if (!recorder_->on()) return;
  recorder_->CountIf(bad);
  recorder_->NoteBad(target.prefix, bad, false);
  NoteElement(targets, tensor, bad);
  RingIf(target, bad);
  recorder_->AppendTrace(target.prefix, encoded, now_);
  TraceColumns(&target + 1, end, columns, bad);
}

void TraceBatch::TraceColumns(const TraceTarget* begin, const TraceTarget* end, double* columns, Bad bad) {
  for (const TraceTarget* target = begin; target != end; ++target) {
    SetIdAndRank(recorder_->mode_, target->tensor_id, target->rank, columns);
    Trace(*target, columns, bad);
  }
}

void TraceBatch::Trace(const TraceTarget& target, const double* columns, Bad bad) {
  if (recorder_->on()) recorder_->CountIf(bad);
  if (bad != Bad::kNo && recorder_->Cares(bad)) {
    Send();  // Earlier tensors are written before the pin begins.
    recorder_->NoteBad(target.prefix, bad, false);
  }
  RingIf(target, bad);
  if (count_ == kMost) Send();
  traces_[count_++].Fill(target.trace, now_, columns);
}

Bad TraceBatch::Trace(const TraceTarget& target, const EncodedTensor& tensor) {
  Send();
  const Bad bad = recorder_->Trace(target.prefix, tensor, now_);
  recorder_->first_bad_.Note(bad, target.prefix, false);
  RingIf(target, bad);
  return bad;
}

void TraceBatch::RingIf(const TraceTarget& target, Bad bad) {
  if (bad == Bad::kNo) return;
  if (rang_ != 0 || !target.rings || !recorder_->on()) return;
  rang_ = recorder_->alarm_.RingIf(bad, target.prefix, false);
}

void TraceBatch::Send() {
  if (count_ > 0 && recorder_->on()) recorder_->StopIf(recorder_->traces_.Append(traces_, count_));
  count_ = 0;
}

Recorder* CurrentRecorder() { return current.load(std::memory_order_acquire); }

void SetCurrentRecorder(Recorder* recorder) { current.store(recorder, std::memory_order_release); }

}  // namespace tbdbg
