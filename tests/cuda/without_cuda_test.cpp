// SPDX-License-Identifier: Apache-2.0
// A build without CUDA knows the backend's name and says how to get it.
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include "tests/message.h"

namespace pando {
namespace {

TEST(WithoutCuda, TheBackendIsRefusedWithTheRemedyAndAutoTakesTheCpu) {
  EXPECT_EQ(message([] { Device({.backend = "cuda"}); }),
            "this build of Pando has no backend 'cuda'; build it with -DPANDO_WITH_CUDA=ON, or use the backend 'cpu'");
  EXPECT_TRUE(gpus().empty());
  EXPECT_EQ(Device({.tiles = 1, .backend = "auto"}).backend(), "cpu");
}

}  // namespace
}  // namespace pando
