// SPDX-License-Identifier: Apache-2.0
// Weight updates: one sweep over all parameters of a call, shared evenly among the tiles.
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "ops/update.h"

namespace pando::cpu {

namespace {

// The work of a group is cut at multiples of this many elements.
constexpr std::int64_t elements_per_block = 1024;
// Parameter, gradient and up to three states.
constexpr std::size_t most_inputs = 5, most_outputs = 4;

struct Group {
  UpdateRoutine routine;
  std::vector<Operand> in, out;
  std::int64_t elements, element_bytes;
  // The number of blocks of the groups before it.
  std::int64_t first_block;
  // An output that is not wanted is written to scratch, block by block.
  bool all_wanted;
};

void run_group(const Group& group, const Tile& tile, std::int64_t first, std::int64_t last, const void* settings) {
  std::array<const void*, most_inputs> in = {};
  std::array<void*, most_outputs> out = {};
  for (std::size_t i = 0; i < group.in.size(); ++i)
    in[i] = pointer<const std::byte>(tile, group.in[i]) + first * group.element_bytes;
  for (std::size_t i = 0; i < group.out.size(); ++i)
    out[i] = group.out[i].buffer < 0
                 ? tile.scratch + static_cast<std::int64_t>(i) * elements_per_block * group.element_bytes
                 : pointer<std::byte>(tile, group.out[i]) + first * group.element_bytes;
  group.routine(out.data(), in.data(), last - first, settings);
}

void run_groups(const std::vector<Group>& groups, std::int64_t blocks, const Tile& tile, const void* settings) {
  const Range range = share(tile, blocks);
  for (const Group& group : groups) {
    const std::int64_t own_blocks = (group.elements + elements_per_block - 1) / elements_per_block;
    const std::int64_t begin = std::max<std::int64_t>(range.begin - group.first_block, 0);
    const std::int64_t end = std::min(range.end - group.first_block, own_blocks);
    const std::int64_t step = group.all_wanted ? std::max<std::int64_t>(end - begin, 1) : 1;
    for (std::int64_t b = begin; b < end; b += step)
      run_group(group, tile, b * elements_per_block, std::min((b + step) * elements_per_block, group.elements),
                settings);
  }
}

// `choose` picks the routine among those of a dtype; `prepare` makes the settings from the rate and the tile.
template <class Choose, class Prepare>
std::unique_ptr<Kernel> update(const KernelCall& call, const Routines& routines, Choose choose, Prepare prepare) {
  const UpdateLayout layout = update_layout(*call.op, call.attributes);
  std::vector<Group> groups;
  std::int64_t blocks = 0;
  for (int g = 0; g < call.attributes.integer("groups"); ++g) {
    const auto in = call.inputs.begin() + layout.input(g, 0);
    const auto out = call.outputs.begin() + layout.output(g, 0);
    const DType dtype = in->type.dtype;
    Group group = {.routine = choose(dtype == DType::float64 ? routines.update.float64 : routines.update.float32),
                   .in = {in, in + layout.inputs_per_group},
                   .out = {out, out + layout.outputs_per_group},
                   .elements = in->type.shape.elements(),
                   .element_bytes = static_cast<std::int64_t>(size_of(dtype)),
                   .first_block = blocks,
                   .all_wanted = true};
    for (const Operand& operand : group.out) group.all_wanted &= operand.buffer >= 0;
    blocks += (group.elements + elements_per_block - 1) / elements_per_block;
    groups.push_back(std::move(group));
  }
  const Operand rate = call.inputs[0];
  return make_kernel(
      [groups = std::move(groups), blocks, rate, prepare](const Tile& tile) {
        const double now = rate.type.dtype == DType::float64 ? *pointer<const double>(tile, rate)
                                                             : static_cast<double>(*pointer<const float>(tile, rate));
        const auto settings = prepare(now, tile);
        run_groups(groups, blocks, tile, &settings);
      },
      most_outputs * static_cast<std::size_t>(elements_per_block) * sizeof(double));
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> sgd_update(const KernelCall& call, const Routines& routines) {
  const Attributes& a = call.attributes;
  const double momentum = a.number("momentum"), decay = a.number("weight_decay");
  const bool nesterov = a.flag("nesterov"), rate_in_velocity = a.flag("rate_in_velocity");
  const bool has_velocity = momentum != 0;
  const auto choose = [=](const UpdatesOf& of) { return has_velocity ? of.sgd_momentum : of.sgd; };
  const auto prepare = [=](double rate, const Tile&) {
    // How a step uses the velocity: as it is, or after one more step of momentum, together with the gradient.
    const double reach = nesterov ? momentum : 1.0;
    return SgdSettings{.decay = decay,
                       .momentum = momentum,
                       .gain = rate_in_velocity ? -rate : 1.0,
                       .direct = nesterov || !has_velocity ? -rate : 0.0,
                       .glide = rate_in_velocity ? reach : -rate * reach};
  };
  return update(call, routines, choose, prepare);
}

std::unique_ptr<Kernel> adam_update(const KernelCall& call, const Routines& routines) {
  const Attributes& a = call.attributes;
  const double beta1 = a.number("beta1"), beta2 = a.number("beta2"), epsilon = a.number("epsilon");
  const double decay = a.number("weight_decay");
  const bool decoupled = a.flag("decoupled"), after_correction = a.flag("epsilon_after_correction");
  const Operand step = call.inputs[1];
  const auto prepare = [=](double rate, const Tile& tile) {
    const double t = static_cast<double>(whole_number(tile, step, 0)) + 1.0;
    const double correction = 1 - std::pow(beta1, t), root = std::sqrt(1 - std::pow(beta2, t));
    return AdamSettings{.decay = decoupled ? 0.0 : decay,
                        .shrink = decoupled ? 1 - rate * decay : 1.0,
                        .beta1 = beta1,
                        .beta2 = beta2,
                        .rate = (after_correction ? rate : rate * root) / correction,
                        .root_scale = after_correction ? 1 / root : 1.0,
                        .epsilon = epsilon};
  };
  return update(
      call, routines, [](const UpdatesOf& of) { return of.adam; }, prepare);
}

std::unique_ptr<Kernel> rmsprop_update(const KernelCall& call, const Routines& routines) {
  const Attributes& a = call.attributes;
  const double rho = a.number("rho"), momentum = a.number("momentum"), epsilon = a.number("epsilon");
  const bool centered = a.flag("centered"), inside = a.flag("epsilon_inside_root");
  const bool has_velocity = momentum != 0, rate_in_velocity = a.flag("rate_in_velocity");
  const auto choose = [=](const UpdatesOf& of) { return of.rmsprop[has_velocity][centered]; };
  const auto prepare = [=](double rate, const Tile&) {
    const bool gains = has_velocity && rate_in_velocity;
    return RmspropSettings{.rho = rho,
                           .momentum = momentum,
                           .inside = inside ? epsilon : 0.0,
                           .outside = inside ? 0.0 : epsilon,
                           .gain = gains ? rate : 1.0,
                           .rate = gains ? 1.0 : rate};
  };
  return update(call, routines, choose, prepare);
}

std::unique_ptr<Kernel> adagrad_update(const KernelCall& call, const Routines& routines) {
  const double epsilon = call.attributes.number("epsilon");
  const bool inside = call.attributes.flag("epsilon_inside_root");
  const auto prepare = [=](double rate, const Tile&) {
    return RmspropSettings{.rho = 0.0,
                           .momentum = 0.0,
                           .inside = inside ? epsilon : 0.0,
                           .outside = inside ? 0.0 : epsilon,
                           .gain = 1.0,
                           .rate = rate};
  };
  return update(
      call, routines, [](const UpdatesOf& of) { return of.adagrad; }, prepare);
}

}  // namespace factories

}  // namespace pando::cpu
