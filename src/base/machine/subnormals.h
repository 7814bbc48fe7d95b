// SPDX-License-Identifier: Apache-2.0
// Numbers below the smallest normal one (1.2e-38 in float32) are called subnormal. Processors of the x86-64 family take
// more than a hundred cycles for an operation that reads or makes one. They come up by themselves: gradients shrink
// with each step back through a long sequence, and the moments of an optimizer fade where gradients stay away. There
// they would remain, because 0.9 times the smallest number is rounded to that number. So threads take them as 0 while
// they compute, as those of TensorFlow and XLA do.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pando {

// While one of these lives, its thread takes subnormal numbers as 0, those that it reads and those that it makes.
class SubnormalsAreZero {
 public:
  SubnormalsAreZero() : before_(mode()) { set_mode(before_ | flush); }
  ~SubnormalsAreZero() { set_mode(before_); }
  SubnormalsAreZero(const SubnormalsAreZero&) = delete;
  SubnormalsAreZero& operator=(const SubnormalsAreZero&) = delete;

 private:
#if defined(__x86_64__)
  using Mode = unsigned int;
  // Results flush to zero, operands that are subnormal count as zero.
  static constexpr Mode flush = 1 << 15 | 1 << 6;
  static Mode mode() { return _mm_getcsr(); }
  static void set_mode(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Mode = std::uint64_t;
  // Both in one bit.
  static constexpr Mode flush = 1 << 24;
  static Mode mode() {
    Mode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void set_mode(Mode mode) { asm volatile("msr fpcr, %0" ::"r"(mode) : "memory"); }
#else
  using Mode = int;
  static constexpr Mode flush = 0;
  static Mode mode() { return 0; }
  static void set_mode(Mode) {}
#endif

  const Mode before_;
};

}  // namespace pando
