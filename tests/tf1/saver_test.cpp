// SPDX-License-Identifier: Apache-2.0
// Savers: a program that goes on from a file in a new process gives the bits of one that was never interrupted, and a
// file that does not fit is refused before anything is changed.
#include <sys/resource.h>

#include <cstdio>

#include "model/checkpoint_files.h"
#include "tests/data/temporary_folder.h"
#include "tests/tf1/programs.h"

namespace pando {

namespace {

using ipu::pipelining_ops::OptimizerFunctionOutput;
using ipu::pipelining_ops::pipeline;
using tf::train::Saver;
using Losses = std::vector<double>;

// 24 batches in another order for every pass, computed ahead.
Dataset shuffled() { return points(96).shuffle(40).batch(4, {.drop_remainder = true}).prefetch(2); }

// Has what depends on the number of the update, and what is assigned without a gradient.
struct SmallModel {
  Tensor first(const Tensor& x) {
    return dropout(normalise(tf::nn::relu(tf::matmul(x, w)), {.training = true}), {.training = true});
  }
  Tensor loss(const Tensor& hidden, const Tensor& y) {
    return tf::losses::sparse_softmax_cross_entropy(y, tf::matmul(hidden, v));
  }
  Arrays values() const {
    Arrays list = {w.parameter().value(), v.parameter().value()};
    for (const Array& value : normalise.get_weights()) list.push_back(value);
    return list;
  }

  tf::Variable w{weights(4, 8), {.name = "w"}}, v{weights(8, 3, 1.0), {.name = "v"}};
  keras::Layer dropout = keras::layers::Dropout(0.3), normalise = keras::layers::BatchNormalization({.name = "norm"});
};

const tf::train::AdamOptimizer adam_of_session({.learning_rate = 0.02});

struct NewGraph {
  explicit NewGraph(int ipus) {
    tf::reset_default_graph();
    set_random_seed(5);
    configure(ipus);
  }
};

// Runs of a computation that takes samples from a queue and gives losses to another.
struct QueueProgram : NewGraph {
  explicit QueueProgram(int ipus, Dataset (*data)() = shuffled) : NewGraph(ipus), infeed(data()) {}
  void begin() {
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
  }
  // The second run takes the samples in a new order.
  Losses train() {
    session.run(computation);
    session.run(infeed.initializer());
    session.run(computation);
    return numbers(session.run(outfeed.dequeue())[0]);
  }

  SmallModel model;
  ipu::IPUInfeedQueue infeed;
  ipu::IPUOutfeedQueue outfeed;
  tf::Compiled computation;
  tf::Session session;
};

struct LoopProgram : QueueProgram {
  explicit LoopProgram(const tf::train::Optimizer& optimizer = adam_of_session, Dataset (*data)() = shuffled)
      : QueueProgram(1, data) {
    computation = compiled([&] {
      return repeat(
          3,
          [&](Tensor x, Tensor y) -> tf::Outputs {
            const Tensor loss = model.loss(model.first(x), y);
            return {optimizer.minimize(loss), outfeed.enqueue({loss})};
          },
          {}, infeed);
    });
  }
};

template <int Ipus, bool Recomputation>
struct PipelineProgram : QueueProgram {
  PipelineProgram() : QueueProgram(Ipus) {
    const auto first = [&](Tensor x, Tensor y) -> tf::Outputs { return {model.first(x), y}; };
    const auto second = [&](Tensor x, Tensor y) -> tf::Outputs { return {model.loss(x, y)}; };
    const auto minimise = [](const tf::Outputs& outputs) {
      return OptimizerFunctionOutput{adam_of_session, outputs.tensor(0)};
    };
    computation = compiled([&] {
      return pipeline({first, second}, {.gradient_accumulation_count = 2,
                                        .repeat_count = 2,
                                        .infeed_queue = infeed,
                                        .outfeed_queue = outfeed,
                                        .optimizer_function = minimise,
                                        .recomputation = Recomputation});
    });
  }
};

// Straight code, with samples that the host takes from an iterator.
struct StepProgram : NewGraph {
  StepProgram() : NewGraph(1) {
    const auto [x, y] = iterator.get_next<2>();
    const auto train_step = [&](Tensor bx, Tensor by) -> tf::Outputs {
      const Tensor loss = model.loss(model.first(bx), by);
      return {loss, tf::train::MomentumOptimizer({.learning_rate = 0.1}).minimize(loss)};
    };
    computation = compiled(train_step, {x, y});
  }
  void begin() {
    session.run(tf::global_variables_initializer());
    session.run(iterator.initializer());
  }
  Losses train() {
    Losses losses;
    for (int i = 0; i < 15; ++i) losses.push_back(session.run(computation)[0].item<double>());
    return losses;
  }

