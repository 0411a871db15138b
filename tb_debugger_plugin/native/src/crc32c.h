// CRC-32C (Castagnoli polynomial 0x1EDC6F41), as RFC 3720 defines it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbdbg {

uint32_t Crc32c(const void* data, size_t size);

// The form in which TFRecord files store it.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t MaskedCrc32c(const void* data, size_t size) { return MaskCrc32c(Crc32c(data, size)); }

// Checksums of messages that differ in one number and in their last bytes only:
// what stands before and between is gone through once.
class Crc32cOfFilled {
 public:
  Crc32cOfFilled() = default;
  // `message`: one of them, of `size` bytes. `number_at`, `rest_at`: where in it the
  // number and the last bytes begin, with at least 5 bytes between.
  Crc32cOfFilled(const void* message, size_t size, size_t number_at, size_t rest_at);

  // Of the message with this number and these last bytes. Taken from where they
  // come from: a processor waits for what it has just written elsewhere.
  uint32_t Of(double number, const void* rest) const;

 private:
  size_t rest_size_ = 0;
  // The checksum of what stands before the number; what it is multiplied by behind
  // the number, on its way to the last bytes; and what the bytes between add to it.
  uint32_t before_ = 0, factor_ = 0, addend_ = 0;
};

}  // namespace tbdbg
