#include "recorder.h"

#include <time.h>

namespace tbdbg {
namespace {

// Limits of pinned records, in multiples of the circular buffer's size: for any bad
// tensor, and for one that is only infinite.
constexpr int kPinnedBuffers = 10, kPinnedBuffersInfinite = 5;

std::atomic<Recorder*> current{nullptr};

}  // namespace

double Now() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string Recorder::Open(const std::string& base, int64_t circular_buffer_size) {
  std::string failure = executions_.Open(base + ".execution", circular_buffer_size);
  if (failure.empty()) {
    failure = traces_.Open(base + ".graph_execution_traces", circular_buffer_size);
  }
  pins_ = circular_buffer_size > 0 && SpecOf(mode_).judges;
  on_ = failure.empty();
  return failure;
}

void TraceTarget::PrepareTo(Mode mode) {
  const bool has_one_size = ColumnsOf(mode) > 0 || mode == Mode::kNoTensor;
  if (has_one_size) trace = {prefix, mode, ColumnsOf(mode)};
}

Bad Recorder::Trace(const std::string& prefix, Mode mode, const std::string& tensor_proto) {
  if (!on()) return Bad::kNo;
  thread_local std::string event;
  event.assign(kHeadSize, 0);
  // Elements of whole tensors are read again only for a circular buffer.
  const Bad bad = pins_ || ColumnsOf(mode) > 0 ? HowBad(tensor_proto, mode) : Bad::kNo;
  if (pins_) PinIfFirst(prefix, bad);
  const double now = Now();
  EncodeTrace(now, prefix, mode, tensor_proto, &event);
  StopIf(traces_.Append(now, &event));
  return bad;
}

void Recorder::TraceConstant(const std::string& prefix, const std::string& tensor_proto) {
  first_bad_.NoteConstant(Trace(prefix, mode_, tensor_proto));
}

void Recorder::Execution(const std::string& execution, std::string_view prefix, Bad bad) {
  if (!on()) return;
  NoteBad(prefix, bad, true);
  thread_local std::string event;
  event.assign(kHeadSize, 0);
  const double now = Now();
  EncodeExecution(now, execution, &event);
  StopIf(executions_.Append(now, &event));
}

void Recorder::NoteBad(std::string_view prefix, Bad bad, bool is_execution) {
  if (bad == Bad::kNo) return;
  first_bad_.Note(bad, prefix, is_execution);
  if (pins_) PinIfFirst(prefix, bad);
}

void Recorder::PinIfFirst(std::string_view prefix, Bad bad) {
  if (bad == Bad::kNo || !bad_ops_.IsFirst(prefix, bad)) return;
  const int buffers = bad == Bad::kNan ? kPinnedBuffers : kPinnedBuffersInfinite;
  executions_.Pin(buffers);
  traces_.Pin(buffers);
}

void Recorder::Flush() {
  if (!on()) return;
  StopIf(executions_.Flush());
  StopIf(traces_.Flush());
}

void Recorder::Close() {
  on_ = false;
  StopIf(executions_.Close());
  StopIf(traces_.Close());
}

void Recorder::Abandon() {
  on_ = false;
  executions_.Abandon();
  traces_.Abandon();
}

std::string Recorder::failure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void Recorder::StopIf(const std::string& failure) {
  if (failure.empty()) return;
  on_ = false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (failure_.empty()) failure_ = failure;
}

void TraceBatch::Trace(const std::vector<TraceTarget>& targets, const TensorView& tensor) {
  const Mode mode = recorder_->mode_;
  if (targets[0].trace.empty()) {
    thread_local std::string proto;
    proto.clear();
    EncodeSummary(tensor, mode, targets[0].tensor_id, recorder_->max_tensor_bytes_, &proto);
    return Trace(targets[0].prefix, mode, proto);
  }
  double columns[kMaxSummary];
  Summarize(tensor, mode, targets[0].tensor_id, columns);
  const Bad bad = recorder_->Cares(Bad::kNan) ? HowBad(columns, mode) : Bad::kNo;
  for (const TraceTarget& target : targets) {
    SetIdAndRank(mode, target.tensor_id, target.rank, columns);
    Trace(target, columns, bad);
  }
}

void TraceBatch::Trace(const TraceTarget& target, const double* columns, Bad bad) {
  if (bad != Bad::kNo && recorder_->Cares(bad)) {
    Send();  // Earlier tensors are written before the pin begins.
    recorder_->NoteBad(target.prefix, bad, false);
  }
  if (count_ == kMost) Send();
  traces_[count_++].Fill(target.trace, now_, columns);
}

void TraceBatch::Trace(const std::string& prefix, Mode mode, const std::string& tensor_proto) {
  Send();
  const Bad bad = recorder_->Trace(prefix, mode, tensor_proto);
  recorder_->first_bad_.Note(bad, prefix, false);
}

void TraceBatch::Send() {
  if (count_ > 0 && recorder_->on()) recorder_->StopIf(recorder_->traces_.Append(traces_, count_));
  count_ = 0;
}

Recorder* CurrentRecorder() { return current.load(std::memory_order_acquire); }

void SetCurrentRecorder(Recorder* recorder) { current.store(recorder, std::memory_order_release); }

}  // namespace tbdbg