  SmallModel model;
  tf::Iterator iterator = tf::make_initializable_iterator(shuffled().repeat());
  tf::Compiled computation;
  tf::Session session;
};

void expect_same(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(array_equal(a[i], b[i])) << i;
}

template <class Program>
void expect_resumes(const std::string& name) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path = testing::TempDir() + "pando_" + name + ".safetensors";
  const auto train_and_save = [&] {
    Program first;
    first.begin();
    first.train();
    first.train();
    Saver().save(first.session, path);
    std::_Exit(7);
  };
  // Another process, which this one starts.
  EXPECT_EXIT(train_and_save(), testing::ExitedWithCode(7), "");

  Program unbroken;
  unbroken.begin();
  unbroken.train();
  unbroken.train();
  const Losses third = unbroken.train(), fourth = unbroken.train();

  Program second;
  Saver().restore(second.session, path);
  EXPECT_EQ(second.train(), third);
  EXPECT_EQ(second.train(), fourth);
  expect_same(unbroken.model.values(), second.model.values());
  std::remove(path.c_str());
}

TEST(Resuming, ALoopGivesTheBitsOfAnUnbrokenOne) { expect_resumes<LoopProgram>("loop"); }
TEST(Resuming, StepsGiveTheBitsOfUnbrokenOnes) { expect_resumes<StepProgram>("steps"); }
TEST(Resuming, APipelineGivesTheBitsOfAnUnbrokenOne) { expect_resumes<PipelineProgram<2, true>>("pipeline"); }
TEST(Resuming, ReplicasGiveTheBitsOfUnbrokenOnes) { expect_resumes<PipelineProgram<4, false>>("replicas"); }

// A program may go back to what it saved, too.
TEST(Saver, RestoresInTheMiddleOfARun) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run.safetensors";
  LoopProgram program;
  program.begin();
  program.train();
  Saver().save(program.session, path);
  const Losses once = program.train();
  const Arrays values = program.model.values();
  Saver().restore(program.session, path);
  EXPECT_EQ(program.train(), once);
  expect_same(values, program.model.values());
}

TEST(Saver, KeepsThatAQueueWasNotInitialised) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run.safetensors";
  LoopProgram program;
  program.session.run(tf::global_variables_initializer());
  Saver().save(program.session, path);
  program.begin();
  Saver().restore(program.session, path);
  EXPECT_EQ(message([&] { program.session.run(program.computation); }),
            "run: the infeed queue is not initialised; run its initializer() first");
}

TEST(Saver, InitialisesASession) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run.safetensors";
  LoopProgram program;
  EXPECT_EQ(message([&] { Saver().save(program.session, path); }),
            "run: the variable 'w' is not initialised in this session; run tf::global_variables_initializer() first");
  program.begin();
  Saver().save(program.session, path);
  tf::Session other;
  Saver().restore(other, path);
  EXPECT_NO_THROW(other.run(program.computation));
}

TEST(Saver, RefusesTwoVariablesOfOneName) {
  NewGraph graph(1);
  const auto x = tf::placeholder(DType::float32, {1, 2});
  keras::Layer a = keras::layers::Dense(2, {.name = "same"}), b = keras::layers::Dense(2, {.name = "same"});
  const auto first = compiled([&](Tensor t) { return a(t); }, {x}),
             second = compiled([&](Tensor t) { return b(t); }, {x});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(message([&] { Saver().save(session, "never.safetensors"); }),
            "save: two variables are named 'same/kernel'; give their layers other names");
}

// The sum at the end of the file is right, so only its contents are wrong.
class Refusals : public testing::Test {
 protected:
  Refusals() {
    LoopProgram program;
    program.begin();
    program.train();
    Saver().save(program.session, path);
    saved = data::read_checkpoint(path);
  }
  // What is said of the file; the program has changed nothing and goes on.
  std::string verdict(LoopProgram program) {
    program.begin();
    const Arrays before = program.model.values();
    const std::string text = message([&] { Saver().restore(program.session, path); });
    expect_same(before, program.model.values());
    EXPECT_NO_THROW(program.session.run(program.computation));
    return text;
  }
  std::string said_of(const std::string& problem) const {
    return "restore: " + path + " does not fit: " + problem +
           ". Build the graph and the data sets that were saved, or give another file";
  }
  // What is said of the file with another state.
  std::string verdict_of(const std::string& old_text, const std::string& new_text) {
    data::Safetensors forged = saved;
    for (auto& [name, text] : forged.metadata)
      if (const auto place = text.find(old_text); place != std::string::npos)
        text.replace(place, old_text.size(), new_text);
    data::write_checkpoint(path, forged);
    return verdict(LoopProgram());
  }

