// SPDX-License-Identifier: Apache-2.0
// What programs rely on to find out which Pando they were compiled with and run with.
#include <gtest/gtest.h>
#include <pando/version.h>

namespace pando {
namespace {

TEST(Version, TextNumberAndPartsAgree) {
  const std::string text = std::to_string(PANDO_VERSION_MAJOR) + "." + std::to_string(PANDO_VERSION_MINOR) + "." +
                           std::to_string(PANDO_VERSION_PATCH);
  EXPECT_EQ(PANDO_VERSION, text);
  EXPECT_EQ(PANDO_VERSION_NUMBER, PANDO_VERSION_MAJOR * 10000 + PANDO_VERSION_MINOR * 100 + PANDO_VERSION_PATCH);
}

TEST(Version, LibraryAndBuildSayTheSame) {
  EXPECT_EQ(version(), PANDO_VERSION);
  EXPECT_EQ(version(), PANDO_PROJECT_VERSION);
}

#if PANDO_VERSION_NUMBER < 100
#error "PANDO_VERSION_NUMBER can be compared in #if"
#endif

}  // namespace
}  // namespace pando
