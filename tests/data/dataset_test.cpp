// SPDX-License-Identifier: Apache-2.0
// Data sets hand out the elements that tf.data's would, in an order that the seed decides.
#include <pando/data/dataset.h>
#include <pando/base/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/message.h"

namespace pando::data {
namespace {

using Numbers = std::vector<std::int64_t>;

Array numbers(std::int64_t count) {
  Numbers values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return Array::of(values, {count});
}

Dataset range(std::int64_t count) { return Dataset::from_tensor_slices(numbers(count)); }

// All values of column 0, batched or not.
Numbers values(const Dataset& dataset) {
  Numbers result;
  for (const Element& element : dataset) {
    const std::int64_t* data = element[0].data<std::int64_t>();
    result.insert(result.end(), data, data + element[0].elements());
  }
  return result;
}

std::vector<std::string> shapes(const Dataset& dataset) {
  std::vector<std::string> result;
  for (const Element& element : dataset) result.push_back(to_string(element[0].shape()));
  return result;
}

Element increase(const Element& element) { return Array::scalar(element[0].item<std::int64_t>() + 1); }

bool is_even(const Element& element) { return element[0].item<std::int64_t>() % 2 == 0; }

// 0, 1, ... without end.
Dataset counting() {
  return Dataset::from_generator([] {
    return [next = std::int64_t{0}]() mutable -> std::optional<Element> { return Element(Array::scalar(next++)); };
  });
}

TEST(Dataset, SlicesAreViewsOfTheRows) {
  const Array x = Array::of<float>({0, 1, 2, 3, 4, 5}, {3, 2}), y = Array::of<std::uint8_t>({7, 8, 9}, {3});
  Dataset::Iterator iterator = Dataset::from_tensor_slices({x, y}).iterator();
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::optional<Element> element = iterator.next();
    ASSERT_TRUE(element);
    ASSERT_EQ(element->size(), 2u);
    EXPECT_EQ((*element)[0].shape(), (Shape{2}));
    EXPECT_EQ((*element)[0].data<float>(), x.data<float>() + 2 * row);
    EXPECT_EQ((*element)[1].item<int>(), 7 + row);
    EXPECT_EQ((*element)[1].dtype(), DType::uint8);
  }
  EXPECT_FALSE(iterator.next());
  EXPECT_FALSE(iterator.next());
  EXPECT_EQ(values(range(0)), Numbers{});
}

TEST(Dataset, SlicesNeedEqualFirstSizes) {
  EXPECT_EQ(message([] {
              Dataset::from_tensor_slices({Array(DType::float32, {3, 2}), Array(DType::uint8, {4})});
            }),
            "from_tensor_slices: array 1 is uint8[4] but array 0 is float32[3, 2]; the first sizes must be equal");
  EXPECT_EQ(message([] { Dataset::from_tensor_slices({}); }),
            "from_tensor_slices: there are no arrays; give at least one");
  EXPECT_EQ(message([] { Dataset::from_tensor_slices(Array::scalar(1.0f)); }),
            "from_tensor_slices: array 0 is a scalar and has no rows; expand_dims makes it an array of one");
}

TEST(Dataset, IteratorsAreIndependentPasses) {
  const Dataset dataset = range(3);
  Dataset::Iterator one = dataset.iterator(), other = dataset.iterator();
  one.next();
  EXPECT_EQ((*one.next())[0].item<int>(), 1);
  EXPECT_EQ((*other.next())[0].item<int>(), 0);
  one = std::move(other);
  EXPECT_EQ((*one.next())[0].item<int>(), 1);
}

TEST(Dataset, AnIteratorOutlivesItsDataset) {
  Dataset::Iterator iterator = range(4).map(increase).prefetch(1).iterator();
  EXPECT_EQ((*iterator.next())[0].item<int>(), 1);
  iterator = range(4).filter(is_even).batch(2).iterator();
  EXPECT_EQ((*iterator.next())[0].elements(), 2);
}

TEST(Dataset, EveryPassHasAGeneratorOfItsOwn) {
  int made = 0;
  const Dataset dataset = Dataset::from_generator([&made] {
    ++made;
    return [next = std::int64_t{0}]() mutable -> std::optional<Element> {
      if (next == 2) return {};
      return Element(Array::scalar(next++));
    };
  });
  EXPECT_EQ(values(dataset), (Numbers{0, 1}));
  EXPECT_EQ(values(dataset.repeat(2)), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(made, 3);
  EXPECT_EQ(dataset.cardinality(), Dataset::unknown);
  EXPECT_EQ(message([] { Dataset::from_generator(nullptr); }),
            "from_generator: the function that makes generators is empty; give one that can be called");
  EXPECT_EQ(message([] { values(Dataset::from_generator([] { return nullptr; })); }),
            "from_generator: the generator made is empty; return one that can be called");
}

TEST(Dataset, ZipPutsColumnsSideBySide) {
  const Dataset zipped = Dataset::zip({range(3), Dataset::from_tensor_slices({numbers(9), numbers(9)}).skip(5)});
  std::int64_t row = 0;
  for (const Element& element : zipped) {
    ASSERT_EQ(element.size(), 3u);
    EXPECT_EQ(element[0].item<int>(), row);
    EXPECT_EQ(element[2].item<int>(), 5 + row++);
  }
  EXPECT_EQ(row, 3);
  EXPECT_EQ(message([] { Dataset::zip({}); }), "zip: there are no data sets; give at least one");
}

TEST(Dataset, ShuffleDrawsFromTheBuffer) {
  const Numbers order = values(range(100).shuffle(10, {.seed = 1}));
  for (std::size_t place = 0; place < order.size(); ++place)
    EXPECT_LT(order[place], static_cast<std::int64_t>(place) + 10);
  Numbers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, values(range(100)));
  EXPECT_NE(order, sorted);
  EXPECT_EQ(values(range(5).shuffle(1)), values(range(5)));
  EXPECT_EQ(values(range(0).shuffle(5)), Numbers{});
}

TEST(Dataset, ShuffleIsUniform) {
  std::vector<int> first(4);
  const Dataset dataset = range(4).shuffle(4, {.seed = 3});
  for (int pass = 0; pass < 4000; ++pass) ++first[dataset.begin()->at(0).item<std::size_t>()];
  for (int count : first) EXPECT_NEAR(count, 1000, 150);
}

TEST(Dataset, PassesShuffleDifferentlyButReproducibly) {
  const auto run = [](std::uint64_t seed) {
    const Dataset dataset = range(50).shuffle(50, {.seed = seed});
    return std::vector{values(dataset), values(dataset), values(dataset.repeat(2))};
  };
  const std::vector<Numbers> passes = run(5);
  EXPECT_NE(passes[0], passes[1]);
  const Numbers first(passes[2].begin(), passes[2].begin() + 50), second(passes[2].begin() + 50, passes[2].end());
  EXPECT_NE(first, second);
  EXPECT_NE(first, passes[0]);
  EXPECT_NE(first, passes[1]);
  EXPECT_EQ(run(5), passes);
  EXPECT_NE(run(6), passes);
}

TEST(Dataset, ShuffleKeepsItsOrderIfAskedTo) {
  const Dataset dataset = range(50).shuffle(50, {.seed = 5, .reshuffle_each_iteration = false});
  const Numbers order = values(dataset);
  EXPECT_EQ(values(dataset), order);
  const Numbers twice = values(dataset.repeat(2));
  EXPECT_TRUE(std::equal(order.begin(), order.end(), twice.begin() + 50));
}

TEST(Dataset, TheGlobalSeedDecidesWhatIsNotSeeded) {
  set_random_seed(1);
  const Dataset one = range(50).shuffle(50), other = range(50).shuffle(50);
  const Numbers order = values(one);
  EXPECT_NE(values(other), order);
  set_random_seed(1);
  EXPECT_EQ(values(range(50).shuffle(50)), order);
  set_random_seed(0);
}

TEST(Dataset, OrdersDoNotDependOnThreads) {
  const auto run = [](bool ahead) {
    Dataset dataset = range(20).shuffle(20, {.seed = 2}).repeat();
    if (ahead) dataset = dataset.prefetch(3);
    Dataset::Iterator one = dataset.iterator(), other = dataset.iterator();
    Numbers order;
    for (int i = 0; i < 70; ++i) {
      order.push_back((*one.next())[0].item<std::int64_t>());
      if (i % 2 == 0) order.push_back((*other.next())[0].item<std::int64_t>());
    }
    return order;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Dataset, BatchStacksRowsIntoNewArrays) {
  const Array x = Array::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}), y = numbers(5);
  const Dataset dataset = Dataset::from_tensor_slices({x, y});
  EXPECT_EQ(shapes(dataset.batch(2)), (std::vector<std::string>{"[2, 2]", "[2, 2]", "[1, 2]"}));
  EXPECT_EQ(shapes(dataset.batch(2, {.drop_remainder = true})), (std::vector<std::string>{"[2, 2]", "[2, 2]"}));
  EXPECT_EQ(shapes(dataset.batch(9)), (std::vector<std::string>{"[5, 2]"}));
  EXPECT_EQ(shapes(dataset.batch(9, {.drop_remainder = true})), (std::vector<std::string>{}));
  const Element batch = *dataset.skip(1).batch(3).iterator().next();
  EXPECT_EQ(std::vector<float>(batch[0].data<float>(), batch[0].data<float>() + 6),
            (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(batch[1].shape(), (Shape{3}));
  EXPECT_EQ(batch[1].data<std::int64_t>()[2], 3);
  EXPECT_NE(batch[0].raw(), x.raw());
  EXPECT_EQ(shapes(dataset.batch(2).batch(2)), (std::vector<std::string>{"[2, 2, 2]", "[1, 1, 2]"}));
}

TEST(Dataset, BatchesGatherRowsAndComputedElementsAlike) {
  const Dataset rows = range(10).shuffle(10, {.seed = 4});
  const Numbers order = values(rows.batch(3));
  const Dataset same = range(10).shuffle(10, {.seed = 4}).map([](const Element& element) { return element; });
  EXPECT_EQ(values(same.batch(3)), order);
  EXPECT_EQ(values(range(2).concatenate(range(3)).concatenate(range(2).map(increase)).batch(4)),
            (Numbers{0, 1, 0, 1, 2, 1, 2}));
}

TEST(Dataset, BatchRefusesElementsThatDiffer) {
  const auto growing = [](const Element& element) { return Array(DType::float32, {element[0].item<std::int64_t>()}); };
  EXPECT_EQ(message([&] { values(range(3).map(growing).batch(3)); }),
            "batch: column 0 is float32[1] in element 1 of a batch but float32[0] in element 0; make them equal with "
            "map, or batch them one by one");
  const auto more = [](const Element& element) { return Element(element[0].item<std::size_t>() + 1, element[0]); };
  EXPECT_EQ(message([&] { values(range(3).map(more).batch(3)); }),
            "batch: element 1 of a batch has 2 columns but element 0 has 1; let map return as many for each");
  EXPECT_EQ(message([] { range(3).batch(0); }), "batch: the size is 0; it must be at least 1");
}

TEST(Dataset, UnbatchTakesBatchesApart) {
  EXPECT_EQ(values(range(7).batch(3).unbatch()), values(range(7)));
  EXPECT_EQ(shapes(range(7).batch(3).unbatch().batch(4)), (std::vector<std::string>{"[4]", "[3]"}));
  EXPECT_EQ(values(range(3).batch(2).unbatch().repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(message([] { values(range(7).unbatch()); }),
            "unbatch: array 0 is a scalar and has no rows; expand_dims makes it an array of one");
}

TEST(Dataset, MapFilterTakeSkipRepeatConcatenate) {
  EXPECT_EQ(values(range(3).map(increase)), (Numbers{1, 2, 3}));
  EXPECT_EQ(values(range(6).filter(is_even)), (Numbers{0, 2, 4}));
  EXPECT_EQ(values(range(6).take(2)), (Numbers{0, 1}));
  EXPECT_EQ(values(range(2).take(6)), (Numbers{0, 1}));
  EXPECT_EQ(values(range(6).skip(4)), (Numbers{4, 5}));
  EXPECT_EQ(values(range(2).skip(4)), Numbers{});
  EXPECT_EQ(values(range(2).repeat(3)), (Numbers{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(values(range(2).repeat(0)), Numbers{});
  EXPECT_EQ(values(range(2).repeat().take(5)), (Numbers{0, 1, 0, 1, 0}));
  EXPECT_EQ(values(range(2).repeat(2).repeat(2)).size(), 8u);
  EXPECT_EQ(values(range(5).skip(1).take(2).repeat(2)), (Numbers{1, 2, 1, 2}));
  EXPECT_EQ(values(range(2).concatenate(range(1)).repeat(2)), (Numbers{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(values(counting().skip(3).take(2)), (Numbers{3, 4}));
}

TEST(Dataset, RepeatingNothingEnds) {
  EXPECT_EQ(values(range(0).repeat()), Numbers{});
  EXPECT_EQ(values(range(3).filter([](const Element&) { return false; }).repeat()), Numbers{});
}

TEST(Dataset, RefusesCountsThatCannotBe) {
  EXPECT_EQ(message([] { range(3).shuffle(0); }), "shuffle: the buffer is 0; it must be at least 1");
  EXPECT_EQ(message([] { range(3).repeat(-2); }), "repeat: the count is -2; it must be at least 0");
  EXPECT_EQ(message([] { range(3).take(-1); }), "take: the count is -1; it must be at least 0");
  EXPECT_EQ(message([] { range(3).skip(-1); }), "skip: the count is -1; it must be at least 0");
  EXPECT_EQ(message([] { range(3).prefetch(0); }), "prefetch: the count is 0; it must be at least 1");
  EXPECT_EQ(message([] { range(3).map(nullptr); }), "map: the function is empty; give one that can be called");
  EXPECT_EQ(message([] { range(3).filter(nullptr); }), "filter: the function is empty; give one that can be called");
}

TEST(Dataset, CacheComputesOnlyOnce) {
  int calls = 0;
  const Dataset dataset = range(4)
                              .map([&calls](const Element& element) {
                                ++calls;
                                return increase(element);
                              })
                              .cache();
  values(dataset.take(2));
  EXPECT_EQ(calls, 2) << "a pass that stops early leaves nothing";
  EXPECT_EQ(values(dataset.repeat(3)), (Numbers{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(values(dataset), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(calls, 6);
}

TEST(Dataset, CardinalityIsKnownBeforeThePass) {
  EXPECT_EQ(range(7).shuffle(3).map(increase).prefetch(1).cache().cardinality(), 7);
  EXPECT_EQ(range(7).batch(3).cardinality(), 3);
  EXPECT_EQ(range(7).batch(3, {.drop_remainder = true}).cardinality(), 2);
  EXPECT_EQ(range(7).repeat(2).cardinality(), 14);
  EXPECT_EQ(range(7).repeat().cardinality(), Dataset::infinite);
  EXPECT_EQ(range(7).repeat().batch(2).skip(3).cardinality(), Dataset::infinite);
  EXPECT_EQ(range(0).repeat().cardinality(), 0);
  EXPECT_EQ(range(7).repeat().repeat(0).cardinality(), 0);
  EXPECT_EQ(range(7).repeat().take(5).cardinality(), 5);
  EXPECT_EQ(range(7).take(9).cardinality(), 7);
  EXPECT_EQ(range(7).skip(9).cardinality(), 0);
  EXPECT_EQ(range(7).concatenate(range(2)).cardinality(), 9);
  EXPECT_EQ(counting().concatenate(range(2).repeat()).cardinality(), Dataset::infinite);
  EXPECT_EQ(range(7).filter(is_even).cardinality(), Dataset::unknown);
  EXPECT_EQ(range(7).filter(is_even).repeat(2).cardinality(), Dataset::unknown);
  EXPECT_EQ(range(7).filter(is_even).repeat().cardinality(), Dataset::infinite);
  EXPECT_EQ(range(7).batch(2).unbatch().cardinality(), Dataset::unknown);
  EXPECT_EQ(Dataset::zip({range(7), range(3).repeat()}).cardinality(), 7);
  EXPECT_EQ(Dataset::zip({range(7), counting()}).cardinality(), Dataset::unknown);
}

TEST(DatasetPrefetch, HandsOutTheSameElements) {
  EXPECT_EQ(values(range(100).prefetch(3)), values(range(100)));
  EXPECT_EQ(values(range(3).prefetch(10).repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(values(counting().prefetch(2).take(3).repeat(2)), (Numbers{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(values(range(9).shuffle(9, {.seed = 1}).batch(2).prefetch(2)),
            values(range(9).shuffle(9, {.seed = 1}).batch(2)));
  EXPECT_EQ(values(range(5).map(increase).prefetch(1).map(increase).prefetch(1)), (Numbers{2, 3, 4, 5, 6}));
}

TEST(DatasetPrefetch, ComputesAheadAndNoFurther) {
  std::atomic<int> computed = 0;
  Dataset::Iterator iterator = counting()
                                   .map([&computed](const Element& element) {
                                     ++computed;
                                     return element;
                                   })
                                   .prefetch(3)
                                   .iterator();
  EXPECT_EQ(computed, 0);
  iterator.next();
  while (computed < 4) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(computed, 4);
}

TEST(DatasetMap, ParallelCallsKeepTheOrder) {
  const auto slow_for_even = [](const Element& element) {
    if (is_even(element)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return increase(element);
  };
  const Numbers expected = values(range(50).map(increase));
  for (const std::int64_t calls : {0, 1, 2, 7}) {
    const Dataset mapped = range(50).map(slow_for_even, {.parallel_calls = calls});
    EXPECT_EQ(values(mapped), expected);
    EXPECT_EQ(mapped.cardinality(), 50);
  }
  EXPECT_EQ(values(range(2).map(increase, {.parallel_calls = 3}).repeat(2)), (Numbers{1, 2, 1, 2}));
  EXPECT_EQ(values(counting().map(increase, {.parallel_calls = 2}).take(3).repeat(2)), (Numbers{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(values(range(0).map(increase, {.parallel_calls = 2})), Numbers{});
  EXPECT_EQ(message([] { range(3).map(increase, {.parallel_calls = -1}); }),
            "map: the number of parallel calls is -1; it must be at least 0");
}

TEST(DatasetMap, ParallelCallsAreMadeAtOnce) {
  // The first call ends only when the second one has begun.
  std::atomic<int> begun = 0;
  const Dataset mapped = range(2).map(
      [&begun](const Element& element) {
        ++begun;
        while (begun < 2) std::this_thread::yield();
        return element;
      },
      {.parallel_calls = 2});
  EXPECT_EQ(values(mapped), (Numbers{0, 1}));
}

TEST(DatasetMap, ParallelCallsThrowInTheirPlace) {
  const auto fail = [](const Element& element) {
    if (element[0].item<int>() == 2) throw Error("element 2 is broken");
    return element;
  };
  Dataset::Iterator iterator = range(5).map(fail, {.parallel_calls = 3}).iterator();
  EXPECT_TRUE(iterator.next());
  EXPECT_TRUE(iterator.next());
  EXPECT_EQ(message([&] { iterator.next(); }), "element 2 is broken");
  iterator = range(5).map(fail).map(increase, {.parallel_calls = 3}).iterator();
  EXPECT_TRUE(iterator.next());
  EXPECT_TRUE(iterator.next());
  EXPECT_EQ(message([&] { iterator.next(); }), "element 2 is broken");
  EXPECT_FALSE(iterator.next());
}

TEST(DatasetPrefetch, ExceptionsReachWhoeverAsks) {
  const Dataset dataset = range(5).map([](const Element& element) {
    if (element[0].item<int>() == 2) throw Error("element 2 is broken");
    return element;
  });
  Dataset::Iterator iterator = dataset.prefetch(4).iterator();
  EXPECT_TRUE(iterator.next());
  EXPECT_TRUE(iterator.next());
  EXPECT_EQ(message([&] { iterator.next(); }), "element 2 is broken");
  EXPECT_EQ(message([&] { iterator.next(); }), "element 2 is broken") << "a broken pass does not look complete";
}

TEST(DatasetPrefetch, StopsWhenTheIteratorGoesEarly) {
  for (int taken = 0; taken < 4; ++taken) {
    Dataset::Iterator iterator = counting().prefetch(2).iterator();
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(iterator.next());
  }
  Dataset::Iterator iterator = counting().prefetch(2).iterator();
  iterator.next();
  iterator = range(1).map(increase).prefetch(2).iterator();
  EXPECT_EQ((*iterator.next())[0].item<int>(), 1);
}

TEST(Dataset, ReadsAsInTheExamplePrograms) {
  const Array x(DType::uint8, {100, 28, 28}), y(DType::uint8, {100});
  const Dataset train = Dataset::from_tensor_slices({x, y})
                            .shuffle(10000)
                            .batch(32, {.drop_remainder = true})
                            .map([](const data::Element& e) {
                              return data::Element{e[0].astype(DType::float32), e[1]};
                            })
                            .repeat();
  const Element batch = *train.iterator().next();
  EXPECT_EQ(batch[0].shape(), (Shape{32, 28, 28}));
  EXPECT_EQ(batch[0].dtype(), DType::float32);
  EXPECT_EQ(batch[1].shape(), (Shape{32}));
  const Dataset across = Dataset::from_tensor_slices({x, y}).repeat().batch(32, {.drop_remainder = true});
  EXPECT_EQ(shapes(across.take(4)).back(), "[32, 28, 28]");
}

}  // namespace
}  // namespace pando::data
