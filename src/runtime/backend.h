// SPDX-License-Identifier: Apache-2.0
// What a kind of hardware offers: its memory, and Plans that are loaded onto one of its devices and run there.
#pragma once
#include <pando/base/function.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/waiting.h"
#include "comm/device_sums.h"
#include "plan/capabilities.h"
#include "plan/plan.h"
#include "plan/pooled_gradients.h"
#include "runtime/feed.h"
#include "runtime/memory.h"
#include "runtime/recorder.h"
#include "runtime/variable_store.h"

namespace pando {

// What random numbers and optimizers depend on: the number of the update, and of the first sample of the micro-batch
// within it.
struct Counter {
  std::int64_t update = 0, sample = 0;
};

// What an execution of the loop over steps takes and gives.
struct LoopPorts {
  std::int64_t steps = 1;
  // The number of the first step's update; each step is one update.
  std::int64_t first_update = 0;
  // Null if the Plan has no inputs. A step takes one row, from the first that was not released on.
  FeedRing* feed = nullptr;
  // Room on the host for `steps` values of each output that is kept for every step, in their order.
  std::span<std::byte* const> every_step = {};
};

// How a step tells how far it is, so that its first results can be used before it ends. A backend need not tell: the
// caller knows when the step has ended.
struct Progress {
  struct Mark {
    // After this many supersteps, the value is told.
    std::int64_t supersteps = 0, value = 0;
  };
  // Null if it need not be told.
  Awaited<std::int64_t>* told = nullptr;
  // Is added to the values.
  std::int64_t base = 0;
  std::span<const Mark> marks = {};
};

// What a single step takes and gives: a place for each of Plan::inputs and Plan::outputs, in any memory. An output
// without a place is not wanted.
struct StepPorts {
  std::span<const Place> inputs = {}, outputs = {};
  Counter counter = {};
  Progress progress = {};
};

// A Plan loaded onto one device.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs steps until there are enough or the feed ends, and returns how many it ran. Throws Error if the Plan checks
  // numerics and finds NaN or infinity.
  virtual std::int64_t run(const LoopPorts& ports) = 0;
  // Runs one step.
  virtual void step(const StepPorts& ports) = 0;
  // Records kernels and waits until it is called with null; `plan` distinguishes the programs of a device.
  virtual void set_recorder(Recorder* recorder, std::int32_t plan) = 0;
  // Copies the value of output number `output` of the Plan after the last step of run() to the host.
  virtual void read_output(std::size_t output, std::byte* to) const = 0;
};

// Where a variable of a Plan is.
using BindVariable = Function<std::shared_ptr<StoredVariable>(const VariablePort& variable)>;

// The Plans of one device, which share their working memory.
struct LoadedPlans {
  // One for each Plan; null for a null Plan.
  std::vector<std::unique_ptr<Executable>> executables = {};
  // The arena, and what kernels use in addition while they run.
  std::size_t working_bytes = 0;
  // The tiles of the device that they use.
  int tiles = 1;
};

// One virtual IPU.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // What its kernels are made for: "avx512".
  virtual std::string instruction_set() const = 0;
  virtual int tiles() const = 0;
  virtual Capabilities capabilities() const { return {}; }
  // Whether a gradient of a convolution is faster here if it reads the gradient of the max pooling after it as values
  // and positions.
  virtual bool prefers_pooled_gradient(const PooledGradientChoice& choice) const {
    return prefers_fewer_products(choice);
  }
  // Where its arenas and variables are.
  virtual const std::shared_ptr<Memory>& memory() const = 0;
  // Where the host fills feeds for it, and can reach them.
  virtual const std::shared_ptr<Memory>& staging() const { return host_memory(); }
  // The bytes of samples that would still fit into its memory; 0 if its programs cannot gather rows of a feed there.
  virtual std::size_t room_for_samples() const { return 0; }
  // How sums in its memory are added up with those of other workers without the host; null if the host does it.
  virtual std::shared_ptr<SumLink> sum_link() const { return nullptr; }
  // Why the backend has no kernel for the call, in words that end an error message; empty if it has one.
  virtual std::string why_unsupported(const KernelCall& call) const = 0;
  // The plans, of which some may be null, never run at the same time. Throws Error if there is not enough memory or a
  // variable has another type.
  virtual LoadedPlans load(std::span<const Plan* const> plans, const BindVariable& bind) = 0;
};

}  // namespace pando
