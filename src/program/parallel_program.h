// What the files that wire divided steps share: a ParallelProgram from the inside.
#pragma once
#include <pando/program/parallel.h>

#include <map>
#include <optional>

#include "program/state.h"
#include "runtime/pipeline_executor.h"

namespace pando {

// Names get places one after the other.
class PortLayout {
 public:
  std::size_t place(const std::string& name, const Type& type);
  std::size_t at(const std::string& name) const { return offsets_.at(name); }
  std::size_t bytes() const { return bytes_; }
  const std::vector<PortInfo>& ports() const { return ports_; }

 private:
  std::map<std::string, std::size_t> offsets_;
  std::vector<PortInfo> ports_;
  std::size_t bytes_ = 0;
};

// The places of everything that passes between host, stages and passes.
struct PortPlaces {
  std::vector<PortLayout> slots;
  PortLayout host, results;

  void add_feeds(std::size_t stage, const Plan& plan);
  std::vector<PortRoute> feed_routes(std::size_t stage, const Plan& plan) const;
  std::vector<PortRoute> output_routes(std::size_t stage, const Plan& plan);
};

// The compiled graphs of one stage, for all replicas.
struct StagePlans {
  std::optional<Plan> forward, backward_first, backward_next, update;

  // In the order of the numbers by which a recording tells them apart; null where there is none.
  std::vector<const Plan*> all() const {
    std::vector<const Plan*> list;
    for (const auto* plan : {&forward, &backward_first, &backward_next, &update})
      list.push_back(*plan ? &**plan : nullptr);
    return list;
  }
};

struct ParallelProgram::State {
  std::vector<std::shared_ptr<Device::State>> devices;
  std::vector<Variables> replicas;
  std::vector<std::string> variable_names;
  // What the replicas after the first have of it.
  std::vector<VariableCopies> copies;
  PortPlaces places;
  std::vector<StagePlans> plans;
  std::map<std::string, Type> variable_types;
  std::unique_ptr<PipelineExecutor> executor;
  // By stage.
  std::vector<std::size_t> working_bytes, stash_bytes;
  std::int64_t rows_run = 0;
  std::atomic<bool> in_use = false;
  std::vector<std::byte> results;
};

}  // namespace pando
