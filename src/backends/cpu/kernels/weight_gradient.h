// SPDX-License-Identifier: Apache-2.0
// What the kernels of conv2d_weight_gradient share: the pixels are summed in runs, so that each run is read from
// the cache and long sums stay accurate.
#pragma once
#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/run_sums.h"

namespace pando::cpu {

// Rows of dy of one image, or all rows of several images.
struct PixelRun {
  std::int64_t image = 0, images = 0, row = 0, rows = 0;
};

// The images of x with zeros around them, and how the pixels of dy are cut into runs: the same for any number of tiles.
class PixelRuns {
 public:
  PixelRuns(const Window& window, const Shape& x, const Shape& dy);

  const PaddedImage& image() const { return image_; }
  std::int64_t most_images() const { return images_; }
  std::int64_t most_rows() const { return rows_; }
  std::int64_t most_pixels() const { return images_ * rows_ * dy_[2]; }
  // The rows of the padded image that this many rows of dy meet.
  std::int64_t source_rows(std::int64_t rows) const { return (rows - 1) * window_.strides[0] + window_.reach(0); }
  // The elements of the copy of one image of a run, and of all that a run meets.
  std::int64_t copy_elements() const { return source_rows(rows_) * image_.row_elements(); }
  template <class T>
  void copy_run(const T* x, const PixelRun& run, T* to) const {
    for (std::int64_t i = 0; i < run.images; ++i) {
      image_.copy_rows(x + (run.image + i) * image_.height * image_.width * image_.channels,
                       run.row * window_.strides[0], source_rows(run.rows), to + i * copy_elements());
    }
  }

  // At least one, which is empty if there are no pixels.
  std::int64_t count() const { return std::max<std::int64_t>(divide_up(dy_[0], images_) * row_runs(), 1); }
  PixelRun operator[](std::int64_t run) const {
    if (dy_[0] == 0 || dy_[1] == 0) return {};
    const std::int64_t image = run / row_runs() * images_, row = run % row_runs() * rows_;
    return {image, std::min(images_, dy_[0] - image), row, std::min(rows_, dy_[1] - row)};
  }
  // Calls add(run, accumulate) for each, where `accumulate` says whether there is a sum to add to.
  template <class Add>
  void for_each(const Add& add) const {
    for (std::int64_t run = 0; run < count(); ++run) add((*this)[run], run > 0);
  }

 private:
  std::int64_t row_runs() const { return divide_up(dy_[1], rows_); }

  Window window_;
  Shape dy_;
  PaddedImage image_;
  std::int64_t images_ = 1, rows_ = 1;
};

// The pixels of x that runs meet. They are read in x or, where they are padded or a kernel reads beyond them, in a copy
// with room for that.
template <class T>
class RunPixels {
 public:
  RunPixels(const PixelRuns& runs, const Window& window, const Operand& x, bool reads_beyond, std::int64_t room,
            ScratchLayout& layout)
      : runs_(runs),
        x_(x),
        copies_(reads_beyond || runs.image().is_padded()),
        row_step_(window.strides[0] * runs.image().row_elements()),
        image_step_(copies_ ? runs.copy_elements() : x.type.shape.stride(0)),
        scratch_(copies_ ? layout.add_elements<T>(runs.most_images() * image_step_ + room) : 0) {}

  // Elements between the images of a run, and between the pixels that two rows of dy meet.
  std::int64_t image_step() const { return image_step_; }
  std::int64_t row_step() const { return row_step_; }
  // Where those of each row of dy begin, for the longest run.
  std::vector<std::int64_t> segments() const {
    std::vector<std::int64_t> segments;
    for (std::int64_t image = 0; image < runs_.most_images(); ++image) {
      for (std::int64_t row = 0; row < runs_.most_rows(); ++row) {
        segments.push_back(image * image_step_ + row * row_step_);
      }
    }
    return segments;
  }
  const T* place(const Tile& tile, const PixelRun& run) const {
    const T* const x = pointer<const T>(tile, x_);
    if (!copies_) return x + run.image * image_step_ + run.row * row_step_;
    T* const to = at<T>(tile.scratch, scratch_);
    runs_.copy_run(x, run, to);
    return to;
  }

 private:
  const PixelRuns& runs_;
  Operand x_;
  bool copies_;
  std::int64_t row_step_, image_step_;
  std::size_t scratch_;
};

// The channels of x in blocks, of which a copy is made, and the rows of its product with dy: one for each tap and
// channel.
class ChannelBlocks {
 public:
  // Elements between rows of the image, its pixels and its channels, in the copy.
  struct CopyStrides {
    std::int64_t row, pixel, channel;
  };
  // `result` is the shape of the filter.
  ChannelBlocks(const Window& window, const Shape& result, std::int64_t block, const CopyStrides& copy);

  // A unit of work is a block with one tap.
  Work work(std::int64_t groups, std::int64_t panels, std::int64_t panel) const;

  // Some rows of a block: `count` of them, where they lie in the copy and in the result.
  struct Rows {
    std::int64_t first_channel, channels;
    const std::int64_t *x, *result;
    std::int64_t count;
  };
  // Calls multiply(rows) for each block that has one of these units.
  void for_each(Range units, const auto& multiply) const {
    for (std::int64_t unit = units.begin; unit < units.end;) {
      const std::int64_t block = unit / taps_, first = block * taps_;
      const std::int64_t last = std::min(first + taps_, units.end);
      const Table& table = (block + 1) * block_ <= channels_ ? full_ : last_;
      const std::int64_t row = (unit - first) * table.width;
      multiply(Rows{.first_channel = block * block_,
                    .channels = table.width,
                    .x = table.x.data() + row,
                    .result = table.result.data() + row,
                    .count = (last - unit) * table.width});
      unit = last;
    }
  }

 private:
  struct Table {
    std::int64_t width = 0;
    std::vector<std::int64_t> x = {}, result = {};
  };
  Table lay_out(const Window& window, std::int64_t width, const CopyStrides& copy) const;

  std::int64_t block_, channels_, filters_, taps_;
  Table full_, last_;
};

// For convolutions with few filters, which need not fill vectors, in one group. Null for all others.
std::unique_ptr<Kernel> small_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                     const Routines& routines);
// The same for conv2d_max_pool_weight_gradient, where it is faster than visiting the largest elements alone.
std::unique_ptr<Kernel> spread_conv2d_weight_gradient(const KernelCall& call, const Window& window, const Window& pool,
                                                      const Routines& routines);
// More filters than these are not few: their pixels are so far apart that they share few sets of the cache.
inline constexpr std::int64_t most_small_filters = 64;

// The shape of the result of the convolution in conv2d_max_pool_weight_gradient.
inline Shape convolved_of(const KernelCall& call, const Window& window) {
  const Shape& x = call.inputs[0].type.shape;
  return {x[0], window.output_size(0, x[1]), window.output_size(1, x[2]), call.inputs[1].type.shape[3]};
}

// For convolutions with channels that fill a block of rows, and enough filters. Null for all others.
std::unique_ptr<Kernel> wide_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                    const Routines& routines);

// For convolutions that may round their factors to bfloat16 and become faster by it; null for all others. The first is
// for batches of many images on processors that multiply tiles, the second for convolutions without strides.
std::unique_ptr<Kernel> images_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                      const Routines& routines);
std::unique_ptr<Kernel> mixed_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                     const Routines& routines);

}  // namespace pando::cpu
