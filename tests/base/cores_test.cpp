// SPDX-License-Identifier: Apache-2.0
// How many cores a process may use: its affinity mask and the quotas of its cgroups.
#include <gtest/gtest.h>
#include <sched.h>

#include "base/machine/cores.h"
#include "tests/data/temporary_folder.h"

namespace pando {
namespace {

class Cgroups : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const { folder_.write(path, text); }
  std::string root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(Cgroups, WithoutAQuotaThereIsNoLimit) {
  EXPECT_EQ(quota_cores("0::/jobs/7\n", root()), 0);
  write("jobs/7/cpu.max", "max 100000\n");
  EXPECT_EQ(quota_cores("0::/jobs/7\n", root()), 0);
}

TEST_F(Cgroups, AQuotaGrantsWholeCores) {
  write("jobs/7/cpu.max", "350000 100000\n");
  EXPECT_EQ(quota_cores("0::/jobs/7\n", root()), 3);
  write("jobs/7/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota_cores("0::/jobs/7\n", root()), 1);
}

TEST_F(Cgroups, TheLeastQuotaOfAllLevelsCounts) {
  write("jobs/7/cpu.max", "800000 100000\n");
  write("jobs/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota_cores("0::/jobs/7\n", root()), 2);
}

TEST_F(Cgroups, TheFirstVersionOfCgroupsIsReadToo) {
  write("cpu,cpuacct/batch/cpu.cfs_quota_us", "400000\n");
  write("cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_cores("5:memory:/x\n4:cpu,cpuacct:/batch\n", root()), 4);
  write("cpu,cpuacct/batch/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota_cores("4:cpu,cpuacct:/batch\n", root()), 0);
}

TEST(UsableCores, FollowTheAffinityMask) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&all));
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
}  // namespace pando
