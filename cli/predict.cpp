#include <pando/base/array_functions.h>
#include <pando/data/files.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/paths.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trained_model.h"

namespace pando::cli {

namespace {

// An image to look at: uint8 [height, width, channels].
struct Picture {
  std::string name;
  Array pixels;
  // The name of its class; empty if it is not known.
  std::string label = {};
};

std::string size_text(const Shape& image) { return fmt::format("{} x {}", image[1], image[0]); }

// The image with as many channels as the model takes: colours become grey by their brightness, and alpha is dropped.
Array with_channels(const Array& image, std::int64_t channels) {
  const std::int64_t have = image.shape()[2];
  if (have == channels) return image;
  Array result(DType::uint8, {image.shape()[0], image.shape()[1], channels});
  const std::uint8_t* in = image.data<std::uint8_t>();
  std::uint8_t* out = result.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < result.elements() / channels; ++i, in += have)
    for (std::int64_t j = 0; j < channels; ++j)
      out[i * channels + j] = have < 3 ? in[0]
                              : channels == 3
                                  ? in[j]
                                  : static_cast<std::uint8_t>((299 * in[0] + 587 * in[1] + 114 * in[2]) / 1000);
  return result;
}

// The images that the words of the command line name, as the model takes them.
class PictureReader {
 public:
  PictureReader(const Arguments& arguments, const TrainedModel& trained) : arguments_(arguments) {
    image_ = trained.images.image;
    if (image_.rank() == 2) image_.append(1);
    dataset_ = arguments.given("dataset") ? arguments.text("dataset") : trained.images.dataset;
  }

  std::vector<Picture> read() {
    for (const std::string& word : arguments_.words()) {
      const bool is_number = word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
      if (path_exists(word)) add_file(word);
      else if (is_number) add_row(std::stoll(word));
      else
        throw Error(fmt::format("{}: there is no such file; give a PNG or IDX file, or the number of an image", word));
    }
    return std::move(pictures_);
  }

 private:
  void add(const std::string& name, const Array& pixels, const std::string& label = "") {
    const Array image = image_.rank() == 3 ? with_channels(pixels, image_[2]) : pixels;
    if (image_.rank() == 3 && image.shape() != image_)
      throw Error(fmt::format("{} has {} pixels, but the model was trained on images of {}; bring it to that size",
                              name, size_text(image.shape()), size_text(image_)));
    pictures_.push_back({name, image, label});
  }

  void add_file(const std::string& path) {
    std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".png" || ending == ".PNG") return add(path, data::read_png(path));
    const Array images = data::read_idx(path);
    const int rank = images.shape().rank();
    if (images.dtype() != DType::uint8 || rank < 3 || rank > 4)
      throw Error(fmt::format("{}: holds {} {}; give images, uint8 [n, height, width]", path, name(images.dtype()),
                              to_string(images.shape())));
    for (std::int64_t i = 0; i < images.shape()[0]; ++i) add(fmt::format("{}:{}", path, i), row_of(images, i));
  }

  void add_row(std::int64_t row) {
    if (dataset_.empty())
      arguments_.fail("--dataset is missing: the model does not say which images it was trained on");
    if (!samples_) samples_ = load_samples(dataset_, 0);
    if (row >= samples_->kind.test)
      throw Error(fmt::format("{} has {} images to test with, so that there is no image {}; use 0 to {}", dataset_,
                              thousands(samples_->kind.test), row, samples_->kind.test - 1));
    const auto label = samples_->test.y.slice(row, row + 1).item<std::size_t>();
    add(fmt::format("{}", row), row_of(samples_->test.x, row), samples_->kind.class_names[label]);
  }

  static Array row_of(const Array& images, std::int64_t row) {
    const Shape& shape = images.shape();
    return images.slice(row, row + 1).reshape({shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1});
  }

  const Arguments& arguments_;
  Shape image_;
  std::string dataset_;
  std::optional<Samples> samples_;
  std::vector<Picture> pictures_;
};

