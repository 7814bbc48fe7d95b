// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/full_batches.h"

#include <fmt/format.h>

namespace pando::keras {

namespace {

class FullBatches final : public BatchSource {
 public:
  FullBatches(std::shared_ptr<BatchSource> source, const std::string& who, const std::string& mixture)
      : source_(std::move(source)), who_(who), mixture_(mixture) {}

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override {
    return checked(source_->next(limit, columns), limit);
  }
  std::shared_ptr<const SampleTable> table_of(std::size_t column) const override { return source_->table_of(column); }
  std::int64_t next_numbered(std::int64_t limit, std::span<std::byte* const> columns, std::int32_t* numbers) override {
    return checked(source_->next_numbered(limit, columns, numbers), limit);
  }

 private:
  std::int64_t checked(std::int64_t count, std::int64_t limit) const {
    if (count > 0 && count < limit) refuse_short_batch(who_, count, limit, mixture_);
    return count;
  }

  std::shared_ptr<BatchSource> source_;
  std::string who_, mixture_;
};

}  // namespace

void refuse_short_batch(const std::string& who, std::int64_t count, std::int64_t size, const std::string& mixture) {
  throw Error(
      fmt::format("{}: a batch has {} of {} samples, and '{}' may depend on all samples of a batch together, so that "
                  "copies which fill it up would count; return one number for each sample, leave such a batch out, or "
                  "use one replica without gradient accumulation, which can run it by itself",
                  who, count, size, mixture));
}

std::shared_ptr<BatchSource> full_batches(std::shared_ptr<BatchSource> source, const std::string& who,
                                          const std::string& mixture) {
  return std::make_shared<FullBatches>(std::move(source), who, mixture);
}

}  // namespace pando::keras
