// SPDX-License-Identifier: Apache-2.0
// Profiler: a measured timeline of programs.
#pragma once
#include <pando/program/program.h>
#include <pando/report/report.h>

namespace pando {

// A kernel of a program, or "barrier" or "feed" for what the tiles wait for.
struct KernelTime {
  std::string op;
  std::string name;
  // The time in one step, as the mean over steps and tiles.
  double microseconds = 0;
};

// Records every kernel and every wait of the programs that it is attached to. Each costs two readings of the clock. Of
// a run that is too long for its memory it keeps parts of equal length, spread over the whole run.
class PANDO_API Profiler {
 public:
  explicit Profiler(const std::string& model, std::size_t events_per_tile = 20'000);
  // Stops recording.
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Several programs may be attached, one after the other or at once; each must live until detach().
  void attach(Program& program);
  // Stops recording.
  void detach();

  // The kernels of the program that was attached first, in the order in which they run, then its waits.
  std::vector<KernelTime> kernel_times() const;

  // What has been recorded so far.
  report::Timeline timeline() const;
  // The same as timeline().save(path).
  void save(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
