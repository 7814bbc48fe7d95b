// SPDX-License-Identifier: Apache-2.0
#include "model/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/machine/cores.h"
#include "base/text.h"

namespace pando {

namespace {

thread_local std::vector<std::shared_ptr<const Target>> scopes;
thread_local std::optional<int> stage_of_scope;

std::mutex system_mutex;
std::vector<std::shared_ptr<const Target>> configured;

}  // namespace

std::shared_ptr<const Target> host_target() {
  static const auto host = std::make_shared<const Target>(Target{"/device:CPU:0", true, {Device()}});
  return host;
}

std::shared_ptr<const Target> current_target() { return scopes.empty() ? host_target() : scopes.back(); }
void enter_target(std::shared_ptr<const Target> target) { scopes.push_back(std::move(target)); }

void leave_target(const std::shared_ptr<const Target>& target) {
  // Scopes that are kept in objects need not end in the reverse order.
  const auto last = std::find(scopes.rbegin(), scopes.rend(), target);
  if (last != scopes.rend()) scopes.erase(std::next(last).base());
}

std::optional<int> current_stage() { return stage_of_scope; }
void set_current_stage(std::optional<int> stage) { stage_of_scope = stage; }

std::vector<Device> make_ipus(int count, DeviceOptions options) {
  if (options.tiles == 0 && count > 1) options.tiles = std::max(1, usable_cores() / count);
  std::vector<Device> ipus;
  for (int i = 0; i < count; ++i) ipus.emplace_back(options);
  return ipus;
}

std::vector<std::shared_ptr<const Target>> ipu_targets() {
  const std::lock_guard lock(system_mutex);
  return configured;
}

std::shared_ptr<const Target> find_ipu_target(const std::string& who, const std::string& name) {
  const auto targets = ipu_targets();
  if (targets.empty())
    throw Error(fmt::format("{}: no IPU system is configured; call configure_ipu_system() of an IPUConfig first", who));
  std::vector<std::string> known;
  for (const auto& target : targets) {
    if (target->name == name) return target;
    known.push_back(target->name);
  }
  throw Error(fmt::format("{}: {}", who, unknown_name("device", name, known)));
}

void set_ipu_targets(std::vector<std::shared_ptr<const Target>> targets) {
  const std::lock_guard lock(system_mutex);
  configured = std::move(targets);
}

}  // namespace pando
