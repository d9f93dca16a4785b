#include "push/pusher.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/thread_name.h"
#include "push/exchange.h"

namespace millrace::push {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr Duration kLongestCountPause{15'000};

}  // namespace

Pusher::Pusher(Parts parts) : parts_(std::move(parts)) {}
Pusher::~Pusher() { stop(parts_.clock.steady()); }

void Pusher::start() {
  thread_ = std::thread([this] {
    name_this_thread("push");
    for (;;) {
      step(kTick);
      bool stops = false;
      bool is_late = false;
      {
        const MutexLock lock(mail_mutex_);
        stops = stopping_;
        is_late = parts_.clock.steady() >= deadline_;
      }
      if (stops && (is_late || idle())) return;
    }
  });
}

void Pusher::stop(Steady deadline) {
  {
    const MutexLock lock(mail_mutex_);
    stopping_ = true;
    deadline_ = deadline;
  }
  parts_.caller.wake();
  if (thread_.joinable()) thread_.join();
}

bool Pusher::idle() {
  const MutexLock lock(mutex_);
  const bool asks = std::ranges::any_of(
      asked_, [](const auto& entry) { return std::holds_alternative<AskedAcks>(entry.second); });
  return drains_ && flights_.empty() && acks_.empty() && !asks;
}

// --- Called from other threads.

void Pusher::deliver(std::span<engine::Delivery> deliveries) {
  {
    const MutexLock lock(mail_mutex_);
    for (engine::Delivery& delivery : deliveries) deliveries_.push_back(std::move(delivery));
  }
  parts_.caller.wake();
}

void Pusher::post(Mail mail) {
  {
    const MutexLock lock(mail_mutex_);
    mail_.push_back(std::move(mail));
  }
  parts_.caller.wake();
}

std::optional<api::PushHealth> Pusher::health(std::string_view target) {
  const MutexLock lock(mutex_);
  const Line* const line = phase_ == Phase::kServes ? find(target) : nullptr;
  if (line == nullptr) return std::nullopt;
  return line->health(running_time(parts_.clock.steady()));
}

std::vector<std::pair<std::string, api::PushHealth>> Pusher::all_health() {
  std::vector<std::pair<std::string, api::PushHealth>> all;
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kServes) return all;
  const Duration now = running_time(parts_.clock.steady());
  for (const auto& [name, line] : lines_) {
    if (line->target() != nullptr) all.emplace_back(name, line->health(now));
  }
  return all;
}

void Pusher::test(std::shared_ptr<const Target> target, Tested done) {
  post([this, target = std::move(target), done = std::move(done)]() MILLRACE_REQUIRES(mutex_) {
    Line line;
    line.set_target(target, parts_.policy);
    if (!line.fault().empty()) return done({.error = line.fault()});
    Call call = test_call(line, parts_.clock.now());
    call.number = next_call_++;
    tests_.emplace(call.number, done);
    parts_.caller.start(std::move(call));
  });
}

// --- A step.

void Pusher::step(Duration most) {
  std::vector<CallEnd> ends = parts_.caller.wait(most);
  std::vector<engine::Delivery> deliveries;
  std::vector<Mail> mail;
  bool drains = false;
  {
    const MutexLock lock(mail_mutex_);
    deliveries.swap(deliveries_);
    mail.swap(mail_);
    drains = stopping_;
  }
  const MutexLock lock(mutex_);
  const Steady now = parts_.clock.steady();
  if (drains && !drains_) {
    drains_ = true;
    for (auto& [name, line] : lines_) {
      forget_claim(*line);
      give_back_ahead(*line);
    }
  }
  for (CallEnd& end : ends) finished(std::move(end), now);
  for (engine::Delivery& delivery : deliveries) take(std::move(delivery), now);
  for (Mail& one : mail) one();
  if (now >= next_tick_) tick(now);
  if (phase_ == Phase::kServes && !drains_) {
    for (auto& [name, line] : lines_) want_jobs(*line, now);
  }
  flush(now);
}

Line* Pusher::find(std::string_view target) {
  const auto found = lines_.find(target);
  return found == lines_.end() ? nullptr : found->second.get();
}

engine::Ticket Pusher::ask(engine::Request request, Asked asked) {
  const engine::Ticket ticket{next_ticket_++};
  asked_.emplace(static_cast<std::uint64_t>(ticket), std::move(asked));
  parts_.gateway.submit(std::move(request), *this, ticket, engine::kNodesOwn);
  return ticket;
}

