// Walks over the records of damaged files with the compiled walker and with a plain
// one, and checks that they agree. Then makes templates of some records and checks that
// exactly the records that match them are found, and decodes the plain executions; what
// these say is compared by tests/property/test_decoding.py. `make test-sanitize` builds
// it with sanitizers. Arguments: files.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <vector>

#include "executions.h"
#include "frames.h"
#include "templates.h"

namespace {

struct Record {
  int64_t start, length;
  bool operator==(const Record& other) const { return start == other.start && length == other.length; }
};

uint32_t PlainMaskedCrc(const uint8_t* data, uint64_t size) {
  uint32_t crc = ~0u;
  for (uint64_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78u & -(crc & 1));
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

uint64_t LittleEndian(const uint8_t* data, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value |= static_cast<uint64_t>(data[i]) << (8 * i);
  return value;
}

std::vector<Record> PlainWalk(const uint8_t* data, uint64_t size, uint64_t stop, size_t capacity) {
  std::vector<Record> records;
  uint64_t at = 0;
  while (at < stop && size - at >= 16 && records.size() < capacity) {
    const uint64_t length = LittleEndian(data + at, 8);
    if (LittleEndian(data + at + 8, 4) != PlainMaskedCrc(data + at, 8)) break;
    if (length > size - at - 16) break;
    const uint8_t* end = data + at + 12 + length;
    if (LittleEndian(end, 4) != PlainMaskedCrc(data + at + 12, length)) break;
    records.push_back({static_cast<int64_t>(at + 12), static_cast<int64_t>(length)});
    at += length + 16;
  }
  return records;
}

std::vector<Record> CompiledWalk(const uint8_t* data, int64_t size, int64_t stop, int64_t capacity) {
  // Exactly `capacity` entries, so that a sanitizer sees one too many.
  std::vector<int64_t> starts(capacity), lengths(capacity);
  const int64_t count = tbdbg_walk(data, size, stop, capacity, starts.data(), lengths.data());
  std::vector<Record> records;
  for (int64_t i = 0; i < count; ++i) records.push_back({starts[i], lengths[i]});
  return records;
}

void Check(const char* name, const uint8_t* data, int64_t size, int64_t stop, int64_t capacity) {
  if (CompiledWalk(data, size, stop, capacity) == PlainWalk(data, size, stop, capacity)) return;
  std::fprintf(stderr, "%s: the walkers differ\n", name);
  std::exit(1);
}

// A layout that depends only on the length, with 0 to 3 numbers.
int64_t Begin(int64_t length) { return 9 + (length - 9) / 3; }
int64_t Width(int64_t length) { return std::min<int64_t>(length % 4, (length - Begin(length)) / 8); }

// Whether a varint of five bytes follows the time, before the numbers.
bool HasStep(const uint8_t* record, int64_t length) {
  if (Begin(length) < 15 || record[9] != 0x10) return false;
  for (int64_t i = 10; i < 15; ++i) {
    if ((record[i] >= 0x80) != (i < 14)) return false;
  }
  return true;
}

int32_t StepOf(const uint8_t* record) {
  int64_t step = 0, scale = 1;
  for (int64_t i = 10; i < 15; ++i, scale *= 128) step += scale * (record[i] % 128);
  return static_cast<int32_t>(std::min<int64_t>(step, INT32_MAX));
}

bool Match(const uint8_t* a, const uint8_t* b, int64_t length) {
  const bool have_steps = HasStep(a, length) && HasStep(b, length);
  for (int64_t i = 0; i < length; ++i) {
    const bool is_time = (i >= 1 && i < 9) || (have_steps && i >= 10 && i < 15);
    const bool is_number = i >= Begin(length) && i < Begin(length) + 8 * Width(length);
    if (!is_time && !is_number && a[i] != b[i]) return false;
  }
  return true;
}

// Some records alone, so that a sanitizer sees reads beyond the last one.
struct Alone {
  std::vector<uint8_t> data;
  std::vector<int64_t> starts, lengths;

  Alone(const std::vector<uint8_t>& file, const std::vector<Record>& records) {
    for (const Record& record : records) {
      starts.push_back(static_cast<int64_t>(data.size()));
      lengths.push_back(record.length);
      data.insert(data.end(), file.begin() + record.start, file.begin() + record.start + record.length);
    }
    data.shrink_to_fit();
  }
};

// Returns how many of the records are plain executions.
int64_t DecodeExecutions(const char* name, const std::vector<uint8_t>& file,
                         const std::vector<Record>& records) {
  const Alone alone(file, records);
  const int64_t count = static_cast<int64_t>(records.size());
  const std::vector<int32_t> widths = {-1, -1, 2, 5, 11, 10, 15, -1, 3, 40};
  tbdbg::Executions* executions = tbdbg_executions_new(0x9e3779b97f4a7c15u, widths.data(), 10);
  int64_t plain = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<uint8_t> is_plain(count);
    int64_t sizes[6];
    tbdbg_executions_decode(executions, alone.data.data(), alone.starts.data(), alone.lengths.data(), count,
                            is_plain.data(), sizes);
    plain = std::accumulate(is_plain.begin(), is_plain.end(), int64_t{0});
    std::vector<double> times(sizes[0]);
    std::vector<int32_t> rows(10 * sizes[0]);
    std::vector<int64_t> inputs(sizes[1]), outputs(3 * sizes[2]);
    std::vector<uint8_t> has_id(sizes[2]);
    tbdbg_executions_copy(executions, times.data(), rows.data(), inputs.data(), outputs.data(),
                          has_id.data());
    bool good = plain == sizes[0];
    for (int32_t kind = 0; kind < 3; ++kind) {
      for (int32_t number = 0; number < sizes[3 + kind]; ++number) {
        int64_t size = 0;
        const uint8_t* text = tbdbg_executions_text(executions, kind, number, &size);
        // A stack has lengths, too.
        good &= kind == 2 || std::all_of(text, text + size, [](uint8_t byte) { return byte < 0x80; });
        good &= std::accumulate(text, text + size, int64_t{0}) >= 0;
      }
      for (int64_t row = 0; row < sizes[0]; ++row) good &= rows[kind * sizes[0] + row] < sizes[3 + kind];
    }
    std::vector<int64_t> begins(outputs.begin() + 2 * sizes[2], outputs.end());
    begins.erase(std::remove_if(begins.begin(), begins.end(), [](int64_t begin) { return begin < 0; }),
                 begins.end());
    std::vector<double> numbers(2 * begins.size());
    tbdbg_gather(alone.data.data(), begins.data(), static_cast<int64_t>(begins.size()), 2, numbers.data());
    if (good) continue;
    std::fprintf(stderr, "%s: the columns of executions do not fit\n", name);
    std::exit(1);
  }
  tbdbg_executions_delete(executions);
  return plain;
}

void CheckTemplates(const char* name, const std::vector<uint8_t>& file, std::vector<Record> records) {
  const auto is_short = [](const Record& record) { return record.length < 9; };
  records.erase(std::remove_if(records.begin(), records.end(), is_short), records.end());
  const int64_t count = static_cast<int64_t>(records.size());
  const Alone alone(file, records);
  const auto& [data, starts, lengths] = alone;
  tbdbg::Templates* templates = tbdbg_templates_new(0x9e3779b97f4a7c15u);
  std::vector<int64_t> known;
  for (int64_t row = 0; row < count; row += 2) {
    const uint8_t* record = data.data() + starts[row];
    if (tbdbg_templates_find(templates, record, lengths[row]) >= 0) continue;
    const int64_t begin = Begin(lengths[row]);
    tbdbg_templates_add(templates, record, lengths[row], begin, begin + 8 * Width(lengths[row]));
    known.push_back(row);
  }
  std::vector<int32_t> matches(count);
  std::vector<double> times(count), numbers(3 * count);
  std::vector<int32_t> steps(count);
  tbdbg_templates_match(templates, data.data(), starts.data(), lengths.data(), count, matches.data(),
                        times.data(), steps.data(), numbers.data());
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t* record = data.data() + starts[row];
    int32_t expected = -1;
    for (size_t i = 0; i < known.size() && expected < 0; ++i) {
      const int64_t other = known[i];
      if (lengths[other] == lengths[row] && Match(data.data() + starts[other], record, lengths[row])) {
        expected = static_cast<int32_t>(i);
      }
    }
    bool good = matches[row] == expected;
    if (expected >= 0) {
      good &= std::memcmp(&times[row], record + 1, 8) == 0;
      good &= steps[row] == (HasStep(record, lengths[row]) ? StepOf(record) : 0);
      for (int64_t i = 0; i < Width(lengths[row]); ++i) {
        good &= std::memcmp(&numbers[i * count + row], record + Begin(lengths[row]) + 8 * i, 8) == 0;
      }
    }
    if (good) continue;
    std::fprintf(stderr, "%s: record %lld does not match the expected template\n", name,
                 static_cast<long long>(row));
    std::exit(1);
  }
  tbdbg_templates_delete(templates);
}

}  // namespace

int main(int count, char** names) {
  int64_t records = 0, executions = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
    const int64_t size = static_cast<int64_t>(content.size());
    // Exactly as much memory as the file, so that a sanitizer sees one byte too many.
    std::unique_ptr<uint8_t[]> data(new uint8_t[content.size()]);
    if (size > 0) std::memcpy(data.get(), content.data(), content.size());
    const std::vector<Record> whole = PlainWalk(data.get(), size, size, size);
    records += static_cast<int64_t>(whole.size());
    const std::vector<uint8_t> bytes(data.get(), data.get() + size);
    CheckTemplates(names[i], bytes, whole);
    executions += DecodeExecutions(names[i], bytes, whole);
    Check(names[i], data.get(), size, size, size / 16);
    Check(names[i], data.get(), size, size / 2, size / 16);
    Check(names[i], data.get(), size, size, 1);
    Check(names[i], data.get(), size, 0, 0);
  }
  std::printf("good: %d files, %lld whole records, %lld plain executions\n", count - 1,
              static_cast<long long>(records), static_cast<long long>(executions));
  return records > 0 && executions > 0 ? 0 : 1;
}
