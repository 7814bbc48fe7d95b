// SPDX-License-Identifier: Apache-2.0
// Inside an execution nothing is allocated, no lock is taken and no system call is made. Allocations and locks are
// counted by replacing the functions, system calls by tracing: a longer execution must cost no more of any than a short
// one.
#include <pando/autodiff/gradients.h>
#include <pando/pando.h>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "base/waiting.h"
#include "io/json.h"
#include "syscall_counter.h"

namespace {

std::atomic<long> allocations = 0, locks = 0;
std::atomic<std::size_t> aligned_bytes = 0;

}  // namespace

// Visible to the shared libraries too, whose calls then end up here as well.
#pragma GCC visibility push(default)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  aligned_bytes += bytes;
  return __libc_memalign(alignment, bytes);
}
// What aligned operator new calls depends on the version of the C++ library.
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = aligned_alloc(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
}
#pragma GCC visibility pop

namespace pando {
namespace {

// A training step with every kind of kernel in it, fed from a ring.
Graph training_graph() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {8, 12, 12, 2});
  const Value labels = ops::input(graph, "labels", DType::int32, {8});
  const Value filter = ops::variable(graph, "filter", DType::float32, {3, 3, 2, 16});
  const Value bias = ops::variable(graph, "bias", DType::float32, {16});
  const Value dense = ops::variable(graph, "dense", DType::float32, {400, 10});
  const Value step = ops::variable(graph, "step", DType::int32, {});
  const Value counter = ops::concat({ops::reshape(step, {1}), ops::constant(graph, Array(DType::int32, {1}))}, 0);
  const Value image = ops::max_pool(ops::relu(ops::conv2d(x, filter) + bias));
  const Value logits = ops::matmul(ops::dropout(ops::reshape(image, {8, -1}), counter, 0.5), dense);
  const Value loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(logits, labels));
  graph.add_output("loss", loss, true);
  const std::vector<Value> parameters = {filter, bias, dense};
  const std::vector<Value> slopes = gradients(loss, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    graph.assign(parameters[i], ops::sgd_update(ops::scalar(loss, 0.1), parameters[i], slopes[i], {})[0]);
  graph.assign(step, step + 1.0);
  return graph;
}

struct Counts {
  long allocations, locks;
};

// What `steps` steps in one execution cost, the launch included.
Counts count(Program& program, Feed& feed, std::int64_t steps) {
  const long before_allocations = allocations, before_locks = locks;
  EXPECT_EQ(program.run(steps, feed), steps);
  return {allocations - before_allocations, locks - before_locks};
}

bool fill(std::int64_t, std::span<std::byte* const> feeds) {
  std::memset(feeds[0], 0, 8 * 12 * 12 * 2 * sizeof(float));
  std::memset(feeds[1], 0, 8 * sizeof(std::int32_t));
  return true;
}

TEST(Overhead, AStepAllocatesNothingAndTakesNoLock) {
  for (int tiles : {1, 2}) {
    Program program(training_graph(), Device({.tiles = tiles}), Variables());
    Feed feed(program, fill);
    count(program, feed, 10);
    const Counts few = count(program, feed, 10), many = count(program, feed, 500);
    EXPECT_EQ(few.allocations, many.allocations) << tiles << " tiles";
    EXPECT_EQ(few.locks, many.locks) << tiles << " tiles";
    EXPECT_EQ(many.locks, 0);
  }
}

TEST(Overhead, TheCountersCount) {
  const long before_allocations = allocations, before_locks = locks;
  // Through the C++ library, and volatile so that no compiler leaves the pair out.
  void* volatile memory = ::operator new(1);
  ::operator delete(memory);
  EXPECT_EQ(allocations, before_allocations + 1);
  std::mutex mutex;
  mutex.lock();
  mutex.unlock();
  EXPECT_EQ(locks, before_locks + 1);
}

keras::Model explained_model(bool wide) {
  namespace layers = keras::layers;
  const Tensor input = keras::Input({12, 12, 1});
  Tensor x = layers::Conv2D(16, 3, {.activation = "relu"})(input);
  x = layers::Dense(wide ? 512 : 16, {.activation = "relu"})(layers::Flatten()(x));
  keras::Model model(input, layers::Dense(10, {.activation = "softmax"})(x));
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 4});
  return model;
}

// Arenas, variables, feeds and what waits between stages are what is allocated with an alignment.
TEST(Overhead, ExplainSaysWhatTrainingAllocates) {
  const Array x(DType::float32, {128, 12, 12, 1}), y(DType::int32, {128});
  for (bool wide : {false, true})
    for (auto [ipus, stages] : {std::pair{1, 1}, {2, 1}, {2, 2}}) {
      ipu::reset_ipu_configuration();
      ipu::IPUConfig config;
      config.auto_select_ipus = ipus;
      config.configure_ipu_system();
      const ipu::IPUStrategy strategy;
      const auto scope = strategy.scope();
      keras::Model model = explained_model(wide);
      if (stages > 1) model.set_pipeline_stage_assignment({0, 0, 0, 1});
      if (stages > 1) model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
      const std::size_t before = aligned_bytes;
      model.fit(x, y, {.batch_size = 32, .verbose = 0});
      const auto allocated = static_cast<double>(aligned_bytes - before);
      const Json explained = Json::parse(model.explain_json({.samples = 128, .batch_size = 32}), "explain");
      // The weights of the first replica were there before.
      double predicted = explained.find("memory")->number("memory");
      for (const Json& stage : explained.find("stages")->list("stages"))
        predicted -= stage.find("memory")->find("weights")->number("weights");
      EXPECT_NEAR(predicted / allocated, 1.0, 0.1) << ipus << " IPUs, " << stages << " stages, wide " << wide;
    }
}

TEST(Overhead, AStepMakesNoSystemCall) {
  // Without a feed thread, whose system calls would be counted too.
  Graph graph;
  const Value w = ops::variable(graph, "w", DType::float32, {64, 64});
  graph.assign(w, ops::tanh(ops::matmul(w, w)));
  const auto system_calls = [&](std::int64_t steps) {
    return count_system_calls([&] {
      Program program(graph, Device({.tiles = 1}), Variables());
      program.run(steps);
    });
  };
  const long few = system_calls(10), many = system_calls(2000);
  if (few < 0 || many < 0) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_GT(few, 0);
  EXPECT_EQ(few, many);
}

TEST(Overhead, ANoticeIsNoSystemCallWhileAThreadSleepsElsewhere) {
  // Aligned alike, as the numbers of tiles are, which std::atomic does not tell apart.
  struct alignas(64) Number {
    Awaited<std::uint32_t> value = 0;
  };
  const auto system_calls = [&](int notices) {
    return count_system_calls([&] {
      Number own, other;
      std::thread sleeper([&] { other.value.wait(0); });
      // For long enough that it sleeps: if it does not, no notice is a system call in any case.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (int i = 0; i < notices; ++i) {
        own.value.fetch_add(1);
        own.value.notify_all();
      }
      other.value = 1;
      other.value.notify_all();
      sleeper.join();
    });
  };
  const long few = system_calls(10), many = system_calls(2000);
  if (few < 0 || many < 0) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_LT(many - few, 1000);
}

}  // namespace
}  // namespace pando
