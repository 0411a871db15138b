// Hashes bytes of files. The seed is secret, so that no file can give all its
// records or texts one hash.
#pragma once

#include <cstdint>
#include <cstring>

namespace tbdbg {

inline uint64_t Load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

// Continues a hash over some bytes. There are two chains, because a multiplication
// takes longer to finish than to begin. `factor` is odd.
inline uint64_t HashOn(uint64_t hash, uint64_t factor, const uint8_t* p, int64_t size) {
  uint64_t other = ~hash;
  for (; size >= 16; p += 16, size -= 16) {
    hash = (hash ^ Load64(p)) * factor;
    other = (other ^ Load64(p + 8)) * factor;
    hash ^= hash >> 29;
    other ^= other >> 31;
  }
  if (size >= 8) {
    hash = (hash ^ Load64(p)) * factor;
    hash ^= hash >> 29;
    p += 8;
    size -= 8;
  }
  uint64_t last = 0;
  if (size > 0) std::memcpy(&last, p, size);
  hash = (hash ^ last) * factor;
  hash = (hash ^ (hash >> 32) ^ other) * factor;
  return hash ^ (hash >> 32);
}

}  // namespace tbdbg
