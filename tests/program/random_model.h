// SPDX-License-Identifier: Apache-2.0
// A random model and its training step, for as many stages and samples as one likes.
#pragma once
#include <pando/program/program.h>

#include <random>

namespace pando {

// A chain of layers act(h * w + b), some of which add what an earlier one made. The loss is a mean over the samples of
// an update whose mask is 1.
struct RandomModel {
  struct Layer {
    int activation = 0;
    // The number of the layer whose result is added, or -1.
    int skip = -1;
    bool bias = false, dropout = false;
    // A moving average of the result; whether the layer scales by it.
    bool statistic = false, reads_statistic = false;
  };
  std::vector<Layer> layers;
  std::int64_t width = 1, batch_size = 1;
  // `decays`: the rate depends on a variable that counts updates.
  bool momentum = false, clips = false, decays = false;
  std::uint32_t seed = 0;

  explicit RandomModel(std::mt19937& random);
  // Whether micro-batches see what others of the same update changed, so that one large batch is something else.
  bool depends_on_micro_batches() const;
  std::string description() const;
  // The step on micro-batches of `samples`; layers are shared out evenly.
  Graph step(std::int64_t samples, int stages) const;
  void set_variables(Variables& variables) const;
  // Writes the inputs of samples from number `first` on.
  void fill(const Program& program, std::int64_t first, std::int64_t samples, std::byte* const* feeds) const;
};

}  // namespace pando
