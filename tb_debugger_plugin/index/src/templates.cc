#include "templates.h"

#include <algorithm>
#include <cstring>

#include "hash.h"

namespace tbdbg {

namespace {

constexpr int64_t kTimeBegin = 1;
constexpr int64_t kTimeEnd = 9;
constexpr int64_t kStepEnd = 15;
// The tag of the step and the highest bit of each byte of its varint, of which only the last one has none.
constexpr uint64_t kStepMask = 0x8080808080ff, kStepBits = 0x008080808010;

// The tag and the varint, with the first byte lowest.
uint64_t StepField(const uint8_t* record) {
  uint64_t field = 0;
  std::memcpy(&field, record + kTimeEnd, kStepEnd - kTimeEnd);
  return field;
}

bool HasStep(const uint8_t* record, int64_t length) {
  return length >= kStepEnd && (StepField(record) & kStepMask) == kStepBits;
}

}  // namespace

uint64_t Templates::Hash(const uint8_t* record, int64_t length, Layout layout) const {
  const uint64_t begun =
      HashOn(seed_ ^ record[0], factor_, record + layout.stamp_end, layout.begin - layout.stamp_end);
  return HashOn(begun, factor_, record + layout.end, length - layout.end);
}

bool Templates::IsLike(const Entry& entry, const uint8_t* record, int64_t length) const {
  if (entry.length != length) return false;
  const uint8_t* known = bytes_.data() + entry.offset;
  const Layout& layout = entry.layout;
  const int64_t from = layout.stamp_end;
  return record[0] == known[0] && (from == kTimeEnd || HasStep(record, length)) &&
         std::memcmp(known + from, record + from, layout.begin - from) == 0 &&
         std::memcmp(known + layout.end, record + layout.end, length - layout.end) == 0;
}

int32_t Templates::FindAfter(int32_t before, const uint8_t* record, int64_t length) {
  const int32_t expected = before < 0 ? -1 : entries_[before].next;
  if (expected >= 0 && IsLike(entries_[expected], record, length)) return expected;
  const int32_t found = Find(record, length);
  if (before >= 0) entries_[before].next = found;
  return found;
}

int32_t Templates::Find(const uint8_t* record, int64_t length) const {
  if (static_cast<uint64_t>(length) >= layouts_.size()) return -1;
  for (const Layout& layout : layouts_[length]) {
    if (layout.stamp_end == kStepEnd && !HasStep(record, length)) continue;
    const uint64_t hash = Hash(record, length, layout);
    const size_t mask = buckets_.size() - 1;
    for (size_t at = hash & mask; buckets_[at] >= 0; at = (at + 1) & mask) {
      const Entry& entry = entries_[buckets_[at]];
      if (entry.hash != hash || !(entry.layout == layout)) continue;
      if (IsLike(entry, record, length)) return buckets_[at];
    }
  }
  return -1;
}

int32_t Templates::Add(const uint8_t* record, int64_t length, int64_t begin, int64_t end) {
  const bool has_step = begin >= kStepEnd && HasStep(record, length);
  const Layout layout{has_step ? kStepEnd : kTimeEnd, begin, end};
  const int32_t number = static_cast<int32_t>(entries_.size());
  if (layouts_.size() <= static_cast<size_t>(length)) layouts_.resize(length + 1);
  bool known = false;
  for (const Layout& other : layouts_[length]) known |= other == layout;
  if (!known) layouts_[length].push_back(layout);
  entries_.push_back({Hash(record, length, layout), static_cast<int64_t>(bytes_.size()), length, layout, -1});
  bytes_.insert(bytes_.end(), record, record + length);
  if (2 * entries_.size() > buckets_.size()) {
    buckets_.assign(buckets_.empty() ? 64 : 2 * buckets_.size(), -1);
    for (size_t other = 0; other < entries_.size(); ++other) {
      Put(entries_[other].hash, static_cast<int32_t>(other));
    }
  } else {
    Put(entries_[number].hash, number);
  }
  return number;
}

int32_t Templates::Step(int32_t number, const uint8_t* record) const {
  if (entries_[number].layout.stamp_end == kTimeEnd) return 0;
  uint64_t step = 0, rest = StepField(record) >> 8;
  for (int shift = 0; shift < 35; shift += 7, rest >>= 8) step |= (rest & 0x7f) << shift;
  return static_cast<int32_t>(std::min<uint64_t>(step, INT32_MAX));
}

void Templates::Put(uint64_t hash, int32_t number) {
  const size_t mask = buckets_.size() - 1;
  size_t at = hash & mask;
  while (buckets_[at] >= 0) at = (at + 1) & mask;
  buckets_[at] = number;
}

}  // namespace tbdbg

tbdbg::Templates* tbdbg_templates_new(uint64_t seed) { return new tbdbg::Templates(seed); }

void tbdbg_templates_delete(tbdbg::Templates* templates) { delete templates; }

int32_t tbdbg_templates_add(tbdbg::Templates* templates, const uint8_t* record, int64_t length, int64_t begin,
                            int64_t end) {
  return templates->Add(record, length, begin, end);
}

int32_t tbdbg_templates_find(const tbdbg::Templates* templates, const uint8_t* record, int64_t length) {
  return templates->Find(record, length);
}

void tbdbg_templates_match(tbdbg::Templates* templates, const uint8_t* data, const int64_t* starts,
                           const int64_t* lengths, int64_t count, int32_t* matches, double* times,
                           int32_t* steps, double* numbers) {
  int32_t number = -1;
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t* record = data + starts[row];
    number = templates->FindAfter(number, record, lengths[row]);
    matches[row] = number;
    if (number < 0) continue;
    std::memcpy(&times[row], record + tbdbg::kTimeBegin, sizeof(double));
    steps[row] = templates->Step(number, record);
    const uint8_t* from = record + templates->Begin(number);
    const int64_t width = templates->Width(number);
    for (int64_t column = 0; column < width; ++column, from += sizeof(double)) {
      std::memcpy(&numbers[column * count + row], from, sizeof(double));
    }
  }
}
