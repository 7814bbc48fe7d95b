#include "cli/samples.h"

#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "cli/output.h"

namespace pando::cli {

namespace {

std::int64_t limited(std::int64_t count, std::int64_t limit) { return limit > 0 ? std::min(count, limit) : count; }

// The first images, with an axis for the channels.
datasets::Split first_of(const datasets::Split& split, std::int64_t limit) {
  const std::int64_t count = limited(split.x.shape()[0], limit);
  const Array x = split.x.slice(0, count);
  return {x.shape().rank() == 3 ? expand_dims(x, -1) : x, split.y.slice(0, count)};
}

ImageKind described(const datasets::Description& known, std::int64_t limit) {
  return {known.name,
          limited(known.train, limit),
          limited(known.test, limit),
          {known.image[0], known.image[1], 1},
          known.class_names};
}

// A data set by its name; null if there is none.
const datasets::Description* find_known(const std::vector<datasets::Description>& known, const std::string& name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
  return found == known.end() ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(const std::vector<datasets::Description>& known, const std::string& name) {
  std::vector<std::string> names;
  for (const datasets::Description& one : known) names.push_back(one.name);
  throw Error(fmt::format("{} (there is no folder of this name either)", unknown_name("data set", name, names)));
}

Samples load_folder(const std::string& path, std::int64_t limit) {
  const datasets::Directory folder = datasets::load_directory(path);
  if (folder.test_was_split_off)
    tell(fmt::format("{} has no test images: every fifth image of each class, {} in all, is used for the test.", path,
                     thousands(folder.test.x.shape()[0])));
  Samples samples{.kind = {.dataset = path, .class_names = folder.class_names},
                  .train = first_of(folder.train, limit),
                  .test = first_of(folder.test, limit)};
  const Shape& shape = samples.train.x.shape();
  samples.kind.train = shape[0];
  samples.kind.test = samples.test.x.shape()[0];
  samples.kind.image = shape.part(1, shape.rank());
  return samples;
}

}  // namespace

Samples load_samples(const std::string& dataset, std::int64_t limit) {
  const std::vector<datasets::Description> known = datasets::list();
  const datasets::Description* found = find_known(known, dataset);
  if (found == nullptr) {
    if (!is_folder(dataset)) fail_unknown(known, dataset);
    return load_folder(dataset, limit);
  }
  const ImageKind kind = described(*found, limit);
  // Draws only as many images as are asked for.
  const datasets::Splits splits =
      found->is_drawn ? datasets::synthetic_digits(static_cast<int>(kind.train), static_cast<int>(kind.test))
                      : datasets::load(dataset);
  return {kind, first_of(splits.train, limit), first_of(splits.test, limit)};
}

ImageKind describe_samples(const std::string& dataset, std::int64_t limit) {
  const std::vector<datasets::Description> known = datasets::list();
  const datasets::Description* found = find_known(known, dataset);
  return found != nullptr ? described(*found, limit) : load_samples(dataset, limit).kind;
}

}  // namespace pando::cli
