// Trains a small convolutional network to read digits, on one virtual IPU, and tests it.
//
// The whole training step (forward, gradients, weight update) is one graph, compiled once; executions run many steps of
// it without coming back to the host, while a host thread gathers the batches that follow.
#include <pando/pando.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>

using namespace pando;

namespace {

constexpr int image_size = 28;
constexpr int classes = 10;
constexpr double learning_rate = 0.05;
constexpr double momentum = 0.9;
// After each execution the host looks at the metrics and at Ctrl-C.
constexpr std::int64_t steps_per_execution = 50;

struct Arguments {
  std::string data = "auto";
  int epochs = 3;
  int batch_size = 64;
  int tiles = 0;
};

struct Weight {
  std::string name;
  Shape shape;
};
// The training and the evaluation graph share these variables by name.
const std::vector<Weight> weights = {{"conv1/filter", {3, 3, 1, 32}},   {"conv1/bias", {32}},  //
                                     {"conv2/filter", {3, 3, 32, 64}},  {"conv2/bias", {64}},  //
                                     {"dense/weight", {1600, classes}}, {"dense/bias", {classes}}};

// Glorot: uniform in +-sqrt(6 / (fan in + fan out)), so that values keep their size from layer to layer; biases are 0.
Array initial_value(const Shape& shape, std::mt19937& random) {
  Array value(DType::float32, shape);
  if (shape.rank() == 1) return value;
  const int last = shape.rank() - 1;
  const std::int64_t window = shape.part(0, last - 1).elements();
  const float limit = std::sqrt(6.0f / static_cast<float>(window * (shape[last - 1] + shape[last])));
  // Not std::uniform_real_distribution: its numbers differ from library to library.
  for (std::int64_t i = 0; i < value.elements(); ++i)
    value.mutable_data<float>()[i] = limit * (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f);
  return value;
}

Variables initial_weights(std::uint32_t seed) {
  Variables variables;
  std::mt19937 random(seed);
  for (const Weight& weight : weights) variables.set(weight.name, initial_value(weight.shape, random));
  return variables;
}

std::vector<Value> weight_values(Graph& graph) {
  std::vector<Value> values;
  for (const Weight& weight : weights)
    values.push_back(ops::variable(graph, weight.name, DType::float32, weight.shape));
  return values;
}

// The drop-out of the training step draws from this counter; the evaluation graph has none.
Value conv_network(Value images, const std::vector<Value>& w, Value dropout_counter) {
  // Pixels are fed as bytes, a quarter of the traffic, and become numbers from 0 to 1 on the device.
  Value x = ops::cast(images, DType::float32) / 255.0;
  x = ops::max_pool(ops::relu(ops::conv2d(x, w[0]) + w[1]));
  x = ops::max_pool(ops::relu(ops::conv2d(x, w[2]) + w[3]));
  x = ops::reshape(x, {x.shape()[0], -1});
  if (dropout_counter) x = ops::dropout(x, dropout_counter, 0.5);
  return ops::matmul(x, w[4]) + w[5];
}

struct Inputs {
  Value images, labels, sample_weights;
};
Inputs batch_inputs(Graph& graph, std::int64_t batch_size) {
  return {ops::input(graph, "images", DType::uint8, {batch_size, image_size, image_size, 1}),
          ops::input(graph, "labels", DType::uint8, {batch_size}),
          ops::input(graph, "sample_weights", DType::float32, {batch_size})};
}

// Adds the sums over the batch that the metrics are made of, and returns the loss of the batch: the mean over its
// samples. The last batch is filled up with samples of weight 0, which count nowhere.
Value loss_and_metrics(Graph& graph, Value logits, const Inputs& batch) {
  const Value labels = ops::cast(batch.labels, DType::int32);
  const Value loss_sum = ops::reduce_sum(ops::sparse_softmax_cross_entropy(logits, labels) * batch.sample_weights);
  const Value hits = ops::cast(ops::equal(ops::argmax(logits), labels), DType::float32);
  const Value samples = ops::reduce_sum(batch.sample_weights);
  graph.add_output("loss_sum", loss_sum, /*every_step=*/true);
  graph.add_output("correct", ops::reduce_sum(hits * batch.sample_weights), /*every_step=*/true);
  graph.add_output("samples", samples, /*every_step=*/true);
  return loss_sum / samples;
}

Graph training_graph(std::int64_t batch_size) {
  Graph graph;
  const Inputs batch = batch_inputs(graph, batch_size);
  const std::vector<Value> w = weight_values(graph);
  // Counts updates, so that every step drops out other elements.
  const Value counter = ops::variable(graph, "dropout_counter", DType::int32, {2});
  graph.assign(counter, counter + ops::constant(graph, Array::of<std::int32_t>({1, 0}, {2})));

  const Value loss = loss_and_metrics(graph, conv_network(batch.images, w, counter), batch);
  const Value rate = ops::scalar(loss, learning_rate);
  const std::vector<Value> gradient = gradients(loss, w);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const Value velocity = ops::variable(graph, weights[i].name + "/velocity", DType::float32, weights[i].shape);
    const std::vector<Value> updated = ops::sgd_update(rate, w[i], gradient[i], {velocity}, {.momentum = momentum});
    graph.assign(w[i], updated[0]);
    graph.assign(velocity, updated[1]);
  }
  return graph;
}

