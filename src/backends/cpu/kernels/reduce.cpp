// SPDX-License-Identifier: Apache-2.0
// Reductions: the outputs in blocks along one kept axis, each block a loop over matrices of the input. Tiles divide the
// blocks. Where there are few blocks of many elements each, the elements are cut into chunks, which tiles divide if
// there are more tiles than blocks, or if blocks are parts of the same rows: each tile would read cache lines of all
// rows.
#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/kernels/axes.h"
#include "backends/cpu/kernels/product.h"

namespace pando::cpu {

namespace {

// Tiles are given blocks of this many outputs; a tile takes up to `widest` at once.
constexpr std::int64_t outputs_per_block = 16, widest = 256;
// If there are fewer blocks than `enough_blocks`, and each reduces at least `bytes_to_cut`, their elements are cut into
// up to `most_chunks` chunks of at least `bytes_per_chunk`.
constexpr std::int64_t enough_blocks = 16, bytes_to_cut = 256 << 10, bytes_per_chunk = 64 << 10, most_chunks = 64;

struct Reduction {
  ReduceRoutine routine = {};
  // The axis along which outputs are computed together (output stride 1), and the innermost reduced one: they make the
  // matrices. One of them is contiguous in the input unless both are of size 1.
  Axis kept = {1, {0, 1}}, reduced = {1, {0, 0}};
  bool by_rows = false;
  // The others.
  Axes outer_kept = {}, outer_reduced = {};
  double divisor = 1;
  std::int64_t element_bytes = 4;
  // How many elements make an output, and how many of them are in a chunk. The totals of chunks are merged in their
  // order, whichever tiles make them.
  std::int64_t elements = 1, chunk = 1;

  std::int64_t blocks_of_an_axis() const { return divide_up(kept.size, outputs_per_block); }
  std::int64_t blocks() const { return count_positions(outer_kept) * blocks_of_an_axis(); }
  std::int64_t chunks() const { return elements == 0 ? 1 : divide_up(elements, chunk); }
};

// Walk 0 is over the input, walk 1 over the output, where reduced axes have the stride 0.
Axes reduction_axes(const KernelCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const Integers& reduced = call.attributes.integers("axes");
  Axes axes;
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const bool kept = std::find(reduced.begin(), reduced.end(), axis) == reduced.end();
    axes.insert(axes.begin(), {shape[axis], {shape.stride(axis), kept ? stride : 0}});
    if (kept) stride *= shape[axis];
  }
  return collapse(axes);
}

// The elements of a chunk: all, or a multiple of the 64 that a sum of columns takes at a time.
std::int64_t chunk_of(const Reduction& reduction, std::int64_t bytes) {
  const std::int64_t blocks = reduction.blocks();
  if (blocks == 0 || blocks >= enough_blocks || bytes / blocks < bytes_to_cut)
    return std::max<std::int64_t>(reduction.elements, 1);
  const std::int64_t chunks = std::min(bytes / bytes_per_chunk, most_chunks);
  return divide_up(divide_up(reduction.elements, chunks), 64) * 64;
}

Reduction arrange(const KernelCall& call, const ReduceRoutine& routine, bool is_mean) {
  Reduction result = {.routine = routine};
  const Axes axes = reduction_axes(call);
  for (const Axis& axis : axes) (axis.strides[1] == 0 ? result.outer_reduced : result.outer_kept).push_back(axis);
  result.by_rows = !axes.empty() && axes.back().strides[1] == 0;
  result.elements = count_positions(result.outer_reduced);
  if (is_mean) result.divisor = static_cast<double>(result.elements);
  const auto take_last = [](Axes& from, Axis& to) {
    if (from.empty()) return;
    to = from.back();
    from.pop_back();
  };
  take_last(result.outer_kept, result.kept);
  take_last(result.outer_reduced, result.reduced);
  result.element_bytes = static_cast<std::int64_t>(size_of(call.inputs[0].type.dtype));
  result.chunk = chunk_of(result, call.inputs[0].type.shape.elements() * result.element_bytes);
  return result;
}

// Elements [range) of what makes `count` outputs along the kept axis; `in` points to the first.
void take_in(const Reduction& r, void* totals, const std::byte* in, std::int64_t count, Range range) {
  if (range.begin >= range.end) return;
  Walk walk(r.outer_reduced, range.begin / r.reduced.size);
  for (std::int64_t element = range.begin; element < range.end; walk.next()) {
    const std::int64_t first = element % r.reduced.size;
    const std::int64_t size = std::min(r.reduced.size - first, range.end - element);
    const std::byte* matrix = in + (walk.offset(0) + first * r.reduced.strides[0]) * r.element_bytes;
    if (r.by_rows) r.routine.rows(totals, matrix, count, size, r.kept.strides[0]);
    else r.routine.columns(totals, matrix, size, count, r.reduced.strides[0]);
    element += size;
  }
}

class ReductionKernel final : public Kernel {
 public:
  ReductionKernel(const KernelCall& call, const Reduction& reduction)
      : in_(call.inputs[0]), out_(call.outputs[0]), reduction_(reduction) {}

  std::size_t shared_bytes(int tiles) const override {
    if (!is_by_chunks(tiles)) return 0;
    return static_cast<std::size_t>(reduction_.chunks() * reduction_.blocks() * outputs_per_block * total_bytes);
  }

