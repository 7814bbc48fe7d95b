// SPDX-License-Identifier: Apache-2.0
// JSON that is written value by value is laid out as asked, and is JSON for any value.
#include "io/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace pando {
namespace {

std::string written(const JsonLayout& layout = {}) {
  std::string text;
  JsonWriter json(text, layout);
  json.begin_object();
  json.member("name", "a<b");
  json.name("numbers");
  json.begin_list();
  json.value(-1);
  json.value(std::numeric_limits<std::size_t>::max());
  json.value(2.0);
  json.end_list();
  json.name("none");
  json.begin_list();
  json.end_list();
  json.name("made before");
  json.json("{}");
  json.member("last", true);
  json.end_object();
  return text;
}

TEST(JsonWriter, HasBlanksOrNone) {
  EXPECT_EQ(written(), R"({"name": "a<b", "numbers": [-1, 18446744073709551615, 2.0], "none": [], "made before": {}, )"
                       R"("last": true})");
  EXPECT_EQ(written({.blanks = false, .in_script = true}),
            R"({"name":"a\u003cb","numbers":[-1,18446744073709551615,2.0],"none":[],"made before":{},"last":true})");
}

TEST(JsonWriter, BeginsLinesWhereItIsTold) {
  std::string text;
  JsonWriter json(text);
  json.begin_list();
  json.new_line(2);
  json.value(1);
  json.value(2);
  json.new_line(2);
  json.begin_object();
  json.new_line();
  json.end_object();
  json.new_line();
  json.end_list();
  EXPECT_EQ(text, "[\n  1, 2,\n  {\n}\n]");
}

TEST(JsonWriter, WritesNumbersWithTheDigitsThatAreAskedFor) {
  std::string text;
  JsonWriter json(text);
  json.begin_list();
  json.fixed(1.0 / 3, 3);
  json.fixed(1e9, 3);
  json.rounded(1.0 / 3, 10);
  json.rounded(64, 10);
  json.value(1e300);
  json.fixed(std::numeric_limits<double>::infinity(), 3);
  json.rounded(std::numeric_limits<double>::quiet_NaN(), 3);
  json.end_list();
  EXPECT_EQ(text, "[0.333, 1000000000.000, 0.3333333333, 64, 1e+300, null, null]");
}

}  // namespace
}  // namespace pando
