#include "frames.h"

#include <cstring>

#include "crc32c.h"

namespace {

constexpr int64_t kHeader = 12;
constexpr int64_t kFooter = 4;

uint32_t Load32(const uint8_t* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

}  // namespace

int64_t tbdbg_walk(const uint8_t* data, int64_t size, int64_t stop, int64_t capacity, int64_t* starts,
                   int64_t* lengths) {
  int64_t count = 0;
  int64_t position = 0;
  while (position < stop && count < capacity && size - position >= kHeader + kFooter) {
    const uint8_t* record = data + position;
    uint64_t length;
    std::memcpy(&length, record, sizeof(length));
    if (length > static_cast<uint64_t>(size - position - kHeader - kFooter)) break;
    if (tbdbg::MaskedCrc32c(record, sizeof(length)) != Load32(record + sizeof(length))) break;
    const uint8_t* payload = record + kHeader;
    if (tbdbg::MaskedCrc32c(payload, length) != Load32(payload + length)) break;
    starts[count] = position + kHeader;
    lengths[count] = static_cast<int64_t>(length);
    ++count;
    position += static_cast<int64_t>(length) + kHeader + kFooter;
  }
  return count;
}
