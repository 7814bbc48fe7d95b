// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of the CUDA runtime, which end with their owners.
#pragma once
#include <exception>
#include <utility>

#include "backends/cuda/check.h"
#include "base/waiting.h"

namespace pando::cuda {

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "to make a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Waits for the stream where its scope is left by an exception: the GPU still works with what the scope holds.
class FinishedOnError {
 public:
  explicit FinishedOnError(const Stream& stream) : stream_(stream), exceptions_(std::uncaught_exceptions()) {}
  ~FinishedOnError() {
    if (std::uncaught_exceptions() > exceptions_) cudaStreamSynchronize(stream_.get());
  }
  FinishedOnError(const FinishedOnError&) = delete;
  FinishedOnError& operator=(const FinishedOnError&) = delete;

 private:
  const Stream& stream_;
  const int exceptions_;
};

class Event {
 public:
  // With times it can be asked when it happened, which makes it slower.
  explicit Event(bool has_time = false) {
    const unsigned flags = cudaEventBlockingSync | (has_time ? 0U : cudaEventDisableTiming);
    check(cudaEventCreateWithFlags(&event_, flags), "to make an event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { check(cudaEventRecord(event_, stream.get()), "to record an event"); }
  void delay(const Stream& stream) const {
    check(cudaStreamWaitEvent(stream.get(), event_, 0), "to wait for an event");
  }
  // Awake for a moment, in which a short step ends, then asleep.
  void wait() const {
    cudaError_t code = cudaErrorNotReady;
    wait_awake(awake_time, [&] { return (code = cudaEventQuery(event_)) != cudaErrorNotReady; });
    check(code == cudaErrorNotReady ? cudaEventSynchronize(event_) : code, "while it ran a step");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// A graph that can be launched again and again; empty until something is captured.
class StepGraph {
 public:
  StepGraph() = default;
  ~StepGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  explicit operator bool() const { return executable_ != nullptr; }
  // Keeps what `enqueue` gives to the stream instead of running it.
  template <class Enqueue>
  void capture(const Stream& stream, const Enqueue& enqueue) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "to begin a graph");
    try {
      enqueue();
    } catch (...) {
      // An unfinished capture would keep the stream from being used.
      cudaStreamEndCapture(stream.get(), &graph);
      cudaGetLastError();
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream.get(), &graph), "to end a graph");
    const cudaError_t code = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(code, "to make a graph ready");
  }
  void launch(const Stream& stream) const { check(cudaGraphLaunch(executable_, stream.get()), "to launch a step"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace pando::cuda
