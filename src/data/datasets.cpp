#include <pando/datasets.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "data/dataset_files.h"
#include "data/idx.h"
#include "data/synthetic_digits.h"

namespace pando::datasets {

namespace {

constexpr int train_count = 60000, test_count = 10000;

void check_name(const std::string& name) {
  const std::vector<std::string> known = {"mnist", "fashion_mnist", "synthetic_digits"};
  if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(unknown_name("data set", name, known));
}

Split read_split(const std::string& images_path, const std::string& labels_path) {
  Split split{read_idx(images_path), read_idx(labels_path)};
  const Shape &images = split.x.shape(), &labels = split.y.shape();
  if (split.x.dtype() != DType::uint8 || images.rank() != 3 || images[1] != 28 || images[2] != 28)
    throw Error(fmt::format("{}: holds {}{} but must hold uint8[n, 28, 28]; fetch it again", images_path,
                            name(split.x.dtype()), to_string(images)));
  if (split.y.dtype() != DType::uint8 || labels != Shape{images[0]})
    throw Error(fmt::format("{}: holds {}{} but must hold uint8[{}], a label for each image; fetch it again",
                            labels_path, name(split.y.dtype()), to_string(labels), images[0]));
  const std::uint8_t* label = split.y.data<std::uint8_t>();
  const std::uint8_t* wrong = std::find_if(label, label + labels[0], [](std::uint8_t value) { return value > 9; });
  if (wrong != label + labels[0])
    throw Error(
        fmt::format("{}: label {} is {} but must be 0 to 9; fetch it again", labels_path, wrong - label, *wrong));
  return split;
}

}  // namespace

Splits load(const std::string& name) {
  check_name(name);
  if (name == "synthetic_digits") return synthetic_digits(train_count, test_count);
  const std::optional<DatasetFiles> files = find_dataset(name);
  if (!files) {
    const std::vector<std::string> folders = dataset_folders(name);
    throw Error(
        fmt::format("{}: there is no train-images-idx3-ubyte, plain or .gz, in {}; run scripts/fetch_data.sh, or "
                    "set PANDO_DATA to the folder that holds {}/",
                    name, folders.empty() ? "any folder (HOME is not set)" : join(folders, " or "), name));
  }
  return {read_split(files->train_images, files->train_labels), read_split(files->test_images, files->test_labels)};
}

bool available(const std::string& name) {
  check_name(name);
  return name == "synthetic_digits" || find_dataset(name).has_value();
}

Splits synthetic_digits(int train, int test, std::uint64_t seed) {
  if (train < 0 || test < 0)
    throw Error(
        fmt::format("synthetic_digits: {} and {} images are asked for; the numbers must not be negative", train, test));
  return {draw_digits(train, seed, DigitSequence::train), draw_digits(test, seed, DigitSequence::test)};
}

}  // namespace pando::datasets
