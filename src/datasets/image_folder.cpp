// SPDX-License-Identifier: Apache-2.0
#include "datasets/image_folder.h"

#include <pando/base/function.h>
#include <pando/data/images.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "base/machine/cores.h"
#include "base/paths.h"
#include "base/thread.h"
#include "data/formats/image_file.h"
#include "datasets/every_fifth.h"
#include "datasets/image_files.h"
#include "io/byte_store.h"

namespace pando {

namespace {

using datasets::OwnDataOptions;
using ImageSize = std::array<std::int64_t, 2>;

// Images of one size stay as they are up to this height and width; others get at most the second.
constexpr std::int64_t largest_kept = 256, largest_chosen = 64;

std::int64_t median(std::vector<std::int64_t> sizes) {
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// Reads images in two passes: the headers, to choose one size for all, and then the pixels, so that no more memory is
// needed than for the result.
class ImageReader {
 public:
  explicit ImageReader(const OwnDataOptions& options) : options_(options), channels_(options.channels) {}

  // Takes the files out whose headers cannot be read.
  void look_at(std::vector<ImageFile>& files) {
    std::erase_if(files, [&](const ImageFile& file) {
      return !attempt([&] {
        const Shape shape = data::image_shape(ByteStore(file.path));
        heights_.push_back(shape[0]);
        widths_.push_back(shape[1]);
        if (options_.channels == 0) channels_ = std::max<std::int64_t>(channels_, shape[2] < 3 ? 1 : 3);
      });
    });
  }

  // Of all images that were looked at, so that the two splits match.
  void choose_size() {
    const auto [low, high] = std::minmax_element(heights_.begin(), heights_.end());
    const auto [narrow, wide] = std::minmax_element(widths_.begin(), widths_.end());
    const bool one_size = *low == *high && *narrow == *wide && *high <= largest_kept && *wide <= largest_kept;
    if (options_.image_size[0] > 0) size_ = options_.image_size;
    else if (one_size) size_ = {*low, *narrow};
    else size_ = {std::min(median(heights_), largest_chosen), std::min(median(widths_), largest_chosen)};
  }

  datasets::Split read(const std::vector<ImageFile>& files) {
    Shape shape = {static_cast<std::int64_t>(files.size()), size_[0], size_[1]};
    if (channels_ > 1) shape.append(channels_);
    Array x = Array::uninitialised(DType::uint8, shape);
    std::byte* const pixels = x.mutable_raw();
    const std::int64_t bytes = shape.part(1, shape.rank()).elements();
    std::vector<std::exception_ptr> errors = for_each_at_once(files, [&](std::size_t i) {
      const Array whole = data::with_channels(data::read_image(ByteStore(files[i].path)), channels_);
      const Array image = data::resize_image(whole, size_[0], size_[1]);
      std::copy(image.raw(), image.raw() + bytes, pixels + static_cast<std::int64_t>(i) * bytes);
    });
    // What was read moves together.
    std::vector<std::int32_t> labels;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const bool was_read = attempt([&] {
        if (errors[i]) std::rethrow_exception(errors[i]);
      });
      if (!was_read) continue;
      const std::byte* const from = pixels + static_cast<std::int64_t>(i) * bytes;
      std::byte* const to = pixels + std::ssize(labels) * bytes;
      if (from != to) std::copy(from, from + bytes, to);
      labels.push_back(files[i].label);
    }
    const auto count = static_cast<std::int64_t>(labels.size());
    return {x.slice(0, count), Array::of(labels, {count})};
  }

  // How many of the images that were looked at do not have the chosen size.
  std::int64_t resized() const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < heights_.size(); ++i) count += heights_[i] != size_[0] || widths_[i] != size_[1];
    return count;
  }
  std::string notice(const std::string& path) const {
    return fmt::format("{}: {} of {} images {} resized to a height of {} and a width of {} pixels.", path, resized(),
                       heights_.size(), resized() == 1 ? "is" : "are", size_[0], size_[1]);
  }
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  // Calls read(i) for each file, on all cores, and returns what it threw. Files are taken in their order, so that after
  // an error that ends the reading, all before it were tried: the first error is the same each time.
  std::vector<std::exception_ptr> for_each_at_once(const std::vector<ImageFile>& files,
                                                   const Function<void(std::size_t)>& read) {
    std::vector<std::exception_ptr> errors(files.size());
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> ended = false;
    std::mutex mutex;
    const auto work = [&] {
      for (std::size_t i = next++; i < files.size() && !ended; i = next++) {
        try {
          read(i);
        } catch (...) {
          errors[i] = std::current_exception();
          if (!options_.skip_bad) ended = true;
        }
        const std::lock_guard lock(mutex);
        ++done_;
        if (options_.progress) options_.progress(done_, std::ssize(heights_));
      }
    };
    std::vector<Thread> threads;
    const int cores = std::min(usable_cores(), static_cast<int>(std::min<std::size_t>(files.size(), 64)));
    for (int i = 1; i < cores; ++i) threads.emplace_back("to read images", work);
    work();
    threads.clear();
    return errors;
  }

