// The result of an operation, and access to the reply in an answer.
#pragma once

#include <expected>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "api/problem.h"
#include "base/result.h"
#include "core/reply.h"
#include "engine/request.h"

namespace millrace::service {

// The result of an operation, or the problem that its caller receives instead.
template <typename T = void>
using Answered = std::expected<T, api::Problem>;

inline std::unexpected<api::Problem> refused(api::Problem problem) {
  return std::unexpected(std::move(problem));
}
inline std::unexpected<api::Problem> refused(api::ProblemCode code, std::string detail) {
  return std::unexpected(api::make_problem(code, std::move(detail)));
}
// Passes on the problem of another result.
template <typename T>
std::unexpected<api::Problem> refused(Answered<T>& other) {
  return std::unexpected(std::move(other.error()));
}

api::Problem problem_of(engine::Unavailable why);
api::Problem tables_unreadable();
api::Problem other_number_of_jobs();  // the answer has more or fewer jobs than the request

namespace internal {
template <typename T, typename Variant>
inline constexpr bool kIsOneOf = false;
template <typename T, typename... Kinds>
inline constexpr bool kIsOneOf<T, std::variant<Kinds...>> = (std::is_same_v<T, Kinds> || ...);

// The value of a read, without the store's possible error.
template <typename T>
struct ReadValue {
  using Type = T;
};
template <typename T>
struct ReadValue<Result<T>> {
  using Type = T;
};
}  // namespace internal

// The reply of kind `T` in an answer, or null.
template <typename T>
T* reply_in(engine::Answer& answer) {
  if constexpr (internal::kIsOneOf<T, engine::Answer>) {
    return std::get_if<T>(&answer);
  } else {
    auto* const reply = std::get_if<core::Reply>(&answer);
    return reply == nullptr ? nullptr : std::get_if<T>(reply);
  }
}

}  // namespace millrace::service
