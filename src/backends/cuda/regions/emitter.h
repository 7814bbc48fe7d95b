// SPDX-License-Identifier: Apache-2.0
// Writes the source of a region's first kernel: a list of phases, and where its values are in shared memory.
#pragma once
#include <map>

#include "backends/cuda/regions/members.h"
#include "backends/cuda/regions/program.h"
#include "ops/window.h"
#include "plan/plan_memory.h"

namespace pando::cuda {

// "float" for float32.
std::string_view type_name(DType dtype);
// A number as a literal of that type.
std::string literal(double number, DType dtype);
// Statements that compute the instructions of a program, whose operands are v0, v1, ...; their results follow.
std::string instructions_text(const struct ElementwiseProgram& program);

// A convolution of images [batch, height, width, channels] with a filter, as the device code knows it.
struct ConvolutionSizes {
  Window window;
  std::int64_t height, width, channels, out_height, out_width, filters;

  ConvolutionSizes(const Attributes& attributes, const Shape& image, const Shape& filter);
  // The convolution of the gradient of its results that gives that of its images; only for strides of 1.
  ConvolutionSizes turned() const;
  std::int64_t taps() const { return window.area(); }
  std::string text() const;
};

// A call of the region, with its values.
struct Member {
  KernelCall call;
  std::vector<int> inputs, outputs;
  Membership kind = Membership::local;
  // Its number among all calls.
  int number = 0;
  // Whether it follows the member before it: it alone reads that one's results, and the same threads make its elements.
  // And the member that follows this one, or -1.
  bool follows = false;
  int follower = -1;
};

// The pointers that kernels take. A pointer is named by its number, "g3" in a source.
struct Pointers {
  using Kind = RegionPointer::Kind;
  struct Pointer {
    Kind kind;
    // A value, and how it is read; for scratch its bytes.
    int value;
    Operand operand;
    std::size_t bytes;
  };
  std::vector<Pointer> all;

  int of_value(Kind kind, int value, const Operand& operand);
  int of_scratch(std::size_t bytes);
  // By value: scratch of values that only the second kernel reads.
  std::map<int, int> passed_on;
  int pass_on(int value, std::size_t bytes);
};

class Emitter {
 public:
  // With `stages_weights`, small weights are copied to shared memory.
  Emitter(const Plan& plan, const PlanValues& values, const RegionCalls& found, const RegionLimits& limits, int ranks,
          bool stages_weights);

  // All phases of the members; false if a block has too little shared memory.
  bool run();
  // The sources of the kernel, as RegionProgram has them.
  std::vector<std::string> sources() const;
  // The calls after which the first cluster reads the clock, in order, for each of its samples.
  std::vector<int> marked_calls() const;

  // Whether a value is what the feed gave, which no kernel of a step writes.
  bool is_of_feed(const Operand& operand) const;

  int clusters() const { return clusters_; }
  int ranks() const { return ranks_; }
  int threads() const { return threads_; }
  std::size_t shared_bytes() const { return shared_bytes_; }
  Pointers& pointers() { return pointers_; }
  // Where each cluster has its part of a sum, and how far apart they are.
  struct PartialSum {
    int pointer;
    std::int64_t elements;
    // For filters whose channels come first: their sizes.
    std::int64_t taps = 0, channels = 0, filters = 0;
  };
  // By value.
  const std::map<int, PartialSum>& sums() const { return sums_; }

 private:
  struct Phase {
    std::string text;
    // Whether it reads or writes the memory of other blocks.
    bool is_remote;
    // The member that it is a part of; 0 for what is staged.
    int member;
    // The number of its call; -1 for what is staged, whose time is that of the next call.
    int call;
    // Whether threads may begin the next phase before all have done this one.
    bool flows_on = false;
    // Whether it ends when the copies that were begun have come.
    bool ends_copies = false;
  };

  void add_members();
  // Convolutions read the gradient of a pooling through its positions, where that can be done.
  void fold_pooling_gradients();
  // Elementwise members follow those whose results they alone read.
  void let_follow();
  // The member that can follow the last of a chain that begins at the first, or the number of members.
  std::size_t find_follower(std::size_t first, std::size_t last) const;
  // A single thread replaces these numbers, and keeps the old ones for the second kernel.
  void emit_advances();
  // Copies values to shared memory: the values of the feed, which are there before the previous kernel has ended, or
  // the others.
  void stage_inputs(bool of_feed);
  // Begins the copies of filters that gradients of images read. They may come later than others.
  void copy_filters();
  // Where copies must have come: before the first phase that reads one.
  void await_copies();
  // After a copy has come, other blocks write to its place only after two barriers of the cluster. One would do, but
  // racecheck of compute-sanitizer reports a race after one (CONTRIBUTING.md). `awaited` is the first phase that finds
  // the copies of these storages there.
  void keep_copies(std::size_t awaited, std::size_t first_storage, std::size_t last_storage);
  // The first phase, from this one on, that reads one of these storages, or the number of phases.
  std::size_t first_reader(std::size_t from, std::size_t first_storage, std::size_t last_storage) const;
  bool is_staged(const Member& member, std::size_t input, bool by_sample, std::size_t& weight_bytes) const;
  void emit(const Member& member);
  void emit_elementwise(const Member& member);
  void emit_matmul(const Member& member);
  void emit_transposed_matmul(const Member& member);
  void emit_loss(const Member& member);
  void emit_dropout(const Member& member);
  void emit_transpose(const Member& member);
  void emit_convolution(const Member& member);
  void emit_input_gradient(const Member& member);
  void emit_pooled_input_gradient(const Member& member);
  void emit_weight_gradient(const Member& member);
  void emit_pooled_weight_gradient(const Member& member);
  void emit_pooling(const Member& member);
  void emit_column_sums(const Member& member);

