// SPDX-License-Identifier: Apache-2.0
// What the tutorial programs share: their flags, and data that is available on every machine.
#pragma once
#include <pando/pando.h>

#include <functional>
#include <string>

namespace tutorial {

struct Arguments {
  // Passes over the training images.
  int epochs = 3;
  // The number of training images, and a sixth as many for the test; 0 takes all.
  int samples = 0;
};

// Runs the program with --epochs N and --samples N from the command line; --help prints `about` and the flags. Returns
// the exit status: 0, 1 if the program threw, 2 for wrong flags.
int run(int count, char** words, const std::string& about, const std::function<void(const Arguments&)>& program,
        const Arguments& defaults = {});

// "mnist" or "fashion_mnist" if it is on this machine; otherwise drawn digits, with a message.
pando::datasets::Splits load_images(const std::string& name, int samples);

}  // namespace tutorial
