// SPDX-License-Identifier: Apache-2.0
// The report of a measured timeline: sums, advice, the trace and the page.
#include "report/profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace pando {
namespace {

using Kind = ProfileEvent::Kind;

ProfileEvent kernel(const std::string& op, const std::string& layer, double begin, double duration, int tile = 0,
                    int device = 0) {
  return {
      .device = device, .tile = tile, .op = op, .name = layer, .layer = layer, .begin = begin, .duration = duration};
}

ProfileEvent gradient_kernel(const std::string& op, const std::string& layer, double begin, double duration,
                             int tile = 0, int device = 0) {
  ProfileEvent event = kernel(op, layer, begin, duration, tile, device);
  event.name += "/gradient";
  return event;
}

ProfileEvent other(Kind kind, double begin, double duration, int tile = 0, int device = 0,
                   std::int64_t micro_batch = -1) {
  return {
      .kind = kind, .device = device, .tile = tile, .micro_batch = micro_batch, .begin = begin, .duration = duration};
}

// 100 microseconds of one tile: 36 + 36 of layers, `duration` of the wait, the rest idle.
Profile with_wait(Kind kind, double duration) {
  return {.model = "model",
          .devices = {"/device:IPU:0"},
          .events = {kernel("conv2d", "conv2d", 0, 36), kernel("matmul", "dense", 36, 36), other(kind, 72, duration),
                     kernel("sgd", "dense_1", 99, 1)}};
}

Profile pipeline(double busy) {
  return {.model = "model",
          .devices = {"/device:IPU:0 replica 0 stage 0", "/device:IPU:1 replica 0 stage 1"},
          .events = {other(Kind::forward, 0, 100, 0, 0, 0), other(Kind::forward, 0, busy, 0, 1, 0),
                     kernel("conv2d", "conv2d", 0, 20)}};
}

const char* const hostile = "a\"b\\c</script><!--\n\xff\xc3\xa9";

// Enough of JSON to see whether a text is all of one value.
class WholeJson {
 public:
  static bool reads(const std::string& text) {
    WholeJson reader(text);
    return reader.value() && reader.skip() == text.size();
  }

 private:
  explicit WholeJson(const std::string& text) : text_(text) {}

  std::size_t skip() { return at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size()); }
  bool take(char c) {
    if (skip() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(const std::string& word) {
    if (text_.compare(skip(), word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  bool value() {
    if (take('{')) return members('}', true);
    if (take('[')) return members(']', false);
    if (skip() < text_.size() && text_[at_] == '"') return string();
    return word("true") || word("false") || word("null") || number();
  }
  bool members(char end, bool named) {
    if (take(end)) return true;
    do {
      if (named && (!string() || !take(':'))) return false;
      if (!value()) return false;
    } while (take(','));
    return take(end);
  }
  bool string() {
    if (!take('"')) return false;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] == '\\' && std::string("\"\\/bfnrtu").find(text_[++at_]) == std::string::npos) return false;
    }
    return take('"');
  }
  bool number() {
    const char c = skip() < text_.size() ? text_[at_] : ' ';
    if (c != '-' && (c < '0' || c > '9')) return false;
    char* end = nullptr;
    std::strtod(text_.c_str() + at_, &end);
    at_ = static_cast<std::size_t>(end - text_.c_str());
    return true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Profile, SumsTheTimeOfALayerWithItsGradient) {
  const Profile profile{.events = {kernel("conv2d", "conv2d_1", 0, 10), kernel("conv2d", "conv2d_1", 0, 12, 1),
                                   gradient_kernel("conv2d", "conv2d_1", 40, 20), kernel("sgd", "", 60, 5),
                                   kernel("matmul", "dense", 90, 10)}};
  const auto times = time_by_layer(profile);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].name, "conv2d_1");
  EXPECT_DOUBLE_EQ(times[0].microseconds, 42);
  EXPECT_DOUBLE_EQ(times[0].share, 0.21) << "of two tiles of 100 microseconds";
  EXPECT_EQ(times[0].events, 3);
  EXPECT_EQ(times[1].name, "dense");
  EXPECT_EQ(times[2].name, "sgd") << "a kernel of no layer has the name of its op";
}

TEST(Profile, LayersWhoseNamesHaveASlashHaveRowsOfTheirOwn) {
  const Profile profile{.events = {kernel("conv2d", "block/a", 0, 10), gradient_kernel("conv2d", "block/a", 10, 20),
                                   kernel("conv2d", "block/b", 30, 40)}};
  const auto times = time_by_layer(profile);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].name, "block/b");
  EXPECT_DOUBLE_EQ(times[0].microseconds, 40);
  EXPECT_EQ(times[1].name, "block/a");
  EXPECT_DOUBLE_EQ(times[1].microseconds, 30);
}

