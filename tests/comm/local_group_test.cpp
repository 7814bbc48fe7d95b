// SPDX-License-Identifier: Apache-2.0
// LocalGroup: members that are threads add up what each has, and none of them waits for ever.
#include "comm/local_group.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <thread>

namespace pando {
namespace {

using Arrays = std::vector<std::vector<float>>;

std::vector<std::span<float>> spans_of(Arrays& arrays) {
  std::vector<std::span<float>> spans;
  for (auto& array : arrays) spans.emplace_back(array);
  return spans;
}

// Calls `call` with the number of each member, each on its own thread.
void run_members(int members, const std::function<void(int)>& call) {
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member) threads.emplace_back(call, member);
  for (std::thread& thread : threads) thread.join();
}

// Arrays of several lengths, among them fewer numbers than members and none, of very different sizes.
std::vector<Arrays> parts_of(int members) {
  std::vector<Arrays> parts;
  for (int member = 0; member < members; ++member) {
    Arrays arrays;
    for (std::size_t length : {0, 1, 2, 7, 64}) {
      std::vector<float>& array = arrays.emplace_back();
      for (std::size_t i = 0; i < length; ++i)
        array.push_back(static_cast<float>(i + 1) * (member % 2 == 0 ? 1e8f : 1.0f / 3) * (member == 2 ? -1.0f : 1.0f));
    }
    parts.push_back(arrays);
  }
  return parts;
}

// What one thread computes, member after member.
Arrays reduced(const std::vector<Arrays>& parts, bool mean) {
  Arrays sums = parts[0];
  for (std::size_t array = 0; array < sums.size(); ++array)
    for (std::size_t i = 0; i < sums[array].size(); ++i) {
      float sum = 0;
      for (const Arrays& part : parts) sum += part[array][i];
      sums[array][i] = mean ? sum * (1.0f / static_cast<float>(parts.size())) : sum;
    }
  return sums;
}

TEST(LocalGroup, EveryMemberHasTheSumInTheMembersOrder) {
  for (int members : {1, 2, 3, 5})
    for (bool mean : {false, true})
      for (int repetition = 0; repetition < 20; ++repetition) {
        std::vector<Arrays> parts = parts_of(members);
        const Arrays expected = reduced(parts, mean);
        LocalGroup group(members);
        run_members(members, [&](int member) {
          const std::vector<std::span<float>> own = spans_of(parts[static_cast<std::size_t>(member)]);
          group.all_reduce(member, own, mean);
        });
        for (const Arrays& part : parts) ASSERT_EQ(part, expected) << members << " members";
      }
}

TEST(LocalGroup, OneThreadAddsUpTheSameBits) {
  for (int members : {1, 2, 3, 5})
    for (bool mean : {false, true}) {
      std::vector<Arrays> parts = parts_of(members);
      const Arrays expected = reduced(parts, mean);
      std::vector<std::vector<std::span<float>>> spans;
      for (Arrays& part : parts) spans.push_back(spans_of(part));
      const std::vector<std::span<const std::span<float>>> all(spans.begin(), spans.end());
      LocalGroup::reduce_all(all, mean);
      for (const Arrays& part : parts) EXPECT_EQ(part, expected) << members << " members";
    }
}

// (1e8 + 1/3) - 1e8 is 0, but -1e8 + 1e8 + 1/3 is not: another order would show.
TEST(LocalGroup, TheOrderOfTheMembersShows) {
  std::vector<Arrays> parts = {{{1e8f}}, {{1.0f / 3}}, {{-1e8f}}};
  LocalGroup group(3);
  run_members(3, [&](int member) {
    const std::vector<std::span<float>> own = spans_of(parts[static_cast<std::size_t>(member)]);
    group.all_reduce(member, own, false);
  });
  EXPECT_EQ(parts[0][0][0], 0.0f);
}

TEST(LocalGroup, NoMemberLeavesABarrierBeforeAllHaveCome) {
  constexpr int members = 3;
  // Begins just before the count of barriers begins again.
  LocalGroup group(members, std::numeric_limits<std::uint32_t>::max() - 2);
  std::atomic<int> arrived = 0, early = 0;
  run_members(members, [&](int) {
    for (int round = 1; round <= 50; ++round) {
      arrived.fetch_add(1);
      group.barrier();
      if (arrived.load() < round * members) early.fetch_add(1);
      group.barrier();
    }
  });
  EXPECT_EQ(early.load(), 0);
  EXPECT_EQ(arrived.load(), 50 * members);
}

// Whether the call ends with Stopped.
bool is_stopped(const std::function<void()>& call) {
  try {
    call();
  } catch (const Stopped&) {
    return true;
  }
  return false;
}

TEST(LocalGroup, StopEndsMembersThatWaitAndThoseThatCome) {
  LocalGroup group(3);
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::atomic<int> coming = 0, stopped = 0;
    // The third never comes, so that nothing but stop() ends the others, wherever they are.
    std::vector<std::thread> threads;
    for (int member = 0; member < 2; ++member)
      threads.emplace_back([&, member] {
        Arrays numbers = {{1, 2, 3}};
        const std::vector<std::span<float>> own = spans_of(numbers);
        coming.fetch_add(1);
        if (is_stopped([&] { group.all_reduce(member, own, false); })) stopped.fetch_add(1);
      });
    while (coming.load() < 2) std::this_thread::yield();
    group.stop();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(stopped.load(), 2);
    EXPECT_TRUE(is_stopped([&] { group.barrier(); }));
    EXPECT_TRUE(is_stopped([&] { group.barrier(); })) << "until restart()";
    group.restart();

    // Members that had arrived are forgotten.
    std::vector<Arrays> parts = parts_of(3);
    const Arrays expected = reduced(parts, true);
    run_members(3, [&](int member) {
      const std::vector<std::span<float>> own = spans_of(parts[static_cast<std::size_t>(member)]);
      group.all_reduce(member, own, true);
    });
    for (const Arrays& part : parts) ASSERT_EQ(part, expected);
  }
}

}  // namespace
}  // namespace pando
