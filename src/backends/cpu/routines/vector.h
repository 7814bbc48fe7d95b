// SPDX-License-Identifier: Apache-2.0
// The widest vector of the instruction set a routine is compiled for, by the compilers' vector extensions.
#pragma once
#include <cstdint>

#include "base/host_device.h"

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(PANDO_INSTRUCTION_SET)
#error "routines are compiled once per instruction set; see src/backends/cpu/CMakeLists.txt"
#endif

// Unrolls loops over the vectors of an array: these stay in registers only if no index is left.
#if defined(__clang__)
#define PANDO_UNROLL _Pragma("unroll")
#else
#define PANDO_UNROLL _Pragma("GCC unroll 16")
#endif

namespace pando::cpu {
PANDO_KERNEL_BEGIN

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
};

template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store(T* to, Vector<T> value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <class T>
inline Vector<T> splat(T value) {
  return value - Vector<T>{};
}

// a * b + c, rounded once where the instruction set can do that. Left alone, a compiler fuses only what it sees at
// once, so two loops with the same sums may end with other bits; the checks of sanitizers come in between.
inline float fused_multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
inline double fused_multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}
inline Vector<float> fused_multiply_add(Vector<float> a, Vector<float> b, Vector<float> c) {
#if defined(__AVX512F__)
  return static_cast<Vector<float>>(_mm512_fmadd_ps(a, b, c));
#elif defined(__FMA__)
  return static_cast<Vector<float>>(_mm256_fmadd_ps(a, b, c));
#elif defined(__aarch64__)
  return static_cast<Vector<float>>(
      vfmaq_f32(static_cast<float32x4_t>(c), static_cast<float32x4_t>(a), static_cast<float32x4_t>(b)));
#else
  return a * b + c;
#endif
}
inline Vector<double> fused_multiply_add(Vector<double> a, Vector<double> b, Vector<double> c) {
#if defined(__AVX512F__)
  return static_cast<Vector<double>>(_mm512_fmadd_pd(a, b, c));
#elif defined(__FMA__)
  return static_cast<Vector<double>>(_mm256_fmadd_pd(a, b, c));
#elif defined(__aarch64__)
  return static_cast<Vector<double>>(
      vfmaq_f64(static_cast<float64x2_t>(c), static_cast<float64x2_t>(a), static_cast<float64x2_t>(b)));
#else
  return a * b + c;
#endif
}

// All lanes of a vector in memory.
template <class T>
struct WholeVector {
  Vector<T> load(const T* from) const { return cpu::load(from); }
  void store(T* to, Vector<T> value) const { cpu::store(to, value); }
#if defined(__AVX512F__)
  __mmask16 mask() const { return 0xffff; }
#endif
};

// The first `count` lanes of a vector in memory, at least one. Loading gives zeros in the others, and storing leaves
// them as they are; there need not be memory for them.
template <class T>
class PartOfVector {
 public:
  explicit PartOfVector(std::int64_t count) : count_(count) {}
  Vector<T> load(const T* from) const {
    T lanes[VectorOf<T>::lanes] = {};
    for (int i = 0; i < VectorOf<T>::lanes; ++i) {
      if (i < count_) lanes[i] = from[i];
    }
    return cpu::load(lanes);
  }
  // By a copy: a vector whose lanes have a variable index is kept in memory, and so are the sums that are stored from
  // it.
  void store(T* to, Vector<T> value) const {
    T lanes[VectorOf<T>::lanes];
    cpu::store(lanes, value);
    for (int i = 0; i < VectorOf<T>::lanes; ++i) {
      if (i < count_) to[i] = lanes[i];
    }
  }

 private:
  std::int64_t count_;
};

#if defined(__AVX512F__)

