// Encodes records of protos/debug_event.proto.
//
// The part of a record that is the same each time a tensor is recorded is encoded
// once, when its graph is built (`prefix`); the hot path only adds the time, the step
// and the numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "crc32c.h"
#include "summary.h"

namespace tbdbg {

// The wire types of protobuf that records have.
constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2;

// Appends fields to a string. Each call appends one field or one scalar.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  void Varint(uint64_t value);
  void VarintField(int field, uint64_t value);
  void DoubleField(int field, double value) { FixedField(field, &value); }
  void FixedField(int field, uint64_t value) { FixedField(field, &value); }
  void BytesField(int field, const void* data, size_t size);
  void BytesField(int field, const std::string& bytes) { BytesField(field, bytes.data(), bytes.size()); }
  // Appends the head of a field; the caller appends its `size` bytes.
  void LengthField(int field, size_t size);

 private:
  // Appends a field of eight bytes.
  void FixedField(int field, const void* value);

  std::string* out_;
};

// Encodes a TensorProto that is a float64 vector of `count` numbers.
void EncodeVector(const double* values, int count, std::string* out);

// Encodes a TensorProto that is the whole tensor.
void EncodeTensor(const TensorView& tensor, std::string* out);

// Bytes of the elements of a tensor; for strings, of their contents.
int64_t ValueBytes(const TensorView& tensor);

// The bytes of an element of a tensor of strings. They live as long as the tensor.
std::string_view StringAt(const TensorView& tensor, int64_t i);

// Encodes a summary in place of a tensor of `bytes` bytes that is too large, and sets
// `summary_mode` and `left_out_bytes`. The summary has the mode of the recording; if that
// has no numbers, or none for the dtype, it is FULL_HEALTH or SHAPE.
void EncodeLeftOut(const TensorView& tensor, Mode mode, double tensor_id, int64_t bytes, std::string* out);
// The same for a measured tensor, from the columns that Summarize wrote in `mode`.
void EncodeLeftOut(const double* columns, Mode mode, int64_t bytes, std::string* out);

// Marks a TensorProto as a summary in a record of FULL_TENSOR.
void AppendSummaryMode(Mode mode, std::string* proto);

// Encodes a TensorProto for `tensor` in `mode`. In FULL_TENSOR, a tensor of more than
// `max_tensor_bytes` bytes (below 0: no limit) is replaced by a summary, and
// `summary_mode` is set.
void EncodeSummary(const TensorView& tensor, Mode mode, double tensor_id, int64_t max_tensor_bytes,
                   std::string* out);

// The field `step` of a DebugEvent, encoded: a tag of one byte and a varint that always
// has five, so that all records of a tensor have one length.
class StepField {
 public:
  static constexpr size_t kSize = 6;

  StepField() : StepField(0) {}
  // `step`: from 0; a number of more than 31 bits counts as the largest one.
  explicit StepField(int64_t step);

  const uint64_t* bytes() const { return &bytes_; }

 private:
  uint64_t bytes_;  // the first kSize bytes of it
};

// When a tensor was computed: the first fields of an event. In a record they follow the
// tag of the time as they lie here.
struct Stamp {
  static constexpr size_t kSize = sizeof(double) + StepField::kSize;

  double wall_time = 0;  // seconds since the epoch
  StepField step;

  // Writes `kSize` bytes.
  void Write(char* out) const {
    std::memcpy(out, &wall_time, sizeof(wall_time));
    std::memcpy(out + sizeof(wall_time), step.bytes(), StepField::kSize);
  }
};

// Encodes a DebugEvent with a GraphExecutionTrace. `prefix` holds the trace's encoded
// fields other than the mode and the tensor.
void EncodeTrace(const Stamp& stamp, const std::string& prefix, Mode mode, const std::string& tensor_proto,
                 std::string* out);

// A framed record of a DebugEvent with a GraphExecutionTrace, whose tensor is a vector
// of numbers or empty. All of it but the stamp and the numbers is made once.
class TraceOfVector {
 public:
  TraceOfVector() = default;
  // `prefix`: see EncodeTrace. `count`: how many numbers; 0 for a mode without numbers.
  TraceOfVector(const std::string& prefix, Mode mode, int count);

  bool empty() const { return bytes_.empty(); }
  // How many numbers the vector has.
  size_t count() const { return (foot_at_ - values_at_) / sizeof(double); }
  // Bytes of the record, with head and foot.
  size_t size() const { return bytes_.size(); }
  // Writes the record to `out`.
  void Write(const Stamp& stamp, const double* values, char* out) const;

 private:
  std::string bytes_;
  size_t values_at_ = 0, foot_at_ = 0;
  Crc32cOfFilled checksum_;
};

// Such a record with its stamp and its numbers.
class FilledTrace {
 public:
  // `values`: `trace.count()` numbers.
  void Fill(const TraceOfVector& trace, const Stamp& stamp, const double* values) {
    trace_ = &trace;
    // One after the other: to copy both at once would wait until both are written.
    wall_time_ = stamp.wall_time;
    step_ = stamp.step;
    std::copy(values, values + trace.count(), values_);
  }

  double wall_time() const { return wall_time_; }
  size_t size() const { return trace_->size(); }
  void Write(char* out) const { trace_->Write({wall_time_, step_}, values_, out); }

 private:
  const TraceOfVector* trace_;
  double wall_time_;
  StepField step_;
  double values_[kMaxSummary];
};

// Where a tensor is bad.
struct BadElement {
  bool is_known() const { return at.first >= 0; }

  BadPositions at{};
  bool has_shape = false;  // whether `dims` are known
  std::vector<int64_t> dims{};
};

// Encodes a DebugEvent with a BadElement. `prefix`: of the GraphExecutionTrace (see EncodeTrace), or of the
// Execution with the output `slot`; below 0 for a trace.
void EncodeBadElement(const Stamp& stamp, std::string_view prefix, int slot, const BadElement& found,
                      std::string* out);

// Encodes a DebugEvent with an Execution, whose fields are encoded in `execution`.
void EncodeExecution(const Stamp& stamp, const std::string& execution, std::string* out);

// Appends an encoded DebugEvent with a SessionRun that has the encoded fields `prefix`.
void EncodeSessionRun(const Stamp& stamp, std::string_view prefix, int64_t run, double begin_time,
                      std::string* out);

}  // namespace tbdbg
