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

// One device that is recorded.
struct Track {
  struct Kernel {
    std::string op, name, layer;
  };
  std::string device;
  Recorder recorder;
  // By the numbers in the recording.
  std::vector<std::vector<Kernel>> kernels;
  std::vector<std::size_t> live_bytes;

  Track(const std::string& device, int tiles, std::size_t capacity, const std::shared_ptr<RecordingWindows>& windows,
        const std::vector<const Plan*>& plans)
      : device(device), recorder(tiles + 1, capacity, windows) {
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

// The part of a run that all tiles recorded. Nanoseconds of the steady clock.
struct RecordedSpan {
  std::shared_ptr<const RecordingWindows> windows;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  // Every how many windows were kept.
  std::int64_t stride = 1;

  bool includes(const RecordedEvent& event) const { return windows->includes(event.begin, stride); }
};

RecordedSpan span_of(const std::vector<std::unique_ptr<Track>>& tracks,
                     const std::shared_ptr<const RecordingWindows>& windows) {
  RecordedSpan span{.windows = windows};
  for (const auto& track : tracks)
    for (int tile = 0; tile < track->recorder.tiles(); ++tile) {
      span.stride = std::max(span.stride, track->recorder.stride(tile));
      for (const RecordedEvent& event : track->recorder.events(tile)) {
        span.begin = std::min(span.begin, event.begin);
        span.end = std::max(span.end, event.end);
      }
    }
  return span;
}

// The windows that were kept, in microseconds from the first event; none if all was.
std::vector<RecordedPart> parts_of(const RecordedSpan& span) {
  std::vector<RecordedPart> parts;
  if (span.stride == 1) return parts;
  const std::int64_t length = span.windows->length();
  for (std::int64_t begin = span.windows->begin(); begin < span.end; begin += span.stride * length) {
    const std::int64_t from = std::max(begin, span.begin), to = std::min(begin + length, span.end);
    if (from < to)
      parts.push_back({static_cast<double>(from - span.begin) / 1e3, static_cast<double>(to - span.begin) / 1e3});
  }
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
  std::shared_ptr<RecordingWindows> windows = std::make_shared<RecordingWindows>();
  std::vector<std::unique_ptr<Track>> tracks = {};
  std::vector<std::unique_ptr<StepObserver>> observers = {};
  std::vector<Function<void()>> detach = {};
};

Profiler::Profiler(const std::string& model, std::size_t events_per_tile) : state_(new State{model, events_per_tile}) {}
Profiler::~Profiler() { detach(); }

void Profiler::attach(Program& program) {
  Program::State& state = *program.state_;
  const std::size_t stages = state.plan.stages.size();
  std::vector<Track*> tracks;
  std::vector<Recorder*> recorders;
  for (std::size_t i = 0; i < state.devices.size(); ++i) {
    const std::string name =
        state.executor ? fmt::format("replica {} stage {}", i / stages, i % stages) : std::string("device");
    state_->tracks.push_back(std::make_unique<Track>(name, state.devices[i]->backend->tiles(), state_->capacity,
                                                     state_->windows, state.plan.stages[i % stages].all()));
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
  const RecordedSpan span = span_of(state_->tracks, state_->windows);
  std::vector<KernelTime> times;
  for (const Track::Kernel& kernel : track.kernels.front()) times.push_back({kernel.op, kernel.name, 0});
  KernelTime barrier{"barrier", "", 0}, feed{"feed", "", 0};
  std::int64_t steps = 0;
  for (int tile = 0; tile < track.pass_row(); ++tile)
    for (const RecordedEvent& event : track.recorder.events(tile)) {
      if (!span.includes(event)) continue;
      const double microseconds = static_cast<double>(event.end - event.begin) / 1e3;
      if (event.kind == RecordedEvent::Kind::barrier) barrier.microseconds += microseconds;
      else if (event.kind == RecordedEvent::Kind::feed) feed.microseconds += microseconds;
      else if (event.kind == RecordedEvent::Kind::kernel && event.plan == 0) {
        times[static_cast<std::size_t>(event.number)].microseconds += microseconds;
        if (tile == 0 && event.number == 0) ++steps;
      }
    }
  times.push_back(barrier);
  times.push_back(feed);
  for (KernelTime& time : times)
    time.microseconds /= static_cast<double>(std::max<std::int64_t>(1, steps) * track.pass_row());
  return times;
}

report::Timeline Profiler::timeline() const {
  const RecordedSpan span = span_of(state_->tracks, state_->windows);
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
