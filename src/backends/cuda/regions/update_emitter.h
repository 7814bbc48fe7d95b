// SPDX-License-Identifier: Apache-2.0
// Writes the source of a region's second kernel: sums over samples in the order of clusters, products over samples, and
// the updates that use them. A block does a part of one task.
#pragma once
#include "backends/cuda/regions/emitter.h"

namespace pando::cuda {

class UpdateEmitter {
 public:
  UpdateEmitter(const PlanValues& values, const RegionCalls& found, Emitter& region)
      : values_(values), found_(found), region_(region) {}

  // Empty if there is nothing to do.
  std::string run();
  int blocks() const { return blocks_; }
  // The call that each block works for: it makes a gradient of products, or moves parameters along sums.
  const std::vector<int>& calls_of_blocks() const { return calls_of_blocks_; }
  static constexpr int threads = 256;

 private:
  // The pointer to a value that a call reads.
  std::string input(int call, std::size_t input);
  // A rate or a step, as an expression: it is read, or made of what is there before the region.
  std::string number(int call, std::size_t input);
  // Whether it can be read while the first kernel may still be at work, which does not write it.
  bool is_early(int call, std::size_t input) const;
  // Whether that is so of all numbers of an update.
  bool is_prepared_early(int call) const;
  // The pointer to an output; empty if it is never read outside.
  std::string output(int call, std::size_t output);
  // A task has `items`, one for each thread, which knows it by the number `e`. Its time counts to the call `owner`. Its
  // blocks run `before`, if there is something to prepare, then its threads run `body`. They run `early`, and `before`
  // if is_before_early, while the first kernel may still be at work.
  struct Task {
    int owner;
    std::int64_t items;
    std::string before, early, body;
    bool is_before_early = true;
  };
  void add(const Task& task);
  // A sum over samples, of what clusters left. A thread runs the body of the task with element `i` and its `gradient`.
  void add_partial_sums(int call, Task task);
  // A product over samples. A thread has `width` elements, from element `e * width` on, which are `products`; it runs
  // the body of the task with them.
  static std::int64_t width_of(const KernelCall& call);
  void add_product(int call, Task task);
  // What is done with a sum: it is written if someone outside reads it, and moves a parameter.
  void add_sum(int call);
  void add_update(int call);
  void add_matmul_update(int call);
  // The update that reads a value as the gradient of a group, and the number of the group; -1 if there is none.
  std::pair<int, int> update_of(int value) const;
  // Statements that prepare the settings of an update, and that move element `i` of a group along `gradient`.
  std::string prepare(int call);
  std::string move(int call, int group);

  const PlanValues& values_;
  const RegionCalls& found_;
  Emitter& region_;
  int blocks_ = 0;
  std::vector<int> calls_of_blocks_;
  std::string body_;
};

}  // namespace pando::cuda
