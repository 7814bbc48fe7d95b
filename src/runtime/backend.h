// What a kind of hardware offers: it takes a Plan and returns something that runs.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "plan/plan.h"
#include "runtime/feed.h"
#include "runtime/recorder.h"
#include "runtime/variable_store.h"

namespace pando {

// What random numbers and optimizers depend on: the number of the update, and of the first sample of the micro-batch
// within it.
struct Counter {
  std::int64_t update = 0, sample = 0;
};

// A Plan loaded onto one device.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs one execution of up to `steps` steps, fewer if `feeds` ends, and returns how many it ran. every_step[i] has
  // room for `steps` values of the i-th output that is kept for every step; each step is an update, and the first has
  // the number `first_update`. Throws Error if the Plan checks numerics and finds NaN or infinity.
  virtual std::int64_t run(std::int64_t steps, std::int64_t first_update, Feeds* feeds,
                           std::span<std::byte* const> every_step) = 0;
  // Runs one step on these inputs, one for each of Plan::inputs. Output number i of Plan::outputs goes to outputs[i],
  // unless that is null.
  virtual void step(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                    const Counter& counter) = 0;
  // Records kernels and waits until it is called with null; `plan` distinguishes the programs of a device.
  virtual void set_recorder(Recorder* recorder, std::int32_t plan) = 0;
  // Copies the value of output number `output` of the Plan in the last step.
  virtual void read_output(std::size_t output, std::byte* to) const = 0;
  // The arena, and what kernels use in addition while they run.
  virtual std::size_t working_bytes() const = 0;
};

// Where a variable of a Plan is.
using BindVariable = std::function<std::shared_ptr<StoredVariable>(const VariablePort& variable)>;

// One virtual IPU.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual int tiles() const = 0;
  // Throws Error if there is not enough memory or a variable has another type.
  virtual std::unique_ptr<Executable> load(const Plan& plan, const BindVariable& bind) = 0;
  // Runs one node on host arrays.
  virtual std::vector<Array> evaluate(const Node& node, const std::vector<Array>& inputs) = 0;
};

}  // namespace pando
