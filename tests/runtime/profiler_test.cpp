// SPDX-License-Identifier: Apache-2.0
// Profilers: what is left of a recording that is longer than its memory.
#include <pando/ops/ops.h>
#include <pando/program/profile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "report/profile/profile.h"
#include "runtime/recorder.h"

namespace pando {
namespace {

Graph graph_of_one_kernel(const std::string& name) {
  Graph graph;
  const Value counter = ops::variable(graph, name, DType::float32, {1000});
  graph.assign(counter, counter + 1.0);
  return graph;
}

// By device and tile.
std::map<std::pair<int, int>, std::int64_t> events_by_row(const Profile& profile) {
  std::map<std::pair<int, int>, std::int64_t> rows;
  for (const ProfileEvent& event : profile.events) ++rows[{event.device, event.tile}];
  return rows;
}

// Far more than its memory holds: every event is in one of the parts that are shown.
TEST(Profiler, KeepsPartsOfALongRunFromItsBeginningToItsEnd) {
  constexpr std::int64_t capacity = 256;
  const Device device({.tiles = 2});
  Program program(graph_of_one_kernel("a"), device, Variables());
  Profiler profiler("model", capacity);
  profiler.attach(program);
  program.run(20'000);
  profiler.detach();
  const report::Timeline timeline = profiler.timeline();
  const Profile& profile = *timeline.profile();
  // How many there are depends on how even the steps were; Recorder's test below has a clock of its own.
  ASSERT_FALSE(profile.recorded.empty());
  const auto rows = events_by_row(profile);
  // On a busy machine one tile does the work of both.
  EXPECT_GE(rows.size(), 1u);
  for (const auto& [place, events] : rows) EXPECT_LE(events, capacity);
  for (const ProfileEvent& event : profile.events)
    EXPECT_TRUE(std::any_of(profile.recorded.begin(), profile.recorded.end(), [&](const RecordedPart& part) {
      return event.begin >= part.begin - 0.001 && event.begin <= part.end + 0.001;
    })) << event.begin;
  for (std::size_t i = 1; i < profile.recorded.size(); ++i)
    EXPECT_GT(profile.recorded[i].begin, profile.recorded[i - 1].end);
}

TEST(Recorder, SpansARunOfAnyLengthWithItsMemory) {
  // Long after the recorder was made, as a machine's clock is.
  constexpr std::int64_t start = 1'000'000'000'000;
  for (const std::int64_t count : {100, 1000, 77'777, 1'000'000}) {
    const auto windows = std::make_shared<RecordingWindows>();
    Recorder recorder(2, 256, windows);
    for (std::int64_t i = 0; i < count; ++i) {
      recorder.record(0, {.begin = start + 10 * i, .end = start + 10 * i + 9});
      // Fewer events, so it is thinned out later.
      if (i % 3 == 0) recorder.record(1, {.begin = start + 10 * i, .end = start + 10 * i + 29});
    }
    const std::vector<RecordedEvent>& events = recorder.events(0);
    EXPECT_LE(events.size(), 256u);
    EXPECT_GE(events.size(), std::min<std::size_t>(100, static_cast<std::size_t>(count))) << count;
    EXPECT_EQ(events.front().begin, start);
    EXPECT_GT(events.back().begin - start, 8 * count) << "of " << 10 * count;
    EXPECT_EQ(recorder.stride(0) == 1, count == 100);
    EXPECT_LE(recorder.stride(1), recorder.stride(0));
    // What the tile that kept least has kept, the other has kept too.
    for (const RecordedEvent& event : events) {
      const auto& others = recorder.events(1);
      EXPECT_TRUE((event.begin - start) % 30 != 0 ||
                  std::any_of(others.begin(), others.end(),
                              [&](const RecordedEvent& other) { return other.begin == event.begin; }));
    }
  }
}

TEST(Profiler, IsCompleteIfItsMemoryWasEnough) {
  const Device device({.tiles = 1});
  Program program(graph_of_one_kernel("a"), device, Variables());
  Profiler profiler("model");
  profiler.attach(program);
  program.run(2);
  EXPECT_TRUE(profiler.timeline().profile()->recorded.empty());
}

}  // namespace
}  // namespace pando
