// SPDX-License-Identifier: Apache-2.0
// Weight updates. Rates and counters are in device memory, so each block first works out the settings of the rule.
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/update_rules.h"
#include "backends/cuda/launch.h"
#include "ops/update.h"

namespace pando::cuda {

namespace {

// A number that is known when the kernel runs: float32 or float64, or one that counts.
struct DeviceNumber {
  const void* data = nullptr;
  DType dtype = DType::float32;

  __device__ double value() const {
    switch (dtype) {
      case DType::float64: return *static_cast<const double*>(data);
      case DType::int64: return static_cast<double>(*static_cast<const std::int64_t*>(data));
      case DType::int32: return static_cast<double>(*static_cast<const std::int32_t*>(data));
      default: return static_cast<double>(*static_cast<const float*>(data));
    }
  }
};

struct Scalars {
  DeviceNumber rate, step;
};

// The groups of a launch, and the number of the first block of each; the last is that of all.
constexpr int most_groups = 16;
constexpr std::int64_t elements_per_block = 4 * block_threads;
template <class T>
struct Groups {
  Group<T> group[most_groups] = {};
  unsigned first_block[most_groups + 1] = {};
  int count = 0;
};

template <class T, class Rule>
__global__ void __launch_bounds__(block_threads)
    sweep(Rule rule, Scalars scalars, const __grid_constant__ Groups<T> groups) {
  __shared__ typename Rule::template Settings<T> settings;
  if (threadIdx.x == 0) settings = rule.template prepare<T>(scalars.rate.value(), scalars.step.value());
  __syncthreads();
  int own = 0;
  while (blockIdx.x >= groups.first_block[own + 1]) ++own;
  const Group<T>& group = groups.group[own];
  const std::int64_t begin = (blockIdx.x - groups.first_block[own]) * elements_per_block;
  const std::int64_t end = min(begin + elements_per_block, group.elements);
  for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads)
    Rule::move(settings, group, i, group.in[1][i]);
}

// Where the operands of a group are, in the order of the call's.
struct Places {
  DType dtype;
  std::int64_t elements;
  std::size_t first_input, first_output;
};

template <class T, class Rule>
void launch_groups(const Rule& rule, const Scalars& scalars, const Groups<T>& groups, cudaStream_t stream) {
  const unsigned blocks = groups.first_block[groups.count];
  if (blocks == 0) return;
  sweep<<<blocks, block_threads, 0, stream>>>(rule, scalars, groups);
  check_launch("to launch an update");
}

// All groups of that type, as many as fit at once.
template <class T, class Rule>
void launch_all(const Rule& rule, const Scalars& scalars, const std::vector<Places>& all, const UpdateLayout& layout,
                const Operands& operands, cudaStream_t stream) {
  Groups<T> groups;
  for (const Places& places : all) {
    if (places.dtype != dtype_of<T> || places.elements == 0) continue;
    if (groups.count == most_groups) {
      launch_groups(rule, scalars, groups, stream);
      groups = {};
    }
    Group<T>& group = groups.group[groups.count];
    group.elements = places.elements;
    for (int i = 0; i < layout.inputs_per_group; ++i)
      group.in[i] = input<T>(operands, places.first_input + static_cast<std::size_t>(i));
    for (int i = 0; i < layout.outputs_per_group; ++i)
      group.out[i] = output<T>(operands, places.first_output + static_cast<std::size_t>(i));
    const auto blocks = static_cast<unsigned>((places.elements + elements_per_block - 1) / elements_per_block);
    groups.first_block[groups.count + 1] = groups.first_block[groups.count] + blocks;
    ++groups.count;
  }
  launch_groups(rule, scalars, groups, stream);
}

template <class Rule>
std::unique_ptr<Kernel> update(const KernelCall& call, const Rule& rule) {
  const UpdateLayout layout = update_layout(*call.op, call.attributes);
  std::vector<Places> groups;
  for (int g = 0; g < call.attributes.integer("groups"); ++g) {
    const auto first = static_cast<std::size_t>(layout.input(g, 0));
    const Type& type = call.inputs[first].type;
    groups.push_back({type.dtype, type.shape.elements(), first, static_cast<std::size_t>(layout.output(g, 0))});
  }
  const DType rate = call.inputs[0].type.dtype, step = call.inputs[layout.scalars > 1 ? 1 : 0].type.dtype;
  return make_kernel([=](const Operands& operands, cudaStream_t stream) {
    const Scalars scalars{{operands.inputs[0], rate}, {operands.inputs[layout.scalars > 1 ? 1 : 0], step}};
    launch_all<float>(rule, scalars, groups, layout, operands, stream);
    launch_all<double>(rule, scalars, groups, layout, operands, stream);
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> sgd_update(const KernelCall& call, const KernelContext&) {
  const Attributes& a = call.attributes;
  return update(call, Sgd{.momentum = a.number("momentum"),
                          .decay = a.number("weight_decay"),
                          .nesterov = a.flag("nesterov"),
                          .rate_in_velocity = a.flag("rate_in_velocity")});
}

std::unique_ptr<Kernel> adam_update(const KernelCall& call, const KernelContext&) {
  const Attributes& a = call.attributes;
  return update(call, Adam{.beta1 = a.number("beta1"),
                           .beta2 = a.number("beta2"),
                           .epsilon = a.number("epsilon"),
                           .decay = a.number("weight_decay"),
                           .decoupled = a.flag("decoupled"),
                           .after_correction = a.flag("epsilon_after_correction")});
}

std::unique_ptr<Kernel> rmsprop_update(const KernelCall& call, const KernelContext&) {
  const Attributes& a = call.attributes;
  const double epsilon = a.number("epsilon");
  const bool is_inside = a.flag("epsilon_inside_root");
  return update(call, Rmsprop{.rho = a.number("rho"),
                              .momentum = a.number("momentum"),
                              .inside = is_inside ? epsilon : 0.0,
                              .outside = is_inside ? 0.0 : epsilon,
                              .centered = a.flag("centered"),
                              .rate_in_velocity = a.flag("rate_in_velocity")});
}

std::unique_ptr<Kernel> adagrad_update(const KernelCall& call, const KernelContext&) {
  const Attributes& a = call.attributes;
  const double epsilon = a.number("epsilon");
  const bool is_inside = a.flag("epsilon_inside_root");
  return update(call, Adagrad{.inside = is_inside ? epsilon : 0.0, .outside = is_inside ? 0.0 : epsilon});
}

}  // namespace factories

}  // namespace pando::cuda
