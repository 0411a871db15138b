#include "executions.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "hash.h"

namespace tbdbg {

namespace {

// Longer records are cut to what the tables have room for, which the twin does.
constexpr int64_t kMaxLength = 1 << 16;
constexpr uint64_t kFloat64 = 2;

// The fields of an `Execution` in protos/debug_event.proto.
constexpr uint64_t kOpType = 1, kNumOutputs = 2, kGraphId = 3, kInputIds = 4, kOutputIds = 5, kMode = 6,
                   kTensorProtos = 7, kCodeLocation = 8, kDeviceIds = 9, kThreadId = 1001;

// Reads the fields of a message. A function that returns false has found bytes that
// are not plain; the position does not matter from then on.
class Fields {
 public:
  explicit Fields(Span span) : at_(span.at), end_(span.at + span.size) {}

  bool Done() const { return at_ == end_; }

  // Whether the next field has this tag of one byte; then it is read.
  bool Tag(uint8_t tag) {
    if (at_ == end_ || *at_ != tag) return false;
    ++at_;
    return true;
  }

  bool Varint(uint64_t* value) {
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) return false;
      const uint8_t byte = *at_++;
      // The tenth byte has room for one bit.
      if (shift == 63 && byte > 1) return false;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *value = result;
        return true;
      }
    }
    return false;
  }

  // A number of 32 bits as protobuf keeps it; a negative one has ten bytes.
  bool Int32(int32_t* value) {
    uint64_t wide;
    if (!Varint(&wide)) return false;
    *value = static_cast<int32_t>(wide);
    return static_cast<uint64_t>(static_cast<int64_t>(*value)) == wide;
  }

  bool Double(double* value) {
    if (end_ - at_ < 8) return false;
    std::memcpy(value, at_, 8);
    at_ += 8;
    return true;
  }

  bool Bytes(Span* span) {
    uint64_t size;
    if (!Varint(&size) || size > static_cast<uint64_t>(end_ - at_)) return false;
    *span = {at_, static_cast<int64_t>(size)};
    at_ += size;
    return true;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

// A step: from 0, at most what fits.
bool Step(Fields* fields, int32_t* step) {
  uint64_t number;
  if (!fields->Varint(&number)) return false;
  *step = static_cast<int32_t>(std::clamp<int64_t>(static_cast<int64_t>(number), 0, INT32_MAX));
  return true;
}

bool IsAscii(Span text) {
  return std::all_of(text.at, text.at + text.size, [](uint8_t byte) { return byte < 0x80; });
}

bool Text(Fields* fields, Span* text) { return fields->Bytes(text) && IsAscii(*text); }

// `CodeLocation`: a host name and the ids of frames.
bool IsPlainLocation(Span location) {
  Fields fields(location);
  Span text;
  if (fields.Tag(0x0a) && !Text(&fields, &text)) return false;
  while (!fields.Done()) {
    if (!fields.Tag(0x12) || !Text(&fields, &text)) return false;
  }
  return true;
}

// A vector of float64 in `tensor_content`: returns where its numbers are, or false.
bool Vector(Span proto, int32_t width, Span* numbers) {
  Fields fields(proto);
  Span shape, dim;
  uint64_t dtype, size;
  if (!fields.Tag(0x08) || !fields.Varint(&dtype) || dtype != kFloat64) return false;
  if (!fields.Tag(0x12) || !fields.Bytes(&shape)) return false;
  if (!fields.Tag(0x22) || !fields.Bytes(numbers) || !fields.Done()) return false;
  Fields dims(shape);
  if (!dims.Tag(0x12) || !dims.Bytes(&dim) || !dims.Done()) return false;
  Fields of_dim(dim);
  if (!of_dim.Tag(0x08) || !of_dim.Varint(&size) || !of_dim.Done()) return false;
  return numbers->size == 8 * static_cast<int64_t>(width);
}

// Adds the elements of a packed list.
bool Numbers(Fields* fields, std::vector<int64_t>* numbers) {
  Span packed;
  if (!fields->Bytes(&packed)) return false;
  Fields elements(packed);
  while (!elements.Done()) {
    uint64_t element;
    if (!elements.Varint(&element)) return false;
    numbers->push_back(static_cast<int64_t>(element));
  }
  return true;
}

bool FitInt32(const std::vector<int64_t>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [](int64_t number) { return number == static_cast<int32_t>(number); });
}

template <typename T>
T* CopyTo(const std::vector<T>& from, T* to) {
  return std::copy(from.begin(), from.end(), to);
}

}  // namespace

