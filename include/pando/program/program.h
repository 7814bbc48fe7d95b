// SPDX-License-Identifier: Apache-2.0
// From a graph to a program that runs on a virtual IPU.
#pragma once
#include <pando/base/function.h>
#include <pando/comm/workers.h>
#include <pando/graph/graph.h>
#include <pando/graph/division.h>

#include <map>
#include <memory>
#include <span>

namespace pando {

struct DeviceOptions {
  // The number of threads that share the work. With 0 there is one for each core that the process may use, and a
  // program runs on as many of them as make it fastest, by an estimate. A GPU is one tile.
  int tiles = 0;
  // "portable", "neon", "avx2" or "avx512"; empty takes the best that this machine has, or what the environment
  // variable PANDO_INSTRUCTION_SET says.
  std::string instruction_set = {};
  // What the device is made of, as available_backends() says; empty takes what the environment variable PANDO_BACKEND
  // says, or "cpu".
  std::string backend = {};
};

// A virtual IPU: its tiles wait for programs while it lives. Copies are the same device. Any number of threads may run
// programs on it at once: the first thread gets the tiles, and each other thread meanwhile does the work of all tiles
// itself, with the same results. A child process made by fork() cannot use a device with several tiles: run() throws
// Error there.
class PANDO_API Device {
 public:
  // Throws Error for a backend or an instruction set that is unknown or that this machine lacks.
  explicit Device(const DeviceOptions& options = {});
  int tiles() const;
  std::string backend() const;
  std::string instruction_set() const;

 private:
  friend class Program;
  friend class Variables;
  struct State;
  std::shared_ptr<State> state_;
};

// The backends that Device knows: "cpu", "cuda" for NVIDIA GPUs, and "auto". "auto" is "cuda" where Pando can use a
// GPU, and "cpu" elsewhere.
PANDO_API std::vector<std::string> available_backends();

// A GPU of this machine that the backend "cuda" can use.
struct GpuInfo {
  std::string name;
  // What its kernels are made for: "sm_90".
  std::string instruction_set;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
};
PANDO_API std::vector<GpuInfo> gpus();
// Why there is none, as a sentence with the remedy; empty if there is one.
PANDO_API std::string why_no_gpu();
// Why kernels for a GPU cannot be compiled when a program is made, as a sentence with the remedy; empty if they can.
// Without them, ops that act on each sample alone keep kernels of their own.
PANDO_API std::string why_no_gpu_compiler();
// Why GPUs of several workers cannot exchange sums without the host, as a sentence with the remedy; empty if they can.
// nccl_version() is the version of NCCL that then connects them.
PANDO_API std::string why_no_nccl();
PANDO_API std::string nccl_version();

// What sums over workers cost whose GPUs NCCL connects, in seconds and bytes a second:
// - latency: a sum of a single number; 0 for one worker alone.
// - bandwidth: what a GPU sends while it receives as much; 0 for one worker alone.
// - copies: what a GPU copies in its own memory.
struct GpuSumCost {
  double latency = 0, bandwidth = 0, copies = 0;
  // A sum of 64 MiB on each GPU.
  double large_sum = 0;
};
// Measures it; all workers call it. Throws Error with the remedy if NCCL cannot connect the GPUs.
PANDO_API GpuSumCost measure_gpu_sums(const std::shared_ptr<Workers>& workers);
// The instruction sets that Device takes on this machine, the slowest first.
PANDO_API std::vector<std::string> available_instruction_sets();

// The state of a model on a device: programs that are given the same Variables share them by name. Copies are the same
// state. A variable that was never set is zero. Any number of threads may use them: a step of a program reads and
// assigns its variables as one action, and set(), get() and other programs act before or after it.
class PANDO_API Variables {
 public:
  Variables();
  // Throws Error if a program that uses the variable wants another type or shape.
  void set(const std::string& name, const Array& value);
  // Makes `name` a variable over memory of someone else, which programs made later read and change in place. `data` is
  // in the memory in which the device keeps its variables: for a GPU, an address there. The variable keeps `owner`, and
  // the thread that drops it last releases it. Nothing else may change the memory while a program runs.
  void adopt(const std::string& name, const Type& type, void* data, std::shared_ptr<const void> owner,
             const Device& device);
  // The same for memory of the host, which any device may use: where one keeps a copy of its own, the copy follows
  // changes that are noted, and its changes are brought back when that is asked for.
  void adopt(const std::string& name, const Type& type, void* data, std::shared_ptr<const void> owner);
  void note_change(const std::string& name);
  void bring_back(const std::string& name);
  // A copy. Throws Error with the nearest name if there is no such variable.
  Array get(const std::string& name) const;
  std::vector<std::string> names() const;
  // Makes `name` the same variable as `other_name` of `other`. Throws Error if `name` already is another variable.
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
  // The graph, or after the last pass the plan, as text; made only when called. Call it only during on_pass.
  Function<std::string()> text;
};

// The precision of the factors of matrix products and convolutions. Where the device is then faster, mixed_bfloat16
// rounds them to bfloat16, and tf32 to the 11 significant bits of a GPU's tf32. Weights, sums and everything else stay
// float32. CPUs have no tf32 and compute in float32.
enum class Precision { float32, mixed_bfloat16, tf32 };
// Finds the precision by its name; throws Error with the nearest name.
PANDO_API Precision precision_named(const std::string& name);

struct ProgramOptions {
  // Names as in compile_passes().
  std::vector<std::string> disabled_passes = {};
  // Stop with an Error that names the op when a value becomes NaN or infinite. Slow.
  bool check_numerics = false;
  Precision precision = Precision::float32;
  // The processes that run the program together; none if this one runs it alone. Every worker makes the same program
  // with the same variables, and runs the same launches.
  std::shared_ptr<Workers> workers = {};
  Function<void(const PassInfo&)> on_pass = {};
};

// The passes in the order in which they run.
PANDO_API std::vector<std::string> compile_passes();

// Writes the feeds of row number `row`: for each replica, one pointer for each of Program::feeds(). Returns false when
// there are no more; what it throws reaches the caller of Program::run.
using FillFeeds = Function<bool(std::int64_t row, std::span<std::byte* const> feeds)>;

// Ends the work of this process, which is about to end while threads still train: waits until every run or step that is
// going on has ended, and lets all later ones throw Error.
PANDO_API void stop_all_runs();

class Feed;

// The name and type of a value that a program takes or returns.
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
  // The number of rows; a row is one micro-batch for each replica.
  std::int64_t rows = 1;
  // The number of its first update, which random numbers and optimizers depend on.
  std::int64_t first_update = 0;
};

