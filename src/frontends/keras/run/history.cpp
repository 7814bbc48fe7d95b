// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/history.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <pando/base/error.h>

#include "base/text.h"

namespace pando::keras {

namespace {

template <class Entries>
auto find_entry(Entries& entries, const std::string& name) {
  return std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    const auto& [known, value] = entry;
    return known == name;
  });
}

template <class Entries>
const auto& require_entry(const char* kind, const Entries& entries, const std::string& name) {
  const auto found = find_entry(entries, name);
  if (found == entries.end()) {
    std::vector<std::string> all;
    for (const auto& [known, value] : entries) all.push_back(known);
    throw Error(unknown_name(kind, name, all));
  }
  const auto& [known, value] = *found;
  return value;
}

}  // namespace

double Logs::operator[](const std::string& name) const { return require_entry("log", entries_, name); }
bool Logs::contains(const std::string& name) const { return find_entry(entries_, name) != entries_.end(); }
void Logs::set(const std::string& name, double value) {
  const auto found = find_entry(entries_, name);
  if (found == entries_.end()) entries_.emplace_back(name, value);
  else found->second = value;
}

const std::vector<double>& History::operator[](const std::string& name) const {
  return require_entry("history", curves_, name);
}
bool History::contains(const std::string& name) const { return find_entry(curves_, name) != curves_.end(); }

void History::add(std::int64_t epoch, const Logs& logs, double seconds) {
  epochs_.push_back(epoch);
  training_seconds_ += seconds;
  for (const auto& [name, value] : logs) {
    const auto found = find_entry(curves_, name);
    std::vector<double>& curve =
        found == curves_.end() ? curves_.emplace_back(plot::Curve{.name = name}).values : found->values;
    // A value that was not logged in an earlier epoch is NaN there.
    curve.resize(epochs_.size() - 1, std::numeric_limits<double>::quiet_NaN());
    curve.push_back(value);
  }
}

void History::add_step(double loss, std::int64_t steps_before) {
  constexpr std::size_t most_values = 2048;
  std::vector<double>& values = loss_by_step_.values;
  if (values.empty() && pending_steps_ == 0) loss_by_step_.first = steps_before;
  pending_loss_ += loss;
  if (++pending_steps_ < loss_by_step_.steps_each) return;
  values.push_back(pending_loss_ / static_cast<double>(pending_steps_));
  pending_loss_ = 0;
  pending_steps_ = 0;
  if (values.size() < most_values) return;
  for (std::size_t i = 0; i < most_values / 2; ++i) values[i] = (values[2 * i] + values[2 * i + 1]) / 2;
  values.resize(most_values / 2);
  loss_by_step_.steps_each *= 2;
}

}  // namespace pando::keras
