// SPDX-License-Identifier: Apache-2.0
// Conversions between float and bfloat16, shared by the host and the kernels.
#pragma once
#include <pando/base/dtype.h>

#include <cstdint>

#include "base/host_device.h"

namespace pando {
PANDO_KERNEL_BEGIN

PANDO_HOST_DEVICE inline float to_float(BFloat16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

PANDO_HOST_DEVICE inline BFloat16 to_bfloat16(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>((is_nan ? bits | 0x400000u : rounded) >> 16)};
}

PANDO_KERNEL_END
}  // namespace pando
