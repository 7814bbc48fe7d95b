// SPDX-License-Identifier: Apache-2.0
// What training and evaluation report: Logs at one moment, History over a whole run.
#pragma once
#include <pando/report/report.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pando::keras {

// Losses and metrics by name, in the order in which they are shown.
class PANDO_API Logs {
 public:
  // Throws Error with the nearest name.
  double operator[](const std::string& name) const;
  bool contains(const std::string& name) const;
  void set(const std::string& name, double value);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  const std::vector<std::pair<std::string, double>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, double>> entries_;
};

// One value per epoch for each name.
class PANDO_API History {
 public:
  // Throws Error with the nearest name.
  const std::vector<double>& operator[](const std::string& name) const;
  bool contains(const std::string& name) const;
  // `seconds`: how long the epoch took to train, without its validation.
  void add(std::int64_t epoch, const Logs& logs, double seconds = 0);

  // The numbers of the epochs, from 0.
  const std::vector<std::int64_t>& epochs() const { return epochs_; }
  auto begin() const { return curves_.begin(); }
  auto end() const { return curves_.end(); }
  // The time of all epochs, without their validation.
  double training_seconds() const { return training_seconds_; }
  // The loss of each training step that this process ran.
  const plot::StepCurve& loss_by_step() const { return loss_by_step_; }
  // `steps_before`: how many steps an earlier run did. Only the first call uses it.
  void add_step(double loss, std::int64_t steps_before);
  // The timeline of the run, if fit() recorded it; of a long run, samples of it.
  const report::Timeline& timeline() const { return timeline_; }
  void set_timeline(const report::Timeline& timeline) { timeline_ = timeline; }
  // For plot::training_curves(history).
  operator const plot::Curves&() const { return curves_; }

 private:
  std::vector<std::int64_t> epochs_;
  plot::Curves curves_;
  double training_seconds_ = 0;
  plot::StepCurve loss_by_step_;
  // Steps that are not a value of loss_by_step_ yet, and the sum of their losses.
  std::int64_t pending_steps_ = 0;
  double pending_loss_ = 0;
  report::Timeline timeline_;
};

}  // namespace pando::keras
