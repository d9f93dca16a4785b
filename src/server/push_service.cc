#include "server/push_service.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/version.h"
#include "engine/reads.h"
#include "push/policy_settings.h"
#include "push/signature.h"
#include "service/audit.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kKind = core::CatalogKind::kPushTarget;
constexpr std::size_t kNamesAtOnce = 100;  // per search for leases
constexpr std::uint32_t kLeasesAtOnce = 1'000;
constexpr Duration kProjectionPatience = 20s;
constexpr Duration kDisablePatience = 5s;
constexpr int kDisableTries = 12;
constexpr auto kTestPatience = 15s;

std::vector<push::IpAddress> own_addresses() {
  std::vector<push::IpAddress> own;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return own;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr) continue;
    if (at->ifa_addr->sa_family == AF_INET) {
      const auto& v4 = reinterpret_cast<const sockaddr_in&>(*at->ifa_addr);
      own.push_back(push::IpAddress::v4(ntohl(v4.sin_addr.s_addr)));
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*at->ifa_addr);
      push::IpAddress address;
      std::memcpy(address.bytes.data(), v6.sin6_addr.s6_addr, address.bytes.size());
      own.push_back(address);
    }
  }
  ::freeifaddrs(first);
  return own;
}

core::Condition equals(core::JobField field, std::vector<std::string> values) {
  core::Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}

// The running jobs of these workers, according to the tables.
Status add_leases(const engine::Reads& reads, std::vector<std::string> workers,
                  std::vector<push::HeldLease>& out) {
  engine::JobQuery query;
  query.filter.conditions = {equals(core::JobField::kState, {"running"}),
                             equals(core::JobField::kWorker, std::move(workers))};
  query.limit = kLeasesAtOnce;
  for (;;) {
    auto page = reads.list(query);
    if (!page) return std::unexpected(std::move(page.error()));
    for (const core::Job& job : page->jobs) {
      out.push_back({std::string(job.latest.worker.view().substr(push::kWorkerPrefix.size())),
                     job.id, job.token});
    }
    if (!page->next) return {};
    query.after = std::move(*page->next);
  }
}

api::Problem fault(std::string_view member, std::string detail) {
  return api::make_fault(api::FieldError::Place::kPointer, std::string(member), std::move(detail));
}

}  // namespace

Result<push::AddressPolicy> push_policy(const Config& config) {
  auto policy = push::make_policy({.allow = config.push_allow,
                                   .deny = config.push_deny,
                                   .ports = config.push_ports,
                                   .allow_http = config.push_allow_http});
  if (policy) policy->own = own_addresses();
  return policy;
}

PushService::PushService(Parts parts)
    : parts_(std::move(parts)),
      caller_(push::make_curl_caller(parts_.policy, "millrace/" + std::string(version()))),
      pusher_(pusher_parts()) {}

PushService::~PushService() { stop(parts_.clock.steady()); }

void PushService::stop(Steady deadline) {
  pusher_.stop(deadline);
  readers_.join();
}

push::Pusher::Parts PushService::pusher_parts() {
  return {
      .gateway = parts_.backend.gateway(),
      .caller = *caller_,
      .clock = parts_.clock,
      .policy = parts_.policy,
      .targets = [this] { return targets(); },
      .leads = [this] { return parts_.backend.leads(0); },
      .complete =
          [this](core::ClaimReply& claim) {
            return parts_.backend.parts().reads().complete(claim);
          },
      .held = [this](const std::vector<std::string>& names) { return held(names); },
      .run = [this](std::function<void()> work) { boost::asio::post(readers_, std::move(work)); },
      .disable = [this](const push::Target& target,
                        const std::string& reason) { disable(target, reason); },
      .max_result_bytes = parts_.max_result_bytes,
      .log = parts_.log};
}

// A target's version is its document's revision, so a deleted and recreated target has a new one.
std::shared_ptr<const push::Targets> PushService::targets() {
  if (parts_.catalog.heard_at() == Steady::min()) return nullptr;
  auto snapshot = parts_.catalog.snapshot();
  const MutexLock lock(mutex_);
  if (snapshot == seen_) return targets_;
  seen_ = std::move(snapshot);
  const auto known = targets_ != nullptr ? targets_ : std::make_shared<const push::Targets>();
  auto all = std::make_shared<push::Targets>();
  bool is_other = targets_ == nullptr;
  seen_->each(kKind, [&](const core::CatalogEntry& entry) {
    const std::string_view name = entry.name.view();
    const auto same = std::ranges::find_if(*known, [&](const auto& target) {
      return target->name == name && target->version == entry.revision;
    });
    if (same != known->end()) return all->push_back(*same);
    auto settings = api::read_stored_push_target(entry.body.view());
    if (!settings) return;
    is_other = true;
    all->push_back(std::make_shared<const push::Target>(
        push::Target{std::string(name), entry.revision, std::move(*settings)}));
  });
  if (is_other || all->size() != known->size()) targets_ = std::move(all);
  return targets_;
}

