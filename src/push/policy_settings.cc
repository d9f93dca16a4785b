#include "push/policy_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <string>

namespace millrace::push {
namespace {

// False: `take` has rejected an item.
bool each_item(std::string_view list, const std::function<bool(std::string_view)>& take) {
  if (list == "none") return true;
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!take(item)) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

Status read_networks(std::string_view name, std::string_view list, std::vector<Network>& out) {
  const bool good = each_item(list, [&](std::string_view item) {
    const auto network = parse_network(item);
    if (network) out.push_back(*network);
    return network.has_value();
  });
  if (good) return {};
  return failure(
      fmt::format("{} must be networks such as \"10.0.0.0/8, fd00::/8\", or \"none\"", name));
}

}  // namespace

Result<AddressPolicy> make_policy(const PolicySettings& settings) {
  AddressPolicy policy;
  policy.allow_http = settings.allow_http;
  if (Status read = read_networks("push.allow", settings.allow, policy.allow); !read) {
    return std::unexpected(read.error());
  }
  if (Status read = read_networks("push.deny", settings.deny, policy.deny); !read) {
    return std::unexpected(read.error());
  }
  policy.ports.clear();
  policy.all_ports = settings.ports == "all";
  const bool good = policy.all_ports || each_item(settings.ports, [&](std::string_view item) {
                      std::uint16_t port = 0;
                      const auto [end, error] =
                          std::from_chars(item.data(), item.data() + item.size(), port);
                      policy.ports.push_back(port);
                      return error == std::errc() && end == item.data() + item.size() && port != 0;
                    });
  if (!good) return failure("push.ports must be numbers such as \"443, 8443\", or \"all\"");
  return policy;
}

}  // namespace millrace::push
