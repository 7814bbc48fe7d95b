// SPDX-License-Identifier: Apache-2.0
// The examples of the page "Graphs and programs": what every style becomes.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <sstream>

namespace {

using namespace pando;

TEST(Programs, GradientDescent) {
  //! [program]
  Graph graph;
  Value x = ops::input(graph, "x", DType::float32, {4});
  Value w = ops::variable(graph, "w", DType::float32, {});
  Value loss = ops::reduce_mean(ops::squared_error(x * w, x * 2.0));
  std::vector<Value> slopes = gradients(loss, {w});
  graph.assign(w, w - slopes[0] * 0.1);
  graph.add_output("loss", loss);

  Variables variables;
  Program program(graph, Device({.tiles = 1}), variables, {.check_numerics = true});
  std::map<std::string, Array> results;
  for (int i = 0; i < 50; ++i) results = program.step({{"x", Array::of<float>({-1, 0, 1, 2}, {4})}});
  double weight = variables.get("w").item<double>();  // 2
  //! [program]
  EXPECT_NEAR(weight, 2.0, 1e-3);
  EXPECT_LT(results.at("loss").item<double>(), 1e-3);
}

TEST(Programs, Version) {
  std::ostringstream out;
  //! [version]
#if PANDO_VERSION_NUMBER >= 100  // 0.1.0
  out << "compiled with " << PANDO_VERSION << ", running with " << pando::version() << "\n";
#endif
  //! [version]
  EXPECT_NE(out.str().find(pando::version()), std::string::npos);
}

TEST(Programs, Profiler) {
  Graph graph;
  Value x = ops::input(graph, "x", DType::float32, {64, 64});
  graph.add_output("y", ops::matmul(x, x));
  Variables variables;
  Program program(graph, Device(), variables);
  //! [profiler]
  Profiler profiler("squares");
  profiler.attach(program);
  program.step({{"x", ones({64, 64})}});
  for (const KernelTime& kernel : profiler.kernel_times())
    std::printf("%-20s %.1f us\n", kernel.name.c_str(), kernel.microseconds);
  //! [profiler]
  profiler.detach();
}

}  // namespace