// Rows of logits as probabilities.
Array softmax(const Array& logits) {
  Array result = logits.clone();
  const std::int64_t classes = logits.shape()[1];
  for (float *row = result.mutable_data<float>(), *end = row + result.elements(); row != end; row += classes) {
    const float largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(row[i] - largest));
    for (std::int64_t i = 0; i < classes; ++i)
      row[i] = static_cast<float>(std::exp(static_cast<double>(row[i] - largest)) / sum);
  }
  return result;
}

Array probabilities_of(TrainedModel& trained, const std::vector<Picture>& pictures) {
  Arrays images;
  for (const Picture& picture : pictures) images.push_back(picture.pixels);
  const Array output = trained.opened.model.predict(as_input(trained.opened, stack(images)));
  if (output.shape().rank() != 2)
    throw Error(fmt::format("the model '{}' does not tell classes apart: its output is {}", trained.opened.model.name(),
                            to_string(output.shape())));
  return trained.opened.gives_logits ? softmax(output) : output;
}

std::vector<std::size_t> most_likely(const float* probabilities, std::size_t classes, std::size_t count) {
  std::vector<std::size_t> order(classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  order.resize(std::min(classes, count));
  return order;
}

std::string table_of(const std::vector<Picture>& pictures, const Array& probabilities,
                     const std::vector<std::string>& names, std::size_t top) {
  const bool has_labels =
      std::any_of(pictures.begin(), pictures.end(), [](const auto& one) { return !one.label.empty(); });
  std::vector<std::string> headings = {"image", "prediction", "probability"};
  if (has_labels) headings.insert(headings.begin() + 1, "label");
  if (top > 1) headings.push_back("then");
  Table table(headings);
  const auto classes = static_cast<std::size_t>(probabilities.shape()[1]);
  const float* row = probabilities.data<float>();
  for (const Picture& picture : pictures) {
    const std::vector<std::size_t> order = most_likely(row, classes, top);
    std::vector<std::string> cells = {picture.name};
    if (has_labels) cells.push_back(picture.label);
    const auto likely = [&](std::size_t i) { return percent(static_cast<double>(row[i])); };
    cells.push_back(names[order[0]]);
    cells.push_back(likely(order[0]));
    std::string then;
    for (std::size_t i = 1; i < order.size(); ++i)
      then += fmt::format("{}{} {}", i == 1 ? "" : ", ", names[order[i]], likely(order[i]));
    if (top > 1) cells.push_back(then);
    table.add(cells);
    row += classes;
  }
  return table.text();
}

Json json_of(const std::vector<Picture>& pictures, const Array& probabilities, const std::vector<std::string>& names) {
  Json list = Json::List();
  const auto classes = static_cast<std::size_t>(probabilities.shape()[1]);
  const float* row = probabilities.data<float>();
  for (const Picture& picture : pictures) {
    Json one, all;
    for (std::size_t i = 0; i < classes; ++i) all.set(names[i], static_cast<double>(row[i]));
    one.set("image", picture.name);
    if (!picture.label.empty()) one.set("label", picture.label);
    one.set("prediction", names[most_likely(row, classes, 1)[0]]);
    one.set("probabilities", all);
    list.append(one);
    row += classes;
  }
  return list;
}

}  // namespace

int predict(const Arguments& arguments) {
  if (!arguments.given("model")) arguments.fail("--model is missing: --model DIR names the trained model");
  TrainedModel trained = load_trained(arguments.text("model"));
  const std::vector<Picture> pictures = PictureReader(arguments, trained).read();
  const Array probabilities = probabilities_of(trained, pictures);
  // The classes of a model that was not trained here have only numbers.
  std::vector<std::string> names = trained.images.class_names;
  for (std::int64_t i = static_cast<std::int64_t>(names.size()); i < probabilities.shape()[1]; ++i)
    names.push_back(fmt::format("{}", i));
  if (arguments.flag("json")) {
    Json json;
    json.set("predictions", json_of(pictures, probabilities, names));
    print_json(json);
    return 0;
  }
  print(table_of(pictures, probabilities, names, static_cast<std::size_t>(arguments.whole("top"))));
  return 0;
}

}  // namespace pando::cli
