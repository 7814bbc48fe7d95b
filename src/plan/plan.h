// SPDX-License-Identifier: Apache-2.0
// Plan: the compiler's only output and the runtime's only input. The program of one device as plain data; it assumes
// neither threads nor host callbacks.
#pragma once
#include <pando/graph/graph.h>

#include "graph/op_definition.h"

namespace pando {

// Memory that kernels name by its number.
struct Buffer {
  enum class Kind : std::uint8_t {
    arena,     // `offset` bytes into the device's arena
    feed,      // `offset` bytes into the current slot of the feed ring
    variable,  // kept between executions; `index` numbers Plan::variables
    constant,  // `index` numbers Plan::constants
    counter,   // the number of the update and of the first sample, two int64 that the executor writes
  };
  Kind kind = Kind::arena;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::int32_t index = -1;
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// A value as a kernel sees it: a buffer and the type to read it as.
struct Operand {
  // -1 for an output that is never read: it need not be written.
  std::int32_t buffer = -1;
  Type type;
  // Where its elements lie in the buffer: the number of the first one, and the steps between them along each axis.
  // Without steps, they lie side by side.
  std::int64_t first = 0;
  Integers strides = {};
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct KernelCall {
  const OpDefinition* op = nullptr;
  Attributes attributes;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  // The name and the layer of the node that it computes.
  std::string name;
  std::string layer = {};
};

// Kernels without dependencies among them; a barrier ends it.
using Superstep = std::vector<KernelCall>;

// A value that enters or leaves.
struct Port {
  std::string name;
  Type type;
  std::int32_t buffer = -1;
  PortKind kind = PortKind::host;
  // Its number among the ports of its kind.
  std::int32_t number = 0;
  // For outputs only: kept for every step instead of only the last.
  bool every_step = false;
  friend bool operator==(const Port&, const Port&) = default;
};

// A value that stays.
struct VariablePort {
  std::string name;
  Type type;
  std::int32_t buffer = -1;
  VariableRole role = VariableRole::weight;
  // Whether the plan changes it.
  bool assigned = false;
  friend bool operator==(const VariablePort&, const VariablePort&) = default;
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Superstep> supersteps;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<VariablePort> variables;
  std::vector<Array> constants;
  std::size_t arena_bytes = 0;
  // One slot of the feed ring, as large as all inputs.
  std::size_t feed_bytes = 0;
  // Whether to look for NaN and infinity in what each superstep writes, and stop with an Error that names the kernel.
  bool check_numerics = false;
  // Products may round their float32 factors to bfloat16 where that is faster; their sums stay float32.
  bool mixed_bfloat16 = false;
  // The same with tf32.
  bool tf32 = false;
};

// Every buffer starts on a multiple of this.
inline constexpr std::size_t buffer_alignment = 64;
constexpr std::size_t align(std::size_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

// Whether two plans do the same: attributes and constants are compared by their values.
bool operator==(const Plan& a, const Plan& b);

// The text form: buffers, then supersteps with one kernel per line.
std::string to_string(const Plan& plan);

}  // namespace pando
