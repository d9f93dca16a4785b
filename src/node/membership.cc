#include "node/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "engine/routing/leader_lease.h"

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;

// The least pause between two requested renewals.
constexpr auto kLookPause = 20ms;
constexpr auto kRetryPause = 100ms;
// The delay after the end of another node's lease, so that the renewal sees that it is over.
constexpr auto kOverhang = 5ms;

}  // namespace

// --- Renewals.

// While the registry is unreachable, requests do not make renewals more frequent.
Instant Membership::next_renewal() const {
  if (!look_ || failures_ > 0) return next_;
  return std::min<Instant>(next_, renewed_at_ + kLookPause);
}

const store::NodeFacts& Membership::begin_renewal(Instant now) {
  look_ = false;
  renewed_at_ = now;
  return self_;
}

Status Membership::renewed(Result<store::ClusterView> view, Instant now) {
  if (!view) {
    if (!mutated(Mutant::kDoubtIgnored)) doubt();
    next_ = now + kRetryPause;
    if (failures_++ == 0) {
      log_.warn("this node can't renew its lease", {{"reason", view.error().message}});
    }
    return joined_ ? Status() : std::unexpected(std::move(view.error()));
  }
  if (std::exchange(failures_, 0) > 0) log_.info("this node can renew its lease again");
  const bool was_too_old = too_old();
  view_ = std::move(*view);
  if (too_old() && !joined_) return failure(too_new(view_));
  joined_ = true;
  store_format_.heard(store::EventFormat{view_.format});
  if (too_old() && !was_too_old) {
    log_.error("this node stops leading and following shards", {{"reason", too_new(view_)}});
  }
  for (const store::ShardView& shard : view_.shards) {
    if (shard.shard < hosts_.size()) hosts_[shard.shard]->renewed(renewed_at_, shard);
  }
  give_orders();
  plan_next(now);
  return {};
}

void Membership::doubt() {
  for (Host* const host : hosts_) host->doubt();
}

std::string Membership::too_new(const store::ClusterView& view) const {
  return fmt::format(
      "the store has format {}, written by a newer Millrace, and this version ({}) reads up to {}; "
      "start the newer version",
      view.format, self_.version, self_.newest_format);
}

void Membership::give_orders() const {
  for (const engine::Assignment& assignment : engine::assign(view_, self_.id)) {
    if (assignment.shard >= hosts_.size()) continue;
    const auto seen = std::ranges::find(view_.shards, assignment.shard, &store::ShardView::shard);
    hosts_[assignment.shard]->order(
        {renewed_at_, *seen, assignment, url_of(seen->leader), url_of(assignment.owner)});
  }
}

std::string Membership::url_of(store::NodeId id) const {
  for (const store::NodeView& node : view_.nodes) {
    if (node.facts.id == id && node.left > Duration{}) return node.facts.url;
  }
  return {};
}

// When this node's lease must be renewed, or when the lease of another leader ends.
void Membership::plan_next(Instant now) {
  next_ = renewed_at_ + engine::LeaderLease::kRenewPause;
  for (const store::NodeView& node : view_.nodes) {
    if (node.facts.id == self_.id || node.left <= Duration{}) continue;
    next_ = std::min<Instant>(next_, renewed_at_ + node.left + kOverhang);
  }
  next_ = std::max<Instant>(next_, now + kLookPause);
}

// --- The end of the membership.

Membership::Handover Membership::handover(Instant now, Instant until) const {
  if (std::ranges::none_of(hosts_, &Host::leads)) return Handover::kDone;
  const bool somebody = std::ranges::any_of(view_.nodes, [&](const store::NodeView& node) {
    return node.facts.id != self_.id && engine::can_lead(node, view_);
  });
  return somebody && now < until ? Handover::kGoesOn : Handover::kInVain;
}

void Membership::leave() {
  doubt();
  next_ = Instant::max();
  look_ = false;
}

}  // namespace millrace::node
