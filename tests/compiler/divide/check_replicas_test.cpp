// SPDX-License-Identifier: Apache-2.0
// check_replicas: a variable that every replica would give another value is refused.
#include <gtest/gtest.h>

#include "compiler/compile_step.h"
#include "compiler/divide/divide.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

// A step that trains `w`, and gives `total` the value that the last line of `nodes` makes, node 9.
std::string training(const std::string& nodes) {
  return R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = variable() {name = "total", shape = [2]}
%3 = multiply(%0, %1)
%4 = update_sum(%3)
%5 = subtract(%1, %4)
)" + nodes +
         "assign %1 = %5\nassign %2 = %9\n";
}

std::string refusal(const std::string& text, int replicas = 2) {
  return message([&] { compile_step(parse_graph(text), {.replicas = replicas}); });
}

TEST(CheckReplicas, RefusesAValueOfAMicroBatch) {
  const std::string text = training("%9 = add(%2, %0)\n");
  EXPECT_EQ(refusal(text, 3),
            "the variable 'total' takes a value of each micro-batch and would differ between 3 replicas; assign a "
            "floating-point variable the replica_mean of the value, or use one replica");
  EXPECT_NO_THROW(compile_step(parse_graph(text), {.accumulation = 4})) << "one replica has one value";
}

TEST(CheckReplicas, TheMeanMustBeTheAssignedValue) {
  EXPECT_NO_THROW(check_replicas(parse_graph(training("%8 = add(%2, %0)\n%9 = replica_mean(%8)\n")), 2));
  EXPECT_EQ(refusal(training("%8 = replica_mean(%0)\n%9 = exp(%8)\n")),
            "the variable 'total' takes a value of each micro-batch and would differ between 2 replicas; assign a "
            "floating-point variable the replica_mean of the value, or use one replica");
}

TEST(CheckReplicas, WhatAnUpdateMakesIsTheSameOnAllReplicas) {
  check_replicas(parse_graph(training("%9 = add(%2, %4)\n")), 2);
  check_replicas(parse_graph(training("%9 = exp(%2)\n")), 2);
  check_replicas(parse_graph(training("%8 = counter()\n%9 = dropout(%2, %8) {rate = 0.5}\n")), 2);
}

TEST(CheckReplicas, WithoutUpdatesThereIsNoMean) {
  const auto forward = [](const std::string& nodes) {
    return R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2]}
)" + nodes +
           "output y = %0\nassign %1 = %9\n";
  };
  const std::string expected =
      "the variable 'mean' takes a value of each micro-batch and would differ between 2 replicas, which are averaged "
      "by updates only; use one replica, or train";
  EXPECT_EQ(refusal(forward("%9 = add(%0, %1)\n")), expected);
  EXPECT_EQ(refusal(forward("%8 = add(%0, %1)\n%9 = replica_mean(%8)\n")), expected);
  EXPECT_EQ(refusal(forward("%8 = counter()\n%9 = dropout(%1, %8) {rate = 0.5}\n")), expected)
      << "each replica has its own samples";
  EXPECT_NO_THROW(compile_step(parse_graph(forward("%9 = exp(%1)\n")), {.replicas = 2}));
}

}  // namespace
}  // namespace pando
