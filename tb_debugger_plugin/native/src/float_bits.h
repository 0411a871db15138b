// Layouts of floating-point numbers as bits, for the kernels of summary.cc and
// moments.cc.
#pragma once

#include <cstdint>

// Compiles a function for several instruction sets; the loader chooses one at run
// time. Not with sanitizers, which run before the loader can query the processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TBDBG_NO_CLONES)
#define TBDBG_CLONED 1
#define TBDBG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TBDBG_CLONES
#endif
#define TBDBG_INLINE inline __attribute__((always_inline))

namespace tbdbg {

// The bits of a float, as an unsigned integer of its width. Comparisons of bits
// distinguish denormals from zero whatever the floating-point flags of the thread;
// TensorFlow's threads flush denormals.
template <typename Bits, Bits kInfinity>
struct Layout {
  using Word = Bits;
  // Type for reading elements: a slice of a buffer may begin at any byte.
  using Element __attribute__((aligned(1), may_alias)) = const Bits;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  static constexpr Bits kInf = kInfinity;
};
using Float = Layout<uint32_t, 0x7f800000u>;
using Double = Layout<uint64_t, 0x7ff0000000000000ull>;
using Half = Layout<uint16_t, 0x7c00u>;
using Bfloat16 = Layout<uint16_t, 0x7f80u>;

}  // namespace tbdbg
