#include "bad_tensors.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "encode.h"
#include "generated/wire.h"

namespace tbdbg {
namespace {

// Fields of a TensorProto as tags: number and wire type.
constexpr uint64_t kDtype = wire::tensor_proto::kDtype << 3 | kWireVarint;
constexpr uint64_t kTensorContent = wire::tensor_proto::kTensorContent << 3 | kWireBytes;
constexpr uint64_t kSummaryMode = wire::tensor_proto::kSummaryMode << 3 | kWireVarint;

Bad HowBadOf(double infinities, double nans) {
  return nans > 0 ? Bad::kNan : infinities > 0 ? Bad::kInfinite : Bad::kNo;
}

// The bytes of a vector that says whether its tensor is bad; 0 for other modes.
size_t VectorBytes(Mode mode) { return SpecOf(mode).judges ? ColumnsOf(mode) * sizeof(double) : 0; }

Bad HowBadVector(const char* vector, Mode mode) {
  double columns[kMaxSummary];
  std::memcpy(columns, vector, VectorBytes(mode));
  return HowBad(columns, mode);
}

Bad HowBadElements(std::string_view bytes, int dtype) {
  const int64_t element = MeasuredBytes(dtype);
  if (element == 0) return Bad::kNo;
  const int64_t count = static_cast<int64_t>(bytes.size()) / element;
  if (!HasInfOrNan(bytes.data(), count, dtype)) return Bad::kNo;
  return CountKinds(bytes.data(), count, dtype).nan > 0 ? Bad::kNan : Bad::kInfinite;
}

// The fields of a TensorProto that are needed to interpret its numbers.
struct Fields {
  int dtype = 0;
  std::string_view content;
  int summary_mode = 0;
};

uint64_t Varint(const char** next, const char* end) {
  uint64_t value = 0;
  for (int shift = 0; *next < end && shift < 64; shift += 7) {
    const uint64_t byte = static_cast<uint8_t>(*(*next)++);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// EncodeSummary writes only numbers and bytes, so reading ends at a field of another type.
Fields FieldsOf(std::string_view proto) {
  Fields fields;
  const char *next = proto.data(), *end = next + proto.size();
  while (next < end) {
    const uint64_t tag = Varint(&next, end), number = Varint(&next, end);
    if (tag == kDtype) fields.dtype = static_cast<int>(number);
    if (tag == kSummaryMode) fields.summary_mode = static_cast<int>(number);
    if ((tag & 7) == kWireVarint) continue;
    if ((tag & 7) != kWireBytes || number > static_cast<uint64_t>(end - next)) break;
    if (tag == kTensorContent) fields.content = {next, static_cast<size_t>(number)};
    next += number;
  }
  return fields;
}

}  // namespace

Bad HowBad(const double* columns, Mode mode) {
  const int any_bad = IndexOf(mode, Column::kAnyBad), nan = IndexOf(mode, Column::kNan);
  if (any_bad >= 0) return HowBadOf(0, columns[any_bad]);
  if (nan < 0) return Bad::kNo;
  const double infinities = columns[IndexOf(mode, Column::kNegInf)] + columns[IndexOf(mode, Column::kPosInf)];
  return HowBadOf(infinities, columns[nan]);
}

Bad HowBad(const TensorView& tensor) {
  return HowBadElements({static_cast<const char*>(tensor.data), tensor.byte_size}, tensor.dtype);
}

Bad HowBad(std::string_view tensor_proto, Mode mode) {
  constexpr size_t kHead = 10;  // bytes before the numbers of a vector: dtype, shape, tag and size
  const size_t size = VectorBytes(mode);
  if (size > 0 && tensor_proto.size() == kHead + size) {  // the usual case
    return HowBadVector(tensor_proto.data() + kHead, mode);
  }
  const Fields fields = FieldsOf(tensor_proto);
  const Mode kept = fields.summary_mode == 0 ? mode : static_cast<Mode>(fields.summary_mode);
  if (kept == Mode::kFullTensor) return HowBadElements(fields.content, fields.dtype);
  const bool is_vector = VectorBytes(kept) > 0 && fields.content.size() == VectorBytes(kept);
  return is_vector ? HowBadVector(fields.content.data(), kept) : Bad::kNo;
}

News BadOps::Judge(std::string_view prefix, Bad bad, int64_t now, int64_t shortest) {
  if (bad == Bad::kNo) return News::kNone;
  const size_t key = std::hash<std::string_view>()(prefix) + static_cast<size_t>(bad);
  const bool is_nan = bad == Bad::kNan;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto seen = last_.find(key);
  if (seen == last_.end()) {
    if (last_.size() >= (is_nan ? kMax : kMax / 2)) return News::kNone;
    last_.emplace(key, now);
    return is_nan ? News::kFirstNan : News::kFirstInfinite;
  }
  const int64_t before = std::exchange(seen->second, now);
  return now - before > std::max(before, shortest) ? News::kAgain : News::kNone;
}

void BadOps::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  last_.clear();
}

void FirstBad::Note(Bad bad, std::string_view prefix, bool is_execution) {
  if (!IsNews(bad)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!IsNews(bad)) return;
  worst_ = static_cast<int>(bad);
  const bool is_nan = bad == Bad::kNan;
  if (first_.prefix.empty()) first_ = {std::string(prefix), is_execution, is_nan};
  if (is_nan) first_nan_ = {std::string(prefix), is_execution, is_nan};
}

void FirstBad::NoteConstant(Bad bad) {
  if (bad == Bad::kNo) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (first_.prefix.empty()) constant_was_first_ = true;
}

FirstBad::Value FirstBad::Get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return constant_was_first_ ? first_nan_ : first_;
}

}  // namespace tbdbg
