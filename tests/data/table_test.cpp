// SPDX-License-Identifier: Apache-2.0
// Tables of the user as data sets: classes, a test split that is always the same, and refusals word for word.
#include <pando/datasets/datasets.h>

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

using Names = std::vector<std::string>;

class Table : public testing::Test {
 protected:
  // Rows of one number, each with its label.
  static std::string rows(const std::vector<std::pair<int, std::string>>& all) {
    std::string text = "x,class\n";
    for (const auto& [x, label] : all) text += std::to_string(x) + "," + label + "\n";
    return text;
  }
  datasets::OwnData load(const std::string& text, const datasets::OwnDataOptions& options = {}) {
    return datasets::load_own(folder.write("table.csv", text), options);
  }
  std::string refusal(const std::string& text, const datasets::OwnDataOptions& options = {}) {
    const std::string path = folder.write("table.csv", text);
    const std::string shown = message([&] { datasets::load_own(path, options); });
    return shown.substr(std::min(shown.size(), path.size()));
  }
  static std::vector<float> x_of(const datasets::Split& split) {
    return {split.x.data<float>(), split.x.data<float>() + split.x.elements()};
  }
  static std::vector<int> y_of(const datasets::Split& split) {
    return {split.y.data<std::int32_t>(), split.y.data<std::int32_t>() + split.y.elements()};
  }

  TemporaryFolder folder;
};

TEST_F(Table, TestsWithEveryFifthRowOfAClassAndMixesTheClasses) {
  std::vector<std::pair<int, std::string>> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(i, "late");
  for (int i = 0; i < 5; ++i) all.emplace_back(10 + i, "early");
  const datasets::OwnData data = load(rows(all));
  EXPECT_EQ(data.class_names, (Names{"early", "late"}));
  EXPECT_EQ(data.columns, Names{"x"});
  EXPECT_EQ(data.label, "class");
  EXPECT_TRUE(data.test_was_split_off);
  EXPECT_EQ(x_of(data.train), (std::vector<float>{10, 0, 11, 1, 12, 2, 13, 3}));
  EXPECT_EQ(y_of(data.train), (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(x_of(data.test), (std::vector<float>{14, 4}));
  EXPECT_EQ(x_of(load(rows(all), {.split_off_test = false}).test).size(), 10);
}

TEST_F(Table, OrdersClassesThatAreNumbersByTheirValue) {
  std::vector<std::pair<int, std::string>> all;
  for (int i = 0; i < 5; ++i)
    for (const char* label : {"10", "9", "-1"}) all.emplace_back(i, label);
  EXPECT_EQ(load(rows(all)).class_names, (Names{"-1", "9", "10"}));
}

TEST_F(Table, MayBeTwoFiles) {
  folder.write("train.csv", rows({{1, "a"}, {2, "b"}}));
  folder.write("test.csv", rows({{3, "b"}}));
  const datasets::OwnData data = datasets::load_own(folder.path());
  EXPECT_FALSE(data.test_was_split_off);
  EXPECT_EQ(x_of(data.train), (std::vector<float>{1, 2}));
  EXPECT_EQ(y_of(data.test), std::vector<int>{1});
  folder.write("test.csv", rows({{3, "third"}}));
  EXPECT_EQ(message([&] { datasets::load_own(folder.path()); }),
            folder.path() + "/test.csv: unknown class 'third'; known are: a, b");
  folder.write("test.csv", "z,class\n1,a\n");
  EXPECT_EQ(message([&] { datasets::load_own(folder.path()); }),
            folder.path() + "/test.csv: does not have the columns of " + folder.path() +
                "/train.csv; give both the same first line");
}

TEST_F(Table, RefusesWhatIsNoClass) {
  const std::string remedy = "; name the column that holds the class of each row";
  EXPECT_EQ(refusal("a,price\n1,2.5\n2,3\n"),
            ": the column 'price' holds numbers with fractions, such as 2.5, not classes" + remedy);
  EXPECT_EQ(refusal(rows({{1, "a"}})),
            ": the column 'class' has 1 different label; 2 to 1000 classes are told apart" + remedy);
  EXPECT_EQ(refusal(rows({{1, "a"}, {2, "b"}})), ": has no class of five rows; add rows");
  EXPECT_EQ(refusal("x,class\n"), ": has no rows that can be read; add a line for each row");
  const std::string path = folder.write("table.csv", "x,class\n?,a\n");
  EXPECT_EQ(message([&] { datasets::load_own(path, {.skip_bad = true}); }),
            path + ": has no rows that can be read: line 2: '?' in the column 'x' is not a number; correct its lines");
}

TEST_F(Table, MayBeNamedInCapitals) {
  const std::string path = folder.write("TABLE.CSV", rows({{1, "a"}, {2, "b"}}));
  EXPECT_EQ(datasets::load_own(path, {.split_off_test = false}).class_names, (Names{"a", "b"}));
}

TEST_F(Table, ListsTheRowsThatWereLeftOut) {
  std::vector<std::pair<int, std::string>> all;
  for (int i = 0; i < 5; ++i)
    for (const char* label : {"a", "b"}) all.emplace_back(i, label);
  const datasets::OwnData data = load(rows(all) + "?,a\n", {.skip_bad = true});
  ASSERT_EQ(data.skipped.size(), 1);
  EXPECT_EQ(data.skipped[0], folder.path() + "/table.csv: line 12: '?' in the column 'x' is not a number");
}

}  // namespace
}  // namespace pando
