// SPDX-License-Identifier: Apache-2.0
// A device for sums in the place of a GPU: it works in the memory of the test, its messages are those of Workers, and,
// as on a GPU, nothing happens before the device comes to it: all calls wait for finish().
#pragma once
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "base/machine/process_name.h"
#include "comm/device_sums.h"
#include "comm/worker_sums.h"

namespace pando {

class EmulatedSumDevice final : public SumDevice {
 public:
  EmulatedSumDevice(std::shared_ptr<Workers> workers, int channel) : workers_(std::move(workers)), channel_(channel) {}

  int count() const override { return workers_->count(); }
  float* room(Room room, std::size_t numbers) override {
    std::vector<float>& own = rooms_[room];
    // What was not written is not a number.
    own.assign(numbers, std::nanf(""));
    return own.data();
  }
  void copy(float* to, const float* from, std::size_t numbers) override {
    later_.emplace_back([=] { std::memcpy(to, from, numbers * sizeof(float)); });
  }
  void all_gather(const float* own, float* all, std::size_t numbers) override {
    later_.emplace_back([=, this] { exchange(own, 0, all, numbers); });
  }
  void all_to_all(const float* sent, float* received, std::size_t numbers) override {
    later_.emplace_back([=, this] { exchange(sent, numbers, received, numbers); });
  }
  void add(const float* rows, std::size_t count, std::size_t numbers, float scale, float* sums) override {
    later_.emplace_back([=] {
      for (std::size_t i = 0; i < numbers; ++i) {
        float sum = 0;
        for (std::size_t row = 0; row < count; ++row) sum += rows[row * numbers + i];
        sums[i] = sum * scale;
      }
    });
  }
  void finish() override {
    const auto all = std::exchange(later_, {});
    for (const auto& one : all) one();
  }

 private:
  // Worker i gets the numbers at sent + i * stride.
  void exchange(const float* sent, std::size_t stride, float* received, std::size_t numbers) {
    std::vector<Workers::Sent> to;
    std::vector<Workers::Received> from;
    for (int i = 0; i < count(); ++i) {
      const std::span<const float> out(sent + stride * static_cast<std::size_t>(i), numbers);
      const std::span<float> in(received + numbers * static_cast<std::size_t>(i), numbers);
      if (i == workers_->rank()) {
        std::copy(out.begin(), out.end(), in.begin());
        continue;
      }
      to.push_back({i, std::as_bytes(out)});
      from.push_back({i, std::as_writable_bytes(in)});
    }
    workers_->exchange(channel_, to, from);
  }

  const std::shared_ptr<Workers> workers_;
  const int channel_;
  std::map<Room, std::vector<float>> rooms_;
  std::vector<std::function<void()>> later_;
};

// Every offer is that of another device, also where workers that are threads share a link.
class EmulatedSumLink final : public SumLink {
 public:
  SumOffer offer() const override {
    SumOffer offer{.version = 1, .is_far = 1};
    const std::uint64_t number = ++offers_;
    const ProcessName process = this_process();
    std::memcpy(offer.device.data(), &number, sizeof number);
    std::memcpy(offer.device.data() + sizeof number, &process.number, sizeof process.number);
    return offer;
  }
  std::unique_ptr<SumDevice> connect(const std::shared_ptr<Workers>& workers, int channel) override {
    return std::make_unique<EmulatedSumDevice>(workers, channel);
  }

 private:
  static inline std::atomic<std::uint64_t> offers_ = 0;
};

}  // namespace pando
