// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "report/explain/explain.h"
#include "report/pictures/drawing.h"
#include "report/terminal/thousands.h"

namespace pando {

namespace {

std::string seconds_text(double seconds) {
  if (seconds == 0) return "-";
  if (seconds < 0.9995e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

}  // namespace

std::string scaling_text(const Scaling& scaling, std::int64_t samples) {
  std::string text =
      fmt::format("\nWorkers: the predicted time of an update\n{:>9}{:>12}{:>12}{:>12}{:>12}{:>13}{:>9}\n", "workers",
                  "compute", "sums", "waiting", "update", "samples/s", "linear");
  for (const PredictedUpdate& update : scaling.updates) {
    const double rate = static_cast<double>(samples) * update.workers / update.total();
    text += fmt::format("{:>9}{:>12}{:>12}{:>12}{:>12}{:>13}{:>7.1f} %\n", grouped_by_thousands(update.workers),
                        seconds_text(update.compute), seconds_text(update.sums),
                        seconds_text(update.waiting + update.agreement), seconds_text(update.total()),
                        grouped_by_thousands(static_cast<std::int64_t>(rate)), 100 * scaling.efficiency(update));
  }
  text += fmt::format("  compute: {}\n", plot::readable_text(scaling.compute_source));
  text += scaling.network_source.empty()
              ? fmt::format("  network: not known; 'mpirun -n 2 pando bench network{}' measures it\n",
                            scaling.is_of_gpus ? " --backend cuda" : "")
              : fmt::format("  network: {}\n  sums:    {} for each replica\n",
                            plot::readable_text(scaling.network_source), bytes_text(scaling.sum_bytes));
  return text;
}

}  // namespace pando
