// SPDX-License-Identifier: Apache-2.0
// Turns recordings of what devices did into a page or a trace.
#include <pando/program/profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plan/cost.h"
#include "program/state.h"
#include "report/profile/profile.h"

namespace pando {

namespace {

ProfileEvent::Kind kind_of(RecordedEvent::Kind kind) { return static_cast<ProfileEvent::Kind>(kind); }
static_assert(static_cast<int>(ProfileEvent::Kind::update) == static_cast<int>(RecordedEvent::Kind::update));

// The kernels of a plan in the order in which they are numbered.
std::vector<const KernelCall*> kernels_of(const Plan& plan) {
  std::vector<const KernelCall*> kernels;
  for (const Superstep& superstep : plan.supersteps)
    for (const KernelCall& call : superstep) kernels.push_back(&call);
  return kernels;
}

}  // namespace

// One device of a program that is recorded.
struct Track {
  struct Kernel {
    std::string op, name, layer;
  };
  std::string device;
  // That of all devices of the program.
  std::shared_ptr<const RecordingStart> start;
  Recorder recorder;
  // By the numbers in the recording.
  std::vector<std::vector<Kernel>> kernels;
  std::vector<std::size_t> live_bytes;

  Track(const std::string& device, int tiles, std::size_t capacity, const std::shared_ptr<RecordingStart>& start,
        const std::vector<const Plan*>& plans)
      : device(device), start(start), recorder(tiles + 1, capacity, start) {
    for (const Plan* plan : plans) {
      kernels.emplace_back();
      if (plan == nullptr) continue;
      for (const KernelCall* call : kernels_of(*plan))
        kernels.back().push_back({std::string(call->op->name), call->name, call->layer});
      const std::vector<std::size_t> live = pando::live_bytes(*plan);
      live_bytes.insert(live_bytes.end(), live.begin(), live.end());
    }
  }
  // Passes have their own row after those of the tiles.
  int pass_row() const { return recorder.tiles() - 1; }
};

namespace {

// Writes what the devices of a divided program do into their recordings.
class ActivityRecorder : public StepObserver {
 public:
  // By device.
  explicit ActivityRecorder(std::vector<Track*> tracks) : tracks_(std::move(tracks)), begun_(tracks_.size()) {}
  void begin(int device, Activity, std::int64_t) override {
    begun_[static_cast<std::size_t>(device)] = Recorder::now();
  }
  void end(int device, Activity activity, std::int64_t micro_batch) override {
    Track& track = *tracks_[static_cast<std::size_t>(device)];
    track.recorder.record(track.pass_row(), {recorded(activity), 0, micro_batch,
                                             begun_[static_cast<std::size_t>(device)], Recorder::now()});
  }

 private:
  static RecordedEvent::Kind recorded(Activity activity) {
    switch (activity) {
      case Activity::forward: return RecordedEvent::Kind::forward;
      case Activity::backward: return RecordedEvent::Kind::backward;
      case Activity::exchange: return RecordedEvent::Kind::exchange;
      case Activity::update: break;
    }
    return RecordedEvent::Kind::update;
  }

  const std::vector<Track*> tracks_;
  std::vector<std::int64_t> begun_;
};

// From a moment to another one. Nanoseconds of the steady clock.
struct Interval {
  std::int64_t begin, end;
};
constexpr Interval always{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};

// What two lists of intervals have in common. Both are in order.
std::vector<Interval> common_intervals(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) common.push_back(both);
    ++(a[i].end < b[j].end ? i : j);
  }
  return common;
}

// When all tiles of a program recorded what they did: always before it began and after it ended, as they did nothing.
std::vector<Interval> recorded_by(const std::vector<std::unique_ptr<Track>>& tracks, const RecordingStart& start) {
  RecordingWindows windows;
  std::int64_t end = start.time();
  for (const auto& track : tracks) {
    if (track->start.get() != &start) continue;
    for (int tile = 0; tile < track->recorder.tiles(); ++tile) {
      windows = windows.common(track->recorder.windows(tile));
      end = std::max(end, track->recorder.end(tile));
    }
  }
  if (windows.all()) return {always};
  std::vector<Interval> intervals;
  for (std::int64_t begin = start.time(); begin < end; begin += windows.distance)
    intervals.push_back({begin, std::min(begin + windows.length, end)});
  intervals.front().begin = always.begin;
  intervals.push_back({end, always.end});
  return intervals;
}

// A run of one or more programs, and when all of them recorded it. Nanoseconds of the steady clock.
struct RecordedSpan {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  std::vector<Interval> recorded = {always};

  bool includes(const RecordedEvent& event) const {
    const auto after =
        std::upper_bound(recorded.begin(), recorded.end(), event.begin,
                         [](std::int64_t time, const Interval& interval) { return time < interval.begin; });
    return after != recorded.begin() && event.begin < std::prev(after)->end;
  }
};

RecordedSpan span_of(const std::vector<std::unique_ptr<Track>>& tracks) {
  RecordedSpan span;
  const RecordingStart* program = nullptr;
  for (const auto& track : tracks) {
    for (int tile = 0; tile < track->recorder.tiles(); ++tile) {
      span.end = std::max(span.end, track->recorder.end(tile));
      for (const RecordedEvent& event : track->recorder.events(tile)) span.begin = std::min(span.begin, event.begin);
    }
    // The tracks of a program follow each other.
    if (track->start.get() == program) continue;
    program = track->start.get();
    span.recorded = common_intervals(span.recorded, recorded_by(tracks, *program));
  }
  return span;
}

