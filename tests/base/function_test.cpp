// SPDX-License-Identifier: Apache-2.0
// Function, which the public interface takes where std::function would do.
#include <gtest/gtest.h>
#include <pando/base/function.h>

#include <functional>
#include <string>

namespace pando {
namespace {

int twice(int x) { return 2 * x; }

// Which of two functions an argument becomes.
std::string chosen(const Function<int(int)>&) { return "of one number"; }
std::string chosen(const Function<int(int, int)>&) { return "of two numbers"; }

TEST(Function, CallsWhatItHolds) {
  const Function<int(int)> pointer = twice;
  const Function<int(int)> lambda = [add = 3](int x) { return x + add; };
  const Function<int(int)> standard = std::function<int(int)>(twice);
  EXPECT_EQ(pointer(4), 8);
  EXPECT_EQ(lambda(4), 7);
  EXPECT_EQ(standard(4), 8);
}

TEST(Function, DropsTheResultWhereVoidIsAsked) {
  int calls = 0;
  const Function<void()> count = [&] { return ++calls; };
  count();
  EXPECT_EQ(calls, 1);
}

TEST(Function, CopiesKeepTheirOwnState) {
  Function<int()> counter = [n = 0]() mutable { return ++n; };
  counter();
  Function<int()> copy = counter;
  EXPECT_EQ(counter(), 2);
  EXPECT_EQ(counter(), 3);
  EXPECT_EQ(copy(), 2);
  copy = counter;
  EXPECT_EQ(copy(), 4);
}

TEST(Function, PassesReferencesAndMovesValues) {
  Function<void(std::string&)> extend = [](std::string& text) { text += "!"; };
  std::string text = "moved";
  extend(text);
  const Function<std::unique_ptr<std::string>(std::unique_ptr<std::string>)> pass = [](auto value) { return value; };
  EXPECT_EQ(*pass(std::make_unique<std::string>(text)), "moved!");
}

TEST(Function, IsEmptyWithoutAFunction) {
  EXPECT_FALSE(Function<void()>());
  EXPECT_FALSE(Function<void()>(nullptr));
  EXPECT_FALSE(Function<int(int)>(static_cast<int (*)(int)>(nullptr)));
  EXPECT_FALSE(Function<int(int)>(std::function<int(int)>()));
  EXPECT_TRUE(Function<void()>() == nullptr);
  EXPECT_TRUE(Function<int(int)>(twice) != nullptr);
  try {
    Function<void()>()();
    FAIL() << "an empty function was called";
  } catch (const InternalError& e) {
    EXPECT_STREQ(e.what(), "internal error: an empty function was called");
  }
}

TEST(Function, TakesPartInOverloadsOnlyWhereItCanBeCalled) {
  EXPECT_EQ(chosen([](int) { return 1; }), "of one number");
  EXPECT_EQ(chosen([](int, int) { return 2; }), "of two numbers");
  EXPECT_FALSE((std::is_constructible_v<Function<int(int)>, std::string>));
}

}  // namespace
}  // namespace pando
