// SPDX-License-Identifier: Apache-2.0
// Work for the disk runs in parallel with everything else, and only the latest of it matters.
#include "io/background_writer.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace pando {
namespace {

TEST(BackgroundWriter, DoesTheLatestWhenItCannotKeepUp) {
  std::vector<int> done;
  std::promise<void> begun, go_on;
  BackgroundWriter writer;
  writer.submit([&] {
    begun.set_value();
    go_on.get_future().wait();
    done.push_back(0);
  });
  begun.get_future().wait();
  for (int i = 1; i <= 5; ++i) writer.submit([&done, i] { done.push_back(i); });
  go_on.set_value();
  writer.wait();
  EXPECT_EQ(done, (std::vector<int>{0, 5}));
}

TEST(BackgroundWriter, DoesTheLastBeforeItGoes) {
  int done = 0;
  {
    BackgroundWriter writer;
    writer.wait();
    writer.submit([&] { done = 1; });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace pando