int32_t Texts::Number(Span text) {
  if (2 * (entries_.size() + 1) > buckets_.size()) Grow();
  const uint64_t hash = HashOn(seed_ ^ text.size, factor_, text.at, text.size);
  const size_t mask = buckets_.size() - 1;
  size_t at = hash & mask;
  for (; buckets_[at] >= 0; at = (at + 1) & mask) {
    const Entry& entry = entries_[buckets_[at]];
    if (entry.hash == hash && entry.size == text.size &&
        (text.size == 0 || std::memcmp(bytes_.data() + entry.offset, text.at, text.size) == 0)) {
      return buckets_[at];
    }
  }
  const int32_t number = static_cast<int32_t>(entries_.size());
  entries_.push_back({hash, static_cast<int64_t>(bytes_.size()), text.size});
  if (text.size > 0) bytes_.insert(bytes_.end(), text.at, text.at + text.size);
  buckets_[at] = number;
  return number;
}

void Texts::Grow() {
  buckets_.assign(buckets_.empty() ? 64 : 2 * buckets_.size(), -1);
  const size_t mask = buckets_.size() - 1;
  for (size_t number = 0; number < entries_.size(); ++number) {
    size_t at = entries_[number].hash & mask;
    while (buckets_[at] >= 0) at = (at + 1) & mask;
    buckets_[at] = static_cast<int32_t>(number);
  }
}

Span Texts::Text(int32_t number) const {
  const Entry& entry = entries_[number];
  return {bytes_.data() + entry.offset, entry.size};
}

// The fields of a record, with its lists behind those of the records before it.
struct Executions::Record {
  double time = 0.0;
  Span op_type = {nullptr, 0}, graph = {nullptr, 0}, location = {nullptr, 0};
  int32_t step = 0, num_outputs = 0, mode = 0, thread = 0;
  std::vector<int64_t> inputs, ids, devices, summaries;
  std::vector<Span> protos;
};

bool Executions::Parse(Span event, const uint8_t* data, Record* record) const {
  Fields fields(event);
  Span execution;
  if (!fields.Tag(0x09) || !fields.Double(&record->time)) return false;
  if (fields.Tag(0x10) && !Step(&fields, &record->step)) return false;
  if (!fields.Tag(0x4a) || !fields.Bytes(&execution) || !fields.Done()) return false;
  Fields in(execution);
  uint32_t seen = 0;
  while (!in.Done()) {
    uint64_t tag;
    if (!in.Varint(&tag)) return false;
    const uint64_t field = tag >> 3;
    if (field != kTensorProtos) {
      // A field that comes again changes what came before it.
      const uint32_t bit = 1u << (field == kThreadId ? 31 : field % 31);
      if ((seen & bit) != 0) return false;
      seen |= bit;
    }
    Span proto;
    bool is_good = false;
    switch (tag) {
      case kOpType << 3 | 2: is_good = Text(&in, &record->op_type); break;
      case kNumOutputs << 3: is_good = in.Int32(&record->num_outputs); break;
      case kGraphId << 3 | 2: is_good = Text(&in, &record->graph); break;
      case kInputIds << 3 | 2: is_good = Numbers(&in, &record->inputs); break;
      case kOutputIds << 3 | 2: is_good = Numbers(&in, &record->ids); break;
      case kMode << 3: is_good = in.Int32(&record->mode); break;
      case kTensorProtos << 3 | 2:
        is_good = in.Bytes(&proto);
        record->protos.push_back(proto);
        break;
      case kCodeLocation << 3 | 2:
        is_good = in.Bytes(&record->location) && IsPlainLocation(record->location);
        break;
      case kDeviceIds << 3 | 2: is_good = Numbers(&in, &record->devices) && FitInt32(record->devices); break;
      case kThreadId << 3: is_good = in.Int32(&record->thread); break;
      default: break;
    }
    if (!is_good) return false;
  }
  return FindSummaries(data, record);
}

bool Executions::FindSummaries(const uint8_t* data, Record* record) const {
  const bool is_known = record->mode >= 0 && record->mode < static_cast<int32_t>(widths_.size());
  const int32_t width = is_known ? widths_[record->mode] : -1;
  for (const Span& proto : record->protos) {
    Span numbers;
    if (proto.size == 0) {
      record->summaries.push_back(-1);
    } else if (width >= 0 && Vector(proto, width, &numbers)) {
      record->summaries.push_back(numbers.at - data);
    } else {
      return false;
    }
  }
  return true;
}