TEST(Profile, HasRowsOfTheirOwnForWaits) {
  const Profile profile{.events = {kernel("conv2d", "barrier", 0, 10), other(Kind::barrier, 10, 4, 1),
                                   other(Kind::barrier, 20, 5), other(Kind::feed, 30, 20),
                                   other(Kind::exchange, 50, 50), other(Kind::forward, 0, 30, 0, 0, 0),
                                   other(Kind::update, 60, 40)}};
  const auto times = time_by_layer(profile);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[0].kind, Kind::exchange);
  EXPECT_DOUBLE_EQ(times[0].share, 0.5) << "all tiles of the device wait";
  EXPECT_EQ(times[1].kind, Kind::feed);
  EXPECT_DOUBLE_EQ(times[1].microseconds, 40);
  EXPECT_EQ(times[2].kind, Kind::kernel) << "a layer may be called barrier";
  EXPECT_EQ(times[3].kind, Kind::barrier);
  EXPECT_DOUBLE_EQ(times[3].microseconds, 9);
}

TEST(Profile, AdvisesAboutBarriers) {
  EXPECT_EQ(advice(with_wait(Kind::barrier, 25)),
            "Tiles wait at barriers for 25 % of the time. Give each superstep more work: use larger batches, or fewer "
            "tiles.");
  EXPECT_EQ(advice(with_wait(Kind::barrier, 19)),
            "Nothing stands out: the largest item is conv2d with 36 % of the time.");
}

TEST(Profile, AdvisesAboutFeeds) {
  EXPECT_EQ(advice(with_wait(Kind::feed, 12)),
            "Devices wait for data for 12 % of the time. Do less in map, cache what it returns, and prefetch more "
            "batches.");
  EXPECT_EQ(advice(with_wait(Kind::feed, 9)), "Nothing stands out: the largest item is conv2d with 36 % of the time.");
}

TEST(Profile, AdvisesAboutExchanges) {
  EXPECT_EQ(advice(with_wait(Kind::exchange, 20)),
            "Devices exchange data for 20 % of the time. Accumulate more micro-batches for each update, so that "
            "gradients are exchanged less often.");
  EXPECT_EQ(advice(with_wait(Kind::exchange, 14)),
            "Nothing stands out: the largest item is conv2d with 36 % of the time.");
}

TEST(Profile, AdvisesAboutOneLayer) {
  Profile profile = with_wait(Kind::barrier, 5);
  profile.events[1] = gradient_kernel("conv2d", "conv2d", 36, 36);
  EXPECT_EQ(advice(profile),
            "The layer conv2d takes 72 % of the time. Make that layer smaller or cheaper first: nothing else can gain "
            "as much.");
  profile.events[0] = kernel("sgd_update", "update", 0, 36);
  profile.events[1] = kernel("sgd_update", "update", 36, 36);
  EXPECT_EQ(
      advice(profile),
      "The optimizer takes 72 % of the time. Use larger batches, or accumulate more micro-batches, so that weights "
      "are updated less often.");
}

TEST(Profile, TakesSharesOfWhatWasRecordedOfALongRun) {
  Profile profile{.events = {kernel("conv2d", "conv2d", 0, 30), kernel("conv2d", "conv2d", 900, 30)},
                  .recorded = {{0, 50}, {900, 950}}};
  ASSERT_EQ(time_by_layer(profile).size(), 1u);
  EXPECT_DOUBLE_EQ(time_by_layer(profile)[0].share, 0.6);
  profile.recorded.clear();
  EXPECT_DOUBLE_EQ(time_by_layer(profile)[0].share, 60.0 / 930);
}

TEST(Profile, AdvisesAboutIdleStagesOfAPipelineOnly) {
  EXPECT_EQ(advice(pipeline(60)),
            "/device:IPU:1 replica 0 stage 1 is idle for 40 % of the time. Use fewer stages, divide the layers more "
            "evenly, or use a larger accumulation count.");
  const std::string nothing = "Nothing stands out: the largest item is conv2d with 10 % of the time.";
  EXPECT_EQ(advice(pipeline(75)), nothing);
  Profile replicas = pipeline(60);
  replicas.devices = {"/device:IPU:0 replica 0 stage 0", "/device:IPU:1 replica 1 stage 0"};
  EXPECT_EQ(advice(replicas), nothing);
}

