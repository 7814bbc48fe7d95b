// SPDX-License-Identifier: Apache-2.0
// Profilers: what is left of a recording that is longer than its memory.
#include <pando/ops/ops.h>
#include <pando/program/profile.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

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

bool includes(const RecordedPart& part, const ProfileEvent& event) {
  return event.begin >= part.begin - 0.001 && event.begin <= part.end + 0.001;
}

// Far more than its memory holds: every event is in one of the parts that are shown, and the last part is near the end.
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
  ASSERT_GE(profile.recorded.size(), 8u);
  const double first = profile.recorded.front().begin, last = profile.recorded.back().end;
  EXPECT_GT(profile.recorded.back().begin, first + 0.8 * (last - first));
  const auto rows = events_by_row(profile);
  // On a busy machine one tile may do the work of both.
  EXPECT_GE(rows.size(), 1u);
  for (const auto& [place, events] : rows) EXPECT_LE(events, capacity);
  for (const ProfileEvent& event : profile.events)
    EXPECT_TRUE(std::any_of(profile.recorded.begin(), profile.recorded.end(), [&](const RecordedPart& part) {
      return includes(part, event);
    })) << event.begin;
  for (std::size_t i = 1; i < profile.recorded.size(); ++i)
    EXPECT_GT(profile.recorded[i].begin, profile.recorded[i - 1].end);
}

TEST(Profiler, ShowsAllOfAShortProgramAfterALongOne) {
  const Device device({.tiles = 1});
  Program first(graph_of_one_kernel("a"), device, Variables()), second(graph_of_one_kernel("b"), device, Variables());
  Profiler profiler("model", 64);
  profiler.attach(first);
  first.run(5000);
  profiler.attach(second);
  second.run(3);
  profiler.detach();
  const report::Timeline timeline = profiler.timeline();
  const Profile& profile = *timeline.profile();
  EXPECT_GE(profile.recorded.size(), 8u);
  std::int64_t kernels = 0;
  for (const ProfileEvent& event : profile.events)
    if (event.device == 1 && event.kind == ProfileEvent::Kind::kernel) {
      ++kernels;
      EXPECT_TRUE(includes(profile.recorded.back(), event));
    }
  EXPECT_EQ(kernels, 3);
}

// Long after the recorder was made, as a machine's clock is.
constexpr std::int64_t start_time = 1'000'000'000'000;

TEST(Recorder, SpansARunOfAnyLengthWithItsMemory) {
  for (const std::int64_t count : {100, 1000, 77'777, 1'000'000}) {
    Recorder recorder(2, 256, std::make_shared<RecordingStart>());
    for (std::int64_t i = 0; i < count; ++i) {
      recorder.record(0, {.begin = start_time + 10 * i, .end = start_time + 10 * i + 9});
      // Fewer events, so they are thinned out later.
      if (i % 3 == 0) recorder.record(1, {.begin = start_time + 10 * i, .end = start_time + 10 * i + 29});
    }
    const std::vector<RecordedEvent>& events = recorder.events(0);
    EXPECT_LE(events.size(), 256u);
    EXPECT_GE(events.size(), std::min<std::size_t>(100, static_cast<std::size_t>(count))) << count;
    EXPECT_EQ(events.front().begin, start_time);
    EXPECT_GT(events.back().begin - start_time, 8 * count) << "of " << 10 * count;
    EXPECT_EQ(recorder.end(0), start_time + 10 * count - 1);
    EXPECT_EQ(recorder.windows(0).all(), count == 100);
    // What both have kept all of, both have.
    const RecordingWindows common = recorder.windows(0).common(recorder.windows(1));
    for (const RecordedEvent& event : events) {
      if ((event.begin - start_time) % 30 != 0 || !common.includes(event.begin - start_time)) continue;
      const auto& others = recorder.events(1);
      EXPECT_TRUE(std::any_of(others.begin(), others.end(),
                              [&](const RecordedEvent& other) { return other.begin == event.begin; }));
    }
  }
}

// The number of windows that hold an event.
std::int64_t windows_in_use(const Recorder& recorder) {
  std::set<std::int64_t> used;
  for (const RecordedEvent& event : recorder.events(0))
    used.insert((event.begin - start_time) / recorder.windows(0).distance);
  return static_cast<std::int64_t>(used.size());
}

TEST(Recorder, KeepsEnoughPartsWhenTheStepsBecomeFasterOrSlower) {
  constexpr std::int64_t duration = 256'000'000;
  for (const auto& [early, late] : {std::pair<std::int64_t, std::int64_t>{50'000, 1000}, {1000, 50'000}}) {
    Recorder recorder(1, 4096, std::make_shared<RecordingStart>());
    for (std::int64_t time = 0; time < 2 * duration;) {
      const std::int64_t length = time < duration ? early : late;
      recorder.record(0, {.begin = start_time + time, .end = start_time + time + length});
      time += length;
    }
    EXPECT_GE(windows_in_use(recorder), 8) << early << ", " << late;
    EXPECT_LE(recorder.events(0).size(), 4096u);
    EXPECT_GT(recorder.events(0).back().begin - start_time, 17 * duration / 10);
  }
}

TEST(Recorder, StopsWhenMoreEventsBeginAtOneMomentThanItHolds) {
  Recorder recorder(1, 16, std::make_shared<RecordingStart>());
  for (int i = 0; i < 100; ++i) recorder.record(0, {.begin = start_time, .end = start_time});
  EXPECT_EQ(recorder.events(0).size(), 16u);
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