void Executions::Add(const Record& record) {
  const auto number = [this](int kind, Span text) { return text.size == 0 ? -1 : texts_[kind].Number(text); };
  const size_t slots = std::max({record.ids.size(), record.devices.size(), record.summaries.size()});
  rows_.times.push_back(record.time);
  rows_.op_types.push_back(texts_[0].Number(record.op_type));
  rows_.graphs.push_back(number(1, record.graph));
  rows_.stacks.push_back(number(2, record.location));
  rows_.steps.push_back(record.step);
  rows_.threads.push_back(record.thread);
  rows_.modes.push_back(record.mode);
  rows_.num_outputs.push_back(record.num_outputs);
  rows_.num_inputs.push_back(static_cast<int32_t>(record.inputs.size()));
  rows_.num_values.push_back(static_cast<int32_t>(record.summaries.size()));
  rows_.num_slots.push_back(static_cast<int32_t>(slots));
  inputs_.insert(inputs_.end(), record.inputs.begin(), record.inputs.end());
  for (size_t slot = 0; slot < slots; ++slot) {
    const bool has_id = slot < record.ids.size();
    outputs_.ids.push_back(has_id ? record.ids[slot] : 0);
    outputs_.has_id.push_back(has_id);
    outputs_.devices.push_back(slot < record.devices.size() ? record.devices[slot] : -1);
    outputs_.summaries.push_back(slot < record.summaries.size() ? record.summaries[slot] : -2);
  }
}

Executions::Sizes Executions::Decode(const uint8_t* data, const int64_t* starts, const int64_t* lengths,
                                     int64_t count, uint8_t* is_plain) {
  rows_ = {};
  inputs_.clear();
  outputs_ = {};
  Record record;
  for (int64_t row = 0; row < count; ++row) {
    record.op_type = record.graph = record.location = {nullptr, 0};
    record.step = record.num_outputs = record.mode = record.thread = 0;
    for (auto* list : {&record.inputs, &record.ids, &record.devices, &record.summaries}) list->clear();
    record.protos.clear();
    is_plain[row] = lengths[row] <= kMaxLength && Parse({data + starts[row], lengths[row]}, data, &record);
    if (is_plain[row]) Add(record);
  }
  return {static_cast<int64_t>(rows_.times.size()),
          static_cast<int64_t>(inputs_.size()),
          static_cast<int64_t>(outputs_.ids.size()),
          {texts_[0].Count(), texts_[1].Count(), texts_[2].Count()}};
}

}  // namespace tbdbg

tbdbg::Executions* tbdbg_executions_new(uint64_t seed, const int32_t* widths, int32_t num_modes) {
  return new tbdbg::Executions(seed, widths, num_modes);
}

void tbdbg_executions_delete(tbdbg::Executions* executions) { delete executions; }

void tbdbg_executions_decode(tbdbg::Executions* executions, const uint8_t* data, const int64_t* starts,
                             const int64_t* lengths, int64_t count, uint8_t* is_plain, int64_t* sizes) {
  const auto found = executions->Decode(data, starts, lengths, count, is_plain);
  const int64_t all[] = {found.rows, found.inputs, found.outputs};
  std::copy(std::begin(found.texts), std::end(found.texts), std::copy(std::begin(all), std::end(all), sizes));
}

void tbdbg_executions_copy(const tbdbg::Executions* executions, double* times, int32_t* rows, int64_t* inputs,
                           int64_t* outputs, uint8_t* has_id) {
  const auto& from = executions->rows();
  tbdbg::CopyTo(from.times, times);
  for (const auto* column :
       {&from.op_types, &from.graphs, &from.stacks, &from.steps, &from.threads, &from.modes,
        &from.num_outputs, &from.num_inputs, &from.num_values, &from.num_slots}) {
    rows = tbdbg::CopyTo(*column, rows);
  }
  tbdbg::CopyTo(executions->inputs(), inputs);
  const auto& slots = executions->outputs();
  for (const auto* column : {&slots.ids, &slots.devices, &slots.summaries}) {
    outputs = tbdbg::CopyTo(*column, outputs);
  }
  tbdbg::CopyTo(slots.has_id, has_id);
}

const uint8_t* tbdbg_executions_text(const tbdbg::Executions* executions, int32_t kind, int32_t number,
                                     int64_t* size) {
  const tbdbg::Span text = executions->texts(kind).Text(number);
  *size = text.size;
  return text.at;
}

void tbdbg_gather(const uint8_t* data, const int64_t* begins, int64_t count, int64_t width, double* numbers) {
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t* from = data + begins[row];
    for (int64_t column = 0; column < width; ++column, from += sizeof(double)) {
      std::memcpy(&numbers[column * count + row], from, sizeof(double));
    }
  }
}