// What was recorded, in microseconds from the first event; none if all was.
std::vector<RecordedPart> parts_of(const RecordedSpan& span) {
  std::vector<RecordedPart> parts;
  const std::vector<Interval> inside = common_intervals(span.recorded, {{span.begin, span.end}});
  if (inside.size() == 1 && inside.front().begin == span.begin && inside.front().end == span.end) return parts;
  for (const Interval& part : inside)
    parts.push_back(
        {static_cast<double>(part.begin - span.begin) / 1e3, static_cast<double>(part.end - span.begin) / 1e3});
  return parts;
}

void add_events(const Track& track, int device, const RecordedSpan& span, Profile& profile) {
  for (int tile = 0; tile < track.recorder.tiles(); ++tile)
    for (const RecordedEvent& event : track.recorder.events(tile)) {
      if (!span.includes(event)) continue;
      ProfileEvent shown{.kind = kind_of(event.kind),
                         .device = device,
                         // Passes belong to the whole device.
                         .tile = tile == track.pass_row() ? 0 : tile,
                         .begin = static_cast<double>(event.begin - span.begin) / 1e3,
                         .duration = static_cast<double>(event.end - event.begin) / 1e3};
      if (event.kind == RecordedEvent::Kind::kernel) {
        const Track::Kernel& kernel =
            track.kernels[static_cast<std::size_t>(event.plan)][static_cast<std::size_t>(event.number)];
        shown.op = kernel.op;
        shown.name = kernel.name;
        shown.layer = kernel.layer;
      } else if (tile == track.pass_row()) {
        shown.micro_batch = event.number;
      }
      profile.events.push_back(std::move(shown));
    }
}

}  // namespace

struct Profiler::State {
  std::string model;
  std::size_t capacity;
  std::vector<std::unique_ptr<Track>> tracks = {};
  std::vector<std::unique_ptr<StepObserver>> observers = {};
  std::vector<Function<void()>> detach = {};
};

Profiler::Profiler(const std::string& model, std::size_t events_per_tile) : state_(new State{model, events_per_tile}) {}
Profiler::~Profiler() { detach(); }

void Profiler::attach(Program& program) {
  Program::State& state = *program.state_;
  const std::size_t stages = state.plan.stages.size();
  const auto start = std::make_shared<RecordingStart>();
  std::vector<Track*> tracks;
  std::vector<Recorder*> recorders;
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    const std::string name =
        state.executor ? fmt::format("replica {} stage {}", i / stages, i % stages) : std::string("device");
    state_->tracks.push_back(std::make_unique<Track>(name, state.devices[i]->backend->tiles(), state_->capacity, start,
                                                     state.plan.stages[i % stages].all()));
    tracks.push_back(state_->tracks.back().get());
    recorders.push_back(&tracks.back()->recorder);
  }
  if (!state.executor) {
    state.executable().set_recorder(recorders.front(), 0);
    state_->detach.push_back([&state] { state.executable().set_recorder(nullptr, 0); });
    return;
  }
  state_->observers.push_back(std::make_unique<ActivityRecorder>(std::move(tracks)));
  state.executor->set_recorders(recorders);
  state.executor->set_observer(state_->observers.back().get());
  state_->detach.push_back([&state] {
    state.executor->set_recorders({});
    state.executor->set_observer(nullptr);
  });
}

void Profiler::detach() {
  for (const auto& end : std::exchange(state_->detach, {})) end();
}

std::vector<KernelTime> Profiler::kernel_times() const {
  if (state_->tracks.empty()) return {};
  const Track& track = *state_->tracks.front();
  const RecordedSpan span = span_of(state_->tracks);
  std::vector<KernelTime> times;
  for (const Track::Kernel& kernel : track.kernels.front()) times.push_back({kernel.op, kernel.name, 0});
  KernelTime barrier{"barrier", "", 0}, feed{"feed", "", 0};
  std::int64_t steps = 0;
  // The program may leave out the last tiles; and a kernel of two parts is recorded twice in a step.
  int tiles = 1;
  bool is_new_step = true;
  for (int tile = 0; tile < track.pass_row(); ++tile)
    for (const RecordedEvent& event : track.recorder.events(tile)) {
      if (!span.includes(event)) continue;
      const double microseconds = static_cast<double>(event.end - event.begin) / 1e3;
      tiles = std::max(tiles, tile + 1);
      is_new_step |= event.kind == RecordedEvent::Kind::feed;
      if (event.kind == RecordedEvent::Kind::barrier) barrier.microseconds += microseconds;
      else if (event.kind == RecordedEvent::Kind::feed) feed.microseconds += microseconds;
      else if (event.kind == RecordedEvent::Kind::kernel && event.plan == 0) {
        times[static_cast<std::size_t>(event.number)].microseconds += microseconds;
        if (tile == 0 && event.number == 0 && std::exchange(is_new_step, false)) ++steps;
      }
    }
  times.push_back(barrier);
  times.push_back(feed);
  for (KernelTime& time : times) time.microseconds /= static_cast<double>(std::max<std::int64_t>(1, steps) * tiles);
  return times;
}

report::Timeline Profiler::timeline() const {
  const RecordedSpan span = span_of(state_->tracks);
  auto profile = std::make_shared<Profile>();
  profile->model = state_->model;
  profile->recorded = parts_of(span);
  for (std::size_t i = 0; i < state_->tracks.size(); ++i) {
    const Track& track = *state_->tracks[i];
    profile->devices.push_back(track.device);
    profile->memory.push_back({track.device, track.live_bytes});
    add_events(track, static_cast<int>(i), span, *profile);
  }
  return report::Timeline(std::move(profile));
}

void Profiler::save(const std::string& path) const { timeline().save(path); }

}  // namespace pando
