// SPDX-License-Identifier: Apache-2.0
// The summary of a model, character by character as Keras 3 and Keras 2 print it.
#include "report/terminal/table.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "report/terminal/text_width.h"
#include "tests/message.h"

namespace pando {
namespace {

const TableOutput plain_table = {}, keras_2_table = {.look = {.look = Look::keras_2}};

TEST(Summary, PrintsASequentialModelAsKeras3Does) {
  const std::vector<SummaryRow> rows = {
      {"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
      {"conv2d", "Conv2D", "(None, 26, 26, 32)", 320},
      {"dense", "Dense", "(None, 10)", 34506},
  };
  EXPECT_EQ(summary_text("model", rows,
                         {.trainable = 34826, .non_trainable = 0, .trainable_bytes = 139304, .non_trainable_bytes = 0},
                         /*with_connections=*/false, plain_table),
            R"(Model: "model"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ input_1 (InputLayer)            │ (None, 28, 28, 1)      │             0 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ conv2d (Conv2D)                 │ (None, 26, 26, 32)     │           320 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ dense (Dense)                   │ (None, 10)             │        34,506 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 34,826 (136.04 KB)
 Trainable params: 34,826 (136.04 KB)
 Non-trainable params: 0 (0.00 B)
)");
}

// At 40 columns text goes on in the next line; wider text makes the table wider where nothing limits it.
TEST(Summary, CutsNothing) {
  const std::vector<SummaryRow> rows = {{"max_pooling2d_1", "MaxPooling2D", "(None, 13, 13, 32)", 0},
                                        {"a_layer_with_a_rather_long_name", "Dense", "(None, 10)", 1234567}};
  const SummaryTotals totals = {.trainable = 1234567, .trainable_bytes = 4938268};
  EXPECT_EQ(summary_text("m", rows, totals, false, {.columns = 40}), R"(Model: "m"
┏━━━━━━━━━━━━┳━━━━━━━━━━━━━┳━━━━━━━━━━━┓
┃ Layer      ┃ Output      ┃   Param # ┃
┃ (type)     ┃ Shape       ┃           ┃
┡━━━━━━━━━━━━╇━━━━━━━━━━━━━╇━━━━━━━━━━━┩
│ max_       │ (None, 13,  │         0 │
│ pooling2d_ │ 13, 32)     │           │
│ 1          │             │           │
│ (MaxPoolin │             │           │
│ g2D)       │             │           │
├────────────┼─────────────┼───────────┤
│ a_layer_   │ (None, 10)  │ 1,234,567 │
│ with_a_    │             │           │
│ rather_    │             │           │
│ long_name  │             │           │
│ (Dense)    │             │           │
└────────────┴─────────────┴───────────┘
 Total params: 1,234,567 (4.71 MB)
 Trainable params: 1,234,567 (4.71 MB)
 Non-trainable params: 0 (0.00 B)
)");
  EXPECT_NE(summary_text("m", rows, totals, false, plain_table).find("│ a_layer_with_a_rather_long_name (Dense) │"),
            std::string::npos);
}

TEST(Summary, NamesTheConnectionsOfABranchedModel) {
  const std::vector<SummaryRow> rows = {
      {"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
      {"add", "Add", "(None, 28, 28, 8)", 0, {"conv2d[0][0]", "conv2d_1[0][0]"}},
  };
  const std::string text = summary_text("model_1", rows, {}, /*with_connections=*/true, plain_table);
  EXPECT_EQ(text.substr(0, text.find(" Total")), R"(Model: "model_1"
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)         ┃ Output Shape      ┃    Param # ┃ Connected to      ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩
│ input_1 (InputLayer) │ (None, 28, 28, 1) │          0 │ -                 │
├──────────────────────┼───────────────────┼────────────┼───────────────────┤
│ add (Add)            │ (None, 28, 28, 8) │          0 │ conv2d[0][0],     │
│                      │                   │            │ conv2d_1[0][0]    │
└──────────────────────┴───────────────────┴────────────┴───────────────────┘
)");
}

TEST(Summary, HasTheColorsOfKeras3AndIsAsWideAsWithoutThem) {
  const std::vector<SummaryRow> rows = {{"dense", "Dense", "(None, 10)", 1234}};
  const SummaryTotals totals = {.trainable = 1234, .trainable_bytes = 4936};
  const std::string text = summary_text("m", rows, totals, false, {.look = {.color = true}});
  EXPECT_NE(text.find("│ dense (\x1b[38;5;33mDense\x1b[0m)                   │ (\x1b[38;5;45mNone\x1b[0m, "
                      "\x1b[38;5;34m10\x1b[0m)             │         \x1b[38;5;34m1,234\x1b[0m │\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.starts_with("\x1b[1mModel: \"m\"\x1b[0m\n")) << text;
  std::string bare = text;
  for (std::size_t at; (at = bare.find('\x1b')) != std::string::npos;) bare.erase(at, bare.find('m', at) + 1 - at);
  EXPECT_EQ(bare, summary_text("m", rows, totals, false, plain_table));
}

TEST(Summary, IsMadeOfAsciiWhereTheLocaleIsNotUtf8) {
  EXPECT_EQ(stage_table_text("m", {{"flat", 0}, {"head", 1}}, {.look = {.unicode = false}}),
            R"(Model: "m"
+---------------------------------+----------------+
| Layer                           | Pipeline Stage |
+=================================+================+
| flat                            |              0 |
+---------------------------------+----------------+
| head                            |              1 |
+---------------------------------+----------------+
)");
}

TEST(Summary, ShowsControlCharactersOfNamesInBoxesAsEscapes) {
  const std::vector<SummaryRow> rows = {{"a\x1b[2Jb\n", "D\r", "(None, 1)\t", 2, {"c\x07[0][0]"}},
                                        {"größe", "層", "(None, 1)", 2}};
  const std::string text = summary_text("m\x07", rows, {}, /*with_connections=*/true, plain_table);
  EXPECT_EQ(text.find_first_of("\x1b\x07\r\t"), std::string::npos) << text;
  for (const char* shown : {"Model: \"m\\x07\"", "│ a\\x1b[2Jb\\n (D\\r) ", "│ (None, 1)\\t ", "│ c\\x07[0][0] "})
    EXPECT_NE(text.find(shown), std::string::npos) << shown << "\n" << text;
  EXPECT_NE(text.find("│ größe (層)          │"), std::string::npos) << text;
}

TEST(Summary, FitsTerminalsOfAllWidths) {
  const std::vector<SummaryRow> rows = {
      {"max_pooling2d_1", "MaxPooling2D", "(None, 13, 13, 32)", 0, {"conv2d_11[0][0]", "层层层层层层层层层层[0][0]"}}};
  for (const bool with_connections : {false, true})
    for (int columns = 44; columns < 120; ++columns) {
      const std::string text = summary_text("m", rows, {}, with_connections, {.columns = columns});
      for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        EXPECT_LE(text_width(text.substr(at, end - at)), columns) << text;
      EXPECT_NE(text.find('2'), std::string::npos);
    }
}

TEST(Look, IsChosenByTheEnvironmentUntilTheProgramChooses) {
  const auto look_with = [](const char* name) {
    setenv("PANDO_LOOK", name, 1);
    return look();
  };
  EXPECT_EQ(look_with("keras2"), Look::keras_2);
  EXPECT_EQ(look_with("keras3"), Look::keras_3);
  EXPECT_EQ(message([&] { look_with("keras4"); }), "PANDO_LOOK: unknown look 'keras4'; did you mean 'keras2'?");
  unsetenv("PANDO_LOOK");
  EXPECT_EQ(look(), Look::keras_3);
  setenv("PANDO_LOOK", "keras2", 1);
  set_look(Look::keras_3);
  EXPECT_EQ(look(), Look::keras_3);
  unsetenv("PANDO_LOOK");
}

TEST(Look, HasUnicodeIfTheLocaleHasAndColorsOnlyOnATerminal) {
  const auto unicode_with = [](const char* all, const char* types, const char* language) {
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", types, 1);
    setenv("LANG", language, 1);
    return terminal_look(nullptr).unicode;
  };
  EXPECT_TRUE(unicode_with("", "", "de_DE.UTF-8"));
  EXPECT_TRUE(unicode_with("", "C.utf8", "C"));
  EXPECT_FALSE(unicode_with("C", "", "en_US.UTF-8"));
  EXPECT_FALSE(unicode_with("", "", ""));
  for (const char* name : {"LC_CTYPE", "LANG"}) unsetenv(name);
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_FALSE(terminal_look(nullptr).color);
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(terminal_look(file).color);
  std::fclose(file);
}

TEST(Summary, PrintsASequentialModelAsKeras2Does) {
  const std::vector<SummaryRow> rows = {
      {"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
      {"conv2d", "Conv2D", "(None, 26, 26, 32)", 320},
      {"dense", "Dense", "(None, 10)", 1234506},
  };
  EXPECT_EQ(summary_text("model", rows, {.trainable = 1234826, .non_trainable = 0}, /*with_connections=*/false,
                         keras_2_table),
            "Model: \"model\"\n"
            "_________________________________________________________________\n"
            "Layer (type)                 Output Shape              Param #   \n"
            "=================================================================\n"
            "input_1 (InputLayer)         [(None, 28, 28, 1)]       0         \n"
            "_________________________________________________________________\n"
            "conv2d (Conv2D)              (None, 26, 26, 32)        320       \n"
            "_________________________________________________________________\n"
            "dense (Dense)                (None, 10)                1234506   \n"
            "=================================================================\n"
            "Total params: 1,234,826\n"
            "Trainable params: 1,234,826\n"
            "Non-trainable params: 0\n"
            "_________________________________________________________________\n");
}

TEST(Summary, ListsTheConnectionsOfABranchedModelOneBelowTheOther) {
  const std::vector<SummaryRow> rows = {
      {"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
      {"conv2d", "Conv2D", "(None, 28, 28, 8)", 80, {"input_1[0][0]"}},
      {"add", "Add", "(None, 28, 28, 8)", 0, {"conv2d[0][0]", "conv2d_1[0][0]"}},
  };
  EXPECT_EQ(
      summary_text("model_1", rows, {.trainable = 64, .non_trainable = 16}, /*with_connections=*/true, keras_2_table),
      "Model: \"model_1\"\n"
      "__________________________________________________________________________________________________\n"
      "Layer (type)                    Output Shape         Param #     Connected to                     \n"
      "==================================================================================================\n"
      "input_1 (InputLayer)            [(None, 28, 28, 1)]  0                                            \n"
      "__________________________________________________________________________________________________\n"
      "conv2d (Conv2D)                 (None, 28, 28, 8)    80          input_1[0][0]                    \n"
      "__________________________________________________________________________________________________\n"
      "add (Add)                       (None, 28, 28, 8)    0           conv2d[0][0]                     \n"
      "                                                                 conv2d_1[0][0]                   \n"
      "==================================================================================================\n"
      "Total params: 80\n"
      "Trainable params: 64\n"
      "Non-trainable params: 16\n"
      "__________________________________________________________________________________________________\n");
}

TEST(Summary, ShowsControlCharactersAsEscapesAndKeepsItsColumns) {
  const std::vector<SummaryRow> rows = {{"a\x1b[2Jb\n", "Dense", "(None, 1)", 2}, {"größe", "層", "(None, 1)", 2}};
  const std::string text = summary_text("m\x07", rows, {}, /*with_connections=*/false, keras_2_table);
  EXPECT_NE(text.find("Model: \"m\\x07\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\na\\x1b[2Jb\\n (Dense)          (None, 1)                 2         \n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\ngröße (層)                   (None, 1)                 2         \n"), std::string::npos)
      << text;
  EXPECT_NE(stage_table_text("m", {{"größe\r", 1}}, keras_2_table).find("\ngröße\\r" + std::string(38, ' ') + "1\n"),
            std::string::npos);
}

TEST(Summary, OfKeras2CutsWhatIsLongerThanItsColumn) {
  const std::vector<SummaryRow> rows = {
      {"a_layer_with_a_rather_long_name", "BatchNormalization", "[(None, 100, 100, 100), (None, 2)]", 12345678901234}};
  const std::string text = summary_text("m", rows, {}, /*with_connections=*/false, keras_2_table);
  EXPECT_NE(text.find("\na_layer_with_a_rather_long_n [(None, 100, 100, 100), ( 1234567890\n"), std::string::npos)
      << text;
}

TEST(Summary, OfKeras2KeepsToTheWidthOfTheTerminal) {
  const std::string text = summary_text("m", {{"dense", "Dense", "(None, 10)", 7850}}, {.trainable = 7850},
                                        /*with_connections=*/false, {.look = {.look = Look::keras_2}, .columns = 40});
  EXPECT_EQ(text,
            "Model: \"m\"\n"
            "________________________________________\n"
            "Layer (type)      Output Shape    Param \n"
            "========================================\n"
            "dense (Dense)     (None, 10)      7850  \n"
            "========================================\n"
            "Total params: 7,850\n"
            "Trainable params: 7,850\n"
            "Non-trainable params: 0\n"
            "________________________________________\n");
}

}  // namespace
}  // namespace pando
