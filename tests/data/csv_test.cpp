// SPDX-License-Identifier: Apache-2.0
// Tables in CSV files: every spelling of them that people have, and refusals word for word.
#include <pando/data/files.h>

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

using Names = std::vector<std::string>;

class Csv : public testing::Test {
 protected:
  data::CsvTable read(const std::string& text, const data::CsvOptions& options = {}) {
    return data::read_csv(folder.write("table.csv", text), options);
  }
  std::string refusal(const std::string& text, const data::CsvOptions& options = {}) {
    const std::string path = folder.write("table.csv", text);
    const std::string message_text = message([&] { data::read_csv(path, options); });
    return message_text.substr(std::min(message_text.size(), path.size()));
  }
  static std::vector<float> numbers(const data::CsvTable& table) {
    return {table.values.data<float>(), table.values.data<float>() + table.values.elements()};
  }

  TemporaryFolder folder;
};

TEST_F(Csv, HasNumbersAndTheLastColumnAsLabels) {
  const data::CsvTable table = read("width,height,kind\n1.5,-2,cat\n3e2,+4,dog\n");
  EXPECT_EQ(table.columns, (Names{"width", "height"}));
  EXPECT_EQ(table.values.shape(), (Shape{2, 2}));
  EXPECT_EQ(numbers(table), (std::vector<float>{1.5f, -2, 300, 4}));
  EXPECT_EQ(table.label, "kind");
  EXPECT_EQ(table.labels, (Names{"cat", "dog"}));
}

TEST_F(Csv, MayNameTheColumnOfLabelsOrHaveNone) {
  const data::CsvTable table = read("y,a,b\n7,1,2\n", {.label = "y"});
  EXPECT_EQ(table.columns, (Names{"a", "b"}));
  EXPECT_EQ(table.labels, Names{"7"});
  const data::CsvTable plain = read("a,b\n1,2\n", {.has_labels = false});
  EXPECT_EQ(plain.columns, (Names{"a", "b"}));
  EXPECT_TRUE(plain.labels.empty());
  EXPECT_EQ(refusal("width,height\n", {.label = "heigth"}), ": unknown column 'heigth'; did you mean 'height'?");
}

TEST_F(Csv, IsReadInEverySpelling) {
  for (const char* text : {"a;b;c\n1;2;x\n", "a\tb\tc\n1\t2\tx\n",
                           "\xef\xbb\xbf"
                           "a,b,c\r\n1,2,x\r\n",
                           "a,b,c\n1,2,x", "\n\na, b ,c\n 1 , 2, x\n\n\n", "\"a\",\"b\",\"c\"\n\"1\",2,\"x\"\n"}) {
    const data::CsvTable table = read(text);
    EXPECT_EQ(table.columns, (Names{"a", "b"})) << text;
    EXPECT_EQ(numbers(table), (std::vector<float>{1, 2})) << text;
    EXPECT_EQ(table.labels, Names{"x"}) << text;
  }
  const data::CsvTable table = read("a,\"b,\"\"\n\"\"\"\n1,\"x\n, \"\"y\"\"\"\n2,z\n");
  EXPECT_EQ(table.label, "b,\"\n\"");
  EXPECT_EQ(table.labels, (Names{"x\n, \"y\"", "z"}));
}

TEST_F(Csv, IsRefusedByTheLine) {
  EXPECT_EQ(refusal("a,b\n1,x\n\n,y\n"),
            ": line 4: the number in the column 'a' is missing; correct the line, or take it out");
  EXPECT_EQ(refusal("a,b\nx,1\n"), ": line 2: 'x' in the column 'a' is not a number; correct the line, or take it out");
  EXPECT_EQ(refusal("a,b\nnan,1\n"),
            ": line 2: 'nan' in the column 'a' is not a number; correct the line, or take it out");
  EXPECT_EQ(refusal("a,b\n1\n"),
            ": line 2: has 1 cell, but the first line names 2 columns; correct the line, or take it out");
  EXPECT_EQ(refusal("a,b\n1,\n"), ": line 2: the label in the column 'b' is missing; correct the line, or take it out");
}

TEST_F(Csv, IsRefusedByTheColumnIfThatHoldsWordsInEveryRow) {
  const std::string problem = ": the column 'b' holds words, such as 'x', and not numbers; replace them by numbers";
  EXPECT_EQ(refusal("a,b,c\n1,x,3\n2,y,3\n"), problem + ", take the column out, or name it as that of the labels");
  EXPECT_EQ(refusal("a,b,c\n1,x,3\n2,y,3\n", {.has_labels = false}), problem + ", or take the column out");
  EXPECT_EQ(refusal("a,b,c\n1,x,3\n2,7,3\n"),
            ": line 2: 'x' in the column 'b' is not a number; correct the line, or take it out");
}

TEST_F(Csv, IsRefusedWithoutAFirstLineOfNames) {
  const std::string form = "; give a first line that names the columns, and a line of numbers for each row";
  EXPECT_EQ(refusal(""), ": is empty" + form);
  EXPECT_EQ(refusal("1,2\n3,4\n"), ": has no line that names its columns" + form);
  EXPECT_EQ(refusal("a\n1\n"), ": has no column of numbers" + form);
}

TEST_F(Csv, LeavesBadRowsOutAndListsThemIfAskedTo) {
  const data::CsvTable table = read("a,b,c\n1,2,x\n1,?,y\n3,4,z\n5\n", {.skip_bad = true});
  EXPECT_EQ(numbers(table), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(table.labels, (Names{"x", "z"}));
  EXPECT_EQ(table.skipped, (Names{"line 3: '?' in the column 'b' is not a number",
                                  "line 5: has 1 cell, but the first line names 3 columns"}));
}

}  // namespace
}  // namespace pando
