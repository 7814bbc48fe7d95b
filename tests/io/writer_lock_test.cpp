// SPDX-License-Identifier: Apache-2.0
// One process writes into a folder; one that is gone keeps no other out.
#include "io/writer_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/data/temporary_folder.h"

namespace pando {
namespace {

// A process that takes the lock of a folder and does nothing more; with `heir`, so does a child of it, which inherits
// the lock.
class Holder {
 public:
  Holder(const std::string& folder, bool heir) {
    int ends[2];
    if (pipe(ends) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      const Folder opened(folder);
      const WriterLock lock(opened);
      const pid_t child = heir ? fork() : 0;
      // Each writes its number once.
      if (child == 0 && heir) {
        const pid_t own = getpid();
        if (::write(ends[1], &own, sizeof own) < 0) _exit(1);
      } else if (!heir) {
        const pid_t none = lock.is_ours() ? -1 : -2;
        if (::write(ends[1], &none, sizeof none) < 0) _exit(1);
      }
      while (true) pause();
    }
    if (read(ends[0], &heir_, sizeof heir_) != sizeof heir_) heir_ = -3;
    close(ends[0]);
    close(ends[1]);
  }
  ~Holder() {
    end();
    if (heir_ > 0) kill(heir_, SIGKILL);
  }
  pid_t process() const { return process_; }
  bool has_lock() const { return heir_ >= -1; }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1, heir_ = -2;
};

TEST(WriterLock, NamesItsOwnerAndGoesWithIt) {
  const TemporaryFolder temporary;
  const Folder folder(temporary.path());
  Holder holder(temporary.path(), false);
  ASSERT_TRUE(holder.has_lock());
  const std::string owner = "process " + std::to_string(holder.process()) + " on ";
  {
    const WriterLock second(folder);
    EXPECT_FALSE(second.is_ours());
    EXPECT_TRUE(second.owner().starts_with(owner)) << second.owner();
    EXPECT_TRUE(second.owner().ends_with(" UTC")) << second.owner();
    EXPECT_FALSE(second.is_far());
  }
  EXPECT_TRUE(std::filesystem::exists(temporary.path() + "/" + WriterLock::file_name))
      << "a refused run removes nothing";
  holder.end();
  {
    const WriterLock next(folder);
    EXPECT_TRUE(next.is_ours());
    EXPECT_FALSE(WriterLock(folder).is_ours());
  }
  EXPECT_FALSE(std::filesystem::exists(temporary.path() + "/" + WriterLock::file_name));
}

TEST(WriterLock, ChildrenOfADeadOwnerKeepNoOneOut) {
  const TemporaryFolder temporary;
  const Folder folder(temporary.path());
  Holder holder(temporary.path(), true);
  ASSERT_TRUE(holder.has_lock());
  EXPECT_FALSE(WriterLock(folder).is_ours());
  holder.end();
  EXPECT_TRUE(WriterLock(folder).is_ours());
}

TEST(WriterLock, AFileOfAnotherKindIsTakenOver) {
  const TemporaryFolder temporary;
  std::ofstream(temporary.path() + "/" + WriterLock::file_name) << "process 5 on another machine\nsomething\n";
  const Folder folder(temporary.path());
  EXPECT_TRUE(WriterLock(folder).is_ours()) << "it can be locked";
}

}  // namespace
}  // namespace pando
