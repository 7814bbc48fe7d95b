#include "datasets/image_folder.h"

#include <pando/data/files.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/paths.h"
#include "base/text.h"
#include "io/byte_store.h"

namespace pando {

namespace {

namespace filesystem = std::filesystem;

// Without a test folder, one of this many images of each class is a test image.
constexpr std::size_t test_every = 5;

struct ImageFile {
  std::string path;
  std::int32_t label = 0;
};

// The names in a folder in sorted order, without hidden ones.
std::vector<std::string> names_in(const std::string& path, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with('.') && entry->is_directory(ignored) == folders) names.push_back(name);
  }
  if (error) throw_file_error(path, fmt::format("cannot be read: {}", error.message()), "check its permissions");
  std::sort(names.begin(), names.end());
  return names;
}

std::string ending_of(const std::string& name) {
  std::string ending = filesystem::path(name).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending;
}

// The PNG images of a class; there must be at least one.
std::vector<std::string> images_in(const std::string& path) {
  std::vector<std::string> images, others;
  for (const std::string& name : names_in(path, false)) (ending_of(name) == ".png" ? images : others).push_back(name);
  if (images.empty())
    throw_file_error(
        path, others.empty() ? "has no images" : fmt::format("has no PNG images, but {}", others.front()),
        others.empty() ? "put the PNG images of a class into it, or remove it" : "convert its images to PNG");
  return images;
}

// The images of all classes: the first of each class, then the second of each, so that the first few cover all classes.
std::vector<ImageFile> find_images(const std::string& path, const std::vector<std::string>& classes) {
  std::map<std::pair<std::size_t, std::size_t>, ImageFile> by_place;
  for (const std::string& name : names_in(path, true)) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) throw Error(fmt::format("{}: {}", path, unknown_name("class", name, classes)));
    const auto label = static_cast<std::size_t>(found - classes.begin());
    const std::vector<std::string> images = images_in(fmt::format("{}/{}", path, name));
    for (std::size_t i = 0; i < images.size(); ++i)
      by_place[{i, label}] = {fmt::format("{}/{}/{}", path, name, images[i]), static_cast<std::int32_t>(label)};
  }
  std::vector<ImageFile> files;
  for (const auto& [place, file] : by_place) files.push_back(file);
  return files;
}

std::vector<std::string> find_classes(const std::string& path) {
  const std::vector<std::string> classes = names_in(path, true);
  if (classes.size() < 2)
    throw_file_error(path, fmt::format("has {} class folder{}", classes.size(), classes.size() == 1 ? "" : "s"),
                     "give a folder that holds a folder of PNG images for each of two or more classes, or train and "
                     "test folders that do, or the IDX files of MNIST's format");
  return classes;
}

// One channel is grey, three are colours; alpha is dropped.
Array with_channels(const Array& image, std::int64_t channels) {
  const std::int64_t have = image.shape()[2];
  if (have == channels) return image;
  Array result = Array::uninitialised(DType::uint8, {image.shape()[0], image.shape()[1], channels});
  const std::uint8_t* in = image.data<std::uint8_t>();
  std::uint8_t* out = result.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < result.elements() / channels; ++i)
    for (std::int64_t j = 0; j < channels; ++j) out[i * channels + j] = in[i * have + (have < 3 ? 0 : j)];
  return result;
}

// Reads images that must all be of one size.
class ImageReader {
 public:
  struct Images {
    std::vector<Array> images;
    std::vector<std::int32_t> labels;
  };

  Images read(const std::vector<ImageFile>& files) {
    Images all;
    for (const ImageFile& file : files) {
      all.images.push_back(read(file.path));
      all.labels.push_back(file.label);
    }
    return all;
  }

  // Taken over all images that were read, so that the two splits match.
  datasets::Split split(const Images& all) const {
    Shape shape = {static_cast<std::int64_t>(all.images.size()), size_[0], size_[1]};
    if (channels_ > 1) shape.append(channels_);
    Array x = Array::uninitialised(DType::uint8, shape);
    std::byte* out = x.mutable_raw();
    for (const Array& image : all.images) {
      const Array pixels = with_channels(image, channels_);
      out = std::copy(pixels.raw(), pixels.raw() + pixels.bytes(), out);
    }
    return {x, Array::of(all.labels, {static_cast<std::int64_t>(all.labels.size())})};
  }

 private:
  Array read(const std::string& path) {
    const Array image = data::read_png(path);
    const Shape size = image.shape().part(0, 2);
    if (first_.empty()) {
      first_ = path;
      size_ = size;
    } else if (size != size_) {
      throw_file_error(
          path, fmt::format("has {} x {} pixels, but {} has {} x {}", size[1], size[0], first_, size_[1], size_[0]),
          fmt::format("bring all images to one size, for example with ImageMagick's "
                      "mogrify -resize {}x{}!",
                      size_[1], size_[0]));
    }
    channels_ = std::max<std::int64_t>(channels_, image.shape()[2] < 3 ? 1 : 3);
    return image;
  }

  std::string first_;
  Shape size_;
  std::int64_t channels_ = 1;
};

}  // namespace

datasets::Directory read_image_folder(const std::string& path) {
  const std::string train_path = path + "/train", test_path = path + "/test";
  const bool has_train = is_folder(train_path), has_test = is_folder(test_path);
  if (has_test && !has_train) throw_file_error(path, "has a folder test but no folder train", "add it");
  const std::string& images_path = has_train ? train_path : path;
  const std::vector<std::string> classes = find_classes(images_path);
  std::vector<ImageFile> train = find_images(images_path, classes), test;
  if (has_test) {
    test = find_images(test_path, classes);
  } else {
    std::vector<std::size_t> seen(classes.size());
    const auto is_for_training = [&](const ImageFile& file) {
      return ++seen[static_cast<std::size_t>(file.label)] % test_every != 0;
    };
    const auto first_for_test = std::stable_partition(train.begin(), train.end(), is_for_training);
    test.assign(first_for_test, train.end());
    train.erase(first_for_test, train.end());
  }
  if (test.empty())
    throw_file_error(path, has_test ? "has no images to test with" : "has no class of five images",
                     has_test ? "fill its folder test" : "add images, or a folder train and a folder test");
  ImageReader reader;
  const ImageReader::Images train_images = reader.read(train), test_images = reader.read(test);
  return {reader.split(train_images), reader.split(test_images), classes, !has_test};
}

}  // namespace pando
