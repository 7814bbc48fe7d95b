// SPDX-License-Identifier: Apache-2.0
// make_report: what a page about a model's training shows, for report::save().
#pragma once
#include <pando/frontends/keras/model.h>
#include <pando/report/report.h>

namespace pando::keras {

struct ReportOptions {
  // If empty, the name of the model.
  std::string title = {};
  std::string description = {};
  // The names of the labels, label 0 first. If empty, the labels' numbers are shown.
  std::vector<std::string> class_names = {};
  // As in fit().
  std::int64_t batch_size = 32;
  // The samples of a training epoch. With 0 it is not known, and the page does not show samples per second.
  std::int64_t samples = 0;
};

// Shows how the model was trained, by which command and on which machine; what fit() returned, as curves and numbers;
// the model's layers; what ran where; and the timeline if fit() recorded one (FitOptions::record_timeline). Throws
// Error if the model is not built and compiled.
PANDO_API report::Run make_report(Model& model, const History& history, const ReportOptions& options = {});

// The same, and what the model says about these samples: losses and metrics, and, for a model whose only output is one
// score for each class, its mistakes. Images are shown if the only input is images.
PANDO_API report::Run make_report(Model& model, const History& history, const Arrays& x_test, const Arrays& y_test,
                                  const ReportOptions& options = {});

}  // namespace pando::keras
