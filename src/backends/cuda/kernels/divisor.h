// SPDX-License-Identifier: Apache-2.0
// Divisor: division by a number that is known when a kernel is made, as a multiplication. Indices are taken apart with
// it.
#pragma once
#include <cstdint>

#include "base/host_device.h"

namespace pando::cuda {

// For dividends in [0, 2^31) and divisors in [1, 2^31). 0 counts as 1: nothing is divided where a size is 0.
class Divisor {
 public:
  PANDO_HOST_DEVICE constexpr Divisor() : Divisor(1) {}
  PANDO_HOST_DEVICE constexpr explicit Divisor(std::int32_t divisor)
      : divisor_(static_cast<std::uint32_t>(divisor > 0 ? divisor : 1)) {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << shift_;
    multiplier_ = static_cast<std::uint32_t>(((power - divisor_) << 32) / divisor_ + 1);
  }

  PANDO_HOST_DEVICE constexpr std::int32_t quotient(std::int32_t dividend) const {
    const auto number = static_cast<std::uint32_t>(dividend);
    const auto high = static_cast<std::uint32_t>((std::uint64_t{number} * multiplier_) >> 32);
    return static_cast<std::int32_t>((high + number) >> shift_);
  }
  // Divides `dividend` and leaves what remains of it.
  PANDO_HOST_DEVICE constexpr std::int32_t divide(std::int32_t& dividend) const {
    const std::int32_t result = quotient(dividend);
    dividend -= result * static_cast<std::int32_t>(divisor_);
    return result;
  }
  PANDO_HOST_DEVICE constexpr std::int32_t value() const { return static_cast<std::int32_t>(divisor_); }

 private:
  std::uint32_t divisor_, multiplier_ = 0, shift_ = 0;
};

}  // namespace pando::cuda
