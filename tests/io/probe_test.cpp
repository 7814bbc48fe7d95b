// SPDX-License-Identifier: Apache-2.0
// Probes: what cannot be written is refused before the work, and asking changes nothing.
#include "io/probe.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "io/folder_writer.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

using namespace pando;

namespace {

// A folder with "file", "folder", "folder/other", "link", which leads nowhere.
class Place {
 public:
  Place() {
    folder_.write("file", "text");
    folder_.write("folder/other", "text");
    std::filesystem::create_symlink("nowhere", folder_.path() + "/link");
  }
  std::string operator/(const std::string& name) const { return folder_.path() + "/" + name; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      names.insert(entry.path().lexically_relative(folder_.path()).string());
    return names;
  }

 private:
  TemporaryFolder folder_;
};

TEST(Probe, PassesWhatCanBeWrittenAndLeavesNothing) {
  const Place place;
  const std::set<std::string> before = place.names();
  for (const char* name : {"file", "new", "folder/new"}) {
    EXPECT_NO_THROW(probe_file(place / name));
    EXPECT_NO_THROW(probe_log(place / name));
  }
  EXPECT_NO_THROW(probe_log("/dev/full"));
  for (const char* name : {"folder", "folder/", "new", "new/a/b/", "folder/../new"})
    EXPECT_NO_THROW(probe_folder(place / name));
  EXPECT_NO_THROW(probe_folder(place / "folder", {"other"}));
  EXPECT_NO_THROW(probe_folder(place / "new/folder", {}));
  EXPECT_EQ(place.names(), before);
}

TEST(Probe, RefusesWhatIsOfTheWrongKind) {
  const Place place;
  const std::set<std::string> before = place.names();
  const auto told = [](const std::string& path, const std::string& error, const std::string& remedy) {
    return path + ": cannot be written: " + error + "; " + remedy;
  };
  const std::string check = "check its folder and permissions", give = "give a folder that can be made and written";
  for (const auto& [name, error] :
       {std::pair("folder", "Is a directory"), std::pair("nowhere/a", "No such file or directory"),
        std::pair("file/a", "Not a directory")}) {
    EXPECT_EQ(message([&, path = place / name] { probe_file(path); }), told(place / name, error, check));
    EXPECT_EQ(message([&, path = place / name] { probe_log(path); }), told(place / name, error, check));
  }
  for (const auto& [name, error] : {std::pair("file", "Not a directory"), std::pair("file/a/b", "Not a directory"),
                                    std::pair("link", "No such file or directory")})
    EXPECT_EQ(message([&, path = place / name] { probe_folder(path); }), told(place / name, error, give));
  // Root may write there, but the system makes nothing.
  EXPECT_EQ(message([] { probe_folder("/proc/new"); }), told("/proc/new", "No such file or directory", give));
  EXPECT_EQ(message([&] { probe_folder(place / "folder", {"model"}); }),
            (place / "folder") + ": holds 'other', which would be lost; give the name of another folder");
  EXPECT_EQ(message([&] { probe_folder(place / "file/a", {}); }), told(place / "file", "Not a directory", give));
  EXPECT_EQ(place.names(), before);
}

TEST(Probe, RefusesFoldersThatMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Place place;
  chmod((place / "folder").c_str(), 0555);
  EXPECT_NE(message([&] { probe_file(place / "folder/new"); }).find("Permission denied"), std::string::npos);
  EXPECT_NE(message([&] { probe_folder(place / "folder/new/a"); }).find("Permission denied"), std::string::npos);
  chmod((place / "folder").c_str(), 0755);
}

}  // namespace