Graph evaluation_graph(std::int64_t batch_size) {
  Graph graph;
  const Inputs batch = batch_inputs(graph, batch_size);
  loss_and_metrics(graph, conv_network(batch.images, weight_values(graph), {}), batch);
  return graph;
}

std::int64_t steps_per_epoch(const datasets::Split& split, std::int64_t batch_size) {
  return (split.y.elements() + batch_size - 1) / batch_size;
}

// Gathers the batches of some epochs, each in another order, on the feed's own thread.
class Batches {
 public:
  Batches(datasets::Split split, std::int64_t batch_size, int epochs)
      : split_(std::move(split)), batch_size_(batch_size), epochs_(epochs) {
    order_.resize(static_cast<std::size_t>(split_.y.elements()));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
  }

  // Feeds come in the order in which batch_inputs() makes them.
  bool operator()(std::int64_t step, std::span<std::byte* const> feeds) {
    const std::int64_t steps = steps_per_epoch(split_, batch_size_);
    if (step == steps * epochs_) return false;
    if (step % steps == 0) shuffle();
    std::byte *images = feeds[0], *labels = feeds[1];
    float* sample_weights = reinterpret_cast<float*>(feeds[2]);
    const std::int64_t first = step % steps * batch_size_;
    for (std::int64_t i = 0; i < batch_size_; ++i) {
      const bool real = first + i < split_.y.elements();
      // What fills the last batch up may be any sample: its weight is 0.
      const std::int64_t sample = real ? order_[static_cast<std::size_t>(first + i)] : 0;
      std::memcpy(images + i * image_bytes, split_.x.raw() + sample * image_bytes, image_bytes);
      labels[i] = split_.y.raw()[sample];
      sample_weights[i] = real ? 1.0f : 0.0f;
    }
    return true;
  }

 private:
  static constexpr std::int64_t image_bytes = image_size * image_size;

  void shuffle() {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  }

  datasets::Split split_;
  std::int64_t batch_size_;
  int epochs_;
  std::vector<std::int64_t> order_;
  std::mt19937_64 random_{42};
};

datasets::Splits load_data(const std::string& name) {
  if (name != "auto") return datasets::load(name);
  if (datasets::available("mnist")) return datasets::load("mnist");
  std::cout << "MNIST is not on this machine (scripts/fetch_data.sh gets it): using synthetic_digits instead.\n";
  return datasets::load("synthetic_digits");
}

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);  // a second Ctrl-C ends the program at once
}

// Sums over the samples so far, in double: exact counts, and a loss that does not drift.
struct Totals {
  double loss = 0, correct = 0, samples = 0;

