// SPDX-License-Identifier: Apache-2.0
#include <pando/base/function.h>
#include <pando/frontends/ipu/config.h>
#include <pando/frontends/ipu/strategy.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "base/notice.h"
#include "base/text.h"
#include "model/target.h"

namespace pando {

std::vector<DeviceInfo> devices() {
  const auto describe = [](const Target& target) {
    const Device& first = target.ipus.front();
    return DeviceInfo{target.name, target.is_host ? 0 : static_cast<int>(target.ipus.size()), first.tiles(),
                      first.backend(), first.instruction_set()};
  };
  std::vector<DeviceInfo> list = {describe(*host_target())};
  for (const auto& target : ipu_targets()) list.push_back(describe(*target));
  return list;
}

namespace ipu {

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (c == ',') words.emplace_back();
    else if (c != ' ' && c != '[' && c != ']' && c != '(' && c != ')') words.back() += c;
  }
  return words;
}

int parse_number(const std::string& option, const std::string& wanted, const std::string& value,
                 const std::string& word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || word.empty())
    throw Error(fmt::format("IPUConfig: {} takes {}, not '{}'", option, wanted, value));
  return number;
}

void set_counts(Counts& counts, const std::string& option, const std::string& value) {
  Counts list;
  for (const std::string& word : words_of(value))
    list.push_back(parse_number(option, "a whole number or a list such as [1, 2]", value, word));
  counts = list;
}

bool parse_bool(const std::string& option, const std::string& value) {
  if (value == "true" || value == "True") return true;
  if (value == "false" || value == "False") return false;
  throw Error(fmt::format("IPUConfig: {} takes true or false, not '{}'", option, value));
}

using Setter = Function<void(IPUConfig&, const std::string& option, const std::string& value)>;
Setter behaviour_setter(bool FloatingPointBehaviour::*member) {
  return [member](IPUConfig& config, const std::string& option, const std::string& value) {
    config.floating_point_behaviour.*member = parse_bool(option, value);
  };
}

const std::map<std::string, Setter>& setters() {
  using Behaviour = FloatingPointBehaviour;
  static const std::map<std::string, Setter> table = {
      {"auto_select_ipus", [](IPUConfig& c, const auto& o, const auto& v) { set_counts(c.auto_select_ipus, o, v); }},
      {"select_ipus", [](IPUConfig& c, const auto& o, const auto& v) { set_counts(c.select_ipus, o, v); }},
      {"tiles_per_ipu",
       [](IPUConfig& c, const auto& o, const auto& v) { c.tiles_per_ipu = parse_number(o, "a whole number", v, v); }},
      {"backend", [](IPUConfig& c, const auto&, const auto& v) { c.backend = v; }},
      {"instruction_set", [](IPUConfig& c, const auto&, const auto& v) { c.instruction_set = v; }},
      {"floating_point_behaviour.inv", behaviour_setter(&Behaviour::inv)},
      {"floating_point_behaviour.div0", behaviour_setter(&Behaviour::div0)},
      {"floating_point_behaviour.oflo", behaviour_setter(&Behaviour::oflo)},
      {"floating_point_behaviour.set_all", behaviour_setter(&Behaviour::set_all)}};
  return table;
}

// The number of IPUs of each device.
std::vector<int> device_sizes(const IPUConfig& config) {
  if (!config.select_ipus.empty()) {
    if (!config.auto_select_ipus.empty())
      throw Error("IPUConfig: auto_select_ipus and select_ipus are both set; use one of them");
    for (std::size_t i = 0; i < config.select_ipus.size(); ++i) {
      const int number = config.select_ipus[i];
      if (number < 0) throw Error(fmt::format("IPUConfig: select_ipus has {} but IPUs are numbered from 0", number));
      if (std::count(config.select_ipus.begin(), config.select_ipus.end(), number) > 1)
        throw Error(fmt::format("IPUConfig: select_ipus has {} twice; each device needs its own IPU", number));
    }
    return std::vector<int>(config.select_ipus.size(), 1);
  }
  if (config.auto_select_ipus.empty())
    throw Error("IPUConfig: no IPU is selected; set auto_select_ipus to the number you want");
  for (int count : config.auto_select_ipus)
    if (count < 1)
      throw Error(fmt::format("IPUConfig: auto_select_ipus is {} but a device needs at least 1 IPU", count));
  return config.auto_select_ipus;
}

}  // namespace

void IPUConfig::set(const std::string& option, const std::string& value) {
  const auto found = setters().find(option);
  if (found == setters().end()) {
    std::vector<std::string> known;
    for (const auto& [name, setter] : setters()) known.push_back(name);
    throw Error(fmt::format("IPUConfig: {}", unknown_name("option", option, known)));
  }
  found->second(*this, option, value);
}

void IPUConfig::configure_ipu_system() const {
  const std::vector<int> sizes = device_sizes(*this);
  const std::vector<std::string> backends = available_backends();
  if (!backend.empty() && std::find(backends.begin(), backends.end(), backend) == backends.end())
    throw Error(fmt::format("IPUConfig: {}", unknown_name("backend", backend, backends)));
  if (tiles_per_ipu < 0)
    throw Error(fmt::format("IPUConfig: tiles_per_ipu is {} but must not be negative", tiles_per_ipu));
  const std::vector<Device> ipus =
      make_ipus(std::accumulate(sizes.begin(), sizes.end(), 0),
                {.tiles = tiles_per_ipu, .instruction_set = instruction_set, .backend = backend});
  std::vector<std::shared_ptr<const Target>> targets;
  auto next = ipus.begin();
  for (std::size_t i = 0; i < sizes.size(); next += sizes[i++])
    targets.push_back(std::make_shared<const Target>(Target{fmt::format("/device:IPU:{}", i), false,
                                                            std::vector<Device>(next, next + sizes[i]),
                                                            floating_point_behaviour.checks()}));
  if (!ipu_targets().empty())
    warn("ipu", "the IPU system was configured before and is reset now; models keep their old devices.");
  set_ipu_targets(std::move(targets));
}

void reset_ipu_configuration() { set_ipu_targets({}); }

IPUStrategy::IPUStrategy(const std::string& device) : IPUStrategy(device, nullptr) {}
IPUStrategy::IPUStrategy(const std::string& device, std::shared_ptr<Workers> workers)
    : device_(find_ipu_target("IPUStrategy", device)->name), workers_(std::move(workers)) {}

IPUStrategy::Scope::Scope(std::shared_ptr<const Target> target) : target_(std::move(target)) { enter_target(target_); }
IPUStrategy::Scope::~Scope() { leave_target(target_); }

IPUStrategy::Scope IPUStrategy::scope() const {
  const std::shared_ptr<const Target> found = find_ipu_target("IPUStrategy::scope", device_);
  if (!workers_) return Scope(found);
  Target shared = *found;
  shared.workers = workers_;
  return Scope(std::make_shared<const Target>(std::move(shared)));
}
int IPUStrategy::num_ipus() const {
  return static_cast<int>(find_ipu_target("IPUStrategy::num_ipus", device_)->ipus.size());
}

IPUMultiWorkerStrategy::IPUMultiWorkerStrategy(const std::string& device)
    : IPUMultiWorkerStrategy(device, mpi_workers()) {}
IPUMultiWorkerStrategy::IPUMultiWorkerStrategy(const std::string& device, const std::shared_ptr<Workers>& workers)
    : IPUStrategy(device, workers), workers_(workers) {}
int IPUMultiWorkerStrategy::worker_rank() const { return workers_->rank(); }
int IPUMultiWorkerStrategy::num_workers() const { return workers_->count(); }

}  // namespace ipu
}  // namespace pando
