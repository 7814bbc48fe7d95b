// SPDX-License-Identifier: Apache-2.0
// JSON is read as the standard says, refused with the place and the reason, and written so that it reads back the same.
#include "io/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/message.h"

namespace pando {
namespace {

Json parse(std::string_view text) { return Json::parse(text, "it"); }

std::string refusal(std::string_view text) {
  return message([&] { parse(text); });
}

TEST(Json, ReadsEveryKindOfValue) {
  EXPECT_TRUE(parse("null").is_null());
  EXPECT_EQ(parse("true"), Json(true));
  EXPECT_EQ(parse(" false\n"), Json(false));
  EXPECT_EQ(parse("\"\""), Json(""));
  EXPECT_EQ(parse("[]"), Json(Json::List()));
  EXPECT_EQ(parse("{ }"), Json(Json::Object()));
  EXPECT_EQ(parse("[1, \"two\", [3.5], {\"four\": null}]"),
            Json(Json::List{1, "two", Json::List{3.5}, Json::Object{{"four", Json()}}}));
}

TEST(Json, KeepsIntegersOf64BitsAndReadsLargerOnesAsNumbers) {
  EXPECT_EQ(parse("-0"), Json(0));
  EXPECT_EQ(parse("9223372036854775807"), Json(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(parse("-9223372036854775808"), Json(std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(parse("9223372036854775808").is_integer());
  EXPECT_EQ(parse("9223372036854775808").number("it"), 9223372036854775808.0);
  EXPECT_FALSE(parse("1.0").is_integer());
  EXPECT_EQ(parse("1.0").integer("it"), 1);
  EXPECT_EQ(parse("1e3").integer("it"), 1000);
  EXPECT_EQ(parse("7").number("it"), 7.0);
  EXPECT_EQ(parse("-2.5E-1").number("it"), -0.25);
}

TEST(Json, ReadsWhatIsNotFiniteAsPythonWritesIt) {
  EXPECT_TRUE(std::isnan(parse("NaN").number("it")));
  EXPECT_EQ(parse("Infinity").number("it"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse("-Infinity").number("it"), -std::numeric_limits<double>::infinity());
}

TEST(Json, WritesWhatIsNotFiniteAsNullBecauseJsonHasNoWordForIt) {
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).text(), "null");
  EXPECT_EQ(Json(Json::List{-std::numeric_limits<double>::infinity(), 1.5}).text(), "[null, 1.5]");
}

TEST(Json, KeepsEveryNumberOfFilesThatAreReadAgain) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.1, -2.0, 5e-324, infinity, -infinity})
    EXPECT_EQ(parse(Json::exact(value).text()).number("it"), value);
  EXPECT_TRUE(std::isnan(parse(Json::exact(std::nan("")).text()).number("it")));
  EXPECT_EQ(Json::exact(-infinity).text(), "\"-Infinity\"");
  EXPECT_EQ(message([&] { Json("infinity").number("'rate'"); }), "'rate' is a string but should be a number");
}

// Each would take fifty times its text in memory.
TEST(Json, RefusesMoreValuesThanAnyFileHas) {
  std::string wide = "[0";
  for (int i = 1; i < 1 << 21; ++i) wide += ",0";
  EXPECT_EQ(refusal(wide + "]"), "it is not JSON: line 1, column 4194304: it has more than 2097152 values");
  wide.resize(wide.size() - 2);
  EXPECT_EQ(parse(wide + "]").list("it").size(), (1u << 21) - 1);
}

TEST(Json, IsAlwaysUtf8) {
  EXPECT_EQ(Json("a\xff\xc3\xa9\xed\xa0\x80z").text(), "\"a\uFFFD\u00e9\uFFFD\uFFFD\uFFFDz\"");
  EXPECT_EQ(Json("\xe2\x82").text(), "\"\uFFFD\uFFFD\"");
  EXPECT_EQ(Json(Json::Object{{"\xfe", 1}}).text(), "{\"\uFFFD\": 1}");
}

TEST(Json, EscapesWhatWouldActOnATerminal) {
  EXPECT_EQ(Json("\x1b[31m\x07\x7f\u009b\u202e\U000e0001\n").text(),
            R"("\u001b[31m\u0007\u007f\u009b\u202e\udb40\udc01\n")");
  EXPECT_EQ(parse(Json("\u202e\U000e0001").text()).string("it"), "\u202e\U000e0001");
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(parse(R"("\" \\ \/ \b \f \n \r \t")").string("it"), "\" \\ / \b \f \n \r \t");
  EXPECT_EQ(parse(R"("\u0041\u00e9\u20AC")").string("it"), "A\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(parse(R"("\ud83d\ude00")").string("it"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(parse(R"("\uDBFF\uDFFF")").string("it"), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(parse(R"("\u0000")").string("it"), std::string(1, '\0'));
}

TEST(Json, RefusesHalvesOfSurrogatePairs) {
  EXPECT_EQ(refusal(R"("\ud83d")"), "it is not JSON: line 1, column 8: a string has half a surrogate pair");
  EXPECT_EQ(refusal(R"("\ude00")"), "it is not JSON: line 1, column 8: a string has half a surrogate pair");
  EXPECT_EQ(refusal(R"("\ud83dx")"), "it is not JSON: line 1, column 8: a string has half a surrogate pair");
  EXPECT_EQ(refusal(R"("\ud83d\u0041")"), "it is not JSON: line 1, column 14: a string has half a surrogate pair");
}

TEST(Json, SaysWhereAndWhyATextIsRefused) {
  EXPECT_EQ(refusal(""), "it is not JSON: line 1, column 1: the text ends where a value should be");
  EXPECT_EQ(refusal("  "), "it is not JSON: line 1, column 3: the text ends where a value should be");
  EXPECT_EQ(refusal("1 2"), "it is not JSON: line 1, column 3: there is more text after the value");
  EXPECT_EQ(refusal("[1\n 2]"), "it is not JSON: line 2, column 2: a comma or ] is missing");
  EXPECT_EQ(refusal("[1,]"), "it is not JSON: line 1, column 4: there is no value here");
  EXPECT_EQ(refusal("{\"a\": 1 \"b\": 2}"), "it is not JSON: line 1, column 9: a comma or } is missing");
  EXPECT_EQ(refusal("{\"a\" 1}"), "it is not JSON: line 1, column 6: a colon is missing");
  EXPECT_EQ(refusal("{a: 1}"),
            "it is not JSON: line 1, column 2: the name of a member, in quotation marks, is missing");
  EXPECT_EQ(refusal("{\"a\": 1,\n\n \"a\": 2}"), "it is not JSON: line 3, column 5: the member 'a' appears twice");
  EXPECT_EQ(refusal("\"abc"), "it is not JSON: line 1, column 5: the text ends within a string");
  EXPECT_EQ(refusal("\"a\\"), "it is not JSON: line 1, column 4: the text ends within a string");
  EXPECT_EQ(refusal("\"a\nb\""), "it is not JSON: line 2, column 1: a string has a control character");
  EXPECT_EQ(refusal("\"\\x\""), "it is not JSON: line 1, column 4: a string has an unknown escape");
  EXPECT_EQ(refusal("\"\\u12g4\""), "it is not JSON: line 1, column 4: a \\u needs four hexadecimal digits");
  EXPECT_EQ(refusal("\"\\u12"), "it is not JSON: line 1, column 4: a \\u needs four hexadecimal digits");
  EXPECT_EQ(refusal("tru"), "it is not JSON: line 1, column 1: there is no value here");
  EXPECT_EQ(refusal("+1"), "it is not JSON: line 1, column 1: there is no value here");
  EXPECT_EQ(refusal("01"), "it is not JSON: line 1, column 2: there is more text after the value");
  EXPECT_EQ(refusal("1."), "it is not JSON: line 1, column 3: a number needs digits after its point");
  EXPECT_EQ(refusal("1e+"), "it is not JSON: line 1, column 4: a number needs digits in its exponent");
  EXPECT_EQ(refusal("[1e999]"), "it is not JSON: line 1, column 2: a number is too large or too small");
}

TEST(Json, RefusesWhatIsNestedTooDeep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parse(nested(129)).text(), nested(129));
  EXPECT_EQ(refusal(nested(130)), "it is not JSON: line 1, column 130: it is nested more than 128 deep");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')),
            "it is not JSON: line 1, column 130: it is nested more than 128 deep");
}

TEST(Json, SaysWhatAValueIsAndShouldBe) {
  EXPECT_EQ(message([] { Json("x").list("the shape"); }), "the shape is a string but should be a list");
  EXPECT_EQ(message([] { Json(1.5).integer("it"); }), "it is a number but should be an integer");
  EXPECT_EQ(message([] { Json(1e19).integer("it"); }), "it is a number but should be an integer");
  EXPECT_EQ(message([] { Json(true).number("it"); }), "it is a boolean but should be a number");
  EXPECT_EQ(message([] { Json().string("it"); }), "it is null but should be a string");
  EXPECT_EQ(message([] { Json(Json::List()).object("it"); }), "it is a list but should be an object");
  EXPECT_EQ(message([] { Json(Json::Object()).boolean("it"); }), "it is an object but should be true or false");
  EXPECT_EQ(message([] { Json(3).boolean("it"); }), "it is an integer but should be true or false");
}

TEST(Json, WritesOneLineOrIndentedLines) {
  const Json value =
      Json::Object{{"list", Json::List{1, 2.0, Json()}}, {"empty", Json::List()}, {"text", "a\"\\\n\x01"}};
  EXPECT_EQ(value.text(), R"({"list": [1, 2.0, null], "empty": [], "text": "a\"\\\n\u0001"})");
  EXPECT_EQ(
      value.text(2),
      "{\n  \"list\": [\n    1,\n    2.0,\n    null\n  ],\n  \"empty\": [],\n  \"text\": \"a\\\"\\\\\\n\\u0001\"\n}");
}

TEST(Json, ReadsBackWhatItWrites) {
  Json value = Json::Object{{"numbers", Json::List{0.1, 1.0, -0.0, 1e300, 5e-324, 1.7976931348623157e308,
                                                   std::numeric_limits<std::int64_t>::min()}},
                            {"", Json::Object{{"\t\x1f\x7f", false}}},
                            {"text", "\xF0\x9F\x98\x80 \xE2\x82\xAC"}};
  for (const int indent : {0, 1, 4}) {
    const Json back = parse(value.text(indent));
    EXPECT_EQ(back, value) << value.text(indent);
    EXPECT_EQ(back.text(indent), value.text(indent));
  }
  EXPECT_TRUE(std::signbit(parse(value.text()).find("numbers")->list("it")[2].number("it")));
}

TEST(Json, KeepsTheOrderOfMembersAndReplacesTheirValues) {
  Json value;
  EXPECT_EQ(value.find("b"), nullptr);
  value.set("b", 1);
  value.set("a", 2);
  value.set("b", 3);
  EXPECT_EQ(value.text(), R"({"b": 3, "a": 2})");
  EXPECT_EQ(*value.find("a"), Json(2));
  EXPECT_EQ(Json("no object").find("a"), nullptr);
  Json list;
  list.append(1);
  list.append("x");
  EXPECT_EQ(list.text(), R"([1, "x"])");
}

}  // namespace
}  // namespace pando
