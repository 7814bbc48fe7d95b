// SPDX-License-Identifier: Apache-2.0
// The table of backends. "cpu" is always there; others add themselves.
#include "program/backends.h"

#include <cstdlib>
#include <map>

#include "backends/cpu/cpu_backend.h"
#include "base/text.h"

namespace pando {

namespace {

std::map<std::string, MakeBackend>& registered_backends() {
  static std::map<std::string, MakeBackend> backends = {{"cpu", [](const DeviceOptions& options) {
                                                           return std::make_unique<cpu::CpuBackend>(
                                                               options.tiles, options.instruction_set);
                                                         }}};
  return backends;
}

}  // namespace

void register_backend(const std::string& name, MakeBackend make) { registered_backends()[name] = std::move(make); }

std::vector<std::string> available_backends() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registered_backends()) names.push_back(name);
  return names;
}

std::unique_ptr<Backend> make_backend(const DeviceOptions& options) {
  const char* environment = std::getenv("PANDO_BACKEND");
  const bool is_chosen = options.backend.empty() && environment != nullptr && *environment != 0;
  const std::string name = is_chosen ? environment : options.backend.empty() ? "cpu" : options.backend;
  const auto found = registered_backends().find(name);
  if (found == registered_backends().end())
    throw Error((is_chosen ? "PANDO_BACKEND: " : "") + unknown_name("backend", name, available_backends()));
  return found->second(options);
}

}  // namespace pando
