#include "crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TBDBG_NO_CLONES)
#define TBDBG_CRC_INSTRUCTION 1
#include <immintrin.h>
#endif

namespace tbdbg {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82f63b78u;
// Bytes of a stamp after its number.
constexpr size_t kSix = 6;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Eight tables process eight bytes in a step ("slicing by 8").
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

// The product of two polynomials, whose highest power is the lowest bit, modulo the
// polynomial of the checksum.
uint32_t MultiplyPortable(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t power = 1u << 31; power != 0; power >>= 1) {
    if (a & power) product ^= b;
    b = (b >> 1) ^ ((b & 1) ? kReflectedPolynomial : 0);
  }
  return product;
}

#ifdef TBDBG_CRC_INSTRUCTION
#define TBDBG_CRC_TARGET __attribute__((target("sse4.2,pclmul")))

TBDBG_CRC_TARGET inline uint32_t ExtendInstruction(uint32_t crc, const uint8_t* p, size_t size) {
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

// Like MultiplyPortable, times x^33.
TBDBG_CRC_TARGET inline uint32_t Multiply(uint32_t a, uint32_t b) {
  const __m128i wide_a = _mm_cvtsi32_si128(static_cast<int>(a));
  const __m128i wide_b = _mm_cvtsi32_si128(static_cast<int>(b));
  const auto product = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(wide_a, wide_b, 0)));
  return static_cast<uint32_t>(__builtin_ia32_crc32di(0, product));
}

TBDBG_CRC_TARGET uint32_t OfFilledByInstruction(uint32_t before, double number, uint64_t six, uint32_t factor,
                                                uint32_t addend, const uint8_t* rest, size_t size) {
  uint64_t word;
  std::memcpy(&word, &number, sizeof(word));
  auto crc = static_cast<uint32_t>(__builtin_ia32_crc32di(before, word));
  crc = __builtin_ia32_crc32si(crc, static_cast<uint32_t>(six));
  crc = __builtin_ia32_crc32hi(crc, static_cast<uint16_t>(six >> 32));
  return ~ExtendInstruction(Multiply(crc, factor) ^ addend, rest, size);
}

bool HasInstruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  return has;
}
#else
constexpr bool HasInstruction() { return false; }
#endif

// x^n modulo the polynomial of the checksum, the highest power as the lowest bit.
uint32_t PowerOfX(size_t n) {
  uint32_t power = 1u << 31;
  for (; n > 0; --n) power = (power >> 1) ^ ((power & 1) ? kReflectedPolynomial : 0);
  return power;
}

uint32_t Extend(uint32_t crc, const void* data, size_t size) {
  const auto* p = static_cast<const uint8_t*>(data);
#ifdef TBDBG_CRC_INSTRUCTION
  if (HasInstruction()) return ExtendInstruction(crc, p, size);
#endif
  return ExtendPortable(crc, p, size);
}

}  // namespace

uint32_t Crc32c(const void* data, size_t size) { return ~Extend(~0u, data, size); }

Crc32cOfFilled::Crc32cOfFilled(const void* message, size_t size, size_t stamp_at, size_t rest_at)
    : rest_size_(size - rest_at), before_(Extend(~0u, message, stamp_at)) {
  const size_t between_at = stamp_at + sizeof(double) + kSix, between = rest_at - between_at;
  factor_ = PowerOfX(8 * between - (HasInstruction() ? 33 : 0));
  addend_ = Extend(0, static_cast<const char*>(message) + between_at, between);
}

uint32_t Crc32cOfFilled::Of(double number, const uint64_t* six, const void* rest) const {
#ifdef TBDBG_CRC_INSTRUCTION
  if (HasInstruction()) {
    return OfFilledByInstruction(before_, number, *six, factor_, addend_, static_cast<const uint8_t*>(rest),
                                 rest_size_);
  }
#endif
  const uint32_t crc = Extend(Extend(before_, &number, sizeof(number)), six, kSix);
  return ~Extend(MultiplyPortable(crc, factor_) ^ addend_, rest, rest_size_);
}

}  // namespace tbdbg