  struct ConvolutionTiles {
    std::string type;
    // How many parts the channels have, and what each of them leaves in scratch if there are several.
    std::int64_t parts, floats;
  };
  ConvolutionTiles choose_tiles(const ConvolutionSizes& own, const Window* pool, std::int64_t rows,
                                std::int64_t columns) const;
  // `body` uses element `i` and its `sum`, and the `position` if it is pooled, and puts results here.
  void emit_tiles(const ConvolutionTiles& tiles, bool is_pooled, const std::string& x, const std::string& w,
                  const std::string& body);

  void phase(bool is_remote, std::string text) {
    phases_.push_back({std::move(text), is_remote && ranks_ > 1, now_, call_});
  }
  // Whether a barrier of all blocks of the cluster comes after this phase.
  bool ends_with_cluster_barrier(std::size_t phase) const;
  // Whether it is the last phase of its call, and how many before it are.
  bool ends_call(std::size_t phase) const;
  int marks_before(std::size_t phase) const;
  // Leaves out barriers that order nothing: those after a member whose results the next ones do not read.
  void let_flow();
  // The numbers of the phases that begin a part, a source for each, and the number of phases. They depend on the phases
  // alone, so every machine makes the same kernel.
  std::vector<std::size_t> divide_phases() const;
  struct Function {
    std::string prototype, definition, call;
  };
  Function function_of(std::size_t begin, std::size_t end) const;
  // The parts of a source: its beginning, the kernel of these phases, some phases, and a text with the places of its
  // storages filled in.
  std::string header() const;
  std::string kernel(const std::string& phases) const;
  std::string phases_text(std::size_t begin, std::size_t end) const;
  std::string placed(const std::string& text) const;
  static bool reads_result(const Member& reader, const Member& of);
  // The last one that follows a member, counted from 1 as the member is.
  int end_of_chain(int member) const;
  // Memory that the current member works in; the name of its offset.
  std::string scratch(std::int64_t floats);
  std::string storage(std::size_t bytes, int first, int last);
  // The number that a constant of one element has, as source; empty for others.
  std::string constant_text(const Operand& operand) const;
  // The pointer to what a member reads, of this sample if it reads it so.
  std::string pointer(const Member& member, std::size_t input);
  // Declares where an output goes, and returns its name; empty for an output that is never read.
  std::string out(const Member& member, std::size_t output);
  // What a member reads for element `i` of its result; the same for all inputs from one on.
  std::string operand_text(const Member& member, std::size_t input);
  std::vector<std::string> operands_text(const Member& member, std::size_t first);
  // Statements that compute a program of these operands; and that then put its results.
  static std::string value_text(const struct ElementwiseProgram& program, const std::vector<std::string>& operands);
  std::string program_text(const Member& member, const struct ElementwiseProgram& program,
                           const std::vector<std::string>& operands, const std::string& put);
  // Statements that put element `i` of an output. If a member follows, they compute that one's result with it and put
  // that instead.
  std::string put_text(const Member& member, std::size_t output, const std::string& value, const std::string& put);
  // The same for what comes after a product, which may have a program.
  std::string finish_text(const Member& member, const std::string& value, const std::string& put);
  std::string sum_text(const Member& member, std::int64_t elements);
  std::int64_t per_sample(const Type& type) const { return type.shape.elements() / found_.batch; }
  std::int64_t share(std::int64_t count) const;
  // The number of parts, of `most`, that lets threads finish first: each round takes `work` / parts.
  std::int64_t choose_parts(std::int64_t items, std::int64_t work, std::int64_t floats_per_part) const;
  bool is_shared(int value) const;

  const Plan& plan_;
  const PlanValues& values_;
  const RegionCalls& found_;
  const RegionLimits& limits_;
  int ranks_, clusters_ = 1, threads_ = 512;
  bool stages_weights_;
  std::vector<Member> members_;
  // The current member, counted from 1, and the number of the current call.
  int now_ = 0, call_ = -1;
  Pointers pointers_;
  std::vector<Phase> phases_;
  // The first phases copy what the feed gave, into the first storages; then the kernel waits for the one before it, and
  // the next phases copy other values.
  std::size_t early_phases_ = 0, staged_phases_ = 0, early_storages_ = 0, staged_storages_ = 0;
  // Then come copies of filters; by the number of the call that reads it, where each is.
  std::size_t copying_phases_ = 0, copied_storages_ = 0;
  std::map<int, std::string> filter_copies_;
  // Declarations of the values that phases make, by the number in their name.
  std::vector<std::string> declarations_;
  std::map<int, PartialSum> sums_;
  // Storage in shared memory; of values by their numbers.
  std::vector<Storage> storages_;
  std::map<int, int> storage_of_;
  std::size_t shared_bytes_ = 0;
};

}  // namespace pando::cuda
