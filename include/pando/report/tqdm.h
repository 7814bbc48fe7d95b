// SPDX-License-Identifier: Apache-2.0
// tqdm: a loop that shows how far it is, as Python's tqdm does.
#pragma once
#include <pando/report/progress.h>

#include <concepts>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

namespace pando {

struct TqdmOptions {
  std::string desc = {};
  // The number of elements, for ranges that do not know their size.
  std::optional<std::int64_t> total = {};
  // Whether the last line stays when the loop has ended.
  bool leave = true;
  std::string unit = "it";
  // Shows nothing.
  bool disable = false;
  // The initial value of the counter.
  std::int64_t initial = 0;
  // The width of the line, at most that of the terminal; 0 leaves the bar out.
  std::optional<int> ncols = {};
  // Seconds between two drawings, at least.
  double mininterval = 0.1;
};

// "Epochs:  45%|████▌     | 67/150 [00:03<00:03, 21.53it/s]" on the standard error stream: on a terminal it is redrawn
// in place, below the bars that are open already; elsewhere, a bar that stays is one line at its end. Only one thread
// may use a bar.
class PANDO_API TqdmBar {
 public:
  // Draws the bar and starts the clock.
  explicit TqdmBar(const TqdmOptions& options = {});
  // Closes the bar.
  ~TqdmBar();
  TqdmBar(TqdmBar&&) noexcept;
  TqdmBar& operator=(TqdmBar&&) noexcept;

  // Counts that many more as done.
  void update(std::int64_t count = 1);
  // Shown at once if the last drawing was at least mininterval ago, otherwise with the next drawing.
  void set_description(const std::string& text);
  // "loss=0.301, accuracy=0.912", or the text as it is.
  void set_postfix(const Metrics& metrics);
  void set_postfix(const std::string& text);
  // Prints a line on the standard output stream, above all bars.
  void write(const std::string& text);
  // Shows the average rate and ends the line, or removes it, as `leave` says. Calls after it do nothing.
  void close();
  // Starts again, even after close(); does nothing if nothing was counted yet.
  void restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// first, first + 1, ... before last.
template <std::integral Integer>
class IntegerRange {
 public:
  using value_type = Integer;
  IntegerRange(Integer first, Integer last) : first_(first), last_(last < first ? first : last) {}

  class Iterator {
   public:
    explicit Iterator(Integer value) : value_(value) {}
    Integer operator*() const { return value_; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    Integer value_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  std::int64_t size() const { return static_cast<std::int64_t>(last_) - static_cast<std::int64_t>(first_); }

 private:
  Integer first_, last_;
};

// A range and its bar: for (int epoch : tqdm(1, epochs + 1, {.desc = "Epochs"})). An lvalue is held by reference and
// must outlive it, an rvalue is moved in. Only one loop at a time. Each loop counts from the start, and closes the bar
// however it is left.
template <class Range>
requires(!std::integral<std::remove_cvref_t<Range>>) class tqdm : public TqdmBar {
 public:
  explicit tqdm(Range&& range, TqdmOptions options = {})
      : TqdmBar(with_total(range, std::move(options))), range_(std::forward<Range>(range)) {}
  template <std::integral First, std::integral Last>
  tqdm(First first, Last last, TqdmOptions options = {})
      : tqdm(Range(static_cast<typename Range::value_type>(first), static_cast<typename Range::value_type>(last)),
             std::move(options)) {}
  template <std::integral Last>
  explicit tqdm(Last last, TqdmOptions options = {}) : tqdm(Last(0), last, std::move(options)) {}

  struct End {};
  class Iterator {
   public:
    explicit Iterator(tqdm& owner) : bar_(&owner), inner_(std::begin(owner.range_)), end_(std::end(owner.range_)) {}
    ~Iterator() {
      if (bar_ != nullptr) bar_->close();
    }
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;

    decltype(auto) operator*() const { return *inner_; }
    Iterator& operator++() {
      bar_->update();
      ++inner_;
      return *this;
    }
    bool operator==(End) const { return inner_ == end_; }

   private:
    using Inner = decltype(std::begin(std::declval<std::remove_reference_t<Range>&>()));
    using InnerEnd = decltype(std::end(std::declval<std::remove_reference_t<Range>&>()));

    TqdmBar* bar_;
    Inner inner_;
    InnerEnd end_;
  };
  Iterator begin() {
    restart();
    return Iterator(*this);
  }
  End end() { return {}; }

 private:
  static TqdmOptions with_total(const std::remove_reference_t<Range>& range, TqdmOptions options) {
    if constexpr (requires { std::size(range); })
      if (!options.total) options.total = static_cast<std::int64_t>(std::size(range));
    return options;
  }

  Range range_;
};

template <class Range>
requires(!std::integral<std::remove_cvref_t<Range>>) tqdm(Range&&, TqdmOptions = {})
->tqdm<Range>;
template <std::integral First, std::integral Last>
tqdm(First, Last, TqdmOptions = {}) -> tqdm<IntegerRange<std::common_type_t<First, Last>>>;
template <std::integral Last>
tqdm(Last, TqdmOptions = {}) -> tqdm<IntegerRange<Last>>;

}  // namespace pando
