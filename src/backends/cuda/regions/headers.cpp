// SPDX-License-Identifier: Apache-2.0
// The files that the source of a region includes. They are part of the library; of the standard library there is only
// what they use.
#include "backends/cuda/regions/program.h"
#include "backends/cuda/regions/sources.h"

namespace pando::cuda {

std::vector<RegionHeader> region_headers() {
  static constexpr const char* integers =
      "#pragma once\n"
      "namespace std {\n"
      "using int32_t = int; using int64_t = long long; using uint8_t = unsigned char; using uint16_t = unsigned "
      "short;\n"
      "using uint32_t = unsigned int; using uint64_t = unsigned long long;\n"
      "}\n"
      // NVRTC lacks the builtins of other compilers.
      "#define __builtin_memcpy(to, from, bytes) ::memcpy(to, from, bytes)\n"
      "#define __builtin_inff() __int_as_float(0x7f800000)\n"
      "#define __builtin_nanf(text) __int_as_float(0x7fffffff)\n"
      "#define __builtin_exp(x) ::exp(x)\n"
      "#define __builtin_expm1(x) ::expm1(x)\n"
      "#define __builtin_log(x) ::log(x)\n"
      "#define __builtin_log1p(x) ::log1p(x)\n"
      "#define __builtin_tanh(x) ::tanh(x)\n"
      "#define __builtin_erf(x) ::erf(x)\n"
      "#define __builtin_asin(x) ::asin(x)\n"
      "#define __builtin_acos(x) ::acos(x)\n"
      "#define __builtin_atan(x) ::atan(x)\n"
      "#define __builtin_sinh(x) ::sinh(x)\n"
      "#define __builtin_cosh(x) ::cosh(x)\n"
      "#define __builtin_asinh(x) ::asinh(x)\n"
      "#define __builtin_acosh(x) ::acosh(x)\n"
      "#define __builtin_atanh(x) ::atanh(x)\n"
      "#define __builtin_erfc(x) ::erfc(x)\n"
      "#define __builtin_erfcf(x) ::erfcf(x)\n"
      "#define __builtin_atan2(y, x) ::atan2(y, x)\n"
      "#define __builtin_sqrt(x) ::sqrt(x)\n"
      "#define __builtin_sqrtf(x) ::sqrtf(x)\n"
      "#define __builtin_sin(x) ::sin(x)\n"
      "#define __builtin_sinf(x) ::sinf(x)\n"
      "#define __builtin_cos(x) ::cos(x)\n"
      "#define __builtin_cosf(x) ::cosf(x)\n"
      "#define __builtin_floor(x) ::floor(x)\n"
      "#define __builtin_floorf(x) ::floorf(x)\n"
      "#define __builtin_rint(x) ::rint(x)\n"
      "#define __builtin_rintf(x) ::rintf(x)\n"
      "#define __builtin_fmod(x, y) ::fmod(x, y)\n"
      "#define __builtin_fmodf(x, y) ::fmodf(x, y)\n"
      "#define __builtin_pow(x, y) ::pow(x, y)\n"
      "#define __builtin_powf(x, y) ::powf(x, y)\n";
  return {{"cstdint", integers},
          {"type_traits", "#pragma once\n"},
          {"math.h", "#pragma once\n"},
          {"base/host_device.h", std::string(assets::host_device_h)},
          {"base/philox.h", std::string(assets::philox_h)},
          {"ops/scalar.h", std::string(assets::scalar_h)},
          {"ops/scalar_math.h", std::string(assets::scalar_math_h)},
          {"ops/special_math.h", std::string(assets::special_math_h)},
          {"backends/cuda/kernels/update_rules.h", std::string(assets::update_rules_h)},
          {"backends/cuda/regions/device/casts.h", std::string(assets::casts_h)},
          {"backends/cuda/regions/device/cluster.h", std::string(assets::cluster_h)},
          {"backends/cuda/regions/device/gpu.h", std::string(assets::gpu_h)},
          {"backends/cuda/regions/device/images.h", std::string(assets::images_h)},
          {"backends/cuda/regions/device/kernel.h", std::string(assets::kernel_h)},
          {"backends/cuda/regions/device/pooled_images.h", std::string(assets::pooled_images_h)},
          {"backends/cuda/regions/device/rows.h", std::string(assets::rows_h)},
          {"backends/cuda/regions/device/updates.h", std::string(assets::updates_h)}};
}

}  // namespace pando::cuda
