// CRC-32C (Castagnoli polynomial 0x1EDC6F41), as RFC 3720 defines it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbdbg {

uint32_t Crc32c(const void* data, size_t size);

// The form in which TFRecord files store it.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t MaskedCrc32c(const void* data, size_t size) { return MaskCrc32c(Crc32c(data, size)); }

// Checksums of messages that differ in their first and their last bytes only:
// what stands between is gone through once.
class Crc32cAround {
 public:
  Crc32cAround() = default;
  // `same`: the `size` bytes, at least 5, from `first` on in each message.
  Crc32cAround(size_t first, const void* same, size_t size);

  // Of a message of `size` bytes.
  uint32_t Of(const void* message, size_t size) const;

 private:
  size_t first_ = 0, size_ = 0;
  // What the checksum of all before is multiplied by on its way to the end of
  // the same bytes, and what these add to it.
  uint32_t factor_ = 0, addend_ = 0;
};

}  // namespace tbdbg
