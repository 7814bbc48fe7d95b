// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/elementwise_runner.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace pando::cpu {

namespace {

// Fills `bytes` bytes with the first `period` bytes of `row`, again and again.
void repeat(std::byte* to, const std::byte* row, std::size_t period, std::size_t bytes) {
  std::size_t done = std::min(period, bytes);
  std::memcpy(to, row, done);
  for (std::size_t run = 0; done < bytes; done += run) {
    run = std::min(done, bytes - done);
    std::memcpy(to + done, to, run);
  }
}

template <class T>
void expand(T* to, const T* from, const Axes& outer, const Axis& inner, std::int64_t first, std::int64_t count) {
  Walk walk(outer, first / inner.size);
  const std::int64_t stride = inner.strides[0];
  for (std::int64_t place = first % inner.size; count > 0; place = 0, walk.next()) {
    const std::int64_t run = std::min(count, inner.size - place);
    const T* row = from + walk.offset(0) + place * stride;
    if (stride == 0) std::fill(to, to + run, *row);
    else if (stride == 1) std::copy(row, row + run, to);
    else
      for (std::int64_t i = 0; i < run; ++i) to[i] = row[i * stride];
    to += run;
    count -= run;
  }
}

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

ElementwiseRoutine find_routine(const ElementwiseProgram& program, const ElementwiseProgram::Instruction& instruction,
                                const Routines& routines) {
  const auto number = [&](int argument) {
    return static_cast<int>(program.dtype(instruction.arguments[static_cast<std::size_t>(argument)]));
  };
  int last = 0;
  while (last < 2 && instruction.arguments[static_cast<std::size_t>(last) + 1] >= 0) ++last;
  const ElementwiseRoutine routine =
      instruction.op->id == Op::cast ? routines.elementwise.cast[number(0)][static_cast<int>(instruction.result)]
                                     : routines.elementwise.by_op[static_cast<int>(instruction.op->id)][number(last)];
  if (routine == nullptr)
    throw InternalError("the CPU has no " + std::string(instruction.op->name) + " of " +
                        std::string(name(static_cast<DType>(number(last)))));
  return routine;
}

}  // namespace

ElementwiseRunner::ElementwiseRunner(const ElementwiseProgram& program, const std::vector<Operand>& operands,
                                     const std::vector<Operand>& results, const Shape& shape, const Routines& routines,
                                     bool first_is_given) {
  make_steps(program, results, routines);
  // The table of where each value is comes first.
  take_scratch((program.operands.size() + program.instructions.size() + results.size()) * sizeof(std::byte*));
  make_sources(program, operands, shape, first_is_given);
  defer_overwrites();
  place_registers();
}

std::size_t ElementwiseRunner::take_scratch(std::size_t bytes) {
  const std::size_t offset = scratch_bytes_;
  // A line more than needed: registers a power of two apart would compete for the same places in the cache.
  scratch_bytes_ += align(bytes) + buffer_alignment;
  return offset;
}

void ElementwiseRunner::make_steps(const ElementwiseProgram& program, const std::vector<Operand>& results,
                                   const Routines& routines) {
  const auto operand_count = static_cast<std::int32_t>(program.operands.size());
  for (const auto& instruction : program.instructions)
    steps_.push_back({.routine = find_routine(program, instruction, routines),
                      .arguments = instruction.arguments,
                      .value = operand_count + static_cast<std::int32_t>(steps_.size()),
                      .parameters = instruction.parameters,
                      .element_bytes = bytes_of(instruction.result)});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::int32_t value = program.results[i];
    if (results[i].buffer < 0) continue;
    Step* made = value < operand_count ? nullptr : &steps_[static_cast<std::size_t>(value - operand_count)];
    if (made != nullptr && made->buffer < 0) {
      made->buffer = results[i].buffer;
      continue;
    }
    // An operand, or a value that is a result already, is copied.
    const auto dtype = static_cast<int>(program.dtype(value));
    steps_.push_back({.routine = routines.elementwise.cast[dtype][dtype],
                      .arguments = {value, -1, -1},
                      .value = operand_count + static_cast<std::int32_t>(steps_.size()),
                      .element_bytes = bytes_of(program.dtype(value)),
                      .buffer = results[i].buffer});
  }
  drop_unused_steps(program.operands.size());
}

void ElementwiseRunner::drop_unused_steps(std::size_t operand_count) {
  std::vector<bool> used(operand_count + steps_.size());
  std::vector<Step> kept;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->buffer < 0 && !used[static_cast<std::size_t>(step->value)]) continue;
    for (std::int32_t& argument : step->arguments) {
      if (argument >= 0) used[static_cast<std::size_t>(argument)] = true;
      // An argument that is not read may have any value.
      else argument = step->arguments[0];
    }
    kept.push_back(*step);
  }
  steps_.assign(kept.rbegin(), kept.rend());
  sources_.resize(operand_count);
  for (std::size_t i = 0; i < operand_count; ++i)
    if (used[i]) sources_[i].kind = Source::Kind::direct;
}

