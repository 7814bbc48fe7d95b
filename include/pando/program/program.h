// From a graph to a program that runs on a virtual IPU.
#pragma once
#include <pando/graph/graph.h>
#include <pando/graph/division.h>

#include <functional>
#include <map>
#include <memory>
#include <span>

namespace pando {

struct DeviceOptions {
  // Threads that share out the work; 0 takes one for each core that the process may use.
  int tiles = 0;
  // "portable", "neon", "avx2" or "avx512"; empty takes the best that this machine has, or what the environment
  // variable PANDO_INSTRUCTION_SET says.
  std::string instruction_set = {};
};

// A virtual IPU: its tiles wait for programs while it lives. Copies are the same device. Any number of threads may run
// programs on it at once: the first has the tiles, each of the others does the work of all tiles on its own thread
// meanwhile, with the same results. A child made by fork() cannot use a device of several tiles; run() then throws
// Error.
class PANDO_API Device {
 public:
  // Throws Error for an instruction set that is unknown or that this machine lacks.
  explicit Device(const DeviceOptions& options = {});
  int tiles() const;
  std::string instruction_set() const;

 private:
  friend class Program;
  struct State;
  std::shared_ptr<State> state_;
};

// The instruction sets that Device takes on this machine, the slowest first.
PANDO_API std::vector<std::string> available_instruction_sets();

// The state of a model on a device: programs that are given the same Variables share them by name. Copies are the same
// state. A variable that was never set is zero. Any number of threads may use them: a step of a program reads and
// assigns its variables as one action, which set(), get() and other programs come before or after.
class PANDO_API Variables {
 public:
  Variables();
  // Throws Error if a program that uses the variable wants another type or shape.
  void set(const std::string& name, const Array& value);
  // A copy. Throws Error with the nearest name if there is no such variable.
  Array get(const std::string& name) const;
  std::vector<std::string> names() const;
  // From here on `name` is the same variable as `other_name` of `other`. Throws Error if there is a `name` already, and
  // it is another variable.
  void share(const std::string& name, const Variables& other, const std::string& other_name);

 private:
  friend class Program;
  struct State;
  std::shared_ptr<State> state_;
};

// What compiling did, pass by pass.
struct PassInfo {
  std::string name;
  double microseconds = 0;
  // The graph, or after the last pass the plan, as text; made only when called, during on_pass.
  std::function<std::string()> text;
};

// What the factors of matrix products and convolutions are computed in. mixed_bfloat16: rounded to bfloat16 where the
// processor multiplies those faster; weights, sums and everything else stay float32.
enum class Precision { float32, mixed_bfloat16 };
// By its name; throws Error with the nearest one.
PANDO_API Precision precision_named(const std::string& name);

struct ProgramOptions {
  // Names as in compile_passes().
  std::vector<std::string> disabled_passes = {};
  // Stop with an Error that names the op when a value becomes NaN or infinite. Slow.
  bool check_numerics = false;
  Precision precision = Precision::float32;
  std::function<void(const PassInfo&)> on_pass = {};
};

// The passes in the order in which they run.
PANDO_API std::vector<std::string> compile_passes();

// Writes the feeds of row number `row`: for each replica, one pointer for each of Program::feeds(). Returns false when
// there are no more; what it throws reaches the caller of Program::run.
using FillFeeds = std::function<bool(std::int64_t row, std::span<std::byte* const> feeds)>;

class Feed;

// A name and a type that a program takes or gives.
struct PortInfo {
  std::string name;
  Type type;
};

// A variable that a program uses.
struct VariableInfo {
  std::string name;
  Type type;
  VariableRole role = VariableRole::weight;
};

// What a launch of a program runs.
struct Launch {
  // A row is a micro-batch for each replica.
  std::int64_t rows = 1;
  // The number of its first update, which random numbers and optimizers depend on.
  std::int64_t first_update = 0;
};

// What a stage of a program needs on its device, in bytes, and does for a micro-batch.
struct DeviceUse {
  // What is kept: weights and statistics, and what optimizers keep for them.
  std::size_t weights = 0, slots = 0;
  // What its programs work in; what waits between passes; sums of gradients; and what is fed, counted in stage 0.
  std::size_t working = 0, stash = 0, sums = 0, feeds = 0;
  double megaflops = 0;
};

// A kernel of a compiled program.
struct KernelInfo {
  std::string op;
  // Where it comes from: "conv2d/gradient".
  std::string name;
  double flops = 0;
  // Read and written.
  double bytes = 0;
};

// A compiled graph on a device, or divided over several. One thread at a time uses a program: a run or step while
// another thread is in one throws Error. Different programs may run at the same time, also on one device and with the
// same variables.
class PANDO_API Program {
 public:
  // Compiles. Throws Error if the graph does not verify, a variable does not fit, or memory cannot be had.
  Program(const Graph& graph, const Device& device, const Variables& variables, const ProgramOptions& options = {});
  // The graph is that of a whole step, whose nodes know their stages. `devices` has those of the stages of the first
  // replica, then those of the next, ... The first replica works on `variables`; the others have copies of their own,
  // which follow what is set there.
  Program(const Graph& graph, const std::vector<Device>& devices, const Division& division, const Variables& variables,
          const ProgramOptions& options = {});
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // What the host feeds to each replica.
  std::vector<PortInfo> feeds() const;
  // The variables of the graph, in its order.
  std::vector<VariableInfo> variables() const;
  // Runs up to as many rows in one execution, fewer if the feed ends; returns how many it ran. The last update is made
  // of what there is.
  std::int64_t run(const Launch& launch, Feed& feed);
  // Goes on counting updates where the last run ended.
  std::int64_t run(std::int64_t rows, Feed& feed);
  // For a graph without inputs.
  std::int64_t run(const Launch& launch);
  std::int64_t run(std::int64_t rows);
  std::vector<PortInfo> outputs() const;
  // One step on memory of the caller's, in the order of feeds() and outputs(); nothing is allocated or copied. Throws
  // Error if the program is divided.
  void step(std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs, std::int64_t update = 0);
  // One step on these feeds; returns all outputs by name. Throws Error unless names, types and shapes fit, and if the
  // program is divided.
  std::map<std::string, Array> step(const std::map<std::string, Array>& feeds = {});

  // The value of the last row of the last run, [replicas, ...] if there are several; with every_step those of all
  // micro-batches along a new first axis, in the order in which they were fed.
  Array output(const std::string& name) const;
  // The arenas of all stages of a replica.
  std::size_t arena_bytes() const;
  // The arenas, and what kernels use besides while they run.
  std::size_t working_bytes() const;
  // By stage.
  std::vector<DeviceUse> device_use() const;
  // Of one step, in the order in which they run.
  std::vector<KernelInfo> kernels() const;
  // The text form of the plan.
  std::string plan_text() const;

 private:
  friend class Feed;
  friend class Profiler;
  friend class ProgramInside;
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr int default_feed_slots = 8;

// Batches for a program, filled ahead by a thread of its own for as long as it lives.
class PANDO_API Feed {
 public:
  // As many rows are held at most, or as many as a divided program works on at once if those are more.
  Feed(const Program& program, FillFeeds fill, int slots = default_feed_slots);
  ~Feed();
  Feed(Feed&&) noexcept;

 private:
  friend class Program;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
