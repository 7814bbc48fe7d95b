// SPDX-License-Identifier: Apache-2.0
// Profile: what devices did when, as a timeline to look at, sums to sort and one piece of advice.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

// Kernels and barriers belong to one tile. Passes (forward, backward, exchange, update) and feeds belong to the whole
// device: one tile records them, and all its tiles spend that time.
struct ProfileEvent {
  enum class Kind : std::uint8_t { kernel, barrier, feed, forward, backward, exchange, update };
  Kind kind = Kind::kernel;
  int device = 0;
  int tile = 0;
  // Kernels: "conv2d", "conv2d_1/gradient" and "conv2d_1".
  std::string op = {};
  std::string name = {};
  std::string layer = {};
  // Passes.
  std::int64_t micro_batch = -1;
  // Microseconds from the beginning of the recording.
  double begin = 0, duration = 0;
};

struct DeviceMemory {
  std::string device = {};
  // For each superstep of a step.
  std::vector<std::size_t> live_bytes = {};
};

// Microseconds from the beginning of the recording.
struct RecordedPart {
  double begin = 0, end = 0;
};

struct Profile {
  std::string model = {};
  // "/device:IPU:0 replica 0 stage 1"
  std::vector<std::string> devices = {};
  std::vector<ProfileEvent> events = {};
  std::vector<DeviceMemory> memory = {};
  // The parts of a long run that were recorded, in order; if empty, all of it was.
  std::vector<RecordedPart> recorded = {};
};

// JSON of the Chrome trace event format, which Perfetto opens: a process for each device, a thread for each tile and
// one for the passes.
std::string chrome_trace(const Profile& profile);

// One HTML page that needs nothing else.
std::string profile_page(const Profile& profile);

struct LayerTime {
  // kernel: a layer with its gradient. barrier, feed, exchange: all waits of that kind.
  ProfileEvent::Kind kind = ProfileEvent::Kind::kernel;
  std::string name = {};
  // Summed over all tiles.
  double microseconds = 0;
  // The share of the time of all tiles from the first event to the last; the rest, up to 1, is idle time.
  double share = 0;
  std::int64_t events = 0;
};

// Largest first.
std::vector<LayerTime> time_by_layer(const Profile& profile);

// Advice, in one or two sentences, on the item that is furthest over its limit.
std::string advice(const Profile& profile);

// A line of the timeline: a tile of a device, or its passes.
struct ProfileRow {
  static constexpr int passes = -1;
  int device = 0;
  int tile = passes;
  // Sorted by their beginning; the profile owns them.
  std::vector<const ProfileEvent*> events = {};
};

// Sorted by device, the passes before the tiles; only rows that have events.
std::vector<ProfileRow> rows_of(const Profile& profile);

std::string_view name_of(ProfileEvent::Kind kind);
std::string device_name(const Profile& profile, int device);

}  // namespace pando
