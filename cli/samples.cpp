// SPDX-License-Identifier: Apache-2.0
#include "cli/samples.h"

#include <pando/base/array_functions.h>
#include <pando/report/progress.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/paths.h"
#include "base/text.h"
#include "cli/output.h"

namespace pando::cli {

namespace {

std::int64_t limited(std::int64_t count, std::int64_t limit) { return limit > 0 ? std::min(count, limit) : count; }

// The first samples, images with an axis for the channels.
datasets::Split first_of(const datasets::Split& split, std::int64_t limit) {
  const std::int64_t count = limited(split.x.shape()[0], limit);
  const Array x = split.x.slice(0, count);
  return {x.shape().rank() == 3 ? expand_dims(x, -1) : x, split.y.slice(0, count)};
}

SampleKind described(const datasets::Description& known, std::int64_t limit) {
  return {.dataset = known.name,
          .train = limited(known.train, limit),
          .test = limited(known.test, limit),
          .shape = {known.image[0], known.image[1], 1},
          .class_names = known.class_names};
}

// A data set by its name; null if there is none.
const datasets::Description* find_known(const std::vector<datasets::Description>& known, const std::string& name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
  return found == known.end() ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(const std::vector<datasets::Description>& known, const std::string& name) {
  std::vector<std::string> names;
  for (const datasets::Description& one : known) names.push_back(one.name);
  throw UsageError("", fmt::format("{} (and no folder or file has this name)", unknown_name("data set", name, names)));
}

// Refuses options that mean nothing to such a data set.
void check_meaning(const SampleChoice& choice, bool is_own_images, bool is_table) {
  if (choice.image_size[0] > 0 && !is_own_images)
    throw UsageError("", fmt::format("--image-size is for your own images; leave it out for {}", choice.dataset));
  if (!choice.label.empty() && !is_table)
    throw UsageError("", fmt::format("--label is for your own CSV file; leave it out for {}", choice.dataset));
}

// Names what was left out. Throws Error unless that is allowed.
void tell_skipped(const SampleChoice& choice, const std::string& noun, const std::vector<std::string>& skipped) {
  constexpr std::size_t most = 10;
  if (skipped.empty()) return;
  const std::size_t shown = choice.skip_bad ? std::min(most, skipped.size()) : 1;
  std::string list = fmt::format("{}", fmt::join(skipped.begin(), skipped.begin() + static_cast<long>(shown), "\n  "));
  if (skipped.size() > shown)
    list += fmt::format("{}{} more", choice.skip_bad ? "\n  and " : " (and ", skipped.size() - shown);
  if (!choice.skip_bad)
    throw Error(
        fmt::format("{}{}; --skip-bad leaves out what cannot be read", list, skipped.size() > shown ? " such)" : ""));
  tell(fmt::format("{} {}{} of {} cannot be read and {} left out:\n  {}", thousands(std::ssize(skipped)), noun,
                   skipped.size() == 1 ? "" : "s", choice.dataset, skipped.size() == 1 ? "is" : "are", list));
}

Samples load_own(const SampleChoice& choice, const datasets::OwnDataOptions& wanted) {
  datasets::OwnDataOptions options = wanted;
  // The command lists them all, and then decides.
  options.skip_bad = true;
  // A terminal shows how far it is; a folder that is read in a moment shows nothing.
  std::optional<ProgressBar> bar;
  options.progress = [&](std::int64_t read, std::int64_t all) {
    constexpr std::int64_t many = 1000;
    if (all < many || choice.quiet || isatty(STDERR_FILENO) == 0) return;
    if (!bar) {
      tell(fmt::format("Reading the {} images in {}", thousands(all), choice.dataset));
      bar.emplace(all, ProgressOptions{.stream = stderr, .unit = "image"});
    }
    bar->update(read);
    if (read == all) bar->finish();
  };
  const datasets::OwnData own = datasets::load_own(choice.dataset, options);
  tell_skipped(choice, own.columns.empty() ? "image" : "row", own.skipped);
  for (const std::string& notice : own.notices) tell(notice);
  if (own.resized > 0 && options.image_size[0] == 0) tell("--image-size HxW chooses another size.");
  Samples samples{
      .kind = {.dataset = choice.dataset, .class_names = own.class_names, .columns = own.columns, .label = own.label},
      .train = first_of(own.train, choice.limit),
      .test = first_of(own.test, choice.limit),
      .skipped = own.skipped};
  const Shape& shape = samples.test.x.shape();
  samples.kind.train = samples.train.x.shape()[0];
  samples.kind.test = shape[0];
  samples.kind.shape = shape.part(1, shape.rank());
  check_meaning(choice, !samples.kind.is_table(), samples.kind.is_table());
  if (own.test_was_split_off)
    tell(fmt::format("{} has no test {noun}s: every fifth {noun} of each class, {count} in all, is used for the test.",
                     choice.dataset, fmt::arg("noun", samples.kind.noun()),
                     fmt::arg("count", thousands(samples.kind.test))));
  return samples;
}

bool is_own(const std::string& dataset) { return is_folder(dataset) || is_file(dataset); }

// The labels under the numbers that the classes have in `wanted`.
Array renumbered(const Array& labels, const std::string& dataset, const std::vector<std::string>& names,
                 const std::vector<std::string>& wanted) {
  std::vector<std::int32_t> numbers;
  for (const std::string& name : names) {
    // Names that are not UTF-8 are not stored as they are.
    const auto found = std::find_if(wanted.begin(), wanted.end(),
                                    [&](const std::string& one) { return Json(one).text() == Json(name).text(); });
    if (found == wanted.end()) throw Error(fmt::format("{}: {}", dataset, unknown_name("class", name, wanted)));
    numbers.push_back(static_cast<std::int32_t>(found - wanted.begin()));
  }
  const Array old = labels.astype(DType::int32);
  std::vector<std::int32_t> result;
  for (std::int64_t i = 0; i < old.elements(); ++i)
    result.push_back(numbers[static_cast<std::size_t>(old.data<std::int32_t>()[i])]);
  return Array::of(result, {old.elements()});
}

std::array<std::int64_t, 2> image_size_of(const Arguments& arguments) {
  constexpr std::int64_t largest = 4096;
  const std::string text = arguments.text("image-size");
  std::array<std::int64_t, 2> size = {0, 0};
  const char *place = text.data(), *end = text.data() + text.size();
  const auto height = std::from_chars(place, end, size[0]);
  const bool has_width = height.ec == std::errc() && height.ptr != end && *height.ptr == 'x';
  const auto width = has_width ? std::from_chars(height.ptr + 1, end, size[1]) : height;
  if (width.ec != std::errc() || width.ptr != end || !has_width || std::min(size[0], size[1]) < 1 ||
      std::max(size[0], size[1]) > largest)
    arguments.fail(
        fmt::format("--image-size is '{}' but must be a height and a width of 1 to {}, such as 64x64", text, largest));
  return size;
}

}  // namespace

SampleChoice sample_choice(const Arguments& arguments) {
  SampleChoice choice;
  if (arguments.has("dataset")) choice.dataset = arguments.text("dataset");
  if (arguments.has("samples")) choice.limit = arguments.whole("samples");
  if (arguments.has("image-size") && arguments.given("image-size")) choice.image_size = image_size_of(arguments);
  if (arguments.has("label")) choice.label = arguments.text("label");
  if (arguments.has("skip-bad")) choice.skip_bad = arguments.flag("skip-bad");
  if (arguments.has("quiet")) choice.quiet = arguments.flag("quiet");
  return choice;
}

Samples load_samples(const SampleChoice& choice) {
  const std::vector<datasets::Description> known = datasets::list();
  const datasets::Description* found = find_known(known, choice.dataset);
  if (found == nullptr) {
    if (!is_own(choice.dataset)) fail_unknown(known, choice.dataset);
    return load_own(choice, {.image_size = choice.image_size, .label = choice.label});
  }
  check_meaning(choice, false, false);
  const SampleKind kind = described(*found, choice.limit);
  // Draws only as many images as are asked for.
  const datasets::Splits splits =
      found->is_drawn ? datasets::synthetic_digits(static_cast<int>(kind.train), static_cast<int>(kind.test))
                      : datasets::load(choice.dataset);
  return {kind, first_of(splits.train, choice.limit), first_of(splits.test, choice.limit)};
}

SampleKind describe_samples(const SampleChoice& choice) {
  const std::vector<datasets::Description> known = datasets::list();
  const datasets::Description* found = find_known(known, choice.dataset);
  if (found == nullptr) return load_samples(choice).kind;
  check_meaning(choice, false, false);
  return described(*found, choice.limit);
}

Samples load_to_test(const SampleChoice& choice, const SampleKind& trained) {
  const std::vector<datasets::Description> known = datasets::list();
  if (find_known(known, choice.dataset) != nullptr || !is_own(choice.dataset)) return load_samples(choice);
  // What the model was trained on keeps the part that it was not trained on.
  datasets::OwnDataOptions options{.label = trained.label, .split_off_test = choice.dataset == trained.dataset};
  if (trained.shape.rank() == 3) {
    options.image_size = {trained.shape[0], trained.shape[1]};
    options.channels = trained.shape[2];
  }
  Samples samples = load_own(choice, options);
  if (samples.kind.columns != trained.columns)
    throw Error(fmt::format("{} has the columns {}, but the model was trained on {}; give those", choice.dataset,
                            join(samples.kind.columns, ", "), join(trained.columns, ", ")));
  if (trained.class_names.empty()) return samples;
  samples.test.y = renumbered(samples.test.y, choice.dataset, samples.kind.class_names, trained.class_names);
  samples.kind.class_names = trained.class_names;
  return samples;
}

}  // namespace pando::cli
