// Framing of records in a file, as TFRecords.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "crc32c.h"

namespace tbdbg {

// The head of a record holds the length of the payload and a checksum of the length;
// the foot, after the payload, holds a checksum of the payload.
constexpr size_t kHeadSize = 12, kFootSize = 4;

inline void WriteHead(uint64_t payload_size, char* head) {
  std::memcpy(head, &payload_size, 8);
  const uint32_t crc = MaskedCrc32c(head, 8);
  std::memcpy(head + 8, &crc, 4);
}

// `crc`: checksum of the payload.
inline void WriteFoot(uint32_t crc, char* foot) {
  const uint32_t masked = MaskCrc32c(crc);
  std::memcpy(foot, &masked, kFootSize);
}

// `record`: kHeadSize bytes of any value, then the payload.
inline void Frame(std::string* record) {
  const size_t end = record->size(), payload = end - kHeadSize;
  record->resize(end + kFootSize);
  WriteHead(payload, &(*record)[0]);
  WriteFoot(Crc32c(record->data() + kHeadSize, payload), &(*record)[end]);
}

}  // namespace tbdbg
