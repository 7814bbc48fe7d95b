// SPDX-License-Identifier: Apache-2.0
// The memory that a process may use is what its machine, its container and its limits leave it.
#include "base/machine/usable_memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/data/temporary_folder.h"

namespace pando {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

TEST(UsableMemory, IsThatOfTheMachineOrLess) {
  EXPECT_GT(usable_memory(), 1u << 20);
  EXPECT_LT(usable_memory(), std::uint64_t{1} << 50);
  EXPECT_EQ(memory_for_a_file(), usable_memory() / 4);
}

TEST(UsableMemory, IsLimitedByTheLeastOfTheControlGroups) {
  const TemporaryFolder root;
  EXPECT_EQ(control_group_limit("0::/a/b\n", root.path()), unlimited);
  root.write("a/memory.max", "4000000\n");
  root.write("a/b/memory.max", "max\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root.path()), 4'000'000u);
  root.write("memory.max", "3000000\n");
  EXPECT_EQ(control_group_limit("0::/a/b\n", root.path()), 3'000'000u);
  EXPECT_EQ(control_group_limit("0::/elsewhere\n", root.path()), 3'000'000u);
  EXPECT_EQ(control_group_limit("0::/\n", root.path()), 3'000'000u);
}

TEST(UsableMemory, IsLimitedByControlGroupsOfTheOldKind) {
  const TemporaryFolder root;
  root.write("memory/docker/1f/memory.limit_in_bytes", "2000000\n");
  EXPECT_EQ(control_group_limit("5:cpu:/docker/2f\n4:cpu,memory:/docker/1f\n0::/\n", root.path()), 2'000'000u);
  EXPECT_EQ(control_group_limit("4:cpuset:/docker/1f\n", root.path()), unlimited);
  EXPECT_EQ(control_group_limit("nonsense\n\n:\n::\n0::relative\n", root.path()), unlimited);
}

}  // namespace
}  // namespace pando
