// SPDX-License-Identifier: Apache-2.0
// Draws nested tqdm bars on the real standard error stream with its own clock, so that every run looks the same:
//
//   draw_tqdm [GATE]
//
// Before each epoch's steps, and before the end, a line is read from GATE, a named pipe, so that a script can look at
// the terminal meanwhile.
#include <fstream>
#include <string>

#include "report/terminal/tqdm.h"

int main(int count, char** arguments) {
  std::ifstream gate;
  if (count > 1) gate.open(arguments[1]);
  std::string line;
  const auto wait = [&] {
    if (gate.is_open()) std::getline(gate, line);
  };

  double now = 0;
  pando::ProgressOutput output = pando::output_to(stderr);
  output.seconds = [&] { return now; };
  pando::TqdmScreen screen(output, pando::output_to(stdout).write);
  pando::TqdmPrinter epochs({.desc = "Epochs", .total = 3}, screen);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    // The last epoch's bar stays.
    pando::TqdmPrinter steps({.total = 150, .leave = epoch == 3}, screen);
    for (int step = 0; step < 150; ++step) {
      if (step == 67) wait();
      now += 0.05;
      steps.set_description("Loss: 0.1234 | Accuracy: 97.00% ");
      steps.update(1);
    }
    if (epoch == 2) steps.write("epoch 2: the best so far");
    steps.close();
    epochs.update(1);
  }
  wait();
  return 0;
}
