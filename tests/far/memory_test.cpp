// SPDX-License-Identifier: Apache-2.0
// Memories, and the mirrors of variables in them: every memory sees the newest value.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/host_blocks.h"
#include "runtime/input_copies.h"
#include "tests/far/far_backend.h"
#include "tests/message.h"

namespace pando {
namespace {

const Type pair_type{DType::float32, {2}};

std::shared_ptr<Memory> far_memory() { return std::make_shared<FarMemory>(); }

Array pair(float first, float second) { return Array::of<float>({first, second}, {2}); }

std::vector<float> floats_at(const Place& place) {
  std::vector<float> values(2);
  place.memory->read(reinterpret_cast<std::byte*>(values.data()), place, pair_type.bytes());
  return values;
}

void write_floats(const Place& place, const std::vector<float>& values) {
  place.memory->write(place, reinterpret_cast<const std::byte*>(values.data()), pair_type.bytes());
}

TEST(FarMemory, IsOutOfTheHostsReachAndNotANumberUntilItIsWritten) {
  const auto far = far_memory();
  const Allocation allocation = far->allocate(pair_type.bytes(), "a test");
  EXPECT_EQ(host_pointer(allocation.place()), nullptr);
  EXPECT_EQ(host_memory()->kernel_pointer(allocation.place()), nullptr);
  EXPECT_NE(far->kernel_pointer(allocation.place()), nullptr);
  EXPECT_TRUE(std::isnan(floats_at(allocation.place())[1]));
  far->set_zero(allocation.place(), pair_type.bytes());
  EXPECT_EQ(floats_at(allocation.place()), (std::vector<float>{0, 0}));
}

TEST(Memory, CopiesBetweenAnyTwo) {
  const std::vector<std::shared_ptr<Memory>> memories = {host_memory(), far_memory(), far_memory()};
  for (const auto& from : memories)
    for (const auto& to : memories) {
      const Allocation source = from->allocate(pair_type.bytes(), "a test"), target = to->allocate(8, "a test");
      write_floats(source.place(), {3, 4});
      copy_bytes(target.place(), source.place(), pair_type.bytes());
      EXPECT_EQ(floats_at(target.place()), (std::vector<float>{3, 4}));
    }
}

TEST(Memory, AllocationsMoveAndEndOnce) {
  const auto far = far_memory();
  Allocation first = far->allocate(8, "a test"), second = far->allocate(8, "a test");
  const std::uintptr_t address = second.place().address;
  first = std::move(second);
  EXPECT_EQ(first.place().address, address);
  const Allocation third = std::move(first);
  EXPECT_EQ(third.place().address, address);
  EXPECT_FALSE(first.place());  // NOLINT: what is left of a moved one
}

TEST(InputCopies, AreMadeOnlyForWhatKernelsCannotReach) {
  const auto far = far_memory();
  const std::vector<Port> ports = {{.name = "x", .type = pair_type}};
  const std::vector<float> numbers = {1, 2};
  const Place on_host = host_place(reinterpret_cast<const std::byte*>(numbers.data()));
  InputCopies of_host(host_memory(), ports), of_far(far, ports);
  EXPECT_EQ(of_host.reachable(0, on_host).address, on_host.address);
  const Place copy = of_far.reachable(0, on_host);
  EXPECT_EQ(copy.memory, far.get());
  EXPECT_EQ(floats_at(copy), numbers);
  // From a device to the host, as in a pipeline of both.
  EXPECT_EQ(floats_at(of_host.reachable(0, copy)), numbers);
  EXPECT_EQ(of_host.reachable(0, copy).memory, host_memory().get());
}

TEST(HostBlocks, ShowTheHostNumbersOfADevice) {
  const Allocation far = far_memory()->allocate(8, "a test"), near = host_memory()->allocate(8, "a test");
  write_floats(far.place(), {1, 2});
  write_floats(near.place(), {3, 4});
  HostBlocks blocks;
  blocks.add(far.place(), 2);
  blocks.add(near.place(), 2);
  blocks.make_copies();
  blocks.fetch();
  for (std::span<float> numbers : blocks.numbers())
    for (float& number : numbers) number *= 10;
  blocks.store();
  EXPECT_EQ(floats_at(far.place()), (std::vector<float>{10, 20}));
  EXPECT_EQ(floats_at(near.place()), (std::vector<float>{30, 40}));
}

// A variable with mirrors in two far memories, and a use of each.
struct Mirrored {
  VariableStore store;
  std::shared_ptr<Memory> memories[2] = {far_memory(), far_memory()};
  std::shared_ptr<StoredVariable> variable = store.bind("w", pair_type, memories[0]);
  Mirror* mirrors[2] = {&variable->mirror_in(memories[0]), &variable->mirror_in(memories[1])};

