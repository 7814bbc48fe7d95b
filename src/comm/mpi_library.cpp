// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_library.h"

#include <pando/base/error.h>
#include <pando/comm/workers.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "base/environment.h"

namespace pando {

namespace {

// The file of a program that was found by PATH, of which the linker knows the name alone. /proc may be missing, as in a
// bare chroot.
std::filesystem::path file_on_path(const std::filesystem::path& name) {
  std::error_code problem;
  std::filesystem::path file = std::filesystem::canonical("/proc/self/exe", problem);
  if (!problem) return file;
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    file = std::filesystem::canonical(std::filesystem::path(folder) / name, problem);
    if (!problem) return file;
  }
  return {};
}

// The places of the module: what the user says, and the folder for it in every folder above the library, the program
// or the extension of Python, whichever holds this code: so it is found in a tree that was moved, and in a build
// folder.
std::vector<std::filesystem::path> module_paths() {
  if (const std::string named = environment("PANDO_MPI_MODULE"); !named.empty()) return {named};
  Dl_info here{};
  std::vector<std::filesystem::path> paths;
  if (dladdr(reinterpret_cast<const void*>(&started_workers), &here) == 0 || here.dli_fname == nullptr) return paths;
  const std::filesystem::path named = here.dli_fname;
  std::error_code ignored;
  std::filesystem::path folder =
      (named.has_parent_path() ? std::filesystem::canonical(named, ignored) : file_on_path(named)).parent_path();
  for (int i = 0; i < 6 && folder.has_relative_path(); ++i, folder = folder.parent_path())
    paths.push_back(folder / PANDO_MODULE_FOLDER / "pando_mpi.so");
  return paths;
}

}  // namespace

std::string why_no_mpi() {
  try {
    open_mpi_module();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const PandoMpi& open_mpi_module() {
  std::string problem = "there is no " PANDO_MODULE_FOLDER "/pando_mpi.so in a folder above the library";
  for (const std::filesystem::path& path : module_paths()) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    // Parts of MPI are modules that must find its symbols.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) {
      problem = dlerror();
      continue;
    }
    const auto find = reinterpret_cast<decltype(&pando_mpi)>(dlsym(module, "pando_mpi"));
    if (find != nullptr && find()->version == pando_mpi_version) return *find();
    problem = fmt::format("{} belongs to another version of Pando", path.string());
  }
  throw Error(
      fmt::format("workers need MPI, but {}; install the package pando-mpi, or install MPI (Debian: libopenmpi-dev "
                  "openmpi-bin) and "
                  "build Pando with -DPANDO_WITH_MPI=ON, or name the module in PANDO_MPI_MODULE",
                  problem));
}

}  // namespace pando
