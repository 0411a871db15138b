#include "crc32c.h"

#include <array>
#include <cstring>

namespace tbdbg {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82f63b78u;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Eight tables take eight bytes a step ("slicing by 8").
Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) ? kReflectedPolynomial : 0);
    }
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t k = 1; k < 8; ++k) {
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
    }
  }
  return tables;
}

uint32_t ExtendPortable(uint32_t crc, const uint8_t* p, size_t size) {
  static const Tables tables = MakeTables();
  for (; size >= 8; p += 8, size -= 8) {
    uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^
          tables[1][(high >> 16) & 0xff] ^ tables[0][high >> 24];
  }
  for (; size > 0; ++p, --size) {
    crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xff];
  }
  return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define TBDBG_CRC_INSTRUCTION 1
__attribute__((target("sse4.2"))) uint32_t ExtendInstruction(uint32_t crc, const uint8_t* p,
                                                             size_t size) {
  uint64_t wide = crc;
  for (; size >= 8; p += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; ++p, --size) {
    crc = __builtin_ia32_crc32qi(crc, *p);
  }
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(const void* data, size_t size) {
  const auto* p = static_cast<const uint8_t*>(data);
#ifdef TBDBG_CRC_INSTRUCTION
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ~ExtendInstruction(~0u, p, size);
#endif
  return ~ExtendPortable(~0u, p, size);
}

}  // namespace tbdbg
