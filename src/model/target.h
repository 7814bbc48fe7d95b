// SPDX-License-Identifier: Apache-2.0
// Target: where a model runs, the host or a device of one or more virtual IPUs.
#pragma once
#include <pando/program/program.h>

#include <optional>

namespace pando {

struct Target {
  // "/device:IPU:0".
  std::string name;
  bool is_host = false;
  std::vector<Device> ipus;
  // Programs stop when a value becomes a NaN or infinite.
  bool check_numerics = false;
  // The processes whose IPUs act as one system, each with as many IPUs as this target has; null if this process works
  // alone.
  std::shared_ptr<Workers> workers = {};

  int worker_count() const { return workers ? workers->count() : 1; }
};

// The target of the innermost scope on this thread; the host outside of all.
std::shared_ptr<const Target> current_target();
void enter_target(std::shared_ptr<const Target> target);
void leave_target(const std::shared_ptr<const Target>& target);

// The pipeline stage that calls of layers on this thread belong to; nothing outside of all PipelineStage scopes.
std::optional<int> current_stage();
void set_current_stage(std::optional<int> stage);

// All cores as one device.
std::shared_ptr<const Target> host_target();

// Virtual IPUs that divide the cores among them; more IPUs than cores time-share them. 0 tiles means as many as the
// cores allow.
std::vector<Device> make_ipus(int count, DeviceOptions options = {});

// The devices of the configured IPU system, in the order of their names; empty if there is none.
std::vector<std::shared_ptr<const Target>> ipu_targets();
// Throws Error, beginning with `who`, if no IPU system is configured or it has no such device.
std::shared_ptr<const Target> find_ipu_target(const std::string& who, const std::string& name);
void set_ipu_targets(std::vector<std::shared_ptr<const Target>> targets);

}  // namespace pando
