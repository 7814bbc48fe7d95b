// SPDX-License-Identifier: Apache-2.0
// Data sets are downloaded into the cache, whole and checked, or not at all.
#include "datasets/download.h"

#include <gtest/gtest.h>

#include "datasets/dataset_files.h"
#include "io/file_writer.h"
#include "datasets/load_dataset.h"
#include "tests/data/http_server.h"
#include "tests/data/tiny_dataset.h"
#include "tests/message.h"

namespace pando {
namespace {

#if defined(PANDO_WITH_CURL) && defined(PANDO_WITH_ZLIB)

class Download : public DatasetTest {
 protected:
  Download() {
    set("PANDO_MIRROR", server.address());
    set("no_proxy", "*");
  }

  std::string path_of(std::size_t file) const { return "/mnist/" + dataset.files[file].name + ".gz"; }
  std::string gzipped(const std::string& content) const {
    const std::string path = folder.path() + "/scratch.gz";
    FileWriter writer(path, FileWriter::Packing::gzip);
    writer.write(std::as_bytes(std::span(content)));
    writer.commit();
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void serve_all() {
    for (std::size_t i = 0; i < contents.size(); ++i) server.answer(path_of(i), gzipped(contents[i]));
  }
  datasets::Splits load() { return load_dataset(dataset, {}); }
  // What is said to be wrong with the download.
  std::string problem() {
    const std::string text = message([&] { load(); });
    const std::string before = "and it cannot be downloaded: ", after = "; put the four files";
    const std::size_t from = text.find(before), to = text.find(after);
    EXPECT_NE(from, std::string::npos) << text;
    EXPECT_NE(to, std::string::npos) << text;
    return text.substr(from + before.size(), to - from - before.size());
  }
  int files_in_cache() const {
    int count = 0;
    const std::string cache = dataset_cache("mnist");
    if (std::filesystem::exists(cache))
      for (const auto& ignored : std::filesystem::directory_iterator(cache)) count += !ignored.path().empty();
    return count;
  }

  HttpServer server;
};

TEST_F(Download, PutsThePublishedFilesIntoTheCache) {
  serve_all();
  EXPECT_FALSE(find_dataset(dataset));
  EXPECT_EQ(load().train.x.shape(), (Shape{12, 28, 28}));
  EXPECT_EQ(files_in_cache(), 4);
  EXPECT_TRUE(find_dataset(dataset));
  EXPECT_EQ(load().test.y.shape(), (Shape{12}));
  EXPECT_EQ(server.requests(), 4);
}

TEST_F(Download, IsNotTriedToSeeWhetherADataSetIsAvailable) {
  serve_all();
  EXPECT_FALSE(datasets::available("mnist"));
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(Download, FetchesOnlyWhatIsMissing) {
  serve_all();
  folder.write("cache/pando/mnist/" + dataset.files[1].name, contents[1]);
  load();
  EXPECT_EQ(server.requests(), 3);
}

TEST_F(Download, TriesOneMirrorAfterTheOther) {
  set("PANDO_MIRROR", "");
  DatasetDescription mirrored = dataset;
  mirrored.mirrors = {server.address() + "/absent/", server.address() + "/mnist/"};
  serve_all();
  EXPECT_EQ(load_dataset(mirrored, {}).train.x.shape()[0], 12);
  EXPECT_EQ(server.requests(), 8);
}

TEST_F(Download, FollowsRedirections) {
  serve_all();
  server.redirect(path_of(0), server.address() + "/elsewhere");
  server.answer("/elsewhere", gzipped(contents[0]));
  EXPECT_EQ(load().train.x.shape()[0], 12);
  server.redirect("/mnist/file", "file:///etc/hostname");
  EXPECT_THROW(download(server.address() + "/mnist/file", 1000, [](auto, auto) {}), Error);
}

TEST_F(Download, WorksFromFiles) {
  for (std::size_t i = 0; i < contents.size(); ++i) folder.write("mirror" + path_of(i), gzipped(contents[i]));
  set("PANDO_MIRROR", "file://" + folder.path() + "/mirror/");
  EXPECT_EQ(load().train.x.shape()[0], 12);
}

TEST_F(Download, SaysThatTheFileIsNotThere) {
  const std::string address = server.address() + path_of(0);
  EXPECT_EQ(problem(), address + ": the host answers 404");
  EXPECT_EQ(files_in_cache(), 0);
  serve_all();
  server.redirect(path_of(2), "/nowhere");
  EXPECT_EQ(problem(), server.address() + path_of(2) + ": the host answers 404");
  EXPECT_EQ(files_in_cache(), 2);
}

TEST_F(Download, KeepsNoDamagedFile) {
  const std::string address = server.address() + path_of(0);
  server.answer(path_of(0), gzipped(contents[1]));
  EXPECT_EQ(problem(), address + ": it is not the file that was published, by its SHA-256");
  server.answer(path_of(0), "<html>Log in to the network of this hotel</html>");
  EXPECT_EQ(problem(), address + ": it is not the file that was published, by its SHA-256");
  server.answer(path_of(0), gzipped(contents[0]).substr(0, 50));
  EXPECT_EQ(problem(), address + ": the compressed data end too early; fetch it again");
  server.answer(path_of(0), gzipped(contents[0]), 10);
  EXPECT_EQ(problem(), address + ": the connection ended too early");
  server.answer(path_of(0), std::string(1'000'000, 'x'));
  EXPECT_EQ(problem(), address + ": it has more than 74960 bytes");
  EXPECT_EQ(files_in_cache(), 0);
}

TEST_F(Download, SaysWhoCannotBeReached) {
  server.stop();
  EXPECT_EQ(problem(), server.address() + path_of(0) + ": the host cannot be reached");
  set("PANDO_MIRROR", "gopher://127.0.0.1");
  EXPECT_EQ(problem(), "gopher://127.0.0.1" + path_of(0) + ": it is not an http, https or file address");
}

TEST_F(Download, IsGivenUpWhereTheServerDrips) {
  server.drip("/file", std::string(1'000'000, 'x'));
  const std::string address = server.address() + "/file";
  const auto ignore = [](auto, auto) {};
  EXPECT_EQ(message([&] { download(address, 1'000'000, ignore, {.bytes_per_second = 1000, .seconds = 1}); }),
            address + ": it came at fewer than 1000 bytes per second for 1 seconds");
}

TEST_F(Download, SaysThatTheCacheCannotBeWritten) {
  serve_all();
  folder.write("cache", "a file where the folder would be");
  const std::string path = dataset_cache("mnist") + "/" + dataset.files[0].name + ".gz";
  EXPECT_EQ(message([&] { load(); }), path + ": cannot be written: Not a directory; check its folder and permissions");
}

TEST_F(Download, MayBeDoneByTwoAtOnce) {
  serve_all();
  std::thread other([&] { EXPECT_EQ(load().test.x.shape()[0], 12); });
  EXPECT_EQ(load().train.x.shape()[0], 12);
  other.join();
  EXPECT_EQ(files_in_cache(), 4);
}

TEST_F(Download, ReportsItsProgress) {
  server.answer("/file", std::string(100'000, 'x'));
  std::uint64_t last = 0, total = 0;
  const auto bytes = download(server.address() + "/file", 100'000, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  });
  EXPECT_EQ(bytes.size(), 100'000u);
  EXPECT_EQ(last, 100'000u);
  EXPECT_EQ(total, 100'000u);
}

#else

TEST(Download, IsNotBuiltIn) { EXPECT_FALSE(can_download()); }

#endif

}  // namespace
}  // namespace pando
