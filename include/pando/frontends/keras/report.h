// make_report: what a page about a model's training shows, for report::save().
#pragma once
#include <pando/frontends/keras/model.h>
#include <pando/report/report.h>

namespace pando::keras {

struct ReportOptions {
  // Empty: the name of the model.
  std::string title = {};
  std::string description = {};
  // Label 0 is the first; empty: their numbers.
  std::vector<std::string> class_names = {};
  // As in fit().
  std::int64_t batch_size = 32;
  // Of an epoch of training; 0: not known, and neither are samples a second.
  std::int64_t samples = 0;
};

// What fit() returned as curves and numbers, the model's layers, what ran where, and the timeline if fit() recorded one
// (FitOptions::record_timeline). Throws Error if the model is not built and compiled.
PANDO_API report::Run make_report(Model& model, const History& history, const ReportOptions& options = {});

// The same, and what the model says about these samples: losses and metrics, and for a model whose only output is one
// score for each class also its mistakes. Images are shown if the only input is some.
PANDO_API report::Run make_report(Model& model, const History& history, const Arrays& x_test, const Arrays& y_test,
                                  const ReportOptions& options = {});

}  // namespace pando::keras
