// SPDX-License-Identifier: Apache-2.0
// How much memory training needs beyond its data, and whether explain says so.
#include <fmt/format.h>
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>

#include "io/json.h"
#include "keras_cnn.h"
#include "measurement.h"

namespace {

// Only arrays, arenas, variables and feeds are allocated with an alignment.
std::atomic<std::size_t> aligned_bytes = 0, most_aligned_bytes = 0;

void* allocate_counted(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto to = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(to, (bytes + to - 1) / to * to);
  if (memory == nullptr) return nullptr;
  const std::size_t now = aligned_bytes += malloc_usable_size(memory);
  if (now > most_aligned_bytes) most_aligned_bytes = now;
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_counted(bytes, alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = allocate_counted(bytes, alignment);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t) noexcept {
  aligned_bytes -= memory == nullptr ? 0 : malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  operator delete(memory, alignment);
}

namespace pando::limits {

namespace {

constexpr std::int64_t steps = 300;

// A line of /proc/self/status, in kB.
double status_kilobytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::strtod(line.c_str() + name.size() + 1, nullptr);
  throw Error("/proc/self/status does not say " + name);
}

// The peak starts again from what is resident now.
void reset_peak() {
  if (!(std::ofstream("/proc/self/clear_refs") << 5).flush()) throw Error("cannot write /proc/self/clear_refs");
}

}  // namespace

void print_memory() {
  const Samples samples = keras_cnn_samples();
  reset_peak();
  const double data = static_cast<double>(samples.x.bytes() + samples.y.bytes());
  const std::size_t allocated = aligned_bytes;
  most_aligned_bytes = allocated;
  keras::Model model = keras_cnn(100);
  model.fit(samples.x, samples.y, {.batch_size = keras_cnn_batch, .steps_per_epoch = steps, .verbose = 0});
  const double beyond_data = status_kilobytes("VmHWM") * 1024 - data;
  const std::size_t most_allocated = most_aligned_bytes;
  const Json explained = Json::parse(model.explain_json({.samples = steps, .batch_size = keras_cnn_batch}), "explain");
  fmt::print("{} {} {}\n", beyond_data / 1e6, static_cast<double>(most_allocated - allocated) / 1024,
             explained.find("memory")->number("memory") / 1024);
}

std::vector<Measurement> measure_memory() {
  const std::vector<double> numbers = numbers_of_fresh_process("--memory-of-training");
  const double beyond_data = numbers.at(0), allocated = numbers.at(1), explained = numbers.at(2);
  return {{"keras_cnn: peak resident memory beyond the data", beyond_data, "MB", 150},
          {fmt::format("keras_cnn: explain's {:.0f} KiB, off the {:.0f} KiB allocated by", explained, allocated),
           100 * std::abs(explained - allocated) / allocated, "%", 10}};
}

}  // namespace pando::limits
