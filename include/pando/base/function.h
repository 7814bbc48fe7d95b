// SPDX-License-Identifier: Apache-2.0
// A callable of one signature that can be copied, as std::function is, for interfaces that users include: <functional>
// also brings algorithms, hash tables and searchers, 10,000 lines that every program would read.
#pragma once
#include <pando/base/error.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace pando {

template <class Signature>
class Function;

template <class F, class Result, class... Arguments>
concept CallableAs = !std::is_same_v<F, Function<Result(Arguments...)>> && !std::is_member_pointer_v<F> &&
                     std::is_invocable_r_v<Result, F&, Arguments...>;

template <class Result, class... Arguments>
class Function<Result(Arguments...)> {
 public:
  // An empty function: it must not be called.
  Function() = default;
  Function(std::nullptr_t) {}
  // A null pointer to a function and an empty function of another type give an empty function.
  template <CallableAs<Result, Arguments...> F>
  Function(F function) {
    if constexpr (std::is_constructible_v<F, std::nullptr_t>) {
      if (function == nullptr) return;
    }
    body_ = std::make_unique<Holder<F>>(std::move(function));
  }
  // A copy has its own copy of what the function captured.
  Function(const Function& other) : body_(other.body_ ? other.body_->copy() : nullptr) {}
  Function(Function&& other) noexcept = default;
  Function& operator=(Function other) noexcept {
    body_ = std::move(other.body_);
    return *this;
  }
  ~Function() = default;

  explicit operator bool() const { return body_ != nullptr; }
  bool operator==(std::nullptr_t) const { return body_ == nullptr; }

  Result operator()(Arguments... arguments) const {
    if (!body_) throw InternalError("an empty function was called");
    return body_->call(std::forward<Arguments>(arguments)...);
  }

 private:
  struct Body {
    virtual ~Body() = default;
    virtual std::unique_ptr<Body> copy() const = 0;
    virtual Result call(Arguments... arguments) = 0;
  };
  template <class F>
  struct Holder final : Body {
    explicit Holder(F held) : function(std::move(held)) {}
    std::unique_ptr<Body> copy() const override { return std::make_unique<Holder>(function); }
    Result call(Arguments... arguments) override {
      if constexpr (std::is_void_v<Result>) function(std::forward<Arguments>(arguments)...);
      else return function(std::forward<Arguments>(arguments)...);
    }
    F function;
  };

  std::unique_ptr<Body> body_;
};

}  // namespace pando
