// SPDX-License-Identifier: Apache-2.0
#include "utils.h"

#include <algorithm>
#include <charconv>
#include <iostream>

using namespace pando;

const char* const usage =
    R"(usage: completed_example [--use-ipu [--num-ipus N] [--pipelining]] [--gradient-accumulation-count N]
                         [--batch-size N] [--epochs N] [--samples N]
  --use-ipu                        train on virtual IPUs instead of the host
  --num-ipus N                     virtual IPUs; more than the model needs hold replicas of it
                                   (default: 1, or 2 with --pipelining)
  --pipelining                     cut the model in two stages, each on its own IPU
  --gradient-accumulation-count N  batches of each replica for a weight update (default: 1, or 8 with
                                   --pipelining); also --gradient-accumulation-steps-per-replica
  --batch-size N                   images in a batch (default: 64)
  --epochs N                       passes over the training images (default: 3)
  --samples N                      train on only N images, and test with a sixth as many (default: all)
  --help                           print this
)";

namespace {

int parse_number(const std::string& flag, const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || value < 1)
    throw UsageError(flag + " needs a whole number of at least 1, not '" + text + "'");
  return value;
}

// Sets what a flag with a value means; false if there is no such flag.
bool set_number(Arguments& arguments, const std::string& flag, const std::string& text) {
  if (flag == "--batch-size") arguments.batch_size = parse_number(flag, text);
  else if (flag == "--epochs") arguments.epochs = parse_number(flag, text);
  else if (flag == "--num-ipus") arguments.num_ipus = parse_number(flag, text);
  else if (flag == "--gradient-accumulation-count" || flag == "--gradient-accumulation-steps-per-replica")
    arguments.gradient_accumulation = parse_number(flag, text);
  else if (flag == "--samples") arguments.samples = parse_number(flag, text);
  else return false;
  return true;
}

Samples prepared(const datasets::Split& split, int count) {
  const std::int64_t rows = std::min<std::int64_t>(count, split.x.shape()[0]);
  return {expand_dims(split.x.slice(0, rows).astype(DType::float32) / 255.0, -1), split.y.slice(0, rows)};
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Both "--epochs 3" and "--epochs=3".
    const std::size_t sign = words[i].find('=');
    const std::string flag = words[i].substr(0, sign);
    if (words[i] == "--help") arguments.help = true;
    else if (words[i] == "--use-ipu") arguments.use_ipu = true;
    else if (words[i] == "--pipelining") arguments.pipelining = true;
    else if (sign != std::string::npos) {
      if (!set_number(arguments, flag, words[i].substr(sign + 1)))
        throw UsageError("unknown argument '" + words[i] + "'");
    } else {
      const std::string next = i + 1 < words.size() ? words[i + 1] : "";
      if (!set_number(arguments, flag, next)) throw UsageError("unknown argument '" + words[i] + "'");
      ++i;
    }
  }
  return arguments;
}

Setting setting_for(const Arguments& arguments, int pipeline_stages) {
  Setting setting{.pipelining = arguments.pipelining};
  const auto drop_pipeline = [&](const std::string& reason) {
    setting.pipelining = false;
    setting.notes.push_back("--pipelining has no effect " + reason);
  };
  if (!arguments.use_ipu) {
    if (arguments.num_ipus)
      setting.notes.push_back("--num-ipus has no effect without --use-ipu: the host is one device");
    if (arguments.pipelining) drop_pipeline("without --use-ipu: the host is one device");
  } else {
    setting.num_ipus = arguments.num_ipus.value_or(arguments.pipelining ? pipeline_stages : 1);
    if (arguments.pipelining && setting.num_ipus < pipeline_stages)
      drop_pipeline("with --num-ipus " + std::to_string(setting.num_ipus) + ": its " + std::to_string(pipeline_stages) +
                    " stages need an IPU each");
    const int idle = setting.pipelining ? setting.num_ipus % pipeline_stages : 0;
    if (idle > 0)
      setting.notes.push_back(std::to_string(idle) + " of " + std::to_string(setting.num_ipus) +
                              " IPUs stays idle: a replica of the pipeline takes " + std::to_string(pipeline_stages));
  }
  setting.gradient_accumulation = arguments.gradient_accumulation.value_or(setting.pipelining ? 8 : 1);
  return setting;
}

Data load_data(int samples) {
  const int train = samples == 0 ? 60'000 : samples, test = samples == 0 ? 10'000 : (samples + 5) / 6;
  if (!datasets::available("mnist"))
    std::cerr << "note: MNIST is not on this machine (scripts/fetch_data.sh gets it): using drawn digits instead\n";
  const datasets::Splits splits =
      datasets::available("mnist") ? datasets::load("mnist") : datasets::synthetic_digits(train, test);
  return {prepared(splits.train, train), prepared(splits.test, test)};
}
