// CRC-32C (Castagnoli polynomial 0x1EDC6F41), as RFC 3720 defines it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbdbg {

uint32_t Crc32c(const void* data, size_t size);

// The form in which TFRecord files store it.
inline uint32_t MaskedCrc32c(const void* data, size_t size) {
  const uint32_t crc = Crc32c(data, size);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace tbdbg