  void run(const Tile& tile) const override {
    if (out_.buffer < 0) return;
    const bool by_chunks = is_by_chunks(tile.count);
    const Range chunks = by_chunks ? share(tile, reduction_.chunks()) : Range{0, reduction_.chunks()};
    const Range blocks = by_chunks ? Range{0, reduction_.blocks()} : share(tile, reduction_.blocks());
    alignas(64) std::byte totals[widest * total_bytes], more[widest * total_bytes];
    for_each_piece(blocks, [&](const Piece& piece) {
      const std::byte* const in = pointer<std::byte>(tile, in_) + piece.in * reduction_.element_bytes;
      for (std::int64_t chunk = chunks.begin; chunk < chunks.end; ++chunk) {
        std::byte* const to = by_chunks ? shared_totals(tile, chunk, piece) : chunk == 0 ? totals : more;
        reduction_.routine.clear(to, piece.count);
        take_in(reduction_, to, in, piece.count, elements_of(chunk));
        if (to == more) reduction_.routine.merge(totals, more, piece.count);
      }
      if (!by_chunks) store(tile, piece, totals);
    });
  }

  void finish(const Tile& tile) const override {
    std::int64_t pieces = 0;
    for_each_piece({0, reduction_.blocks()}, [&](const Piece& piece) {
      if (pieces++ % tile.count != tile.index) return;
      std::byte* const totals = shared_totals(tile, 0, piece);
      for (std::int64_t chunk = 1; chunk < reduction_.chunks(); ++chunk)
        reduction_.routine.merge(totals, shared_totals(tile, chunk, piece), piece.count);
      store(tile, piece, totals);
    });
  }

 private:
  // Outputs side by side, from the beginning of a block: where they lie, and what makes the first of them.
  struct Piece {
    std::int64_t block, count, in, out;
  };

  bool is_by_chunks(int tiles) const {
    const bool shares_rows = !reduction_.by_rows && reduction_.blocks_of_an_axis() > 1;
    return out_.buffer >= 0 && reduction_.chunks() > 1 && (tiles > reduction_.blocks() || (tiles > 1 && shares_rows));
  }

  Range elements_of(std::int64_t chunk) const {
    return {chunk * reduction_.chunk, std::min((chunk + 1) * reduction_.chunk, reduction_.elements)};
  }

  void for_each_piece(Range blocks, const auto& handle) const {
    const Reduction& r = reduction_;
    const std::int64_t of_an_axis = r.blocks_of_an_axis();
    for (std::int64_t block = blocks.begin; block < blocks.end;) {
      const Walk walk(r.outer_kept, block / of_an_axis);
      const std::int64_t first = block % of_an_axis;
      const std::int64_t last = std::min({first + widest / outputs_per_block, of_an_axis, first + blocks.end - block});
      const std::int64_t begin = first * outputs_per_block, end = std::min(last * outputs_per_block, r.kept.size);
      handle(Piece{block, end - begin, walk.offset(0) + begin * r.kept.strides[0], walk.offset(1) + begin});
      block += last - first;
    }
  }

  std::byte* shared_totals(const Tile& tile, std::int64_t chunk, const Piece& piece) const {
    return tile.shared + (chunk * reduction_.blocks() + piece.block) * outputs_per_block * total_bytes;
  }

  void store(const Tile& tile, const Piece& piece, const std::byte* totals) const {
    reduction_.routine.store(pointer<std::byte>(tile, out_) + piece.out * reduction_.element_bytes, totals, piece.count,
                             reduction_.divisor);
  }

  Operand in_, out_;
  Reduction reduction_;
};

template <class Routine>
const Routine& of_dtype(const NumericRoutines<Routine>& routines, DType dtype) {
  switch (dtype) {
    case DType::float32: return routines.float32;
    case DType::float64: return routines.float64;
    case DType::int32: return routines.int32;
    case DType::int64: return routines.int64;
    default: throw InternalError("the CPU has no reduction of " + std::string(name(dtype)));
  }
}

std::unique_ptr<Kernel> reduction(const KernelCall& call, const NumericRoutines<ReduceRoutine>& routines,
                                  bool is_mean) {
  return std::make_unique<ReductionKernel>(call, arrange(call, of_dtype(routines, call.inputs[0].type.dtype), is_mean));
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> reduce_sum(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.sum, false);
}
std::unique_ptr<Kernel> reduce_mean(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.sum, true);
}
std::unique_ptr<Kernel> reduce_max(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.max, false);
}

std::unique_ptr<Kernel> argmax(const KernelCall& call, const Routines& routines) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  const Shape& shape = in.type.shape;
  const auto axis = static_cast<int>(call.attributes.integer("axis"));
  const std::int64_t size = shape[axis], inner = shape.stride(axis), outputs = out.type.shape.elements();
  const auto bytes = static_cast<std::int64_t>(size_of(in.type.dtype));
  const ArgmaxRoutine routine = of_dtype(routines.reduce.argmax, in.type.dtype);
  return make_kernel([=](const Tile& tile) {
    if (out.buffer < 0 || size == 0) return;
    const Range range = share(tile, outputs);
    std::int32_t* to = pointer<std::int32_t>(tile, out);
    const std::byte* from = pointer<std::byte>(tile, in);
    if (inner == 1) {
      routine(to + range.begin, from + range.begin * size * bytes, range.end - range.begin, size, size, 1);
      return;
    }
    for (std::int64_t i = range.begin; i < range.end;) {
      const std::int64_t outer = i / inner, place = i % inner, count = std::min(inner - place, range.end - i);
      routine(to + i, from + (outer * size * inner + place) * bytes, count, 1, size, inner);
      i += count;
    }
  });
}

}  // namespace factories

}  // namespace pando::cpu
