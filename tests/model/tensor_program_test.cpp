// SPDX-License-Identifier: Apache-2.0
// Functions of tensors as programs, for data sets and for users.
#include <pando/model/tensor_program.h>

#include <pando/data/dataset.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/message.h"

namespace pando {
namespace {

TensorProgram scale_and_pass() {
  return TensorProgram("scale", [](const std::vector<Tensor>& x) { return std::vector{x[0] / 255.0, x[1]}; });
}

TEST(TensorProgram, ComputesWithOneProgramForEachListOfTypes) {
  std::atomic<int> traces = 0;
  const TensorProgram add("add", [&](const std::vector<Tensor>& x) {
    ++traces;
    return std::vector{x[0] + x[1]};
  });
  const Array two = Array::of<float>({1, 2}, {2}), three = Array::of<float>({1, 2, 3}, {3});
  EXPECT_EQ(add({two, two})[0].data<float>()[1], 4);
  EXPECT_EQ(add({two, two})[0].data<float>()[1], 4);
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(add({three, three})[0].data<float>()[2], 6);
  EXPECT_EQ(traces, 2);
}

TEST(TensorProgram, PassesAnInputOnWithoutCopyingIt) {
  const Array labels = Array::of<std::int64_t>({7, 8}, {2});
  const Arrays results = scale_and_pass()({Array::of<float>({255, 510}, {2}), labels});
  EXPECT_EQ(results[0].data<float>()[1], 2);
  EXPECT_EQ(results[1].raw(), labels.raw());
}

TEST(TensorProgram, KnowsItsTypesWithoutRunning) {
  const std::vector<Type> types = scale_and_pass().types({{DType::float32, {4, 2}}, {DType::int64, {4}}});
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0], (Type{DType::float32, {4, 2}}));
  EXPECT_EQ(types[1], (Type{DType::int64, {4}}));
}

TEST(TensorProgram, NeedsNoInputThatNoResultDependsOn) {
  const TensorProgram second("second", [](const std::vector<Tensor>& x) { return std::vector{x[1] * 2.0}; });
  EXPECT_EQ(second({Array::scalar(5.0f), Array::scalar(3.0f)})[0].item<float>(), 6);
}

TEST(TensorProgram, MapsTheElementsOfADataSet) {
  const Array x = Array::of<float>({0, 255, 510, 765}, {4}), y = Array::of<std::int32_t>({0, 1, 2, 3}, {4});
  std::vector<float> seen;
  for (const data::Element& batch :
       data::Dataset::from_tensor_slices({x, y}).batch(3).map(scale_and_pass()).prefetch(2))
    seen.insert(seen.end(), batch[0].data<float>(), batch[0].data<float>() + batch[0].elements());
  EXPECT_EQ(seen, (std::vector<float>{0, 1, 2, 3}));
}

TEST(TensorProgram, IsCalledByManyThreadsAtOnce) {
  const TensorProgram program = scale_and_pass();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Array x = Array::scalar(255.0f * static_cast<float>(t));
      for (int i = 0; i < 200; ++i)
        if (program({x, x})[0].item<float>() != static_cast<float>(t)) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TensorProgram, RefusesTensorsOfSomethingElse) {
  Tensor kept;
  const TensorProgram keep("keep", [&](const std::vector<Tensor>& x) { return std::vector{kept = x[0] + 1.0}; });
  EXPECT_EQ(keep({Array::scalar(1.0f)})[0].item<float>(), 2);
  EXPECT_FALSE(kept.is_traced());
  EXPECT_EQ(message([&] { kept.value(); }),
            "the tensor is from a computation that has ended; use it while that is traced");
  const TensorProgram give("give", [&](const std::vector<Tensor>&) { return std::vector{kept}; });
  EXPECT_EQ(message([&] { give({Array::scalar(1.0f)}); }), "give: it returns a tensor that is not made of its inputs");
}

}  // namespace
}  // namespace pando
