// SPDX-License-Identifier: Apache-2.0
// Product: a Kernel that multiplies two factors by tiles. It chooses the tiles by the sizes and by how many blocks the
// GPU runs at once. matmul and the convolutions are such products.
#pragma once
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/narrow.h"
#include "backends/cuda/kernels/sequence.h"
#include "backends/cuda/kernels/tensor_cores.cuh"
#include "backends/cuda/kernels/tiles.cuh"

namespace pando::cuda {

struct ResultLayout {
  // Where the matrices of the result start.
  BatchStarts starts = {};
  // From a row of a matrix to the next.
  std::int64_t row_step = 0;
  // The input that is the parameter to update, -1 for none; the rate is the input after it.
  int parameter = -1;
  // Whether input 2 is added to each row. Only for a product of one matrix.
  BiasEpilogue bias = {};
};

// How a block multiplies its tiles: by tensor cores, or each thread by itself.
template <class T, class Tile>
struct SumsOf {
  using type = ThreadTile<T, Tile>;
};
template <int rows, int columns, int warp_rows, int warp_columns>
struct SumsOf<float, WarpTiling<rows, columns, warp_rows, warp_columns>> {
  using type = WarpTile<WarpTiling<rows, columns, warp_rows, warp_columns>>;
};

template <int rows, int columns, int warp_rows, int warp_columns>
struct SumsOf<float, Tf32Tiling<rows, columns, warp_rows, warp_columns>> {
  using type = WarpTile<Tf32Tiling<rows, columns, warp_rows, warp_columns>, Tf32Factors>;
};

// The factors are inputs 0 and 1.
template <class T, class A, class B>
class Product final : public Kernel {
 public:
  Product(const char* op, const A& a, const B& b, const ProductSizes& sizes, const ResultLayout& layout,
          const KernelContext& context)
      : op_(op),
        a_(a),
        b_(b),
        sizes_(sizes),
        layout_(layout),
        choice_(choose(sizes, context)),
        in_fours_(a.in_fours(sizes.rows, sizes.depth) && b.in_fours(sizes.columns, sizes.depth)) {}

  std::size_t scratch_bytes() const override {
    return choice_.splits == 1 ? 0 : static_cast<std::size_t>(results() * choice_.splits) * sizeof(T);
  }

  void launch(const Operands& operands, cudaStream_t stream) const override {
    if (operands.outputs[0] == nullptr || results() == 0) return;
    ProductResult<T> result = {output<T>(operands, 0), layout_.starts, layout_.row_step};
    if (layout_.parameter >= 0) {
      result.parameter = input<T>(operands, static_cast<std::size_t>(layout_.parameter));
      result.rate = input<T>(operands, static_cast<std::size_t>(layout_.parameter) + 1);
    }
    if (layout_.bias.found) result.bias = {input<T>(operands, 2), layout_.bias.relu};
    result.partial = reinterpret_cast<T*>(operands.scratch);
    multiply(operands, result, stream);
    if (choice_.splits == 1) return;
    if (choice_.splits > 32) add_partial_sums<32>(result, stream);
    else add_partial_sums<8>(result, stream);
  }

 private:
  template <int threads>
  void add_partial_sums(const ProductResult<T>& result, cudaStream_t stream) const {
    const auto blocks = static_cast<unsigned>((results() + 31) / 32);
    add_splits<T, threads><<<blocks, dim3(32, threads), 0, stream>>>(sizes_, choice_.splits, result);
    check_launch(op_);
  }

  std::int64_t results() const { return static_cast<std::int64_t>(sizes_.batches) * sizes_.rows * sizes_.columns; }

  static TileChoice choose(const ProductSizes& sizes, const KernelContext& context) {
    if (suits_elements(sizes)) return {TileKind::element};
    if (!is_float) return split_depth(TileKind::small, sizes, context.multiprocessors);
    if (context.rounds_factors() && suits_mixed(sizes))
      return choose_mixed_tiles(sizes, context.multiprocessors, context.tf32);
    return choose_tiles(sizes, context.multiprocessors);
  }

  void multiply(const Operands& operands, const ProductResult<T>& result, cudaStream_t stream) const {
    if (choice_.tile == TileKind::element) return multiply_by_elements(operands, result, stream);
    if constexpr (!is_float) return multiply_by<SmallTile, ThreadTile<T, SmallTile>, 1>(operands, result, stream);
    else
      with_tile(choice_.tile, [&]<class Tile>(Tile) {
        using Sums = typename SumsOf<T, Tile>::type;
        if (in_fours_) multiply_by<Tile, Sums, 4>(operands, result, stream);
        else multiply_by<Tile, Sums, 1>(operands, result, stream);
      });
  }

  template <class Tile, class Sums, int width>
  void multiply_by(const Operands& operands, const ProductResult<T>& result, cudaStream_t stream) const {
    multiply_tiles<T, Tile, Sums, width><<<static_cast<unsigned>(choice_.blocks), Tile::threads, 0, stream>>>(
        with_positions(a_, operands), input<T>(operands, 0), with_positions(b_, operands), input<T>(operands, 1),
        sizes_, choice_.splits, result);
    check_launch(op_);
  }

  void multiply_by_elements(const Operands& operands, const ProductResult<T>& result, cudaStream_t stream) const {
    multiply_elements<T><<<blocks_for(results()), block_threads, 0, stream>>>(
        with_positions(a_, operands), input<T>(operands, 0), with_positions(b_, operands), input<T>(operands, 1),
        sizes_, result);
    check_launch(op_);
  }

  // Positions are input 2.
  template <class Factor>
  static Factor with_positions(Factor factor, const Operands& operands) {
    if constexpr (requires { factor.positions; }) factor.positions = input<std::uint8_t>(operands, 2);
    return factor;
  }

  static constexpr bool is_float = sizeof(T) == sizeof(float);

  const char* op_;
  A a_;
  B b_;
  ProductSizes sizes_;
  ResultLayout layout_;
  TileChoice choice_;
  // Whether both factors are read four elements at a time.
  const bool in_fours_;
};

template <class T, class A, class B>
std::unique_ptr<Kernel> make_product(const char* op, const A& a, const B& b, const ProductSizes& sizes,
                                     const ResultLayout& layout, const KernelContext& context) {
  return std::make_unique<Product<T, A, B>>(op, a, b, sizes, layout, context);
}

}  // namespace pando::cuda
