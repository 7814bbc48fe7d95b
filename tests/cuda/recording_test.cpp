// SPDX-License-Identifier: Apache-2.0
// How the time of a kernel that does several calls is divided among them.
#include "backends/cuda/recording.h"

#include <gtest/gtest.h>

namespace pando::cuda {
namespace {

TEST(CudaRecording, DividesTheTimeOfAKernelInProportionToCycles) {
  const std::vector<CallCycles> calls = {{4, 500}, {2, 1500}, {7, 0}, {9, 2000}};
  EXPECT_EQ(divide_time(1000, 9000, calls),
            (std::vector<CallTime>{{4, 1000, 2000}, {2, 2000, 5000}, {7, 5000, 5000}, {9, 5000, 9000}}));
}

TEST(CudaRecording, LeavesNoGapsAndLosesNothing) {
  const std::vector<CallCycles> calls = {{0, 1}, {1, 1}, {2, 1}};
  const std::vector<CallTime> times = divide_time(100, 110, calls);
  EXPECT_EQ(times, (std::vector<CallTime>{{0, 100, 103}, {1, 103, 107}, {2, 107, 110}}));
}

TEST(CudaRecording, GivesAKernelOfOneCallAllOfItsTime) {
  EXPECT_EQ(divide_time(-5, 7, std::vector<CallCycles>{{3, 1}}), (std::vector<CallTime>{{3, -5, 7}}));
}

TEST(CudaRecording, DividesEquallyWithoutCycles) {
  EXPECT_EQ(divide_time(0, 10, std::vector<CallCycles>{{3, 0}, {5, 0}}),
            (std::vector<CallTime>{{3, 0, 5}, {5, 5, 10}}));
  EXPECT_TRUE(divide_time(0, 10, {}).empty());
}

}  // namespace
}  // namespace pando::cuda