  void add(const Program& program) {
    const auto sum = [&](const char* output) {
      const Array steps = program.output(output);
      return std::accumulate(steps.data<float>(), steps.data<float>() + steps.elements(), 0.0);
    };
    loss += sum("loss_sum");
    correct += sum("correct");
    samples += sum("samples");
  }
  Metrics metrics() const { return {{"loss", loss / samples}, {"accuracy", correct / samples}}; }
};

// One pass over the data. Returns false after Ctrl-C.
bool run_epoch(Program& program, Feed& feed, std::int64_t steps) {
  ProgressBar bar(steps);
  Totals totals;
  for (std::int64_t done = 0; done < steps && interrupted == 0;) {
    done += program.run(std::min(steps_per_execution, steps - done), feed);
    totals.add(program);
    bar.update(done, totals.metrics());
  }
  bar.finish();
  return interrupted == 0;
}

// Both programs use the same variables, so testing sees what training has learnt. Returns false after Ctrl-C.
bool train_and_test(const datasets::Splits& data, int batch_size, int epochs, const Device& device) {
  const Variables variables = initial_weights(1);
  Program training(training_graph(batch_size), device, variables);
  Feed batches(training, Batches(data.train, batch_size, epochs));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::cout << "Epoch " << epoch << "/" << epochs << std::endl;
    if (!run_epoch(training, batches, steps_per_epoch(data.train, batch_size))) return false;
  }
  std::cout << "Test" << std::endl;
  Program testing(evaluation_graph(batch_size), device, variables);
  Feed test_batches(testing, Batches(data.test, batch_size, 1));
  return run_epoch(testing, test_batches, steps_per_epoch(data.test, batch_size));
}

constexpr const char* usage = R"(usage: train_digits [--data NAME] [--epochs N] [--batch-size B] [--tiles T]
  --data NAME     mnist, fashion_mnist, synthetic_digits, or auto: mnist if it is on this machine,
                  synthetic_digits if not (default: auto)
  --epochs N      passes over the training images (default: 3)
  --batch-size B  images for each weight update (default: 64)
  --tiles T       worker threads of the virtual IPU; 0 takes all cores (default: 0)
)";

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

int parse_number(const std::string& option, const std::string& text, int smallest) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || value < smallest || value > 1'000'000)
    throw UsageError(option + " needs a whole number of at least " + std::to_string(smallest) + ", not '" + text + "'");
  return static_cast<int>(value);
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& option = words[i];
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (option == "--data") arguments.data = value;
    else if (option == "--epochs") arguments.epochs = parse_number(option, value, 1);
    else if (option == "--batch-size") arguments.batch_size = parse_number(option, value, 1);
    else if (option == "--tiles") arguments.tiles = parse_number(option, value, 0);
    else throw UsageError("unknown argument '" + option + "'");
  }
  const std::string& data = arguments.data;
  if (data != "auto" && data != "mnist" && data != "fashion_mnist" && data != "synthetic_digits")
    throw UsageError("--data needs auto, mnist, fashion_mnist or synthetic_digits, not '" + arguments.data + "'");
  return arguments;
}

// Returns the exit status.
int run(const Arguments& arguments) {
  std::signal(SIGINT, on_interrupt);
  const datasets::Splits data = load_data(arguments.data);
  const Device device({.tiles = arguments.tiles});
  std::cout << "Training on " << data.train.y.elements() << " images, on a virtual IPU of " << device.tiles()
            << " tiles (" << device.instruction_set() << ").\n";
  if (train_and_test(data, arguments.batch_size, arguments.epochs, device)) return 0;
  std::cout << "Interrupted.\n";
  return 130;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    std::cout << usage;
    return 0;
  }
  try {
    return run(parse_arguments(arguments));
  } catch (const UsageError& error) {
    std::cerr << "train_digits: " << error.what() << "\n" << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "train_digits: " << error.what() << "\n";
    return 1;
  }
}
