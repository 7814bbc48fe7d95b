// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "report/profile/profile.h"

namespace pando {

namespace {

using Kind = ProfileEvent::Kind;

bool is_pass(Kind kind) {
  return kind == Kind::forward || kind == Kind::backward || kind == Kind::exchange || kind == Kind::update;
}

// Microseconds from the first event to the end of the last, without what was not recorded.
double span_of(const Profile& profile) {
  if (profile.events.empty()) return 0;
  double recorded = 0;
  for (const RecordedPart& part : profile.recorded) recorded += part.end - part.begin;
  if (recorded > 0) return recorded;
  double first = std::numeric_limits<double>::max(), last = std::numeric_limits<double>::lowest();
  for (const ProfileEvent& event : profile.events) {
    first = std::min(first, event.begin);
    last = std::max(last, event.begin + event.duration);
  }
  return last - first;
}

std::map<int, int> tiles_by_device(const Profile& profile) {
  std::map<int, int> tiles;
  for (const ProfileEvent& event : profile.events) tiles[event.device] = std::max(tiles[event.device], event.tile + 1);
  return tiles;
}

std::string layer_of(const ProfileEvent& event) { return event.layer.empty() ? event.op : event.layer; }

struct Item {
  double share = 0, limit = 1;
  std::string text = {};

  double excess() const { return share / limit; }
};

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::optional<Item> item_of(const LayerTime& time) {
  const std::string share = percent(time.share);
  switch (time.kind) {
    case Kind::barrier:
      return Item{time.share, 0.2,
                  fmt::format("Tiles wait at barriers for {} of the time. Give each superstep more work: use larger "
                              "batches, or fewer tiles.",
                              share)};
    case Kind::feed:
      return Item{time.share, 0.1,
                  fmt::format("Devices wait for data for {} of the time. Do less in map, cache what it returns, and "
                              "prefetch more batches.",
                              share)};
    case Kind::exchange:
      return Item{
          time.share, 0.15,
          fmt::format("Devices exchange data for {} of the time. Accumulate more micro-batches for each update, "
                      "so that gradients are exchanged less often.",
                      share)};
    case Kind::kernel:
      if (time.name == "update")
        return Item{time.share, 0.4,
                    fmt::format("The optimizer takes {} of the time. Use larger batches, or accumulate more "
                                "micro-batches, so that weights are updated less often.",
                                share)};
      return Item{time.share, 0.4,
                  fmt::format("The layer {} takes {} of the time. Make that layer smaller or cheaper first: nothing "
                              "else can gain as much.",
                              time.name, share)};
    default: return std::nullopt;
  }
}

// The time in which a device has no event at all.
double idle_share(const Profile& profile, int device, double span) {
  struct Interval {
    double begin, end;
  };
  std::vector<Interval> intervals;
  for (const ProfileEvent& event : profile.events)
    if (event.device == device) intervals.push_back({event.begin, event.begin + event.duration});
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  double busy = 0, covered = std::numeric_limits<double>::lowest();
  for (const auto& [begin, end] : intervals) {
    busy += std::max(0.0, end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  // What began in a part that was recorded may end after it.
  return std::max(0.0, 1 - busy / span);
}

bool is_pipeline(const Profile& profile) {
  return std::any_of(profile.devices.begin(), profile.devices.end(),
                     [](const std::string& name) { return name.find(" stage 1") != std::string::npos; });
}

std::optional<Item> idle_item(const Profile& profile, double span) {
  if (!is_pipeline(profile)) return std::nullopt;
  std::optional<Item> most;
  for (int device = 0; device < static_cast<int>(profile.devices.size()); ++device) {
    const double share = idle_share(profile, device, span);
    if (most && share <= most->share) continue;
    most = Item{share, 0.3,
                fmt::format("{} is idle for {} of the time. Use fewer stages, divide the layers more evenly, or use a "
                            "larger accumulation count.",
                            device_name(profile, device), percent(share))};
  }
  return most;
}

}  // namespace

std::vector<LayerTime> time_by_layer(const Profile& profile) {
  std::map<int, int> tiles = tiles_by_device(profile);
  std::map<std::pair<Kind, std::string>, LayerTime> times;
  for (const ProfileEvent& event : profile.events) {
    // Their time is that of the kernels in them.
    if (is_pass(event.kind) && event.kind != Kind::exchange) continue;
    const bool of_device = event.kind == Kind::exchange || event.kind == Kind::feed;
    const std::string name = event.kind == Kind::kernel ? layer_of(event) : std::string(name_of(event.kind));
    LayerTime& time = times[{event.kind, name}];
    time.kind = event.kind;
    time.name = name;
    time.microseconds += event.duration * (of_device ? tiles[event.device] : 1);
    ++time.events;
  }
  double whole = 0;
  for (const auto& [device, count] : tiles) whole += span_of(profile) * count;
  std::vector<LayerTime> sorted;
  for (auto& [key, time] : times) {
    time.share = whole > 0 ? time.microseconds / whole : 0;
    sorted.push_back(std::move(time));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
  return sorted;
}

std::string advice(const Profile& profile) {
  const double span = span_of(profile);
  const std::vector<LayerTime> times = time_by_layer(profile);
  if (span <= 0) return "Nothing was recorded.";
  std::vector<Item> items;
  for (const LayerTime& time : times)
    if (const auto item = item_of(time)) items.push_back(*item);
  if (const auto item = idle_item(profile, span)) items.push_back(*item);
  const auto worst = std::max_element(items.begin(), items.end(),
                                      [](const Item& a, const Item& b) { return a.excess() < b.excess(); });
  if (worst != items.end() && worst->excess() > 1) return worst->text;
  if (times.empty()) return "Nothing stands out.";
  return fmt::format("Nothing stands out: the largest item is {} with {} of the time.", times.front().name,
                     percent(times.front().share));
}

std::vector<ProfileRow> rows_of(const Profile& profile) {
  std::map<std::pair<int, int>, ProfileRow> rows;
  for (const ProfileEvent& event : profile.events) {
    const int tile = is_pass(event.kind) ? ProfileRow::passes : event.tile;
    ProfileRow& row = rows[{event.device, tile}];
    row.device = event.device;
    row.tile = tile;
    row.events.push_back(&event);
  }
  std::vector<ProfileRow> sorted;
  for (auto& [place, row] : rows) {
    std::stable_sort(row.events.begin(), row.events.end(),
                     [](const ProfileEvent* a, const ProfileEvent* b) { return a->begin < b->begin; });
    sorted.push_back(std::move(row));
  }
  return sorted;
}

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, 7> names = {"kernel",   "barrier",  "feed",  "forward",
                                                            "backward", "exchange", "update"};
  return names[static_cast<std::size_t>(kind)];
}

std::string device_name(const Profile& profile, int device) {
  const auto index = static_cast<std::size_t>(device);
  return index < profile.devices.size() ? profile.devices[index] : fmt::format("device {}", device);
}

}  // namespace pando