// The bytes that a stage of a program needs on its device, and the work that it does for a micro-batch.
struct DeviceUse {
  // Kept between steps: weights and statistics, and what optimizers keep for them.
  std::size_t weights = 0, slots = 0;
  // The working memory of its programs; values that wait between passes; sums of gradients; and feeds, counted in stage
  // 0.
  std::size_t working = 0, stash = 0, sums = 0, feeds = 0;
  double megaflops = 0;
  // The tiles of the device that it runs on.
  int tiles = 1;
};

// A kernel of a compiled program.
struct KernelInfo {
  std::string op;
  // Where it comes from: "conv2d/gradient".
  std::string name;
  // The stage of a divided program.
  int stage = 0;
  double flops = 0;
  // The bytes that it reads and writes.
  double bytes = 0;
};

// A compiled graph on a device, or divided over several. Only one thread at a time may use a program: run or step
// throws Error while another thread is in one. Different programs may run at the same time, even on one device and with
// the same variables.
class PANDO_API Program {
 public:
  // Compiles the graph. Throws Error if the graph does not verify, a variable does not match, or there is not enough
  // memory.
  Program(const Graph& graph, const Device& device, const Variables& variables, const ProgramOptions& options = {});
  // The graph is that of a whole step, whose nodes know their stages. `devices` lists the devices of the first
  // replica's stages, then those of the next replica, ... The first replica works on `variables`; the others have their
  // own copies, which follow what is set there. If there are workers, they share the division's replicas equally:
  // `devices` and Feed are those of this worker's replicas, and the outputs are those of all.
  Program(const Graph& graph, const std::vector<Device>& devices, const Division& division, const Variables& variables,
          const ProgramOptions& options = {});
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // What the host must feed to each replica.
  std::vector<PortInfo> feeds() const;
  // The variables of the graph, in its order.
  std::vector<VariableInfo> variables() const;
  // Runs up to that many rows in one execution, fewer if the feed ends, and returns how many it ran. If the feed ends
  // within an update, the update is made from the rows that there are.
  std::int64_t run(const Launch& launch, Feed& feed);
  // Continues the count of updates where the last run ended.
  std::int64_t run(std::int64_t rows, Feed& feed);
  // For a graph without inputs.
  std::int64_t run(const Launch& launch);
  std::int64_t run(std::int64_t rows);
  std::vector<PortInfo> outputs() const;
  // Runs one step on the caller's memory, in the order of feeds() and outputs(); allocates and copies nothing. Throws
  // Error if the program is divided.
  void step(std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs, std::int64_t update = 0);
  // Runs one step on these feeds and returns all outputs by name. Throws Error unless names, types and shapes match,
  // and if the program is divided.
  std::map<std::string, Array> step(const std::map<std::string, Array>& feeds = {});

  // The value of the last row of the last run, [replicas, ...] if there are several replicas. With every_step, the
  // values of all micro-batches along a new first axis, in the order in which they were fed.
  Array output(const std::string& name) const;
  // The bytes of the arenas of all stages of a replica.
  std::size_t arena_bytes() const;
  // The bytes of the arenas and of what kernels use in addition while they run.
  std::size_t working_bytes() const;
  // One entry per stage.
  std::vector<DeviceUse> device_use() const;
  // The kernels of one step, in the order in which they run.
  std::vector<KernelInfo> kernels() const;
  // The text form of the plan.
  std::string plan_text() const;

 private:
  friend class Feed;
  friend class SampleFeed;
  friend class Profiler;
  friend class ProgramInside;
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr int default_feed_slots = 8;

// Batches for a program. A thread of the queue fills them ahead, once runs take more than the first of them.
class PANDO_API Feed {
 public:
  // Holds at most that many rows, or as many as a divided program works on at once if that is more.
  Feed(const Program& program, FillFeeds fill, int slots = default_feed_slots);
  ~Feed();
  Feed(Feed&&) noexcept;

 private:
  friend class Program;
  friend class SampleFeed;
  Feed();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
