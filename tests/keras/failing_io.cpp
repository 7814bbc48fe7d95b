// A library to be preloaded that lets one call on checkpoint files go wrong, the way disks and power supplies do.
//
// PANDO_IO_FAULT is "N KIND FILE": the N-th call of open, write, fsync, close, rename or remove, and what becomes of
// it:
//   ENOSPC, EIO   it fails
//   short         of a write only half is written
//   kill          the process is killed within it: a write is half done, everything else not at all
//   kill_after    the process is killed when it is done
// The name of the function is then written to FILE.
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

bool is_checkpoint(const char* path) { return std::strstr(path, "/checkpoint-") != nullptr; }

bool ends_with(const char* text, const char* ending) {
  const std::size_t length = std::strlen(text), ending_length = std::strlen(ending);
  return length >= ending_length && std::strcmp(text + length - ending_length, ending) == 0;
}

// A file, or with `folders` also the folder of checkpoints.
bool is_checkpoint(int descriptor, bool folders = false) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return is_checkpoint(path) || (folders && ends_with(path, "/checkpoints"));
}

struct Fault {
  long number = 0;
  char kind[32] = "", file[4096] = "";
  Fault() {
    if (const char* text = std::getenv("PANDO_IO_FAULT")) std::sscanf(text, "%ld %31s %4095s", &number, kind, file);
  }
};

std::atomic<long> calls = 0;

// What is to become of this call.
Kind decide(const char* function) {
  static const Fault fault;
  if (++calls != fault.number) return Kind::none;
  const int log = next<int(const char*, int, ...)>("open")(fault.file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  next<ssize_t(int, const void*, size_t)>("write")(log, function, std::strlen(function));
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

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  const Kind kind = (flags & O_CREAT) != 0 && is_checkpoint(path) ? decide("open") : Kind::none;
  return with_fault(kind, [&] { return next<int(const char*, int, ...)>("open")(path, flags, mode); });
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  const Kind kind = is_checkpoint(descriptor) ? decide("write") : Kind::none;
  if (kind == Kind::half) return real(descriptor, bytes, count / 2);
  if (kind == Kind::kill) real(descriptor, bytes, count / 2);
  return with_fault(kind, [&] { return real(descriptor, bytes, count); });
}

int fsync(int descriptor) {
  const Kind kind = is_checkpoint(descriptor, true) ? decide("fsync") : Kind::none;
  return with_fault(kind, [&] { return next<int(int)>("fsync")(descriptor); });
}

int close(int descriptor) {
  const Kind kind = is_checkpoint(descriptor) ? decide("close") : Kind::none;
  // A close that fails has closed all the same.
  if (kind == Kind::no_space || kind == Kind::io_error) next<int(int)>("close")(descriptor);
  return with_fault(kind, [&] { return next<int(int)>("close")(descriptor); });
}

int rename(const char* from, const char* to) noexcept {
  const Kind kind = is_checkpoint(to) ? decide("rename") : Kind::none;
  return with_fault(kind, [&] { return next<int(const char*, const char*)>("rename")(from, to); });
}

int remove(const char* path) noexcept {
  const Kind kind = is_checkpoint(path) ? decide("remove") : Kind::none;
  return with_fault(kind, [&] { return next<int(const char*)>("remove")(path); });
}
}