void ElementwiseRunner::make_sources(const ElementwiseProgram& program, const std::vector<Operand>& operands,
                                     const Shape& shape, bool first_is_given) {
  const std::int64_t elements = shape.elements();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (source.kind == Source::Kind::unused) continue;
    source.element_bytes = bytes_of(program.operands[i]);
    if (i == 0 && first_is_given) {
      source.kind = Source::Kind::given;
      continue;
    }
    source.buffer = operands[i].buffer;
    const Shape& own = operands[i].type.shape;
    if (own.elements() == elements) continue;
    Axes axes;
    const std::vector<std::int64_t> strides = broadcast_strides(own, shape);
    for (int axis = 0; axis < shape.rank(); ++axis)
      axes.push_back({shape[axis], {strides[static_cast<std::size_t>(axis)], shape.stride(axis)}});
    axes = collapse(axes);
    const bool is_scalar = own.elements() == 1;
    const bool is_row = axes.size() == 2 && axes[0].strides[0] == 0 && axes[1].strides[0] == 1;
    source.room = std::min(block, elements);
    if (is_scalar || is_row) {
      source.period = is_scalar ? 1 : axes[1].size;
      source.kind = source.period <= block ? Source::Kind::repeated : Source::Kind::row;
      if (source.kind == Source::Kind::repeated) source.room += source.period - 1;
    } else {
      source.kind = Source::Kind::strided;
      source.inner = axes.back();
      axes.pop_back();
      source.outer = axes;
    }
    source.scratch = take_scratch(static_cast<std::size_t>(source.room * source.element_bytes));
  }
}

void ElementwiseRunner::defer_overwrites() {
  // The elements of operands of the results' shape that a later step reads, by size.
  std::array<bool, 9> read_later = {};
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    step->deferred = step->buffer >= 0 && read_later[static_cast<std::size_t>(step->element_bytes)];
    for (std::int32_t argument : step->arguments) {
      if (static_cast<std::size_t>(argument) >= sources_.size()) continue;
      const Source& source = sources_[static_cast<std::size_t>(argument)];
      if (source.kind == Source::Kind::direct || source.kind == Source::Kind::given)
        read_later[static_cast<std::size_t>(source.element_bytes)] = true;
    }
  }
}

void ElementwiseRunner::place_registers() {
  std::map<std::int32_t, std::size_t> last_use;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::int32_t argument : steps_[i].arguments) last_use[argument] = i;
  std::map<std::int32_t, const Step*> alive;
  // Free registers by the size of their elements: a routine may write over an argument of the same size.
  std::array<std::vector<std::size_t>, 9> free;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    for (std::int32_t argument : step.arguments) {
      const auto found = alive.find(argument);
      if (found == alive.end() || last_use[argument] != i) continue;
      free[static_cast<std::size_t>(found->second->element_bytes)].push_back(found->second->scratch);
      alive.erase(found);
    }
    if (step.buffer >= 0 && !step.deferred) continue;
    std::vector<std::size_t>& candidates = free[static_cast<std::size_t>(step.element_bytes)];
    if (candidates.empty()) {
      step.scratch = take_scratch(static_cast<std::size_t>(block * step.element_bytes));
    } else {
      step.scratch = candidates.back();
      candidates.pop_back();
    }
    // A deferred result is needed until the end of the block.
    if (!step.deferred) alive[step.value] = &step;
  }
}

void ElementwiseRunner::begin(const Tile& tile, std::byte* scratch) const {
  for (const Source& source : sources_)
    if (source.kind == Source::Kind::repeated)
      repeat(scratch + source.scratch, tile.buffers[source.buffer],
             static_cast<std::size_t>(source.period * source.element_bytes),
             static_cast<std::size_t>(source.room * source.element_bytes));
}

const std::byte* ElementwiseRunner::locate(const Source& source, const Tile& tile, std::byte* scratch,
                                           std::int64_t first, std::int64_t count) const {
  const std::byte* from = tile.buffers[source.buffer];
  std::byte* own = scratch + source.scratch;
  switch (source.kind) {
    case Source::Kind::direct: return from + first * source.element_bytes;
    case Source::Kind::repeated: return own + first % source.period * source.element_bytes;
    case Source::Kind::row: {
      const std::byte* place = from + first % source.period * source.element_bytes;
      const std::int64_t before_end = source.period - first % source.period;
      if (count <= before_end) return place;
      // The row is longer than a block, so the block meets its end only once.
      const auto head = static_cast<std::size_t>(before_end * source.element_bytes);
      std::memcpy(own, place, head);
      std::memcpy(own + head, from, static_cast<std::size_t>((count - before_end) * source.element_bytes));
      return own;
    }
    default:
      with_element(static_cast<std::size_t>(source.element_bytes), [&](auto* element) {
        using T = std::remove_pointer_t<decltype(element)>;
        expand(reinterpret_cast<T*>(own), reinterpret_cast<const T*>(from), source.outer, source.inner, first, count);
      });
      return own;
  }
}

void ElementwiseRunner::run_block(const Tile& tile, std::byte* scratch, std::int64_t first, std::int64_t count,
                                  const std::byte* given) const {
  auto* const places = reinterpret_cast<const std::byte**>(scratch);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (source.kind == Source::Kind::unused) continue;
    places[i] = source.kind == Source::Kind::given ? given : locate(source, tile, scratch, first, count);
  }
  for (const Step& step : steps_) {
    std::byte* const out = step.buffer >= 0 && !step.deferred ? tile.buffers[step.buffer] + first * step.element_bytes
                                                              : scratch + step.scratch;
    const auto [a, b, c] = step.arguments;
    step.routine(out, places[a], places[b], places[c], count, step.parameters.data());
    places[step.value] = out;
  }
  for (const Step& step : steps_)
    if (step.deferred)
      std::memcpy(tile.buffers[step.buffer] + first * step.element_bytes, scratch + step.scratch,
                  static_cast<std::size_t>(count * step.element_bytes));
}

void ElementwiseRunner::run(const Tile& tile, std::byte* scratch, std::int64_t first, std::int64_t count,
                            const void* given) const {
  const auto* from = static_cast<const std::byte*>(given);
  for (std::int64_t done = 0; done < count; done += block) {
    run_block(tile, scratch, first + done, std::min(block, count - done), from);
    if (from != nullptr) from += block * sources_[0].element_bytes;
  }
}

}  // namespace pando::cpu
