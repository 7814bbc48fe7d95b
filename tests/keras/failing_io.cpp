// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded that lets one call on a run's files go wrong, the way disks and power supplies do.
//
// PANDO_IO_FAULT is "N KIND FILE": the N-th call of openat, mkdirat, write, fsync, close, renameat, renameat2 or
// unlinkat on checkpoints, the saved model and the report, and what becomes of it:
//   ENOSPC, EIO   it fails
//   short         of a write only half is written
//   kill          the process is killed within it: a write is half done, everything else not at all
//   kill_after    the process is killed when it is done
// The name of the function and the path are then written to FILE.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Kind { none, no_space, io_error, half, kill, kill_after };

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The path of a name in a folder, or of the descriptor itself if there is no name.
struct Path {
  char text[8192] = "";
  explicit Path(int descriptor, const char* name = nullptr) {
    if (name != nullptr && (name[0] == '/' || descriptor == AT_FDCWD)) {
      std::snprintf(text, sizeof text, "%s", name);
      return;
    }
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, text, 4096);
    const std::size_t end = length < 0 ? 0 : static_cast<std::size_t>(length);
    std::snprintf(text + end, sizeof text - end, "%s%s", name != nullptr ? "/" : "", name != nullptr ? name : "");
  }
  bool is_watched() const {
    return std::strstr(text, "/checkpoints") != nullptr || std::strstr(text, "/saved") != nullptr ||
           std::strstr(text, "/report.html") != nullptr;
  }
};

struct Fault {
  long number = 0;
  char kind[32] = "", file[4096] = "";
  Fault() {
    if (const char* text = std::getenv("PANDO_IO_FAULT")) std::sscanf(text, "%ld %31s %4095s", &number, kind, file);
  }
};

std::atomic<long> calls = 0;

// What is to become of this call.
Kind decide(const char* function, const Path& path) {
  static const Fault fault;
  if (!path.is_watched()) return Kind::none;
  if (++calls != fault.number) return Kind::none;
  const int log = next<int(const char*, int, ...)>("open")(fault.file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const auto say = [&](const char* text) {
    if (next<ssize_t(int, const void*, size_t)>("write")(log, text, std::strlen(text)) < 0) abort();
  };
  say(function);
  say(" ");
  say(path.text);
  next<int(int)>("close")(log);
  const auto is = [&](const char* kind) { return std::strcmp(fault.kind, kind) == 0; };
  return is("ENOSPC")       ? Kind::no_space
         : is("EIO")        ? Kind::io_error
         : is("short")      ? Kind::half
         : is("kill")       ? Kind::kill
         : is("kill_after") ? Kind::kill_after
                            : Kind::none;
}

void die() {
  kill(getpid(), SIGKILL);
  pause();
}

// Calls, or lets it go wrong.
template <class Call>
auto with_fault(Kind kind, Call call) -> decltype(call()) {
  if (kind == Kind::kill) die();
  if (kind == Kind::no_space || kind == Kind::io_error) {
    errno = kind == Kind::no_space ? ENOSPC : EIO;
    return -1;
  }
  const auto result = call();
  if (kind == Kind::kill_after) die();
  return result;
}

}  // namespace

extern "C" {

int openat(int folder, const char* name, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  const Kind kind = (flags & O_CREAT) != 0 ? decide("openat", Path(folder, name)) : Kind::none;
  return with_fault(kind, [&] { return next<int(int, const char*, int, ...)>("openat")(folder, name, flags, mode); });
}

int mkdirat(int folder, const char* name, mode_t mode) noexcept {
  const Kind kind = decide("mkdirat", Path(folder, name));
  return with_fault(kind, [&] { return next<int(int, const char*, mode_t)>("mkdirat")(folder, name, mode); });
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  const Kind kind = decide("write", Path(descriptor));
  if (kind == Kind::half) return real(descriptor, bytes, count / 2);
  if (kind == Kind::kill && real(descriptor, bytes, count / 2) < 0) abort();
  return with_fault(kind, [&] { return real(descriptor, bytes, count); });
}

int fsync(int descriptor) {
  const Kind kind = decide("fsync", Path(descriptor));
  return with_fault(kind, [&] { return next<int(int)>("fsync")(descriptor); });
}

int close(int descriptor) {
  const Kind kind = decide("close", Path(descriptor));
  // A close that fails has closed all the same.
  if (kind == Kind::no_space || kind == Kind::io_error) next<int(int)>("close")(descriptor);
  return with_fault(kind, [&] { return next<int(int)>("close")(descriptor); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  const Kind kind = decide("renameat", Path(to_folder, to));
  return with_fault(kind, [&] {
    return next<int(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
  });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  const Kind kind = decide("renameat2", Path(to_folder, to));
  return with_fault(kind, [&] {
    return next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                flags);
  });
}

int unlinkat(int folder, const char* name, int flags) noexcept {
  const Kind kind = decide("unlinkat", Path(folder, name));
  return with_fault(kind, [&] { return next<int(int, const char*, int)>("unlinkat")(folder, name, flags); });
}
}
