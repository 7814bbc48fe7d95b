// SPDX-License-Identifier: Apache-2.0
#include "model/feeder.h"

#include <algorithm>
#include <cstring>

namespace pando {

void SampleCounts::add(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  of_batch_.push_back(count);
}

void SampleCounts::forget_before(std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  for (; first_ < batch && !of_batch_.empty(); ++first_) of_batch_.pop_front();
}

std::int64_t SampleCounts::of_batch(std::int64_t batch) const {
  const std::lock_guard lock(mutex_);
  return of_batch_.at(static_cast<std::size_t>(batch - first_));
}

namespace {

// What is smaller than a few numbers is written as it is.
constexpr std::size_t least_gathered_bytes = 64;

std::byte* memory_of(int feed, std::span<std::byte* const> feeds) {
  return feed < 0 ? nullptr : feeds[static_cast<std::size_t>(feed)];
}

}  // namespace

Feeder::Feeder(const Step& step, std::shared_ptr<BatchSource> source, const FeederOptions& options)
    : source_(std::move(source)),
      options_(options),
      replicas_(step.division.replicas),
      batch_size_(step.division.batch_size),
      replicas_here_(replicas_),
      pads_(!step.feeds.mask.empty()),
      mask_(step.feed_index(step.feeds.mask)),
      scale_(step.feed_index(step.feeds.scale)),
      counts_(std::make_shared<SampleCounts>()) {
  const std::vector<PortInfo> ports = step.program.feeds();
  feeds_of_replica_ = ports.size();
  for (const std::string& name : step.feeds.columns) {
    const int feed = step.feed_index(name);
    const std::size_t bytes = feed < 0 ? 0 : ports[static_cast<std::size_t>(feed)].type.bytes();
    columns_.push_back({feed, bytes / static_cast<std::size_t>(batch_size_)});
  }
  for (const FedIndices& indices : step.fed_indices)
    if (columns_[indices.column].feed >= 0) columns_[indices.column].indices.push_back(indices);
  if (const Workers* workers = step.workers.get()) {
    replicas_here_ = replicas_ / workers->count();
    first_replica_ = replicas_here_ * workers->rank();
  }
  if (first_replica_ > 0)
    for (const PortInfo& port : ports) first_batch_.emplace_back(port.type.bytes());
}

// The memory of the replica's feeds: null for those of other workers, whose batches are only counted.
std::vector<std::byte*> Feeder::feeds_of(std::int64_t replica, std::span<std::byte* const> feeds) {
  std::vector<std::byte*> places(feeds_of_replica_, nullptr);
  const std::int64_t here = replica - first_replica_;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (here >= 0 && here < replicas_here_) places[i] = feeds[static_cast<std::size_t>(here) * feeds_of_replica_ + i];
    else if (replica == 0) places[i] = first_batch_[i].data();
  }
  return places;
}

FeedSamples Feeder::samples() const {
  FeedSamples samples{.table = nullptr, .columns = std::vector<int>(feeds_of_replica_, -1)};
  // A worker that counts the batches of others reads them.
  if (replicas_here_ < replicas_) return samples;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    // What is looked at stays with the host.
    if (column.feed < 0 || column.sample_bytes < least_gathered_bytes || !column.indices.empty()) continue;
    const std::shared_ptr<const SampleTable> table = source_->table_of(i);
    if (!table || table->sample_bytes(i) != column.sample_bytes) continue;
    samples.table = table;
    samples.columns[static_cast<std::size_t>(column.feed)] = static_cast<int>(i);
  }
  return samples;
}

void Feeder::leave_to_device(const FeedSamples& samples) {
  for (Column& column : columns_) {
    if (column.feed < 0 || samples.columns[static_cast<std::size_t>(column.feed)] < 0) continue;
    column.is_gathered = true;
    column.sample_bytes = sizeof(std::int32_t);
  }
}

// Returns the number of samples, 0 at the end of the data.
std::int64_t Feeder::take_batch(std::int64_t number, std::span<std::byte* const> feeds) {
  if (options_.most_batches >= 0 && number >= options_.most_batches) return 0;
  std::vector<std::byte*> places;
  for (const Column& column : columns_) places.push_back(column.is_gathered ? nullptr : memory_of(column.feed, feeds));
  return take_samples(places, feeds);
}

// All columns that the device gathers get the same numbers.
std::int64_t Feeder::take_samples(std::span<std::byte* const> places, std::span<std::byte* const> feeds) {
  std::int32_t* numbers = nullptr;
  std::int64_t count = 0;
  for (const Column& column : columns_) {
    if (!column.is_gathered) continue;
    auto* own = reinterpret_cast<std::int32_t*>(memory_of(column.feed, feeds));
    if (numbers == nullptr) count = source_->next_numbered(batch_size_, places, numbers = own);
    else std::copy_n(numbers, count, own);
  }
  return numbers == nullptr ? source_->next(batch_size_, places) : count;
}

void Feeder::check_indices(std::int64_t count, std::span<std::byte* const> feeds) const {
  for (const Column& column : columns_)
    for (const FedIndices& indices : column.indices)
      indices.check(memory_of(column.feed, feeds),
                    count * static_cast<std::int64_t>(column.sample_bytes / size_of(indices.dtype)));
}

// A batch is filled up with a real sample, the first of `example`, so that nothing unusual is computed.
void Feeder::fill_up(std::int64_t count, std::span<std::byte* const> feeds, std::span<std::byte* const> example) const {
  for (const Column& column : columns_) {
    const std::byte* sample = memory_of(column.feed, example);
    std::byte* place = memory_of(column.feed, feeds) + static_cast<std::size_t>(count) * column.sample_bytes;
    for (std::int64_t i = count; sample != nullptr && i < batch_size_; ++i, place += column.sample_bytes)
      if (place != sample) std::memcpy(place, sample, column.sample_bytes);
  }
}

// Writes the mask and the scale.
void Feeder::mark_real(std::int64_t count, std::span<std::byte* const> feeds) const {
  if (mask_ < 0) return;
  float* mask = reinterpret_cast<float*>(memory_of(mask_, feeds));
  std::fill_n(mask, count, 1.0f);
  std::fill(mask + count, mask + batch_size_, 0.0f);
  if (scale_ < 0) return;
  const float scale = !options_.scale_by_samples ? 1.0f : count > 0 ? 1.0f / static_cast<float>(count) : 0.0f;
  std::memcpy(memory_of(scale_, feeds), &scale, sizeof scale);
}

bool Feeder::operator()(std::int64_t row, std::span<std::byte* const> feeds) {
  const std::vector<std::byte*> first = feeds_of(0, feeds);
  for (std::int64_t replica = 0; replica < replicas_; ++replica) {
    const std::vector<std::byte*> own = feeds_of(replica, feeds);
    const std::int64_t count = take_batch(row * replicas_ + replica, own);
    if (count == 0 && (replica == 0 || !pads_)) return false;
    counts_->add(count);
    if (replica < first_replica_ || replica >= first_replica_ + replicas_here_) continue;
    check_indices(count, own);
    if (pads_) fill_up(count, own, first);
    mark_real(count, own);
  }
  return true;
}

}  // namespace pando
