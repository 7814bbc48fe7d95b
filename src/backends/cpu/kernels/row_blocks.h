// SPDX-License-Identifier: Apache-2.0
// RowBlocks: images cut into blocks of rows, or small ones joined, the units of work of the convolution and pooling
// kernels.
#pragma once
#include <algorithm>

#include "backends/cpu/kernels/product.h"

namespace pando::cpu {

// The same for any number of tiles: blocks small enough for the second-level cache, and enough of them for all tiles.
class RowBlocks {
 public:
  // `at_once` > 1: a block is that many images.
  RowBlocks(std::int64_t images, std::int64_t rows, std::int64_t row_bytes, std::int64_t at_once = 1)
      : images_(images), rows_(rows), at_once_(at_once) {
    if (at_once > 1) {
      block_rows_ = std::max<std::int64_t>(rows, 1);
      blocks_ = 1;
      return;
    }
    const std::int64_t for_cache = divide_up(rows * row_bytes, most_block_bytes);
    const std::int64_t for_tiles = fewest_of(images) / std::max<std::int64_t>(images, 1);
    const std::int64_t most = std::max<std::int64_t>(rows * row_bytes / least_block_bytes, 1);
    const std::int64_t count =
        std::clamp<std::int64_t>(std::max(for_cache, std::min(for_tiles, most)), 1, std::max<std::int64_t>(rows, 1));
    block_rows_ = std::max<std::int64_t>(divide_up(rows, count), 1);
    blocks_ = divide_up(rows, block_rows_);
  }

  // The number of blocks unless images are very large or very small: a multiple of the number of images.
  static std::int64_t fewest_of(std::int64_t images) {
    return images * divide_up(fewest_blocks, std::max<std::int64_t>(images, 1));
  }

  std::int64_t block_rows() const { return block_rows_; }
  std::int64_t count() const { return divide_up(images_, at_once_) * blocks_; }
  // The first image of a block, and how many it has.
  std::int64_t image(std::int64_t block) const { return block / blocks_ * at_once_; }
  std::int64_t images(std::int64_t block) const { return std::min(at_once_, images_ - image(block)); }
  Range rows(std::int64_t block) const {
    const std::int64_t first = block % blocks_ * block_rows_;
    return {first, std::min(first + block_rows_, rows_)};
  }

 private:
  static constexpr std::int64_t most_block_bytes = 1 << 15, least_block_bytes = 1 << 12, fewest_blocks = 32;

  std::int64_t images_, rows_, at_once_;
  // Rows of a block, and blocks of an image.
  std::int64_t block_rows_, blocks_;
};

}  // namespace pando::cpu
