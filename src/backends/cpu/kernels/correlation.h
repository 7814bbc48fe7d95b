// SPDX-License-Identifier: Apache-2.0
// Correlation: rows of images made from rows of other images through a filter, as a product of pixels and filters, or
// by planes where there are few filters.
#pragma once
#include <optional>

#include "backends/cpu/kernels/planes.h"

namespace pando::cpu {

// Results of type T from factors of type S: the same, or bfloat16 for float.
template <class T, class S = T>
class Correlation {
 public:
  // Computes at most `most_steps` steps of the row axis at a time. Its scratch memory is taken from `layout`.
  Correlation(const CorrelationSizes& sizes, std::int64_t most_steps, const Routines& routines, ScratchLayout& layout);

  // Once on each tile before run(): lays the filter out in scratch memory.
  void begin(const T* filter, std::byte* scratch) const;
  // Steps [first, last) of the row axis from `image`; `result` is where the first of their rows goes.
  void run(const T* image, std::int64_t first, std::int64_t last, T* result, std::byte* scratch) const;

 private:
  struct Phase {
    // Rows and columns of the result before the phase's first, and how many columns it has.
    std::int64_t row = 0, column = 0, columns = 0;
    // Its first row in the packed filter.
    std::int64_t filter_row = 0;
    TapSegments taps = {};
    std::vector<std::int64_t> segments = {}, source_pixels = {}, result_pixels = {};
  };
  void add_phase(std::int64_t row, std::int64_t column, std::int64_t most_steps);
  // Rows of the padded image that these steps read.
  std::int64_t source_rows(std::int64_t first, std::int64_t last) const;
  void run_phase(const Phase& phase, Range taps, Range steps, const S* source, T* result, std::byte* scratch) const;
  // The rows of the image from `first` on as S, with zeros around them; in scratch memory unless they are there
  // already.
  const S* place_rows(const T* image, std::int64_t first, std::int64_t count, std::byte* scratch) const;
  bool copies() const { return image_.is_padded() || !std::is_same_v<T, S>; }

  CorrelationSizes sizes_;
  // What computes it, where that is faster.
  std::optional<PlaneCorrelation<T>> planes_;
  const ProductRoutines<T, S>& matrix_;
  PaddedImage image_;
  // Rows of the padded image that one step reads.
  std::int64_t reach_;
  // A convolution of each channel by itself runs over all channels at once, as one group.
  bool by_channel_;
  std::int64_t groups_, depth_, columns_, panel_;
  std::vector<Phase> phases_;
  // The taps (row * kernel_width + column) in the order of the packed filter.
  std::vector<std::int64_t> taps_;
  std::int64_t panel_step_ = 0, group_step_ = 0;
  std::size_t filter_scratch_ = 0, image_scratch_ = 0;
};

extern template class Correlation<float>;
extern template class Correlation<float, BFloat16>;
extern template class Correlation<double>;

// Whether its factors may be, and are better, rounded to bfloat16.
bool suits_mixed(const CorrelationSizes& sizes, DType dtype, const Routines& routines);

}  // namespace pando::cpu
