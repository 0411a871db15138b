// Walks over the records of damaged files with the compiled walker and with the
// plainest one there is, and checks that they agree. `make test-sanitize` builds
// it with sanitizers; arguments: files.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "frames.h"

namespace {

struct Record {
  int64_t start, length;
  bool operator==(const Record& other) const {
    return start == other.start && length == other.length;
  }
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
  std::vector<Record> found;
  uint64_t at = 0;
  while (at < stop && size - at >= 16 && found.size() < capacity) {
    const uint64_t length = LittleEndian(data + at, 8);
    if (LittleEndian(data + at + 8, 4) != PlainMaskedCrc(data + at, 8)) break;
    if (length > size - at - 16) break;
    const uint8_t* end = data + at + 12 + length;
    if (LittleEndian(end, 4) != PlainMaskedCrc(data + at + 12, length)) break;
    found.push_back({static_cast<int64_t>(at + 12), static_cast<int64_t>(length)});
    at += length + 16;
  }
  return found;
}

std::vector<Record> CompiledWalk(const uint8_t* data, int64_t size, int64_t stop, int64_t capacity) {
  // No entry more than there is room for, so that a sanitizer sees one too many.
  std::vector<int64_t> starts(capacity), lengths(capacity);
  const int64_t count = tbdbg_walk(data, size, stop, capacity, starts.data(), lengths.data());
  std::vector<Record> found;
  for (int64_t i = 0; i < count; ++i) found.push_back({starts[i], lengths[i]});
  return found;
}

void Check(const char* name, const uint8_t* data, int64_t size, int64_t stop, int64_t capacity) {
  if (CompiledWalk(data, size, stop, capacity) == PlainWalk(data, size, stop, capacity)) return;
  std::fprintf(stderr, "%s: the walkers differ\n", name);
  std::exit(1);
}

}  // namespace

int main(int count, char** names) {
  int64_t records = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(names[i], std::ios::binary);
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
    const int64_t size = static_cast<int64_t>(content.size());
    // As much memory as there are bytes, so that a sanitizer sees one too many.
    std::unique_ptr<uint8_t[]> data(new uint8_t[content.size()]);
    if (size > 0) std::memcpy(data.get(), content.data(), content.size());
    records += static_cast<int64_t>(PlainWalk(data.get(), size, size, size).size());
    Check(names[i], data.get(), size, size, size / 16);
    Check(names[i], data.get(), size, size / 2, size / 16);
    Check(names[i], data.get(), size, size, 1);
    Check(names[i], data.get(), size, 0, 0);
  }
  std::printf("good: %d files, %lld whole records\n", count - 1, static_cast<long long>(records));
  return records > 0 ? 0 : 1;
}
