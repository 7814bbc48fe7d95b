// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/update_rules.h"

namespace pando::test {

namespace {

UpdateRule rule_of(const ops::SgdOptions& o) {
  return {&definitions::sgd_update,
          {{"momentum", o.momentum},
           {"nesterov", o.nesterov},
           {"weight_decay", o.weight_decay},
           {"rate_in_velocity", o.rate_in_velocity}},
          o.momentum != 0 ? 1 : 0,
          false,
          [o](double rate, double, const Tensors& group) { return sgd_update(rate, group, o); },
          [o](Value rate, Value, Value p, Value g, const std::vector<Value>& s) {
            return ops::sgd_update(rate, p, g, s, o);
          }};
}

UpdateRule rule_of(const ops::AdamOptions& o) {
  return {&definitions::adam_update,
          {{"beta1", o.beta1},
           {"beta2", o.beta2},
           {"epsilon", o.epsilon},
           {"weight_decay", o.weight_decay},
           {"decoupled", o.decoupled},
           {"epsilon_after_correction", o.epsilon_after_correction}},
          2,
          true,
          [o](double rate, double step, const Tensors& group) { return adam_update(rate, step, group, o); },
          [o](Value rate, Value step, Value p, Value g, const std::vector<Value>& s) {
            return ops::adam_update(rate, step, p, g, s, o);
          }};
}

UpdateRule rule_of(const ops::RmspropOptions& o) {
  return {&definitions::rmsprop_update,
          {{"rho", o.rho},
           {"momentum", o.momentum},
           {"epsilon", o.epsilon},
           {"centered", o.centered},
           {"epsilon_inside_root", o.epsilon_inside_root},
           {"rate_in_velocity", o.rate_in_velocity}},
          1 + (o.momentum != 0 ? 1 : 0) + (o.centered ? 1 : 0),
          false,
          [o](double rate, double, const Tensors& group) { return rmsprop_update(rate, group, o); },
          [o](Value rate, Value, Value p, Value g, const std::vector<Value>& s) {
            return ops::rmsprop_update(rate, p, g, s, o);
          }};
}

UpdateRule rule_of(const ops::AdagradOptions& o) {
  return {&definitions::adagrad_update,
          {{"epsilon", o.epsilon}, {"epsilon_inside_root", o.epsilon_inside_root}},
          1,
          false,
          [o](double rate, double, const Tensors& group) { return adagrad_update(rate, group, o); },
          [o](Value rate, Value, Value p, Value g, const std::vector<Value>& s) {
            return ops::adagrad_update(rate, p, g, s, o);
          }};
}

// A squared or mean-square state is positive, and larger than the square of any mean beside it.
Domain domain_of(const UpdateRule& rule, int state) {
  const bool is_square = (rule.op == &definitions::adam_update && state == 1) ||
                         (rule.op != &definitions::adam_update && rule.op != &definitions::sgd_update && state == 0);
  return is_square ? domain(1, 2) : domain(-0.5, 0.5);
}

Case one_update(const UpdateRule& rule, const std::vector<Shape>& parameters) {
  Case c = {.inputs = {{{}, {}, listed({0.1})}}, .attributes = rule.attributes};
  c.attributes.set("groups", static_cast<std::int64_t>(parameters.size()));
  if (rule.takes_step) c.inputs.push_back({{}, DType::int32, listed({4})});
  for (const Shape& shape : parameters) {
    c.inputs.push_back({shape});
    c.inputs.push_back({shape});
    for (int state = 0; state < rule.states; ++state) c.inputs.push_back({shape, {}, domain_of(rule, state)});
  }
  c.reference = [rule](const Tensors& in) {
    Tensors results;
    const auto first = static_cast<std::ptrdiff_t>(rule.takes_step ? 2 : 1),
               size = static_cast<std::ptrdiff_t>(2 + rule.states);
    for (auto group = in.begin() + first; group != in.end(); group += size) {
      const Tensors updated = rule.reference(in[0][0], rule.takes_step ? in[1][0] : 0, Tensors(group, group + size));
      results.insert(results.end(), updated.begin(), updated.end());
    }
    return results;
  };
  return c;
}

const std::vector<std::vector<Shape>> parameter_lists = {{{7}},   {{}}, {{3, 5}}, {{0}}, {{1}, {33, 40}, {0, 2}, {5}},
                                                         {{1037}}};

}  // namespace

std::vector<UpdateRule> update_rules() {
  std::vector<UpdateRule> rules = {rule_of(ops::SgdOptions{}), rule_of(ops::SgdOptions{.weight_decay = 0.1})};
  for (bool nesterov : {false, true})
    for (bool rate_in_velocity : {false, true})
      for (double decay : {0.0, 0.1})
        rules.push_back(rule_of(ops::SgdOptions{
            .momentum = 0.9, .nesterov = nesterov, .weight_decay = decay, .rate_in_velocity = rate_in_velocity}));
  for (double decay : {0.0, 0.1})
    for (bool decoupled : {false, true})
      for (bool after : {false, true})
        rules.push_back(rule_of(ops::AdamOptions{.beta1 = 0.8,
                                                 .epsilon = 1e-2,
                                                 .weight_decay = decay,
                                                 .decoupled = decoupled,
                                                 .epsilon_after_correction = after}));
  for (double momentum : {0.0, 0.9})
    for (bool centered : {false, true})
      for (bool inside : {false, true})
        for (bool rate_in_velocity : {false, true})
          rules.push_back(rule_of(ops::RmspropOptions{.momentum = momentum,
                                                      .epsilon = 1e-2,
                                                      .centered = centered,
                                                      .epsilon_inside_root = inside,
                                                      .rate_in_velocity = rate_in_velocity}));
  for (bool inside : {false, true})
    rules.push_back(rule_of(ops::AdagradOptions{.epsilon = 1e-2, .epsilon_inside_root = inside}));
  return rules;
}

std::vector<Entry> update_entries() {
  std::vector<Entry> entries;
  for (const UpdateRule& rule : update_rules()) {
    if (entries.empty() || entries.back().op != rule.op->name) entries.push_back({.op = rule.op->name});
    for (const auto& parameters : parameter_lists) entries.back().cases.push_back(one_update(rule, parameters));
  }
  return entries;
}

}  // namespace pando::test
