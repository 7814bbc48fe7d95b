// SPDX-License-Identifier: Apache-2.0
#include "tutorial.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <vector>

namespace tutorial {

using namespace pando;

namespace {

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

int parse_number(const std::string& flag, const std::string& text, int smallest) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < smallest)
    throw UsageError(flag + " needs a whole number of at least " + std::to_string(smallest) + ", not '" + text + "'");
  return value;
}

Arguments parse_arguments(const std::vector<std::string>& words, Arguments arguments) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == "--epochs") arguments.epochs = parse_number(words[i], value, 1);
    else if (words[i] == "--samples") arguments.samples = parse_number(words[i], value, 1);
    else throw UsageError("unknown argument '" + words[i] + "'");
  }
  return arguments;
}

std::string usage(const std::string& program, const Arguments& defaults) {
  return "usage: " + program + " [--epochs N] [--samples N]\n" +
         "  --epochs N   passes over the training images (default: " + std::to_string(defaults.epochs) + ")\n" +
         "  --samples N  train on only N images, and test with a sixth as many (default: all)\n";
}

datasets::Split first_of(const datasets::Split& split, int count) {
  const std::int64_t rows = std::min<std::int64_t>(count, split.x.shape()[0]);
  return {split.x.slice(0, rows), split.y.slice(0, rows)};
}

}  // namespace

int run(int count, char** words, const std::string& about, const std::function<void(const Arguments&)>& program,
        const Arguments& defaults) {
  const std::string path = words[0], name = path.substr(path.rfind('/') + 1);
  const std::vector<std::string> flags(words + 1, words + count);
  try {
    for (const std::string& flag : flags)
      if (flag == "--help") {
        std::cout << about << "\n\n" << usage(name, defaults);
        return 0;
      }
    program(parse_arguments(flags, defaults));
    return 0;
  } catch (const UsageError& error) {
    std::cerr << name << ": " << error.what() << "\n" << usage(name, defaults);
    return 2;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 1;
  }
}

datasets::Splits load_images(const std::string& name, int samples) {
  const int test_samples = samples == 0 ? 10'000 : (samples + 5) / 6;
  if (!datasets::available(name)) {
    std::cout << "The data set " << name
              << " is not on this machine (scripts/fetch_data.sh gets it): using drawn digits instead.\n";
    return datasets::synthetic_digits(samples == 0 ? 60'000 : samples, test_samples);
  }
  const datasets::Splits all = datasets::load(name);
  return samples == 0 ? all : datasets::Splits{first_of(all.train, samples), first_of(all.test, test_samples)};
}

}  // namespace tutorial
