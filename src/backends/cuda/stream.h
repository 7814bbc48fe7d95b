// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs of the CUDA runtime, which end with their owners; and graphs with branches.
#pragma once
#include <algorithm>
#include <chrono>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/branches.h"
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
  bool has_happened() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code != cudaErrorNotReady) check(code, "while it ran a step");
    return code == cudaSuccess;
  }
  // Awake for a moment, in which a short step ends, then asleep.
  void wait(std::chrono::nanoseconds awake = awake_time) const {
    if (!wait_awake(awake, [&] { return has_happened(); })) check(cudaEventSynchronize(event_), "while it ran a step");
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

// Work that a stream is given while it is captured, in branches: each piece waits only for what it must not overtake.
class Branches {
 public:
  explicit Branches(const Stream& stream) : stream_(stream) {}

  // `enqueue` gives the stream a piece of work that makes these accesses. It is called with the numbers of the pieces
  // that this one waits for. Returns the number of this one.
  template <class Enqueue>
  std::size_t add(std::span<const Access> accesses, const Enqueue& enqueue) {
    const std::vector<std::size_t> before = order_.add(accesses);
    wait_for(before);
    enqueue(before);
    last_nodes_.push_back(nodes());
    return last_nodes_.size() - 1;
  }
  // What follows waits for everything.
  void join() const { wait_for(order_.last()); }

 private:
  // The nodes that the next work of the stream waits for.
  std::vector<cudaGraphNode_t> nodes() const {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* nodes = nullptr;
    std::size_t count = 0;
#if CUDART_VERSION >= 13000
    check(cudaStreamGetCaptureInfo(stream_.get(), &status, nullptr, nullptr, &nodes, nullptr, &count),
          "to look at a graph");
#else
    check(cudaStreamGetCaptureInfo_v2(stream_.get(), &status, nullptr, nullptr, &nodes, &count), "to look at a graph");
#endif
    return {nodes, nodes + count};
  }
  void wait_for(std::span<const std::size_t> works) const {
    std::vector<cudaGraphNode_t> before;
    for (const std::size_t work : works)
      for (const cudaGraphNode_t node : last_nodes_[work])
        if (std::find(before.begin(), before.end(), node) == before.end()) before.push_back(node);
#if CUDART_VERSION >= 13000
    check(cudaStreamUpdateCaptureDependencies(stream_.get(), before.data(), nullptr, before.size(),
                                              cudaStreamSetCaptureDependencies),
          "to make a branch of a graph");
#else
    check(cudaStreamUpdateCaptureDependencies(stream_.get(), before.data(), before.size(),
                                              cudaStreamSetCaptureDependencies),
          "to make a branch of a graph");
#endif
  }

  const Stream& stream_;
  WorkOrder order_;
  // The last nodes of each piece.
  std::vector<std::vector<cudaGraphNode_t>> last_nodes_;
};

}  // namespace pando::cuda
