// SPDX-License-Identifier: Apache-2.0
// SampleFeed: a Feed for a device that keeps the samples in its memory. The host only says which samples a row has.
#pragma once
#include <pando/program/program.h>

#include <optional>

#include "runtime/feed.h"

namespace pando {

class SampleFeed {
 public:
  // `samples` has a column, or -1, for each of Program::feeds(). For a feed with a column, `fill` writes the numbers of
  // its samples, 32 bits each, instead of their bytes. Nothing if the program runs on several devices, if its device
  // does not gather, or if the samples do not fit its memory: such a program takes an ordinary Feed.
  static std::optional<Feed> make(const Program& program, const FeedSamples& samples, FillFeeds fill);
};

}  // namespace pando
