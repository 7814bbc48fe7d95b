// SPDX-License-Identifier: Apache-2.0
#include "program/sample_feed.h"

#include <algorithm>
#include <limits>

#include "program/state.h"

namespace pando {

namespace {

// Rows of numbers are small, and the device takes many of them at once.
constexpr std::size_t ring_bytes = std::size_t{4} << 20;
constexpr std::size_t least_slots = default_feed_slots, most_slots = 256;
// A device counts the bytes of a row that it gathers with 32 bits.
constexpr std::size_t most_gathered_bytes = std::numeric_limits<std::uint32_t>::max();

std::int64_t samples_of(const Field& field, std::size_t sample_bytes) {
  return static_cast<std::int64_t>(field.type.bytes() / sample_bytes);
}

}  // namespace

std::optional<Feed> SampleFeed::make(const Program& program, const FeedSamples& samples, FillFeeds fill) {
  const Program::State& state = *program.state_;
  if (state.executor || !samples.table) return std::nullopt;
  const Backend& backend = *state.devices.front()->backend;
  const std::size_t room = backend.room_for_samples();
  if (room == 0 || samples.table->missing_bytes(*backend.memory(), samples.columns) > room) return std::nullopt;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < state.plan.host.list.size(); ++i) {
    const Field& field = state.plan.host.list[i];
    offsets.push_back(bytes);
    const int column = samples.columns[i];
    if (column < 0) {
      bytes += align(field.type.bytes());
      continue;
    }
    if (field.type.bytes() > most_gathered_bytes) return std::nullopt;
    const auto count = samples_of(field, samples.table->sample_bytes(static_cast<std::size_t>(column)));
    bytes += align(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  }
  try {
    for (const int column : samples.columns)
      if (column >= 0) samples.table->mirror_in(backend.memory(), static_cast<std::size_t>(column));
  } catch (const Error&) {
    // Another program took the room meanwhile.
    return std::nullopt;
  }
  const auto slots =
      static_cast<int>(std::clamp(ring_bytes / std::max<std::size_t>(bytes, 1), least_slots, most_slots));
  Feed feed;
  feed.state_.reset(
      new Feed::State{FeedRing(std::move(offsets), bytes, std::move(fill), slots, backend.staging(), samples)});
  return feed;
}

}  // namespace pando
