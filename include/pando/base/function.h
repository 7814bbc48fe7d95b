// SPDX-License-Identifier: Apache-2.0
// A callable of one signature that can be copied, as std::function is, for interfaces that users include. <functional>
// would bring algorithms, hash tables and searchers too: 10,000 lines more to compile for every program.
#pragma once
#include <pando/base/error.h>

#include <cstddef>
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
    body_ = new F(std::move(function));
    actions_ = &actions_on<F>;
  }
  // A copy has its own copy of what the function captured.
  Function(const Function& other)
      : body_(other.actions_ ? other.actions_->copy(other.body_) : nullptr), actions_(other.actions_) {}
  Function(Function&& other) noexcept
      : body_(std::exchange(other.body_, nullptr)), actions_(std::exchange(other.actions_, nullptr)) {}
  Function& operator=(Function other) noexcept {
    std::swap(body_, other.body_);
    std::swap(actions_, other.actions_);
    return *this;
  }
  ~Function() {
    if (actions_) actions_->destroy(body_);
  }

  explicit operator bool() const { return actions_ != nullptr; }
  bool operator==(std::nullptr_t) const { return actions_ == nullptr; }

  Result operator()(Arguments... arguments) const {
    if (!actions_) throw InternalError("an empty function was called");
    return actions_->call(body_, std::forward<Arguments>(arguments)...);
  }

 private:
  // What can be done with a callable whose type is not known here. These are pointers and not virtual functions: to
  // check a virtual call, the undefined behaviour sanitizer opens a file, which fails if the process has no descriptors
  // left.
  struct Actions {
    Result (*call)(void* body, Arguments... arguments);
    void* (*copy)(const void* body);
    void (*destroy)(void* body);
  };
  template <class F>
  static Result call(void* body, Arguments... arguments) {
    F& function = *static_cast<F*>(body);
    if constexpr (std::is_void_v<Result>) function(std::forward<Arguments>(arguments)...);
    else return function(std::forward<Arguments>(arguments)...);
  }
  template <class F>
  static void* copy(const void* body) {
    return new F(*static_cast<const F*>(body));
  }
  template <class F>
  static void destroy(void* body) {
    delete static_cast<F*>(body);
  }
  template <class F>
  static constexpr Actions actions_on{&call<F>, &copy<F>, &destroy<F>};

  void* body_ = nullptr;
  const Actions* actions_ = nullptr;
};

}  // namespace pando
