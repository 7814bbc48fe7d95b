// SPDX-License-Identifier: Apache-2.0
// The flags of the program, and its data.
#pragma once
#include <pando/pando.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// The flags are wrong; what() says which and why.
struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Arguments {
  bool help = false;
  bool use_ipu = false;
  bool pipelining = false;
  int batch_size = 64;
  int epochs = 3;
  // If not given: as many IPUs as stages, and 8 micro-batches with a pipeline or 1 without.
  std::optional<int> num_ipus = {};
  std::optional<int> gradient_accumulation = {};
  // 0: all.
  int samples = 0;
};

extern const char* const usage;

// Throws UsageError.
Arguments parse_arguments(const std::vector<std::string>& words);

// What the program makes of the arguments: some of them do nothing without others, and `notes` says so.
struct Setting {
  bool pipelining = false;
  int num_ipus = 1;
  int gradient_accumulation = 1;
  std::vector<std::string> notes = {};
};
Setting setting_for(const Arguments& arguments, int pipeline_stages);

struct Samples {
  // float32 [n, 28, 28, 1], from 0 to 1.
  pando::Array x;
  // uint8 [n].
  pando::Array y;
};
struct Data {
  Samples train, test;
};
// MNIST, or drawn digits if it is not on this machine; `samples` of them, and a sixth as many for the test.
Data load_data(int samples);
