// SPDX-License-Identifier: Apache-2.0
// Rows of a table by their index, and one-hot rows: for elements of any type, by their size.
#include "backends/cpu/kernels/element_bytes.h"

namespace pando::cpu {

namespace factories {

std::unique_ptr<Kernel> gather(const KernelCall& call, const Routines&) {
  const Operand table = call.inputs[0], indices = call.inputs[1], out = call.outputs[0];
  const std::int64_t rows = table.type.shape[0];
  const std::int64_t row_bytes = table.type.shape.stride(0) * static_cast<std::int64_t>(element_bytes(out));
  return make_kernel([=, count = indices.type.shape.elements()](const Tile& tile) {
    if (out.buffer < 0) return;
    const Range range = share(tile, count);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    const std::byte* from = pointer<const std::byte>(tile, table);
    std::byte* to = pointer<std::byte>(tile, out);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (index[i] >= 0 && index[i] < rows)
        std::memcpy(to + i * row_bytes, from + index[i] * row_bytes, static_cast<std::size_t>(row_bytes));
      else if (tile.out_of_range != nullptr) *tile.out_of_range = true;
    }
  });
}

std::unique_ptr<Kernel> gather_gradient(const KernelCall& call, const Routines& routines) {
  const Operand gradient = call.inputs[0], indices = call.inputs[1], out = call.outputs[0];
  const std::int64_t rows = out.type.shape[0], columns = out.type.shape.stride(0);
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(element_bytes(out));
  const ElementwiseRoutine add =
      routines.elementwise.by_op[static_cast<int>(Op::add)][static_cast<int>(out.type.dtype)];
  return make_kernel([=, count = indices.type.shape.elements()](const Tile& tile) {
    if (out.buffer < 0) return;
    // Each tile owns some rows of the table and adds to them in the order of the indices.
    const Range own = share(tile, rows);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    const std::byte* from = pointer<const std::byte>(tile, gradient);
    std::byte* to = pointer<std::byte>(tile, out);
    std::memset(to + own.begin * row_bytes, 0, static_cast<std::size_t>((own.end - own.begin) * row_bytes));
    for (std::int64_t i = 0; i < count; ++i) {
      if (index[i] < own.begin || index[i] >= own.end) continue;
      std::byte* row = to + index[i] * row_bytes;
      add(row, row, from + i * row_bytes, nullptr, columns, nullptr);
    }
  });
}

std::unique_ptr<Kernel> one_hot(const KernelCall& call, const Routines&) {
  const Operand indices = call.inputs[0], out = call.outputs[0];
  const std::int64_t depth = call.attributes.integer("depth"), count = indices.type.shape.elements();
  const std::size_t bytes = element_bytes(out);
  return make_kernel([=, one = element(out.type.dtype, 1.0)](const Tile& tile) {
    if (out.buffer < 0) return;
    const Range range = share(tile, count);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    std::byte* to = pointer<std::byte>(tile, out);
    // All bits zero is 0 in every type.
    const auto row_bytes = depth * static_cast<std::int64_t>(bytes);
    std::memset(to + range.begin * row_bytes, 0, static_cast<std::size_t>((range.end - range.begin) * row_bytes));
    for (std::int64_t i = range.begin; i < range.end; ++i)
      if (index[i] >= 0 && index[i] < depth) fill(to, i * depth + index[i], 1, one, bytes);
  });
}

}  // namespace factories

}  // namespace pando::cpu
