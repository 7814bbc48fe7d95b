// SPDX-License-Identifier: Apache-2.0
// Draws one epoch's progress on the real standard output with its own clock, so that every run looks the same:
//
//   draw_progress bar|lines|silent [GATE]
//
// Before each update a line is read from GATE, a named pipe, so that a script can look at the terminal meanwhile.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "report/terminal/progress_bar.h"

namespace {

struct Update {
  std::int64_t current;
  double seconds;
  double loss, accuracy;
};
constexpr Update updates[] = {{100, 0.45, 1.20345, 0.6125}, {469, 2.1, 0.51237, 0.8461}, {938, 4.2, 0.30123, 0.91234}};

pando::ProgressStyle style_named(const std::string& name) {
  if (name == "lines") return pando::ProgressStyle::lines;
  return name == "silent" ? pando::ProgressStyle::silent : pando::ProgressStyle::bar;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: draw_progress bar|lines|silent [GATE]\n";
    return 2;
  }
  std::ifstream gate;
  if (count > 2) gate.open(arguments[2]);
  std::string line;
  const auto wait = [&] {
    if (gate.is_open()) std::getline(gate, line);
  };

  double now = 0;
  pando::ProgressOutput output = pando::output_to(stdout);
  output.seconds = [&] { return now; };
  std::puts("Epoch 1/1");
  pando::ProgressPrinter printer({.total = 938}, output, style_named(arguments[1]));
  for (const Update& update : updates) {
    wait();
    now = update.seconds;
    printer.update(update.current, {{"accuracy", update.accuracy}, {"loss", update.loss}});
  }
  wait();
  printer.finish();
  std::puts("done");
  return 0;
}
