// SPDX-License-Identifier: Apache-2.0
// Fits y = 2 x + 1 by gradient descent with an installed Pando.
#include <pando/pando.h>

#include <cmath>
#include <cstdio>

using namespace pando;

int main() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {4});
  const Value w = ops::variable(graph, "w", DType::float32, {});
  const Value b = ops::variable(graph, "b", DType::float32, {});
  const Value loss = ops::reduce_mean(ops::squared_error(x * w + b, x * 2.0 + 1.0));
  const std::vector<Value> slopes = gradients(loss, {w, b});
  const Value rate = ops::scalar(loss, 0.1);
  graph.assign(w, ops::sgd_update(rate, w, slopes[0], {})[0]);
  graph.assign(b, ops::sgd_update(rate, b, slopes[1], {})[0]);

  Variables variables;
  Program program(graph, Device(), variables);
  for (int step = 0; step < 300; ++step) program.step({{"x", Array::of<float>({-1, 0, 1, 2}, {4})}});
  std::printf("w = %.4f, b = %.4f\n", variables.get("w").item<double>(), variables.get("b").item<double>());
  try {
    ops::matmul(x, w);
    return 1;
  } catch (const Error&) {
    // Exceptions cross the library's boundary.
  }
  if (version() != PANDO_VERSION) return 1;
  return std::abs(variables.get("w").item<double>() - 2) < 1e-3 ? 0 : 1;
}
