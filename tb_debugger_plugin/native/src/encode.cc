#include "encode.h"

#include <cstring>
#include <utility>
#include <vector>

#include "framing.h"
#include "generated/wire.h"

namespace tbdbg {
namespace {

using namespace wire;

int VarintSize(uint64_t value) {
  int size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

size_t LengthFieldSize(int field, size_t size) {
  return VarintSize(static_cast<uint64_t>(field) << 3) + VarintSize(size) + size;
}

std::string ShapeProto(const int64_t* dims, int rank) {
  std::string encoded;
  WireWriter writer(&encoded);
  for (int i = 0; i < rank; ++i) {
    writer.LengthField(tensor_shape_proto::kDim, 1 + VarintSize(static_cast<uint64_t>(dims[i])));
    writer.VarintField(dim::kSize, static_cast<uint64_t>(dims[i]));
  }
  return encoded;
}

void EncodeHead(int dtype, const int64_t* dims, int rank, WireWriter* writer) {
  writer->VarintField(tensor_proto::kDtype, dtype);
  writer->BytesField(tensor_proto::kTensorShape, ShapeProto(dims, rank));
}

// TensorFlow's string element has 24 bytes, whose two lowest bits are the layout
// (0: bytes in place, 1: owned on the heap, 2: at an offset, 3: a view). The layouts
// are defined in tensorflow/core/platform/ctstring_internal.h and are part of
// TensorFlow's ABI.
std::pair<const char*, size_t> StringElement(const char* element) {
  uint8_t first;
  std::memcpy(&first, element, 1);
  uint64_t size;
  std::memcpy(&size, element, 8);
  const char* data;
  switch (first & 3) {
    case 0: return {element + 1, static_cast<size_t>(first >> 2)};
    case 1: std::memcpy(&data, element + 16, 8); return {data, size >> 2};
    case 3: std::memcpy(&data, element + 8, 8); return {data, size >> 2};
    default: {
      uint32_t short_size, offset;
      std::memcpy(&short_size, element, 4);
      std::memcpy(&offset, element + 4, 4);
      return {element + offset, short_size >> 2};
    }
  }
}

constexpr size_t kStringElementSize = 24;

}  // namespace

std::string_view StringAt(const TensorView& tensor, int64_t i) {
  const auto element = StringElement(static_cast<const char*>(tensor.data) + i * kStringElementSize);
  return {element.first, element.second};
}

void WireWriter::Varint(uint64_t value) {
  char bytes[10];
  int size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  out_->append(bytes, size);
}

void WireWriter::VarintField(int field, uint64_t value) {
  Varint(static_cast<uint64_t>(field) << 3 | kWireVarint);
  Varint(value);
}

void WireWriter::FixedField(int field, const void* value) {
  Varint(static_cast<uint64_t>(field) << 3 | kWireFixed64);
  out_->append(static_cast<const char*>(value), sizeof(uint64_t));
}

void WireWriter::LengthField(int field, size_t size) {
  Varint(static_cast<uint64_t>(field) << 3 | kWireBytes);
  Varint(size);
}

void WireWriter::BytesField(int field, const void* data, size_t size) {
  LengthField(field, size);
  out_->append(static_cast<const char*>(data), size);
}

// Encodes a float32 vector without elements, as TensorFlow does.
static void EncodeNothing(std::string* out) {
  const int64_t dims[] = {0};
  WireWriter writer(out);
  EncodeHead(kFloat, dims, 1, &writer);
}

void EncodeVector(const double* values, int count, std::string* out) {
  WireWriter writer(out);
  const int64_t dims[] = {count};
  EncodeHead(kDouble, dims, 1, &writer);
  writer.BytesField(tensor_proto::kTensorContent, values, count * sizeof(double));
}

int64_t ValueBytes(const TensorView& tensor) {
  if (tensor.dtype != kString) return static_cast<int64_t>(tensor.byte_size);
  int64_t bytes = 0;
  for (int64_t i = 0; i < tensor.num_elements; ++i) {
    bytes += static_cast<int64_t>(StringAt(tensor, i).size());
  }
  return bytes;
}

void EncodeTensor(const TensorView& tensor, std::string* out) {
  WireWriter writer(out);
  EncodeHead(tensor.dtype, tensor.dims, tensor.rank, &writer);
  if (tensor.dtype != kString) {
    writer.BytesField(tensor_proto::kTensorContent, tensor.data, tensor.byte_size);
    return;
  }
  for (int64_t i = 0; i < tensor.num_elements; ++i) {
    const auto element = StringAt(tensor, i);
    writer.BytesField(tensor_proto::kStringVal, element.data(), element.size());
  }
}

namespace {

void EncodeVectorOf(const TensorView& tensor, Mode mode, double tensor_id, std::string* out) {
  double values[kMaxSummary];
  const int count = Summarize(tensor, mode, tensor_id, values);
  EncodeVector(values, count, out);
}

}  // namespace

void AppendSummaryMode(Mode mode, std::string* proto) {
  WireWriter(proto).VarintField(tensor_proto::kSummaryMode, static_cast<uint64_t>(mode));
}

void EncodeLeftOut(const TensorView& tensor, Mode mode, double tensor_id, int64_t bytes, std::string* out) {
  const Mode of_measured = ColumnsOf(mode) > 0 ? mode : Mode::kFullHealth;
  const Mode instead = MeasuredBytes(tensor.dtype) > 0 ? of_measured : Mode::kShape;
  EncodeVectorOf(tensor, instead, tensor_id, out);
  AppendSummaryMode(instead, out);
  WireWriter(out).VarintField(tensor_proto::kLeftOutBytes, static_cast<uint64_t>(bytes));
}

void EncodeLeftOut(const double* columns, Mode mode, int64_t bytes, std::string* out) {
  EncodeVector(columns, ColumnsOf(mode), out);
  AppendSummaryMode(mode, out);
  WireWriter(out).VarintField(tensor_proto::kLeftOutBytes, static_cast<uint64_t>(bytes));
}

void EncodeSummary(const TensorView& tensor, Mode mode, double tensor_id, int64_t max_tensor_bytes,
                   std::string* out) {
  if (mode == Mode::kFullTensor) {
    if (max_tensor_bytes < 0) return EncodeTensor(tensor, out);
    const int64_t bytes = ValueBytes(tensor);
    return bytes <= max_tensor_bytes ? EncodeTensor(tensor, out)
                                     : EncodeLeftOut(tensor, mode, tensor_id, bytes, out);
  }
  if (mode == Mode::kNoTensor) return EncodeNothing(out);
  EncodeVectorOf(tensor, mode, tensor_id, out);
}

StepField::StepField(int64_t step) {
  const auto number = static_cast<uint64_t>(std::clamp<int64_t>(step, 0, INT32_MAX));
  bytes_ = debug_event::kStep << 3 | kWireVarint;
  for (int byte = 0; byte < 5; ++byte) {
    const uint64_t is_continued = byte < 4 ? 0x80 : 0;
    bytes_ |= ((number >> 7 * byte & 0x7f) | is_continued) << 8 * (byte + 1);
  }
}

namespace {

// Every event begins with its stamp, after the tag of the time.
constexpr size_t kStampAt = kHeadSize + 1;

void EncodeStamp(const Stamp& stamp, std::string* out) {
  char bytes[1 + Stamp::kSize] = {debug_event::kWallTime << 3 | kWireFixed64};
  stamp.Write(bytes + 1);
  out->append(bytes, sizeof(bytes));
}

}  // namespace

void EncodeTrace(const Stamp& stamp, const std::string& prefix, Mode mode, const std::string& tensor_proto,
                 std::string* out) {
  EncodeStamp(stamp, out);
  WireWriter writer(out);
  const size_t mode_size = 2;  // a tag and a number, a byte each
  writer.LengthField(
      debug_event::kGraphExecutionTrace,
      prefix.size() + mode_size + LengthFieldSize(graph_execution_trace::kTensorProto, tensor_proto.size()));
  out->append(prefix);
  writer.VarintField(graph_execution_trace::kTensorDebugMode, static_cast<uint64_t>(mode));
  writer.BytesField(graph_execution_trace::kTensorProto, tensor_proto);
}

TraceOfVector::TraceOfVector(const std::string& prefix, Mode mode, int count) : bytes_(kHeadSize, 0) {
  std::string proto;
  if (count > 0) {
    const std::vector<double> zeros(count);
    EncodeVector(zeros.data(), count, &proto);
  } else {
    EncodeNothing(&proto);
  }
  EncodeTrace({}, prefix, mode, proto, &bytes_);
  foot_at_ = bytes_.size();
  // The tensor is the last field of the event, and the numbers are its last field.
  values_at_ = foot_at_ - count * sizeof(double);
  WriteHead(foot_at_ - kHeadSize, &bytes_[0]);
  checksum_ = {&bytes_[kHeadSize], foot_at_ - kHeadSize, kStampAt - kHeadSize, values_at_ - kHeadSize};
  bytes_.resize(foot_at_ + kFootSize);
}

void TraceOfVector::Write(const Stamp& stamp, const double* values, char* out) const {
  std::memcpy(out, bytes_.data(), values_at_);
  stamp.Write(out + kStampAt);
  std::memcpy(out + values_at_, values, foot_at_ - values_at_);
  WriteFoot(checksum_.Of(stamp.wall_time, stamp.step.bytes(), values), out + foot_at_);
}

void EncodeBadElement(const Stamp& stamp, std::string_view prefix, int slot, const BadElement& found,
                      std::string* out) {
  using namespace bad_element;
  std::string fields;
  WireWriter writer(&fields);
  writer.BytesField(slot < 0 ? kTrace : kExecution, prefix.data(), prefix.size());
  if (slot > 0) writer.VarintField(kSlot, static_cast<uint64_t>(slot));
  writer.FixedField(kElement, static_cast<uint64_t>(found.at.first));
  writer.FixedField(kNanElement, static_cast<uint64_t>(found.at.first_nan + 1));
  if (found.has_shape) {
    writer.BytesField(kShape, ShapeProto(found.dims.data(), static_cast<int>(found.dims.size())));
  }
  EncodeStamp(stamp, out);
  WireWriter(out).BytesField(debug_event::kBadElement, fields);
}

void EncodeExecution(const Stamp& stamp, const std::string& execution, std::string* out) {
  EncodeStamp(stamp, out);
  WireWriter writer(out);
  writer.BytesField(debug_event::kExecution, execution);
}

void EncodeSessionRun(const Stamp& stamp, std::string_view prefix, int64_t run, double begin_time,
                      std::string* out) {
  std::string fields(prefix);
  WireWriter run_writer(&fields);
  run_writer.VarintField(session_run::kRun, static_cast<uint64_t>(run));
  run_writer.DoubleField(session_run::kBeginTime, begin_time);
  EncodeStamp(stamp, out);
  WireWriter(out).BytesField(debug_event::kSessionRun, fields);
}

}  // namespace tbdbg
