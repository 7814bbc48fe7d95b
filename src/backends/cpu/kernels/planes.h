// SPDX-License-Identifier: Apache-2.0
// PlaneCorrelation: a correlation with few result channels. The rows of an image that it needs are split into planes,
// so that a vector holds pixels side by side, and the result's planes are joined. It adds in the order of Correlation
// and splits sums in the same places, so both give the same bits.
#pragma once
#include "backends/cpu/kernels/correlation_sizes.h"

namespace pando::cpu {

template <class T>
class PlaneCorrelation {
 public:
  // Whether this is possible, and faster than vectors of channels.
  static bool suits(const CorrelationSizes& sizes, const Routines& routines);

  // As Correlation's.
  PlaneCorrelation(const CorrelationSizes& sizes, std::int64_t most_steps, const Routines& routines,
                   ScratchLayout& layout);
  void begin(const T* filter, std::byte* scratch) const;
  void run(const T* image, std::int64_t first, std::int64_t last, T* result, std::byte* scratch) const;

 private:
  std::int64_t source_rows(std::int64_t first, std::int64_t last) const;
  void split_rows(const T* image, std::int64_t first, std::int64_t count, std::byte* scratch) const;
  void sum_steps(Range taps, Range steps, std::byte* scratch) const;

  CorrelationSizes sizes_;
  const PlaneRoutinesOf<T>& planes_;
  PaddedImage image_;
  std::int64_t block_rows_;
  // Rows of the padded image that one step reads.
  std::int64_t reach_;
  TapSegments taps_;
  // Elements from a plane to the next, of the source and of the result.
  std::int64_t source_step_, result_step_;
  // Where the source of each product lies: row by row of taps.
  std::vector<std::int64_t> offsets_;
  std::size_t filter_scratch_, source_scratch_, result_scratch_, room_scratch_;
};

extern template class PlaneCorrelation<float>;
extern template class PlaneCorrelation<double>;

}  // namespace pando::cpu
