// SPDX-License-Identifier: Apache-2.0
// What `pando bench` measured on this machine: how long steps take, and what messages between workers cost. It is kept
// in a file, from which explain predicts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pando {

// Seconds, and bytes a second: NetworkCost of comm/ says what each means.
struct MeasuredNetwork {
  int workers = 2, hosts = 1;
  double latency = 0, per_message = 0, bandwidth = 0, copies = 0;
  // "2026-11-17".
  std::string date = {};
};

// A training step of one micro-batch on one IPU.
struct MeasuredStep {
  std::string model;
  std::int64_t batch_size = 0;
  std::string backend = "cpu";
  int tiles = 1;
  double megaflops = 0;
  // Bytes.
  std::size_t weights = 0;
  double seconds = 0;
  std::string date = {};
};

struct Measurements {
  // The network between workers, and between GPUs of workers that NCCL connects.
  std::optional<MeasuredNetwork> network = {}, gpu_network = {};
  std::vector<MeasuredStep> steps = {};

  // Replaces an older one of the same model, batch size, backend and tiles.
  void add(MeasuredStep step);
};

// PANDO_MEASUREMENTS, or measurements.json in $XDG_CACHE_HOME/pando or ~/.cache/pando; empty if none of these is set.
std::string measurements_path();

// Nothing if there is no file. Throws Error, naming the file and the remedy, if it cannot be read.
Measurements read_measurements();
// Returns the path. Throws Error if there is no place for the file, or it cannot be written.
std::string write_measurements(const Measurements& measurements);

// The day of today, as measurements have it.
std::string measurement_date();

}  // namespace pando