TEST(Profile, AdvisesAboutWhatIsFurthestOverItsLimit) {
  Profile profile = with_wait(Kind::feed, 25);
  profile.events[0].duration = 50;
  EXPECT_TRUE(advice(profile).starts_with("Devices wait for data for 25 %"));
}

TEST(Profile, OfNothingIsStillATraceAndAPage) {
  EXPECT_EQ(advice({}), "Nothing was recorded.");
  EXPECT_TRUE(time_by_layer({}).empty());
  EXPECT_TRUE(WholeJson::reads(chrome_trace({})));
  EXPECT_TRUE(profile_page({}).ends_with("</html>\n"));
}

TEST(Profile, SortsItsRows) {
  const Profile profile{.events = {kernel("b", "b", 5, 1, 1), kernel("a", "a", 2, 1, 1), kernel("c", "c", 0, 1, 0, 1),
                                   other(Kind::update, 0, 9)}};
  const auto rows = rows_of(profile);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].tile, ProfileRow::passes);
  EXPECT_EQ(rows[1].tile, 1);
  EXPECT_EQ(rows[1].events.front()->op, "a");
  EXPECT_EQ(rows[2].device, 1);
}

TEST(Profile, TraceNamesDevicesAndTilesAndHasTimesInMicroseconds) {
  Profile profile = pipeline(60);
  profile.events.push_back(gradient_kernel("conv2d", "conv2d_1", 1234567.125, 20.5, 1, 1));
  const std::string trace = chrome_trace(profile);
  EXPECT_TRUE(WholeJson::reads(trace)) << trace;
  EXPECT_TRUE(holds(trace, R"({"name":"process_name","ph":"M","pid":2,"tid":200000,)"
                           R"("args":{"name":"/device:IPU:1 replica 0 stage 1"}})"));
  EXPECT_TRUE(holds(trace, R"({"name":"thread_name","ph":"M","pid":2,"tid":200002,"args":{"name":"tile 1"}})"));
  EXPECT_EQ(count_of(trace, R"("args":{"name":"passes"})"), 2u);
  EXPECT_TRUE(holds(trace, R"({"name":"forward 0","cat":"forward","ph":"X","ts":0.000,"dur":60.000,)"
                           R"("pid":2,"tid":200000,"args":{"micro_batch":0}})"));
  EXPECT_TRUE(holds(trace, R"({"name":"conv2d_1/gradient","cat":"kernel","ph":"X","ts":1234567.125,"dur":20.500,)"
                           R"("pid":2,"tid":200002,"args":{"op":"conv2d","layer":"conv2d_1"}})"));
}

TEST(Profile, TakesAnyCharacterInNames) {
  Profile profile = pipeline(60);
  profile.model = profile.devices[1] = hostile;
  profile.memory = {{hostile, {1, 2}}};
  profile.events.push_back(kernel(hostile, hostile, 0, 90));
  const std::string trace = chrome_trace(profile);
  EXPECT_TRUE(WholeJson::reads(trace));
  EXPECT_TRUE(holds(trace, "\"op\":\"a\\\"b\\\\c\\u003c/script>\\u003c!-- ?\xc3\xa9\"")) << trace;
  EXPECT_EQ(count_of(profile_page(profile), "</script>"), count_of(profile_page({}), "</script>"));
}

std::string data_of(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="timeline-data">)";
  const auto begin = page.find(opening) + opening.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(Profile, PageHoldsItsDataAndNeedsNothingElse) {
  Profile profile = pipeline(60);
  profile.memory = {{"/device:IPU:0", {1024, 2048}}};
  profile.events.push_back(kernel("conv2d", "conv2d", 30.5, 20.25));
  profile.recorded = {{0, 50}, {100, 125.25}};
  const std::string page = profile_page(profile);
  EXPECT_FALSE(holds(page, "http"));
  EXPECT_FALSE(holds(page, "src="));
  const std::string data = data_of(page);
  EXPECT_TRUE(WholeJson::reads(data)) << data;
  EXPECT_TRUE(holds(data, R"({"device":0,"tile":0,"events":[0,20000,0,0,30500,20250,0,0]})")) << data;
  EXPECT_TRUE(holds(data, R"({"device":1,"tile":-1,"events":[0,60000,3,0]})")) << data;
  EXPECT_TRUE(holds(data, R"("labels":[["conv2d","conv2d"]])")) << data;
  EXPECT_TRUE(holds(data, R"("memory":[{"device":"/device:IPU:0","bytes":[1024,2048]}])")) << data;
  EXPECT_TRUE(holds(data, R"("recorded":[[0.0,50.0],[100.0,125.2]])")) << data;
}

}  // namespace
}  // namespace pando
