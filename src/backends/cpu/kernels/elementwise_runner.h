// SPDX-License-Identifier: Apache-2.0
// ElementwiseRunner: interprets an elementwise program block by block, so that a fused chain costs one pass over
// memory.
#pragma once
#include "backends/cpu/kernels.h"
#include "backends/cpu/kernels/axes.h"
#include "graph/elementwise_program.h"

namespace pando::cpu {

// Used by the kernel of fused nodes and, as epilogue, by kernels that compute their result piece by piece.
class ElementwiseRunner {
 public:
  // A multiple of this is a good place to divide work between tiles; any other place gives the same results.
  static constexpr std::int64_t block = 512;

  // `operands` and `results` are those of the program; all results have the shape `shape`. With `first_is_given`,
  // operand 0 is not read from a buffer but passed to run().
  ElementwiseRunner(const ElementwiseProgram& program, const std::vector<Operand>& operands,
                    const std::vector<Operand>& results, const Shape& shape, const Routines& routines,
                    bool first_is_given = false);

  std::size_t scratch_bytes() const { return scratch_bytes_; }
  // Once on each tile before run(): broadcasts the scalars into `scratch`, which run() then needs unchanged.
  void begin(const Tile& tile, std::byte* scratch) const;
  // Computes elements [first, first + count) of all results in row-major order. `given` holds operand 0 for just these
  // elements; it may be where result 0 goes.
  void run(const Tile& tile, std::byte* scratch, std::int64_t first, std::int64_t count,
           const void* given = nullptr) const;

 private:
  // How an operand is brought to the elements of a block.
  struct Source {
    enum class Kind {
      unused,
      given,     // by the caller
      direct,    // has the shape of the result: read where it is
      repeated,  // a scalar or a short row: begin() repeats it until any block can be read from some place in it
      row,       // a long row: read where it is, or joined from its end and its beginning
      strided,   // anything else: expanded for each block
    };
    Kind kind = Kind::unused;
    std::int32_t buffer = -1;
    std::int64_t element_bytes = 0;
    // The length of the row, for `repeated` and `row`.
    std::int64_t period = 1;
    // Walk 0 is over the operand, for `strided`.
    Axes outer = {};
    Axis inner = {};
    // Its own part of the scratch, if it has one: the offset, and its size in elements.
    std::size_t scratch = 0;
    std::int64_t room = 0;
  };
  // One instruction; values are numbered as in the program.
  struct Step {
    ElementwiseRoutine routine = nullptr;
    std::array<std::int32_t, 3> arguments = {};
    std::int32_t value = 0;
    std::array<double, 2> parameters = {};
    std::int64_t element_bytes = 0;
    // The output it is written to, or -1.
    std::int32_t buffer = -1;
    // Writes to the register first and to the output at the end of the block, because the output may be the memory of
    // an operand that a later step still reads.
    bool deferred = false;
    std::size_t scratch = 0;
  };

  void make_sources(const ElementwiseProgram& program, const std::vector<Operand>& operands, const Shape& shape,
                    bool first_is_given);
  void make_steps(const ElementwiseProgram& program, const std::vector<Operand>& results, const Routines& routines);
  void drop_unused_steps(std::size_t operand_count);
  void defer_overwrites();
  void place_registers();
  std::size_t take_scratch(std::size_t bytes);
  // Where the elements [first, first + count) of an operand are, or have been expanded to.
  const std::byte* locate(const Source& source, const Tile& tile, std::byte* scratch, std::int64_t first,
                          std::int64_t count) const;
  void run_block(const Tile& tile, std::byte* scratch, std::int64_t first, std::int64_t count,
                 const std::byte* given) const;

  std::vector<Source> sources_;
  std::vector<Step> steps_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace pando::cpu
