// SPDX-License-Identifier: Apache-2.0
// ModelDivision: how a model's step is divided over the IPUs of its device.
#pragma once
#include "frontends/keras/run/step.h"
#include "model/target.h"

namespace pando::keras {

// What the user said about the division.
struct Parallelism {
  // The stage of each call, in the order of a model's stage assignment; if empty, the scopes decide.
  std::vector<int> stages = {};
  std::optional<ipu::keras::PipeliningOptions> pipelining = {};
  std::optional<ipu::keras::GradientAccumulationOptions> accumulation = {};
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;

  std::vector<int> device_mapping() const { return pipelining ? pipelining->device_mapping : std::vector<int>(); }
};

// The number of replicas is that of all IPUs divided by the IPUs of a replica. `who` begins messages. Throws Error if
// there are more stages than IPUs or the device mapping does not fit.
ModelDivision make_division(const std::string& who, const Parallelism& parallelism, const Target& target,
                            const Network& network);

// Throws Error if a pipeline is to be trained and the number of micro-batches of an update is not set.
void check_accumulation(const std::string& who, const Parallelism& parallelism, const ModelDivision& division);

// The IPUs of all replicas: the stages of the first, then those of the next.
std::vector<Device> devices_of(const ModelDivision& division, const Parallelism& parallelism, const Target& target);

// Throws Error unless the count is positive.
void check_accumulation_count(const char* who, std::int64_t count);

}  // namespace pando::keras
