// Helpers of the decoders' tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"

namespace millrace::api::testing {

inline constexpr DecodeLimits kLimits;
inline constexpr std::string_view kId = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff";

// "pointer: detail" for each fault, or the problem's code if there are none.
inline std::vector<std::string> faults(const Problem& problem) {
  std::vector<std::string> all;
  for (const FieldError& error : problem.errors) all.push_back(error.where + ": " + error.detail);
  if (all.empty()) all.push_back(std::string(kind_of(problem.code).name) + ": " + problem.detail);
  return all;
}

template <typename T>
std::vector<std::string> faults(const Decoded<T>& decoded) {
  if (decoded) return {};
  return faults(decoded.error());
}

template <typename T>
std::vector<std::string> places(const Decoded<T>& decoded) {
  std::vector<std::string> all;
  if (decoded) return all;
  for (const FieldError& error : decoded.error().errors) all.push_back(error.where);
  return all;
}

template <typename T>
ProblemCode code_of(const Decoded<T>& decoded) {
  EXPECT_FALSE(decoded.has_value());
  return decoded ? ProblemCode::kInternal : decoded.error().code;
}

using Strings = std::vector<std::string>;

}  // namespace millrace::api::testing
