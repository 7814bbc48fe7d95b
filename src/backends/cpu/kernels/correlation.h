// SPDX-License-Identifier: Apache-2.0
// Correlation: rows of images made from rows of other images through a filter, as a product of pixels and filters, or
// by planes where there are few filters. Where the filter is large, small images are taken together, so that each part
// of the filter is read once for all of them.
#pragma once
#include <optional>

#include "backends/cpu/kernels/planes.h"

namespace pando::cpu {

// Results of type T from factors of type S: the same, or bfloat16 for float.
template <class T, class S = T>
class Correlation {
 public:
  // Computes at most `most_steps` steps of the row axis at a time. If `most_images` is more than 1 (at most
  // images_at_once()), it computes all steps of that many images. Its scratch memory is taken from `layout`.
  Correlation(const CorrelationSizes& sizes, std::int64_t most_steps, std::int64_t most_images,
              const Routines& routines, ScratchLayout& layout);

  // All channels of the result, or of each group of channels. Where images are taken together, a tile may make some of
  // them alone.
  Range columns() const { return {0, columns_}; }
  // Once on each tile before run(): lays the filters of these columns out in scratch memory.
  void begin(const T* filter, Range columns, std::byte* scratch) const;
  // These steps of the row axis of that many images, which lie one after the other; `result` is where the first of
  // their rows goes.
  void run(const T* image, std::int64_t images, Range steps, Range columns, T* result, std::byte* scratch) const;

 private:
  struct Phase {
    // The first row and column of the phase in the result, and the number of its columns.
    std::int64_t row = 0, column = 0, columns = 0;
    // Pixels from one step of an image to the next. If that puts the pixels of several steps at equal distances, they
    // include the pixels between two rows, which have no result.
    std::int64_t pitch = 0;
    // The first row of the phase in the packed filter.
    std::int64_t filter_row = 0;
    TapSegments taps = {};
    // Pixels are those of the first step of all images, then those of the second.
    std::vector<std::int64_t> segments = {}, source_pixels = {}, result_pixels = {};
  };
  void add_phase(std::int64_t row, std::int64_t column, std::int64_t most_steps);
  std::int64_t pitch_of(std::int64_t columns) const;
  // Rows of the padded image that these steps read.
  std::int64_t source_rows(std::int64_t first, std::int64_t last) const;
  void run_phase(const Phase& phase, Range taps, Range pixels, Range columns, const S* source, T* result,
                 std::byte* scratch) const;
  // The rows of the images from `first` on as S, with zeros around them; in scratch memory unless they are there
  // already.
  const S* place_rows(const T* image, std::int64_t images, std::int64_t first, std::int64_t count,
                      std::byte* scratch) const;
  bool copies() const { return image_.is_padded() || !std::is_same_v<T, S>; }
  // The width of the panels of these columns, and the elements from one to the next.
  std::int64_t panel(Range columns) const;
  std::int64_t panel_step(std::int64_t panel) const { return static_cast<std::int64_t>(taps_.size()) * depth_ * panel; }

  CorrelationSizes sizes_;
  // Computes everything instead, where that is faster.
  std::optional<PlaneCorrelation<T>> planes_;
  const ProductRoutines<T, S>& matrix_;
  PaddedImage image_;
  // Rows of the padded image that one step reads.
  std::int64_t reach_;
  // A convolution of each channel by itself runs over all channels at once, as one group.
  bool by_channel_;
  std::int64_t groups_, depth_, columns_, most_images_;
  // What row_taps() is told, however many images there are: so sums are always split in the same places.
  std::int64_t images_at_once_;
  std::vector<Phase> phases_;
  // The taps (row * kernel_width + column) in the order of the packed filter.
  std::vector<std::int64_t> taps_;
  std::int64_t group_step_ = 0;
  std::size_t filter_scratch_ = 0, image_scratch_ = 0;
};

extern template class Correlation<float>;
extern template class Correlation<float, BFloat16>;
extern template class Correlation<double>;

// Whether its factors may be, and are better, rounded to bfloat16.
bool suits_mixed(const CorrelationSizes& sizes, DType dtype, const Routines& routines);

}  // namespace pando::cpu
