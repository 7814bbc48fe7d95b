// What the tutorial programs share: their flags, and data that is there on every machine.
#pragma once
#include <pando/pando.h>

#include <functional>
#include <string>

namespace tutorial {

struct Arguments {
  // Passes over the training images.
  int epochs = 3;
  // Training images, and a sixth as many for the test; 0: all there are.
  int samples = 0;
};

// Runs the program with --epochs N and --samples N from the command line; --help prints `about` and the flags. Returns
// the exit status: 0, 1 if the program threw, 2 for wrong flags.
int run(int count, char** words, const std::string& about, const std::function<void(const Arguments&)>& program,
        const Arguments& defaults = {});

// "mnist" or "fashion_mnist" if it is on this machine, or else drawn digits, and says so.
pando::datasets::Splits load_images(const std::string& name, int samples);

}  // namespace tutorial
