// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of a region on the host: their source is compiled by the compiler that made the tests, with threads
// as loops, and loaded.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "backends/cuda/regions/marks.h"

namespace pando::cuda {

class EmulatedKernel {
 public:
  // `name` is that of the kernel; files are made in the folder of the test.
  EmulatedKernel(const std::string& source, const std::string& name, const std::string& test) {
    const std::string path = ::testing::TempDir() + test + "_" + name;
    std::ofstream(path + ".cpp") << source;
    const std::string command = std::string(PANDO_TEST_COMPILER) +
                                " -std=c++20 -O1 -w -shared -fPIC '-DPANDO_EMULATION=<tests/cuda/emulated_loops.h>' "
                                "-I " PANDO_TEST_SOURCES "/src -I " PANDO_TEST_SOURCES " -o " +
                                path + ".so " + path + ".cpp";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot compile " + path + ".cpp");
    library_ = dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    run_ = reinterpret_cast<Run>(dlsym(library_, name.c_str()));
  }
  ~EmulatedKernel() { dlclose(library_); }
  EmulatedKernel(const EmulatedKernel&) = delete;
  EmulatedKernel& operator=(const EmulatedKernel&) = delete;

  void run(const std::vector<char*>& pointers, int clusters, int ranks, std::size_t shared_bytes,
           bool backwards) const {
    const std::size_t bytes = (shared_bytes + 63) / 64 * 64;
    for (int i = 0; i < clusters; ++i) {
      // What no phase has written is NaN.
      std::vector<unsigned char> memory(bytes * static_cast<std::size_t>(ranks) + 64, 0xff);
      auto* const aligned =
          reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
      run_(pointers.data(), backwards ? clusters - 1 - i : i, aligned, static_cast<int>(bytes), backwards);
    }
  }

 private:
  using Run = void (*)(char* const*, int, unsigned char*, int, bool);
  void* library_ = nullptr;
  Run run_ = nullptr;
};

// The memory of a Plan whose calls are all in one region, by buffer.
class EmulatedRegion {
 public:
  // A step that is recorded has marks, by a clock that counts phases.
  EmulatedRegion(const Plan& plan, const RegionProgram& program, const std::string& test, bool is_recorded = false)
      : plan_(plan),
        program_(program),
        is_recorded_(is_recorded),
        region_(joined(is_recorded ? marked(program.sources) : program.sources), "region", test) {
    if (!program.update_source.empty())
      update_ = std::make_unique<EmulatedKernel>(is_recorded ? marked(program.update_source) : program.update_source,
                                                 "update", test);
    for (const Buffer& buffer : plan.buffers) {
      buffers_.emplace_back(buffer.bytes, std::byte{0xff});
      if (buffer.kind == Buffer::Kind::constant) {
        const Array& value = plan.constants[static_cast<std::size_t>(buffer.index)];
        std::memcpy(buffers_.back().data(), value.raw(), value.bytes());
      } else if (buffer.kind == Buffer::Kind::counter) {
        std::fill(buffers_.back().begin(), buffers_.back().end(), std::byte{0});
      }
    }
  }

  void write(std::int32_t buffer, const Array& value) {
    std::memcpy(buffers_[static_cast<std::size_t>(buffer)].data(), value.raw(), value.bytes());
  }
  Array read(std::int32_t buffer, const Type& type) const {
    Array value(type.dtype, type.shape);
    std::memcpy(value.mutable_raw(), buffers_[static_cast<std::size_t>(buffer)].data(), type.bytes());
    return value;
  }

  // Two orders of threads: a phase that reads what it writes gives different results.
  void run(bool backwards) {
    std::vector<std::byte> scratch(program_.scratch_bytes, std::byte{0xff});
    std::vector<char*> pointers;
    for (const RegionPointer& pointer : program_.order) {
      if (pointer.kind == RegionPointer::Kind::scratch) {
        pointers.push_back(reinterpret_cast<char*>(scratch.data() + pointer.index));
        continue;
      }
      const auto& operands = pointer.kind == RegionPointer::Kind::input ? program_.inputs : program_.outputs;
      const auto buffer = static_cast<std::size_t>(operands[pointer.index].buffer);
      pointers.push_back(reinterpret_cast<char*>(buffers_[buffer].data()));
    }
    region_.run(with_marks(pointers, region_marks_, region_marks(program_)), program_.clusters, program_.ranks,
                program_.shared_bytes, backwards);
    if (update_ != nullptr)
      update_->run(with_marks(pointers, update_marks_, update_marks(program_)), program_.update_blocks, 1, 64,
                   backwards);
  }

  std::vector<CallCycles> cycles_of_region() const { return region_cycles(program_, region_marks_); }
  std::vector<CallCycles> cycles_of_update() const { return update_cycles(program_, update_marks_); }

 private:
  static std::string joined(const std::vector<std::string>& sources) {
    std::string all;
    for (const std::string& source : sources) all += source;
    return all;
  }
  std::vector<char*> with_marks(std::vector<char*> pointers, std::vector<std::uint64_t>& marks,
                                std::size_t count) const {
    if (!is_recorded_) return pointers;
    // What no kernel writes makes times that are far too long.
    marks.assign(count, std::uint64_t{1} << 40);
    pointers.push_back(reinterpret_cast<char*>(marks.data()));
    return pointers;
  }

  const Plan& plan_;
  const RegionProgram& program_;
  const bool is_recorded_;
  EmulatedKernel region_;
  std::unique_ptr<EmulatedKernel> update_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::uint64_t> region_marks_, update_marks_;
};

}  // namespace pando::cuda