  TemporaryFolder folder;
  const std::string path = folder.path() + "/run.safetensors";
  data::Safetensors saved;
};

TEST_F(Refusals, AFileThatIsNotThere) {
  LoopProgram program;
  EXPECT_EQ(message([&] { Saver().restore(program.session, path + ".old"); }),
            path + ".old: cannot be read: No such file or directory; check its name and permissions");
}

TEST_F(Refusals, ADamagedFile) {
  std::vector<std::byte> bytes = data::checkpoint_bytes(saved);
  bytes.back() ^= std::byte{1};
  folder.write("run.safetensors", std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_EQ(verdict(LoopProgram()), path + ": is damaged or not a checkpoint; use another one");
}

TEST_F(Refusals, AFileOfAnotherStyle) {
  EXPECT_EQ(
      verdict_of("Pando session 1", "Pando checkpoint 2"),
      path + ": is a 'Pando checkpoint 2', and a 'Pando session 1' is needed; give it to the program that wrote it");
}

TEST_F(Refusals, OtherVariables) {
  LoopProgram program;
  const tf::Variable more(Array::scalar(1.0F), {.name = "more"});
  EXPECT_EQ(verdict(std::move(program)), said_of("there are 6 variables there but 7 here"));
  saved.tensors[0].array = Array(DType::float32, {3});
  data::write_checkpoint(path, saved);
  EXPECT_EQ(verdict(LoopProgram()),
            said_of("the variables have 'norm/beta', float32[3] there but 'norm/beta', float32[8] here"));
}

TEST_F(Refusals, OtherOptimizers) {
  EXPECT_EQ(verdict(LoopProgram(tf::train::GradientDescentOptimizer({.learning_rate = 0.1}))),
            said_of("there are 8 states of optimizers there but 0 here"));
}

TEST_F(Refusals, OtherComputations) {
  LoopProgram program;
  const auto more = compiled([&] { return tf::constant(1.0F); });
  EXPECT_EQ(verdict(std::move(program)), said_of("the number of compiled computations is 1 there but 2 here"));
}

TEST_F(Refusals, OtherQueues) {
  LoopProgram program;
  const ipu::IPUInfeedQueue more(counting(3));
  EXPECT_EQ(
      verdict(std::move(program)),
      said_of("the iterators and infeed queues are IPUInfeedQueue there but IPUInfeedQueue, IPUInfeedQueue_1 here"));
}

TEST_F(Refusals, APlaceBeyondTheData) {
  EXPECT_EQ(verdict_of("\"batches\": 3", "\"batches\": 4000000000000"),
            said_of("IPUInfeedQueue: it is at element 4000000000000 of a data set that has 24"));
  // The number of elements is not known before they are read.
  const auto some = [] { return shuffled().filter([](const data::Element&) { return true; }); };
  EXPECT_EQ(verdict(LoopProgram(adam_of_session, some)),
            said_of("IPUInfeedQueue: it is at element 4000000000000 of a data set that has 24"));
}

TEST_F(Refusals, OtherData) {
  const auto twice = [] { return shuffled().shuffle(2); };
  EXPECT_EQ(verdict(LoopProgram(adam_of_session, twice)),
            said_of("IPUInfeedQueue: the data set is shuffled where it was not; make it as it was"));
}

TEST_F(Refusals, AStateThatMakesNoSense) {
  const auto refused = [&](const std::string& problem) {
    return path + ": is not a checkpoint: " + problem + "; use another one";
  };
  EXPECT_EQ(verdict_of("{\"updates\"", "{\"update\""), refused("there is no 'updates'"));
  EXPECT_EQ(verdict_of("\"batches\": 3", "\"batches\": -3"),
            refused("places.position.batches is -3 but must be at least 0"));
  EXPECT_EQ(verdict_of("\"pass\"", "\"passed\""), refused("there is no 'places.position.pass'"));
  EXPECT_EQ(verdict_of("[[", "[[-1, "), refused("updates has -1 but must not be negative"));
  saved.tensors[0].name = "weight";
  data::write_checkpoint(path, saved);
  EXPECT_EQ(verdict(LoopProgram()), refused("the array 'weight' is not one of a checkpoint"));
}

TEST_F(Refusals, AFailedSaveLeavesTheOldFile) {
  LoopProgram program;
  program.begin();
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tiny = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);
  const std::string text = message([&] { Saver().save(program.session, path); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(text, path + ": cannot be written: File too large; raise the limit on the size of files (ulimit -f)");
  EXPECT_EQ(data::checkpoint_bytes(data::read_checkpoint(path)), data::checkpoint_bytes(saved));
}

}  // namespace

}  // namespace pando
