#include "server/metrics/push_metrics.h"

#include <array>

namespace millrace::server {
namespace {

constexpr std::size_t kMostTargets = 128;

struct Total {
  std::string_view outcome;
  std::uint64_t api::PushHealth::* member;
};
constexpr std::array<Total, 6> kTotals = {{{"succeeded", &api::PushHealth::succeeded},
                                           {"accepted", &api::PushHealth::accepted},
                                           {"dead", &api::PushHealth::dead},
                                           {"snoozed", &api::PushHealth::snoozed},
                                           {"failed", &api::PushHealth::failed},
                                           {"cancelled", &api::PushHealth::cancelled}}};

void add_to(api::PushHealth& sum, const api::PushHealth& one) {
  for (const Total& total : kTotals) sum.*total.member += one.*total.member;
  sum.running += one.running;
  if (one.breaker != "closed") sum.breaker = one.breaker;
}

}  // namespace

void add_push(FamilyList& out,
              const std::vector<std::pair<std::string, api::PushHealth>>& targets) {
  std::vector<std::pair<std::string, api::PushHealth>> shown;
  for (const auto& [name, health] : targets) {
    if (shown.size() < kMostTargets) {
      shown.emplace_back(name, health);
      continue;
    }
    if (shown.size() == kMostTargets) {
      shown.emplace_back("(other)", api::PushHealth{.breaker = "closed"});
    }
    add_to(shown.back().second, health);
  }
  out.counter("push_calls_total", "Calls to push targets that have ended.");
  for (const auto& [name, health] : shown) {
    for (const Total& total : kTotals) {
      out.value(static_cast<double>(health.*total.member),
                {{"target", name}, {"outcome", std::string(total.outcome)}});
    }
  }
  out.gauge("push_calls_running", "Calls to push targets under way.");
  for (const auto& [name, health] : shown) {
    out.value(static_cast<double>(health.running), {{"target", name}});
  }
  out.gauge("push_breaker_open", "1: the target's breaker holds calls back.");
  for (const auto& [name, health] : shown) {
    out.value(health.breaker == "closed" ? 0 : 1, {{"target", name}});
  }
}

}  // namespace millrace::server