template <>
class PartOfVector<float> {
 public:
  explicit PartOfVector(std::int64_t count) : mask_(static_cast<__mmask16>((1u << count) - 1)) {}
  Vector<float> load(const float* from) const { return static_cast<Vector<float>>(_mm512_maskz_loadu_ps(mask_, from)); }
  void store(float* to, Vector<float> value) const { _mm512_mask_storeu_ps(to, mask_, value); }
  __mmask16 mask() const { return mask_; }

 private:
  __mmask16 mask_;
};
template <>
class PartOfVector<double> {
 public:
  explicit PartOfVector(std::int64_t count) : mask_(static_cast<__mmask8>((1u << count) - 1)) {}
  Vector<double> load(const double* from) const {
    return static_cast<Vector<double>>(_mm512_maskz_loadu_pd(mask_, from));
  }
  void store(double* to, Vector<double> value) const { _mm512_mask_storeu_pd(to, mask_, value); }

 private:
  __mmask8 mask_;
};

#elif defined(__AVX2__)

template <>
class PartOfVector<float> {
 public:
  explicit PartOfVector(std::int64_t count)
      : mask_(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
  Vector<float> load(const float* from) const { return static_cast<Vector<float>>(_mm256_maskload_ps(from, mask_)); }
  void store(float* to, Vector<float> value) const { _mm256_maskstore_ps(to, mask_, value); }

 private:
  __m256i mask_;
};
template <>
class PartOfVector<double> {
 public:
  explicit PartOfVector(std::int64_t count)
      : mask_(_mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3))) {}
  Vector<double> load(const double* from) const { return static_cast<Vector<double>>(_mm256_maskload_pd(from, mask_)); }
  void store(double* to, Vector<double> value) const { _mm256_maskstore_pd(to, mask_, value); }

 private:
  __m256i mask_;
};

#elif defined(__aarch64__)

// Halves and lanes by name, so that no lane has a variable index.
template <>
class PartOfVector<float> {
 public:
  explicit PartOfVector(std::int64_t count) : count_(count) {}
  Vector<float> load(const float* from) const {
    float32x4_t value = vdupq_n_f32(0);
    if (count_ >= 4) value = vld1q_f32(from);
    else if (count_ == 3) value = vld1q_lane_f32(from + 2, vcombine_f32(vld1_f32(from), vdup_n_f32(0)), 2);
    else if (count_ == 2) value = vcombine_f32(vld1_f32(from), vdup_n_f32(0));
    else value = vld1q_lane_f32(from, value, 0);
    return static_cast<Vector<float>>(value);
  }
  void store(float* to, Vector<float> value) const {
    const auto lanes = static_cast<float32x4_t>(value);
    if (count_ >= 4) vst1q_f32(to, lanes);
    else if (count_ == 1) vst1q_lane_f32(to, lanes, 0);
    else {
      vst1_f32(to, vget_low_f32(lanes));
      if (count_ == 3) vst1q_lane_f32(to + 2, lanes, 2);
    }
  }

 private:
  std::int64_t count_;
};
template <>
class PartOfVector<double> {
 public:
  explicit PartOfVector(std::int64_t count) : count_(count) {}
  Vector<double> load(const double* from) const {
    return static_cast<Vector<double>>(count_ >= 2 ? vld1q_f64(from) : vld1q_lane_f64(from, vdupq_n_f64(0), 0));
  }
  void store(double* to, Vector<double> value) const {
    if (count_ >= 2) vst1q_f64(to, static_cast<float64x2_t>(value));
    else vst1q_lane_f64(to, static_cast<float64x2_t>(value), 0);
  }

 private:
  std::int64_t count_;
};

#endif

PANDO_KERNEL_END
}  // namespace pando::cpu

// Lets the compiler vectorise a loop whose output may be one of its inputs, element for element.
#if defined(__clang__)
// A loop that cannot be vectorised (a call of sin) is not a mistake.
#pragma clang diagnostic ignored "-Wpass-failed"
#define PANDO_VECTORISE _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define PANDO_VECTORISE _Pragma("GCC ivdep")
#endif