  // Returns false for a file that cannot be read, which is noted; throws Error if that is not allowed.
  bool attempt(const Function<void()>& read) {
    try {
      read();
      return true;
    } catch (const Error& error) {
      if (!options_.skip_bad) throw;
      skipped_.emplace_back(error.what());
      return false;
    }
  }

  const OwnDataOptions& options_;
  std::int64_t channels_;
  std::vector<std::int64_t> heights_, widths_;
  std::int64_t done_ = 0;
  ImageSize size_ = {1, 1};
  std::vector<std::string> skipped_;
};

// "a, b, c and 4 more".
std::string first_few(const std::vector<std::string>& paths) {
  constexpr std::size_t most = 3;
  const std::size_t shown = std::min(most, paths.size());
  const std::string list = fmt::format("{}", fmt::join(paths.begin(), paths.begin() + static_cast<long>(shown), ", "));
  return paths.size() > shown ? fmt::format("{} and {} more", list, paths.size() - shown) : list;
}

// Everything in a folder of train and test that is neither.
std::vector<std::string> beside_train_and_test(const std::string& path) {
  std::vector<std::string> paths;
  for (const bool folders : {false, true})
    for (const std::string& name : names_in(path, folders))
      if (!folders || (name != "train" && name != "test")) paths.push_back(fmt::format("{}/{}", path, name));
  return paths;
}

struct FolderFiles {
  std::vector<std::string> classes;
  std::vector<ImageFile> train, test;
  bool has_test = false;
  std::vector<std::string> others;
};

FolderFiles files_of(const std::string& path) {
  const std::string train_path = path + "/train", test_path = path + "/test";
  const bool has_train = is_folder(train_path), has_test = is_folder(test_path);
  if (has_test && !has_train) throw_file_error(path, "has a folder test but no folder train", "add it");
  const std::string& images_path = has_train ? train_path : path;
  FolderFiles files{.classes = find_classes(images_path), .train = {}, .test = {}, .has_test = has_test, .others = {}};
  if (has_train) files.others = beside_train_and_test(path);
  const auto find = [&](const std::string& from) {
    ImageFiles found = find_images(from, files.classes);
    files.others.insert(files.others.end(), found.others.begin(), found.others.end());
    return std::move(found.images);
  };
  files.train = find(images_path);
  if (has_test) files.test = find(test_path);
  return files;
}

void split_off_test(FolderFiles& files, const OwnDataOptions& options) {
  if (files.has_test) return;
  if (!options.split_off_test) return files.test.swap(files.train);
  EveryFifth is_for_test(files.classes.size());
  const auto first = std::stable_partition(files.train.begin(), files.train.end(),
                                           [&](const ImageFile& file) { return !is_for_test(file.label); });
  files.test.assign(first, files.train.end());
  files.train.erase(first, files.train.end());
}

}  // namespace

datasets::OwnData read_image_folder(const std::string& path, const OwnDataOptions& options) {
  FolderFiles files = files_of(path);
  ImageReader reader(options);
  reader.look_at(files.train);
  reader.look_at(files.test);
  const auto fail_unreadable = [&] { throw_file_error(path, "has no images that can be read", "look at its files"); };
  if (files.train.empty()) fail_unreadable();
  split_off_test(files, options);
  if (files.test.empty())
    throw_file_error(path, files.has_test ? "has no images to test with" : "has no class of five images",
                     files.has_test ? "fill its folder test" : "add images, or a folder train and a folder test");
  reader.choose_size();
  datasets::OwnData data{.train = reader.read(files.train),
                         .test = reader.read(files.test),
                         .class_names = files.classes,
                         .test_was_split_off = !files.has_test && options.split_off_test};
  for (const auto& [split, wanted] : {std::pair{&data.train, &files.train}, {&data.test, &files.test}})
    if (split->y.elements() == 0 && !wanted->empty()) fail_unreadable();
  data.resized = reader.resized();
  if (data.resized > 0) data.notices.push_back(reader.notice(path));
  if (!files.others.empty())
    data.notices.push_back(
        fmt::format("{}: what is not an image of a class is left out: {}.", path, first_few(files.others)));
  data.skipped = reader.skipped();
  return data;
}

datasets::Split fitted(const datasets::Split& split, const OwnDataOptions& options) {
  const Shape& shape = split.x.shape();
  const std::int64_t have = shape.rank() == 4 ? shape[3] : 1, channels = options.channels > 0 ? options.channels : have;
  const ImageSize size = options.image_size[0] > 0 ? options.image_size : ImageSize{shape[1], shape[2]};
  if (size == ImageSize{shape[1], shape[2]} && channels == have) return split;
  Array x = Array::uninitialised(
      DType::uint8, channels > 1 ? Shape{shape[0], size[0], size[1], channels} : Shape{shape[0], size[0], size[1]});
  std::byte* out = x.mutable_raw();
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const Array whole = split.x.slice(i, i + 1).reshape({shape[1], shape[2], have});
    const Array image = data::resize_image(data::with_channels(whole, channels), size[0], size[1]);
    out = std::copy(image.raw(), image.raw() + image.bytes(), out);
  }
  return {x, split.y};
}

}  // namespace pando
