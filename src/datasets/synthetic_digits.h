// SPDX-License-Identifier: Apache-2.0
// Digits drawn by a pen that shakes: a data set that needs no file.
#pragma once
#include <pando/datasets/datasets.h>

namespace pando {

inline constexpr int digit_image_size = 28;

// Which of the two disjoint sequences of samples is drawn.
enum class DigitSequence : std::uint32_t { train, test };

// Draws sample number `sample` into the 28 x 28 pixels (0 is paper, 255 ink) and returns its label. A pure function: it
// gives the same bytes on every machine and does not depend on how many samples there are.
std::uint8_t draw_digit(std::uint64_t seed, DigitSequence sequence, std::uint32_t sample, std::uint8_t* pixels);

// The first `count` samples of a sequence.
datasets::Split draw_digits(std::int64_t count, std::uint64_t seed, DigitSequence sequence);

}  // namespace pando
