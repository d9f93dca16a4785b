// What a member of a workflow needs.
#pragma once

#include <cstdint>

#include "terms/workflow.h"

namespace millrace::core {

using terms::MemberReason;
using terms::MemberState;
using terms::NeedOn;

enum class MemberNumber : std::uint32_t {};
constexpr std::uint32_t to_number(MemberNumber number) {
  return static_cast<std::uint32_t>(number);
}

struct Need {
  MemberNumber of{};
  NeedOn on = NeedOn::kSucceeded;
  friend bool operator==(const Need&, const Need&) = default;
};

}  // namespace millrace::core