Result<std::vector<push::HeldLease>> PushService::held(const std::vector<std::string>& targets) {
  // After this, the tables hold all leases committed before.
  const auto answer = questions_.ask(parts_.backend.gateway(), engine::AwaitProjection{},
                                     kProjectionPatience, engine::kNodesOwn);
  if (!answer || !std::holds_alternative<std::monostate>(*answer)) {
    return failure("a shard has no leader, or its tables are behind");
  }
  std::vector<push::HeldLease> leases;
  for (std::size_t begin = 0; begin < targets.size(); begin += kNamesAtOnce) {
    std::vector<std::string> workers;
    for (std::size_t i = begin; i < std::min(begin + kNamesAtOnce, targets.size()); ++i) {
      workers.push_back(push::worker_of(targets[i]));
    }
    Status added = add_leases(parts_.backend.parts().reads(), std::move(workers), leases);
    if (!added) return std::unexpected(std::move(added.error()));
  }
  return leases;
}

void PushService::disable(const push::Target& target, const std::string& reason) {
  parts_.log.warn("a push target is paused, because its receiver is gone",
                  {{"target", target.name}, {"reason", reason}});
  boost::asio::post(readers_, [this, target, reason] {
    for (int tries = 0; tries < kDisableTries; ++tries) {
      const auto snapshot = parts_.catalog.snapshot();
      const core::CatalogEntry* const entry = snapshot->find(kKind, target.name);
      if (entry == nullptr || entry->revision != target.version) return;
      core::PutCatalogEntry put;
      put.kind = kKind;
      put.name = entry->name;
      api::PushTarget paused = target.settings;
      paused.paused = true;
      paused.pause_reason = reason;
      put.body = SharedBytes(api::stored_push_target(paused));
      put.if_version = entry->version;
      core::Origin origin =
          service::about("push_target.paused", "push_target", target.name, reason);
      origin.actor.via = core::AuditVia::kSystem;
      origin.before = SharedBytes(R"({"paused":false})");
      origin.after = SharedBytes(R"({"paused":true})");
      put.by = std::make_shared<const core::Origin>(std::move(origin));
      const auto answer = questions_.ask(parts_.backend.gateway(), core::Command(std::move(put)),
                                         kDisablePatience, engine::kNodesOwn);
      const auto* const reply = answer ? std::get_if<core::Reply>(&*answer) : nullptr;
      const auto* const changed =
          reply == nullptr ? nullptr : std::get_if<core::CatalogReply>(reply);
      if (changed == nullptr) continue;
      if (!changed->refusal && !changed->entries.empty()) {
        parts_.catalog.put(changed->entries.front());
      }
      return;  // or another client has changed it
    }
  });
}

std::optional<api::Problem> PushService::fault_of(const api::PushTarget& target) const {
  if (const auto url = push::parse_url(target.url, parts_.policy); !url) {
    return fault("/url", url.error().message);
  }
  for (const std::string& secret : target.secrets) {
    if (const auto key = push::secret_key(secret); !key) {
      return fault("/secret", key.error().message);
    }
  }
  return std::nullopt;
}

std::optional<api::PushHealth> PushService::health(std::string_view target) {
  return pusher_.health(target);
}

std::string PushService::served_by() const {
  const auto view = parts_.backend.cluster();
  if (!view || parts_.backend.leads(0)) return {};
  const auto shard = std::ranges::find(view->shards, 0U, &store::ShardView::shard);
  if (shard == view->shards.end()) return {};
  const auto node = std::ranges::find_if(
      view->nodes, [&](const store::NodeView& one) { return one.facts.id == shard->leader; });
  return node == view->nodes.end() ? std::string() : node->facts.url;
}

api::Decoded<api::PushTestResult> PushService::test(std::string_view name,
                                                    const api::PushTarget& target) {
  {
    const MutexLock lock(test_mutex_);
    if (is_testing_) {
      return std::unexpected(api::make_problem(api::ProblemCode::kOverloaded,
                                               "another test of a push target is under way; try "
                                               "again in some seconds"));
    }
    is_testing_ = true;
  }
  auto promise = std::make_shared<std::promise<api::PushTestResult>>();
  auto result = promise->get_future();
  pusher_.test(std::make_shared<const push::Target>(push::Target{std::string(name), 1, target}),
               [promise](api::PushTestResult made) { promise->set_value(std::move(made)); });
  const bool is_there = result.wait_for(kTestPatience) == std::future_status::ready;
  const MutexLock lock(test_mutex_);
  is_testing_ = false;
  if (!is_there) {
    return std::unexpected(
        api::make_problem(api::ProblemCode::kDraining, "the server stops; try again later"));
  }
  return result.get();
}

}  // namespace millrace::server
