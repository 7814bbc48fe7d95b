// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/runtime_compiler.h"

#include <cuda.h>
#include <pando/base/error.h>
#include <pando/version.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <vector>

#include "backends/cuda/opened_library.h"
#include "backends/cuda/regions/program.h"
#include "backends/cuda/regions/runtime_linker.h"
#include "base/environment.h"
#include "io/file_writer.h"
#include "io/sha256.h"

namespace pando::cuda {

namespace {

// What a compiled kernel begins with. Files of the cache are there whole or not at all.
constexpr std::string_view elf_mark =
    "\x7f"
    "ELF";

// Registers that a multiprocessor has for its threads, and the most that a thread can use.
constexpr int registers_of_multiprocessor = 65536, most_registers = 255;
// The version of NVRTC whose --minimal is known to do.
constexpr int first_with_minimal = 13;

// What is used of NVRTC, whose header need not be there when Pando is built.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*size)(Program, std::size_t*) = nullptr;
  int (*get)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*version)(int*, int*) = nullptr;
  std::string problem;
};

Nvrtc find_nvrtc() {
  OpenedLibrary library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  Nvrtc found;
  if (!library.is_open()) {
    found.problem = "there is no libnvrtc.so; install the CUDA toolkit's NVRTC, or add its folder to LD_LIBRARY_PATH";
    return found;
  }
  library.find("nvrtcCreateProgram", found.create);
  library.find("nvrtcCompileProgram", found.compile);
  library.find("nvrtcGetProgramLogSize", found.log_size);
  library.find("nvrtcGetProgramLog", found.log);
  library.find("nvrtcGetCUBINSize", found.size);
  library.find("nvrtcGetCUBIN", found.get);
  library.find("nvrtcDestroyProgram", found.destroy);
  library.find("nvrtcVersion", found.version);
  if (!library.missing().empty())
    found.problem = fmt::format("libnvrtc.so has no {}; install that of CUDA 12 or later", library.missing());
  return found;
}
const Nvrtc& nvrtc() {
  static const Nvrtc found = find_nvrtc();
  return found;
}

// What is used of the driver.
struct Driver {
  decltype(&cuModuleLoadData) load = nullptr;
  decltype(&cuModuleGetFunction) function = nullptr;
  decltype(&cuFuncSetAttribute) set_attribute = nullptr;
  decltype(&cuLaunchKernelEx) launch = nullptr;
  std::string problem;
};
const Driver& driver() {
  static const Driver found = [] {
    Driver made;
    OpenedLibrary library({"libcuda.so.1"});
    library.find("cuModuleLoadData", made.load);
    library.find("cuModuleGetFunction", made.function);
    library.find("cuFuncSetAttribute", made.set_attribute);
    library.find("cuLaunchKernelEx", made.launch);
    if (!library.missing().empty())
      made.problem = fmt::format("the driver of the GPU has no {}; install a newer one", library.missing());
    return made;
  }();
  return found;
}

void check_driver(CUresult code, const char* what) {
  if (code != CUDA_SUCCESS)
    throw Error(
        fmt::format("the GPU failed {}: error {} of the driver; set PANDO_CUDA_REGIONS=0, or use the backend 'cpu'",
                    what, static_cast<int>(code)));
}

struct Version {
  int major = 0, minor = 0;
};
Version nvrtc_version() {
  Version version;
  if (nvrtc().problem.empty()) nvrtc().version(&version.major, &version.minor);
  return version;
}

std::string joined(const std::vector<std::string>& sources) {
  std::string all;
  for (const std::string& source : sources) all += source;
  return all;
}

bool are_linked(const std::vector<std::string>& sources) {
  const Version version = nvrtc_version();
  return sources.size() > 1 && has_linker(version.major, version.minor);
}

// The file of the cache for a kernel; empty if neither XDG_CACHE_HOME nor HOME names a folder.
std::string cached_file(const std::vector<std::string>& sources, int architecture) {
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  const std::string folder = !cache.empty() ? cache : home.empty() ? "" : home + "/.cache";
  if (folder.empty()) return "";
  Sha256 hash;
  const auto add = [&](std::string_view text) { hash.add(std::as_bytes(std::span(text))); };
  const Version version = nvrtc_version();
  // The name does not say whether it was linked: either kernel will do, and to load the linker takes time.
  add(fmt::format("{} sm_{} nvrtc {}.{}\n", PANDO_VERSION, architecture, version.major, version.minor));
  for (const std::string& source : sources) add(source);
  for (const RegionHeader& header : region_headers()) add(header.text);
  return fmt::format("{}/pando/kernels/{}.cubin", folder, hash.digits());
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A cache that cannot be written costs time alone.
void keep(const std::string& path, const std::string& bytes) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return;
  try {
    write_file(path, bytes);
  } catch (const Error&) {
  }
}

