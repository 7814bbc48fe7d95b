// SPDX-License-Identifier: Apache-2.0
// Profilers: what is left of a recording whose memory was full before the end.
#include <pando/ops/ops.h>
#include <pando/program/profile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "report/profile/profile.h"

namespace pando {
namespace {

Graph graph_of_one_kernel(const std::string& name) {
  Graph graph;
  const Value counter = ops::variable(graph, name, DType::float32, {1000});
  graph.assign(counter, counter + 1.0);
  return graph;
}

struct Row {
  std::int64_t events = 0;
  double end = 0;
};
// By device and tile.
std::map<std::pair<int, int>, Row> rows_in(const Profile& profile) {
  std::map<std::pair<int, int>, Row> rows;
  for (const ProfileEvent& event : profile.events) {
    Row& row = rows[{event.device, event.tile}];
    ++row.events;
    row.end = std::max(row.end, event.begin + event.duration);
  }
  return rows;
}

TEST(Profiler, EndsWhereTheFirstTileOfAProgramWasFull) {
  constexpr std::int64_t capacity = 64;
  const Device device({.tiles = 2});
  Program first(graph_of_one_kernel("a"), device, Variables()), second(graph_of_one_kernel("b"), device, Variables());
  Profiler profiler("model", capacity);
  profiler.attach(first);
  first.run(1000);
  profiler.attach(second);
  second.run(3);
  profiler.detach();
  const report::Timeline timeline = profiler.timeline();
  const Profile& profile = *timeline.profile();
  EXPECT_FALSE(profile.complete);
  std::map<std::pair<int, int>, Row> rows = rows_in(profile);
  const Row one = rows[{0, 0}], other = rows[{0, 1}], later = rows[{1, 0}];
  const Row &full = one.events == capacity ? one : other, &cut = one.events == capacity ? other : one;
  EXPECT_EQ(full.events, capacity);
  EXPECT_LE(cut.end, full.end);
  EXPECT_GT(later.events, 0) << "the second program is all there";
}

TEST(Profiler, IsCompleteIfItsMemoryWasEnough) {
  const Device device({.tiles = 1});
  Program program(graph_of_one_kernel("a"), device, Variables());
  Profiler profiler("model");
  profiler.attach(program);
  program.run(2);
  EXPECT_TRUE(profiler.timeline().profile()->complete);
}

}  // namespace
}  // namespace pando
