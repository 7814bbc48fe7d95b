// SPDX-License-Identifier: Apache-2.0
#include "report/explain/peak.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pando {

namespace {

constexpr int rounds = 2'000'000;
// As many chains as hide the latency of a multiply-add on every pipe of known processors.
constexpr int chains = 16;

// Each runs `rounds` rounds of a multiply-add in every chain, and returns their number of flops.
#if defined(__x86_64__)
__attribute__((target("avx512f"))) double run_avx512(float* sink) {
  __m512 sums[chains];
  for (auto& sum : sums) sum = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(0.001F);
  for (int i = 0; i < rounds; ++i)
#pragma GCC unroll 32
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  for (auto& sum : sums) *sink += _mm512_cvtss_f32(sum);
  return 2.0 * 16 * chains * rounds;
}
__attribute__((target("avx2,fma"))) double run_avx2(float* sink) {
  __m256 sums[12];
  for (auto& sum : sums) sum = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(0.001F);
  for (int i = 0; i < rounds; ++i)
#pragma GCC unroll 32
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  for (auto& sum : sums) *sink += _mm256_cvtss_f32(sum);
  return 2.0 * 8 * 12 * rounds;
}
#elif defined(__aarch64__)
double run_neon(float* sink) {
  float32x4_t sums[chains];
  for (auto& sum : sums) sum = vdupq_n_f32(1.0F);
  const float32x4_t factor = vdupq_n_f32(0.001F), term = vdupq_n_f32(0.999F);
  for (int i = 0; i < rounds; ++i)
#pragma GCC unroll 32
    for (auto& sum : sums) sum = vfmaq_f32(sum, factor, term);
  for (auto& sum : sums) *sink += vaddvq_f32(sum);
  return 2.0 * 4 * chains * rounds;
}
#endif

double run_scalar(float* sink) {
  float sums[chains];
  for (float& sum : sums) sum = 1.0F;
  for (int i = 0; i < rounds; ++i)
#pragma GCC unroll 32
    for (float& sum : sums) sum = sum * 0.999F + 0.001F;
  for (float sum : sums) *sink += sum;
  return 2.0 * chains * rounds;
}

double run_set([[maybe_unused]] const std::string& instruction_set, float* sink) {
#if defined(__x86_64__)
  if (instruction_set == "avx512") return run_avx512(sink);
  if (instruction_set == "avx2") return run_avx2(sink);
#elif defined(__aarch64__)
  if (instruction_set == "neon") return run_neon(sink);
#endif
  return run_scalar(sink);
}

}  // namespace

double measure_multiply_add_peak(int threads, const std::string& instruction_set) {
  double best = 0;
  for (int attempt = 0; attempt < 7; ++attempt) {
    std::vector<double> flops(static_cast<std::size_t>(threads));
    std::vector<float> sinks(flops.size());
    std::vector<std::thread> workers;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < flops.size(); ++i)
      workers.emplace_back([&, i] { flops[i] = run_set(instruction_set, &sinks[i]); });
    for (std::thread& worker : workers) worker.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double total = 0;
    // What is computed must be used, or the compiler leaves it out.
    for (std::size_t i = 0; i < flops.size(); ++i) total += sinks[i] == 0 ? 0 : flops[i];
    best = std::max(best, total / seconds.count() / 1e9);
  }
  return best;
}

}  // namespace pando
