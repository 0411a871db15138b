// CRC-32C (Castagnoli polynomial 0x1EDC6F41), as RFC 3720 defines it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tbdbg {

uint32_t Crc32c(const void* data, size_t size);

// The form in which TFRecord files store a checksum.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t MaskedCrc32c(const void* data, size_t size) { return MaskCrc32c(Crc32c(data, size)); }

// Computes checksums of messages that differ only in their stamp, which is a number and
// six bytes, and in their last bytes: the other bytes are read once.
class Crc32cOfFilled {
 public:
  Crc32cOfFilled() = default;
  // `message`: one of the messages, of `size` bytes. `stamp_at`, `rest_at`: positions
  // of the stamp and of the last bytes in it, with at least 5 bytes between them.
  Crc32cOfFilled(const void* message, size_t size, size_t stamp_at, size_t rest_at);

  // Checksum of the message with this number, the six bytes in `six`, and these last
  // bytes. `rest`: the caller's copy of the last bytes, not the record: reading back
  // bytes that were just written is slow.
  uint32_t Of(double number, const uint64_t* six, const void* rest) const;

 private:
  size_t rest_size_ = 0;
  // The checksum of the bytes before the stamp; the factor that takes the checksum
  // from the end of the stamp to the last bytes; and what the bytes between them add.
  uint32_t before_ = 0, factor_ = 0, addend_ = 0;
};

}  // namespace tbdbg
