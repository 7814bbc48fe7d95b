// The summary of a model, character by character as Keras prints it.
#include "report/terminal/table.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(Summary, PrintsASequentialModelAsKerasDoes) {
  const std::vector<SummaryRow> rows = {
      {"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
      {"conv2d", "Conv2D", "(None, 26, 26, 32)", 320},
      {"dense", "Dense", "(None, 10)", 1234506},
  };
  EXPECT_EQ(summary_text("model", rows, {.trainable = 1234826, .non_trainable = 0}, /*with_connections=*/false),
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
  EXPECT_EQ(summary_text("model_1", rows, {.trainable = 64, .non_trainable = 16}, /*with_connections=*/true),
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
  const std::string text = summary_text("m\x07", rows, {}, /*with_connections=*/false);
  EXPECT_NE(text.find("Model: \"m\\x07\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\na\\x1b[2Jb\\n (Dense)          (None, 1)                 2         \n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\ngröße (層)                   (None, 1)                 2         \n"), std::string::npos)
      << text;
  EXPECT_NE(stage_table_text("m", {{"größe\r", 1}}).find("\ngröße\\r" + std::string(38, ' ') + "1\n"),
            std::string::npos);
}

TEST(Summary, CutsWhatIsLongerThanItsColumn) {
  const std::vector<SummaryRow> rows = {
      {"a_layer_with_a_rather_long_name", "BatchNormalization", "[(None, 100, 100, 100), (None, 2)]", 12345678901234}};
  const std::string text = summary_text("m", rows, {}, /*with_connections=*/false);
  EXPECT_NE(text.find("\na_layer_with_a_rather_long_n [(None, 100, 100, 100), ( 1234567890\n"), std::string::npos)
      << text;
}

TEST(Summary, KeepsToTheLineLengthThatIsAskedFor) {
  const std::string text =
      summary_text("m", {{"dense", "Dense", "(None, 10)", 7850}}, {.trainable = 7850}, /*with_connections=*/false, 40);
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
