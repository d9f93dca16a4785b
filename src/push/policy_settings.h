// The address policy as operators write it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "push/address_policy.h"

namespace millrace::push {

// Lists separated by commas, or "none". The error names the setting.
struct PolicySettings {
  std::string_view allow = "none";
  std::string_view deny = "none";
  std::string_view ports = "443";
  bool allow_http = false;
};
Result<AddressPolicy> make_policy(const PolicySettings& settings);

}  // namespace millrace::push