void Pusher::tick(Steady now) {
  next_tick_ = now + kTick;
  look_who_leads(now);
  look_at_targets();
  beat(now);
  for (auto& [name, line] : lines_) {
    if (line->ahead.empty()) continue;
    const bool is_late = now - line->ahead.front().at > kLongestAhead;
    const bool is_held_up = line->running == 0 && !line->may_call(running_time(now));
    if (is_late || is_held_up || phase_ != Phase::kServes || drains_) give_back_ahead(*line);
  }
  if (phase_ != Phase::kFollows && !is_counting_ && !drains_ && now >= next_count_) count(now);
}

void Pusher::look_who_leads(Steady now) {
  const bool leads = parts_.leads();
  if (leads == (phase_ != Phase::kFollows)) return;
  if (leads) {
    phase_ = Phase::kCounts;
    ++term_;
    next_count_ = now;
    count_pause_ = 1s;
    return;
  }
  phase_ = Phase::kFollows;
  for (auto& [name, line] : lines_) {
    forget_claim(*line);
    line->held_elsewhere.clear();
  }
}

void Pusher::look_at_targets() {
  auto targets = parts_.targets();
  if (targets != nullptr && targets != targets_) {
    targets_ = std::move(targets);
    take_targets();
  }
  std::erase_if(lines_, [](const auto& entry) {
    const Line& line = *entry.second;
    return line.target() == nullptr && line.running + line.reading + line.ahead.size() == 0;
  });
}

void Pusher::take_targets() {
  std::set<std::string_view> named;
  for (const auto& target : *targets_) {
    named.insert(target->name);
    auto& line = lines_[target->name];
    if (line == nullptr) line = std::make_unique<Line>();
    if (line->target() != nullptr && line->target()->version == target->version) continue;
    forget_claim(*line);
    line->set_target(target, parts_.policy);
    if (!line->fault().empty()) {
      parts_.log.warn("a push target can't be called",
                      {{"target", target->name}, {"reason", line->fault()}});
    }
  }
  for (auto& [name, line] : lines_) {
    if (named.contains(name)) continue;
    forget_claim(*line);
    line->set_target(nullptr, parts_.policy);
  }
}

void Pusher::forget_claim(Line& line) {
  if (!line.claim) return;
  parts_.gateway.cancel(*this, *line.claim);
  asked_.erase(static_cast<std::uint64_t>(*line.claim));
  line.claim.reset();
}

// --- Calls that a former node may still be making.

void Pusher::count(Steady now) {
  std::vector<std::string> names;
  if (targets_ == nullptr) return;
  for (const auto& [name, line] : lines_) {
    if (phase_ == Phase::kCounts || !line->held_elsewhere.empty()) names.push_back(name);
  }
  if (names.empty()) {
    phase_ = Phase::kServes;
    next_count_ = now + kLongestCountPause;
    return;
  }
  is_counting_ = true;
  parts_.run([this, names, term = term_] {
    auto held = parts_.held(names);
    post([this, names, term, held = std::move(held)]() MILLRACE_REQUIRES(mutex_) mutable {
      is_counting_ = false;
      if (term == term_ && phase_ != Phase::kFollows) counted(std::move(held), std::move(names));
    });
  });
}

// The first count collects the leases that may belong to other nodes' calls; later ones only remove
// from that set.
void Pusher::counted(Result<std::vector<HeldLease>> held, std::vector<std::string> of) {
  const Steady now = parts_.clock.steady();
  next_count_ = now + count_pause_;
  if (!held) {
    parts_.log.warn("the server can't count the calls of push targets yet",
                    {{"reason", held.error().message}});
    return;
  }
  std::set<std::pair<JobId, LeaseToken>> ours;
  for (const auto& [number, flight] : flights_) ours.emplace(flight.job, flight.token);
  for (const auto& [name, line] : lines_) {
    for (const Line::Leased& leased : line->ahead) ours.emplace(leased.job.id, leased.job.token);
  }
  std::size_t left = 0;
  for (const std::string& name : of) {
    Line* const line = find(name);
    if (line == nullptr) continue;
    std::set<JobId> live;
    for (const HeldLease& lease : *held) {
      if (lease.target == name && !ours.contains({lease.job, lease.token})) live.insert(lease.job);
    }
    if (phase_ == Phase::kCounts) {
      line->held_elsewhere = std::move(live);
    } else {
      std::erase_if(line->held_elsewhere, [&](const JobId& id) { return !live.contains(id); });
    }
    left += line->held_elsewhere.size();
  }
  count_pause_ = std::min(count_pause_ * 2, kLongestCountPause);
  if (phase_ != Phase::kCounts) return;
  phase_ = Phase::kServes;
  count_pause_ = 1s;
  parts_.log.info("this node serves the push targets",
                  {{"targets", of.size()}, {"calls_of_others", left}});
}

}  // namespace millrace::push