  // What a step in that memory finds; it then writes the values, if there are any.
  std::vector<float> step(int memory, const std::vector<float>& written = {}) {
    VariableUse use;
    use.add(variable, !written.empty(), mirrors[memory]);
    const HeldVariables held(use);
    const std::vector<float> found = floats_at(mirrors[memory]->place());
    if (!written.empty()) write_floats(mirrors[memory]->place(), written);
    return found;
  }
};

TEST(Variables, AreZeroInEveryMemoryUntilTheyChange) {
  Mirrored mirrored;
  EXPECT_EQ(mirrored.step(0), (std::vector<float>{0, 0}));
  EXPECT_EQ(mirrored.step(1), (std::vector<float>{0, 0}));
  EXPECT_EQ(mirrored.store.get("w").data<float>()[1], 0);
}

TEST(Variables, EveryMemorySeesTheNewestValue) {
  Mirrored mirrored;
  mirrored.store.set("w", pair(1, 2));
  EXPECT_EQ(mirrored.step(1), (std::vector<float>{1, 2}));
  EXPECT_EQ(mirrored.step(0, {3, 4}), (std::vector<float>{1, 2}));
  EXPECT_EQ(mirrored.step(1, {5, 6}), (std::vector<float>{3, 4}));
  EXPECT_EQ(mirrored.store.get("w").data<float>()[0], 5);
  EXPECT_EQ(mirrored.step(0), (std::vector<float>{5, 6}));
  mirrored.store.set("w", pair(7, 8));
  EXPECT_EQ(mirrored.step(0), (std::vector<float>{7, 8}));
  EXPECT_EQ(mirrored.step(1), (std::vector<float>{7, 8}));
}

TEST(Variables, AMirrorThatIsMadeLaterHasTheNewestValue) {
  VariableStore store;
  store.set("w", pair(1, 2));
  const auto variable = store.find("w");
  Mirror& mirror = variable->mirror_in(far_memory());
  VariableUse use;
  use.add(variable, false, &mirror);
  const HeldVariables held(use);
  EXPECT_EQ(floats_at(mirror.place()), (std::vector<float>{1, 2}));
}

TEST(Variables, SharedOnesAreOneInAllMemories) {
  Mirrored mirrored;
  VariableStore other;
  other.share("v", mirrored.store, "w");
  other.set("v", pair(1, 2));
  EXPECT_EQ(mirrored.step(1, {3, 4}), (std::vector<float>{1, 2}));
  EXPECT_EQ(other.get("v").data<float>()[1], 4);
}

TEST(Variables, CopiesOfReplicasFollowThroughTheirMemories) {
  Mirrored original, replica;
  VariableCopies copies(original.store, replica.store, {"w"});
  original.step(1, {1, 2});
  copies.follow();
  EXPECT_EQ(replica.step(0), (std::vector<float>{1, 2}));
  // Both make the same change: nothing is copied.
  original.step(0, {3, 4});
  replica.step(1, {30, 40});
  copies.follow();
  EXPECT_EQ(replica.step(0), (std::vector<float>{30, 40}));
  copies.distrust();
  copies.follow();
  EXPECT_EQ(replica.step(1), (std::vector<float>{3, 4}));
}

TEST(Variables, InMemoryOfTheHostOfSomeoneElseChangeOnBothSides) {
  float memory[2] = {1, 2};
  const std::shared_ptr<Memory> device = far_memory();
  VariableStore store;
  store.adopt("w", pair_type, {host_memory(), reinterpret_cast<std::uintptr_t>(memory), std::shared_ptr<const void>()});
  const auto variable = store.find("w");
  Mirror& mirror = variable->mirror_in(device);
  // What the device finds; it then writes the values.
  const auto step = [&](const std::vector<float>& written) {
    VariableUse use;
    use.add(variable, true, &mirror);
    const HeldVariables held(use);
    const std::vector<float> found = floats_at(mirror.place());
    write_floats(mirror.place(), written);
    return found;
  };
  EXPECT_EQ(step({3, 4}), (std::vector<float>{1, 2}));
  store.bring_back("w");
  EXPECT_EQ(memory[1], 4);
  memory[1] = 5;
  store.note_change("w");
  EXPECT_EQ(step({6, 7}), (std::vector<float>{3, 5}));
  EXPECT_EQ(memory[1], 5);
  store.bring_back("w");
  EXPECT_EQ(memory[0], 6);
}

TEST(Variables, ThatAreTooLargeAreNotMade) {
  VariableStore store;
  const Type huge{DType::float32, {std::int64_t{1} << 44}};
  EXPECT_EQ(message([&] { store.bind("w", huge, far_memory()); }),
            "cannot allocate 64.0 TiB for variable 'w'; use a smaller batch or a smaller model");
  EXPECT_TRUE(store.names().empty());
}

}  // namespace
}  // namespace pando