std::string compile_source(const std::string& source, const std::vector<std::string>& options) {
  const std::vector<RegionHeader> headers = region_headers();
  std::vector<const char*> names, texts, arguments;
  for (const RegionHeader& header : headers) {
    names.push_back(header.name);
    texts.push_back(header.text.c_str());
  }
  for (const std::string& option : options) arguments.push_back(option.c_str());
  Nvrtc::Program program = nullptr;
  if (nvrtc().create(&program, source.c_str(), "region.cu", static_cast<int>(headers.size()), texts.data(),
                     names.data()) != 0)
    throw InternalError("NVRTC cannot begin");
  const std::unique_ptr<Nvrtc::Program, void (*)(Nvrtc::Program*)> owner(&program,
                                                                         [](Nvrtc::Program* p) { nvrtc().destroy(p); });
  const bool failed = nvrtc().compile(program, static_cast<int>(arguments.size()), arguments.data()) != 0;
  std::size_t size = 0;
  if (failed) {
    nvrtc().log_size(program, &size);
    std::string log(size, '\0');
    nvrtc().log(program, log.data());
    throw InternalError(fmt::format("NVRTC refuses the source of a region:\n{}", log));
  }
  nvrtc().size(program, &size);
  std::string bytes(size, '\0');
  nvrtc().get(program, bytes.data());
  return bytes;
}

}  // namespace

std::string why_no_runtime_compiler() { return nvrtc().problem; }

std::string compile_sources(const std::vector<std::string>& sources, int threads, int architecture) {
  if (!nvrtc().problem.empty()) throw Error(nvrtc().problem);
  std::vector<std::string> options = {fmt::format("--gpu-architecture=sm_{}", architecture), "--std=c++17",
                                      "--disable-warnings"};
  // Without declarations of textures and the like. NVRTC reads one source at a time, so this counts for each of them.
  if (nvrtc_version().major >= first_with_minimal) options.emplace_back("--minimal");
  if (!are_linked(sources)) return compile_source(joined(sources), options);
  // Functions must leave registers for all threads of a block, as the kernel does.
  options.emplace_back("--relocatable-device-code=true");
  options.push_back(fmt::format("--maxrregcount={}", std::min(registers_of_multiprocessor / threads, most_registers)));
  std::vector<std::future<std::string>> compiled(sources.size());
  // NVRTC reads one source at a time. The last one has the kernel and takes longest, so it is read first.
  for (std::size_t i = sources.size(); i-- > 0;)
    compiled[i] = std::async(std::launch::async, [&, i] { return compile_source(sources[i], options); });
  std::vector<std::string> parts;
  for (std::future<std::string>& part : compiled) parts.push_back(part.get());
  return link(parts, architecture);
}

std::string compiled_kernel(const std::vector<std::string>& sources, int threads, int architecture) {
  const std::string path = cached_file(sources, architecture);
  std::string bytes = path.empty() ? "" : read_whole(path);
  if (bytes.starts_with(elf_mark)) return bytes;
  bytes = compile_sources(sources, threads, architecture);
  if (!path.empty()) keep(path, bytes);
  return bytes;
}

LoadedKernel load_kernel(const std::string& bytes, const std::string& name, int ranks, std::size_t shared_bytes) {
  if (!driver().problem.empty()) throw Error(driver().problem);
  CUmodule module = nullptr;
  check_driver(driver().load(&module, bytes.data()), "to load a kernel");
  CUfunction function = nullptr;
  check_driver(driver().function(&function, module, name.c_str()), "to find a kernel");
  if (shared_bytes > 0)
    check_driver(driver().set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(shared_bytes)),
                 "to give a kernel its shared memory");
  if (ranks > 8)
    check_driver(driver().set_attribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 "to allow a large cluster");
  return {function};
}

void LoadedKernel::launch(int blocks, int ranks, int threads, std::size_t shared_bytes, std::span<void* const> pointers,
                          bool overlaps, cudaStream_t stream) const {
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
  config.hStream = stream;
  std::array<CUlaunchAttribute, 2> attributes = {};
  config.attrs = attributes.data();
  if (ranks > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(ranks);
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
  }
  if (overlaps) {
    CUlaunchAttribute& early = attributes[config.numAttrs++];
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  // One parameter, a struct of all pointers.
  void* parameters[] = {const_cast<void**>(pointers.data())};
  check_driver(driver().launch(&config, static_cast<CUfunction>(function), parameters, nullptr), "to launch a region");
}

}  // namespace pando::cuda
