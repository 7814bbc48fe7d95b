// SPDX-License-Identifier: Apache-2.0
// Names from outside do nothing to the terminal that shows them, and mistyped ones are recognised.
#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/suggestion.h"
#include "base/utf8.h"

namespace pando {
namespace {

TEST(TerminalText, LeavesWhatPeopleWriteAlone) {
  EXPECT_EQ(terminal_text("class 7, größe, 数字, 😀 'a\\b'"), "class 7, größe, 数字, 😀 'a\\b'");
  EXPECT_EQ(terminal_text(""), "");
}

TEST(TerminalText, ShowsControlCharactersAsPythonDoes) {
  EXPECT_EQ(terminal_text("\x1b]0;title\x07\x1b[31mred"), "\\x1b]0;title\\x07\\x1b[31mred");
  EXPECT_EQ(terminal_text("a\nb\rc\td\x7f"), "a\\nb\\rc\\td\\x7f");
  EXPECT_EQ(terminal_text(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(terminal_text("\u009b31m\u0085"), "\\x9b31m\\x85");
}

TEST(TerminalText, ShowsWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(terminal_text("a\u202egnp.exe\u202c\u2066\u2069\u200f\u061c"),
            "a\\u202egnp.exe\\u202c\\u2066\\u2069\\u200f\\u061c");
  EXPECT_EQ(terminal_text("\u2028\ufeff\U000e0041"), "\\u2028\\ufeff\\U000e0041");
}

TEST(TerminalText, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(terminal_text("\xff\xc3"), "\\xff\\xc3");
  // Longer than needed, a surrogate, above the last code: three ways to smuggle an ESC past a careless reader.
  EXPECT_EQ(terminal_text("\xc0\x9b"), "\\xc0\\x9b");
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(terminal_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(TerminalText, KeepsLinesWhereThereAreSeveral) {
  EXPECT_EQ(terminal_lines("a\tb\nc\x1b\r\n"), "a\tb\nc\\x1b\\r\n");
}

TEST(Utf8, ReplacesEachByteThatIsNone) { EXPECT_EQ(valid_utf8("a\xff\xe2\x82z\u20ac"), "a\uFFFD\uFFFD\uFFFDz\u20ac"); }

TEST(FloatText, IsThatOfPython) {
  EXPECT_EQ(float_text(1), "1.0");
  EXPECT_EQ(float_text(1e-5), "1e-05");
  EXPECT_EQ(float_text(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(Suggestion, IsTheNameThatAPersonMeans) {
  const std::vector<std::string> losses = {"binary_crossentropy", "categorical_crossentropy", "mean_squared_error",
                                           "sparse_categorical_crossentropy"};
  EXPECT_EQ(suggestion("sparse_crossentropy", losses), "did you mean 'sparse_categorical_crossentropy'?");
  EXPECT_EQ(suggestion("SparseCategoricalCrossentropy", losses), "did you mean 'sparse_categorical_crossentropy'?");
  EXPECT_EQ(suggestion("binary-crossentropie", losses), "did you mean 'binary_crossentropy'?");
  EXPECT_EQ(suggestion("squared_error", losses), "did you mean 'mean_squared_error'?");
  EXPECT_EQ(suggestion("crossentropy", losses),
            "did you mean 'binary_crossentropy', 'categorical_crossentropy' or 'sparse_categorical_crossentropy'?");
  EXPECT_EQ(suggestion("hinge", losses), "");
  EXPECT_EQ(suggestion("adma", {"sgd", "adam", "adamw", "nadam"}), "did you mean 'adam'?");
  EXPECT_EQ(suggestion("Adam", {"sgd", "adam"}), "did you mean 'adam'?");
  EXPECT_EQ(suggestion("accum", {"beta", "accumulation_count"}), "did you mean 'accumulation_count'?");
  EXPECT_EQ(suggestion("x", {}), "");
}

TEST(UnknownName, ListsAllNamesIfNoneIsNear) {
  EXPECT_EQ(unknown_name("loss", "hinge", {"mse", "mae"}), "unknown loss 'hinge'; known are: mse, mae");
  EXPECT_EQ(unknown_name("loss", "mea", {"mse", "mae"}), "unknown loss 'mea'; did you mean 'mae'?");
}

}  // namespace
}  // namespace pando
