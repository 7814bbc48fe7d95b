// SPDX-License-Identifier: Apache-2.0
#include "model/step.h"

#include <algorithm>

namespace pando {

Step::Step(const Trace& trace, const std::vector<Device>& devices, const Division& division, Variables variables,
           StepFeeds feeds, const ProgramOptions& options)
    : division(division),
      feeds(std::move(feeds)),
      fed_indices(find_fed_indices(trace, this->feeds.columns)),
      workers(options.workers),
      program((trace.bind(variables), trace.graph()), devices, division, variables, options) {
  const std::vector<std::string>& columns = this->feeds.columns;
  for (const PortInfo& port : program.feeds())
    column_of_feed_.push_back(
        static_cast<std::size_t>(std::find(columns.begin(), columns.end(), port.name) - columns.begin()));
}

void Step::check_indices(const Arrays& columns) const {
  for (const FedIndices& indices : fed_indices) {
    const Array& column = columns.at(indices.column);
    indices.check(column.raw(), column.elements());
  }
}

int Step::feed_index(const std::string& name) const {
  const std::vector<PortInfo> ports = program.feeds();
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const PortInfo& port) { return port.name == name; });
  return found == ports.end() ? -1 : static_cast<int>(found - ports.begin());
}

Arrays Step::run_once(const Arrays& columns, std::int64_t update) {
  check_indices(columns);
  std::vector<const std::byte*> fed;
  for (std::size_t column : column_of_feed_) fed.push_back(columns.at(column).raw());
  Arrays outputs;
  std::vector<std::byte*> memory;
  for (const PortInfo& port : program.outputs())
    memory.push_back(outputs.emplace_back(Array::uninitialised(port.type.dtype, port.type.shape)).mutable_raw());
  program.step(fed, memory, update);
  return outputs;
}

}  // namespace pando
