// SPDX-License-Identifier: Apache-2.0
// OpenedLibrary: a library that is looked for when a program runs, so that Pando is built and started without it.
#pragma once
#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace pando::cuda {

class OpenedLibrary {
 public:
  // Opens the first of these files that is there.
  explicit OpenedLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (library_ == nullptr) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }

  bool is_open() const { return library_ != nullptr; }
  // Null if the library does not have it, or was not opened.
  template <class Function>
  void find(const char* name, Function& function) {
    function = library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  // The first function that was not found; empty if all were.
  const std::string& missing() const { return missing_; }

 private:
  // It stays open until the process ends.
  void* library_ = nullptr;
  std::string missing_;
};

}  // namespace pando::cuda
