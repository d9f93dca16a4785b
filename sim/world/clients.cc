#include "sim/world/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/tomorrow.h"
#include "core/bounds.h"
#include "digest/fingerprint.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kIdsRemembered = 200;
constexpr std::uint64_t kKeysInUse = 60;
constexpr LeaseToken kNeverGiven{9'007'199'254'740'991};  // the highest that millrace.finish takes

// Contains bytes that a careless server would change: spaces, escapes, a number too large for a
// double.
SharedBytes payload(std::uint64_t number) {
  return SharedBytes(fmt::format(R"({{ "job":{},  "big": 123456789012345678901234567890,)"
                                 R"( "text":"\u0000 e\u0301 \/ {}"}})",
                                 number, "\xc3\xa9"));
}

std::shared_ptr<core::JobError> error(Dice& dice) {
  auto error = std::make_shared<core::JobError>();
  error->type = SharedBytes(dice.chance(500) ? "Timeout" : "Refused");
  error->message = SharedBytes("it did not work");
  return error;
}

std::shared_ptr<const core::RetryPolicy> retry_policy(Dice& dice) {
  auto policy = std::make_shared<core::RetryPolicy>();
  policy->strategy = static_cast<core::RetryStrategy>(dice.below(4));
  policy->base = dice.time_up_to(Duration{20'000});
  policy->max = policy->base + dice.time_up_to(Duration{60'000});
  policy->jitter_ppm = static_cast<std::uint32_t>(dice.below(core::kMaxJitterPpm + 1));
  if (dice.chance(30)) {  // long enough to overflow if it were doubled
    policy->base = core::kTenYears / 3;
    policy->max = core::kTenYears;
  }
  for (std::uint64_t i = dice.below(4); i > 0; --i) {
    policy->delays.push_back(dice.time_up_to(Duration{30'000}));
  }
  return policy;
}

}  // namespace

JobId numbered_id(std::uint64_t number, std::uint16_t queue_bits) {
  JobId id;
  for (int i = 0; i < 4; ++i) {
    id.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  }
  id.bytes[6] = static_cast<std::uint8_t>(0x70 | queue_bits >> 8);
  id.bytes[7] = static_cast<std::uint8_t>(queue_bits);
  id.bytes[8] = 0x80;
  return id;
}

JobId Clients::server_id(std::uint64_t number, const SharedBytes& queue) const {
  return numbered_id(number, made_as_ == Ids::kOfQueues ? queue_bits(queue.view()) : 0);
}

// --- Names.

SharedBytes Clients::queue(Dice& dice) const {
  return SharedBytes(fmt::format("q{}", dice.below(swarm_.queues())));
}

SharedBytes Clients::worker(Dice& dice) const {
  return SharedBytes(fmt::format("w{}", dice.below(swarm_.workers())));
}

Duration Clients::some_wait(Dice& dice) const { return dice.time_up_to(Duration{20'000}); }

JobId Clients::some_id(Dice& dice) {
  if (ids_.empty() || dice.chance(20)) return numbered_id(1'000'000 + dice.below(50));
  // Usually recent ones.
  const std::size_t back =
      dice.below(std::min<std::size_t>(ids_.size(), dice.chance(300) ? 200 : 20));
  return ids_[ids_.size() - 1 - back];
}

std::vector<JobId> Clients::some_ids(Dice& dice) {
  std::vector<JobId> ids;
  const std::uint64_t count = dice.chance(20) ? 70 : 1 + dice.below(3);
  for (std::uint64_t i = 0; i < count; ++i) ids.push_back(some_id(dice));
  return ids;
}

Clients::Lease Clients::some_lease(Dice& dice) {
  if (!settled_.empty() && dice.chance(100)) return settled_[dice.below(settled_.size())];
  if (leases_.empty() || dice.chance(10)) {
    return {some_id(dice), LeaseToken{dice.below(5)}, worker(dice)};
  }
  Lease lease = leases_[dice.below(leases_.size())];
  if (dice.chance(10)) lease.token = LeaseToken{to_number(lease.token) + 1};
  return lease;
}

// --- Producers.

core::JobSpec Clients::spec(Dice& dice, Time now, Id id) {
  core::JobSpec spec = made_up(dice, now, id);
  if (spec.id_origin == core::IdOrigin::kServer) return spec;
  // A repeated submission usually has the same content.
  const auto [sent, first] = sent_.try_emplace(spec.id, spec);
  if (!first && dice.chance(700)) return sent->second;
  sent->second = spec;
  return spec;
}

core::JobSpec Clients::made_up(Dice& dice, Time now, Id id) {
  core::JobSpec spec;
  bool known = id == Id::kAny && dice.chance(swarm_.of(Knob::kClientIds) / 8);
  if (known) {
    spec.id = some_id(dice);
    known = !used_once_.contains(spec.id);
  }
  if (known) {
    used_again_.insert(spec.id);
  } else {
    ++made_;
  }
  const bool made_by_client = known || (id == Id::kAny && dice.chance(swarm_.of(Knob::kClientIds)));
  spec.id_origin = made_by_client ? core::IdOrigin::kClient : core::IdOrigin::kServer;
  spec.queue = queue(dice);
  if (!known) {
    const bool by_server = spec.id_origin == core::IdOrigin::kServer;
    spec.id = by_server ? server_id(made_, spec.queue) : numbered_id(made_);
    // If requests overtake each other, clients learn an id made by the server only from its answer.
    if (!by_server || made_as_ == Ids::kNumbered) remember(spec.id);
  }
  const bool typed = dice.chance(swarm_.of(Knob::kTypes));
  spec.type = SharedBytes(typed ? fmt::format("t{}", dice.below(3)) : "t");
  if (kOfTomorrow && dice.chance(50)) spec.type = SharedBytes(kTypeOfTomorrow);
  spec.payload = payload(made_);
  spec.priority = static_cast<std::int16_t>(static_cast<int>(dice.below(5)) - 2);
  if (dice.chance(swarm_.of(Knob::kDelays))) {
    if (dice.chance(500)) {
      spec.delay = dice.time_up_to(Duration{60'000});
    } else {
      spec.run_at = now + dice.time_up_to(Duration{60'000}) - Duration{10'000};
    }
  }
  if (dice.chance(swarm_.of(Knob::kExpiry))) {
    if (dice.chance(700)) {
      spec.expires_in = Duration{1} + dice.time_up_to(Duration{30'000});
    } else {
      spec.expires_at = now + dice.time_up_to(Duration{20'000}) - Duration{2'000};
    }
  }
  if (dice.chance(500)) spec.max_attempts = 1 + static_cast<std::uint32_t>(dice.below(4));
  if (dice.chance(swarm_.of(Knob::kRetryPolicies))) spec.retry = retry_policy(dice);
  if (dice.chance(300)) spec.lease = core::kMinLease + dice.time_up_to(Duration{30'000});
  if (dice.chance(swarm_.of(Knob::kTimeouts))) {
    spec.timeout = Duration{1} + dice.time_up_to(Duration{40'000});
  }
  if (dice.chance(swarm_.of(Knob::kUniques))) {
    core::JobExtras extras;
    extras.unique.emplace();
    extras.unique->key = SharedBytes(fmt::format("u{}", dice.below(25)));
    extras.unique->on_conflict = static_cast<core::OnConflict>(dice.below(3));
    if (dice.chance(400)) extras.unique->hold_for = dice.time_up_to(Duration{60'000});
    if (dice.chance(300)) extras.tags.emplace_back("vip");
    spec.extras = std::make_shared<const core::JobExtras>(std::move(extras));
  }
  if (swarm_.of(Knob::kLimits) > 0) bind(spec, dice, id == Id::kOwn);
  return spec;
}

// Adds two jobs: one that replaces the last by its unique key, and the replaced one again. False:
// none.
bool Clients::come_back(std::vector<core::JobSpec>& specs, Dice& dice, Time now) {
  const std::uint32_t often = swarm_.of(Knob::kComebacks);
  if (often == 0 || specs.back().id_origin != core::IdOrigin::kClient || !dice.chance(often)) {
    return false;
  }
  core::JobSpec& first = specs.back();
  core::JobExtras extras = first.extras == nullptr ? core::JobExtras{} : *first.extras;
  if (!extras.unique) {
    extras.unique.emplace();
    extras.unique->key = SharedBytes(fmt::format("u{}", dice.below(25)));
    first.extras = std::make_shared<const core::JobExtras>(extras);
  }
  core::JobSpec again = first;
  extras.unique->on_conflict = static_cast<core::OnConflict>(dice.below(3));
  again.extras = dice.chance(700) ? std::make_shared<const core::JobExtras>(extras) : nullptr;
  extras.unique->on_conflict = core::OnConflict::kReplace;
  core::JobSpec replacing = spec(dice, now);
  if (replacing.id == again.id) return false;
  replacing.queue = again.queue;
  if (replacing.id_origin == core::IdOrigin::kServer) {
    replacing.id = server_id(made_, replacing.queue);
  }
  replacing.extras = std::make_shared<const core::JobExtras>(std::move(extras));
  used_again_.insert(again.id);
  specs.push_back(std::move(replacing));
  specs.push_back(std::move(again));
  return true;
}

void Clients::put_key(Dice& dice, core::Enqueue& command) {
  const std::uint64_t number = dice.below(kKeysInUse);
  const std::uint64_t body = dice.chance(100) ? number + 1'000 : number;
  command.key = {
      fingerprint(fmt::format("key {}", number)), fingerprint(fmt::format("body {}", body)), {}};
}

core::Enqueue Clients::submission(Dice& dice, Time now) {
  core::Enqueue command;
  command.jobs.push_back(spec(dice, now, Id::kOwn));
  used_once_.insert(command.jobs.front().id);
  // A committed submission must be accepted.
  debounce_nothing(command.jobs.front());
  name_no_limits(command.jobs.front());
  if (dice.chance(swarm_.of(Knob::kKeys) / 2)) {
    put_key(dice, command);
    command.key_window = core::kDefaultIdempotencyWindow;
  }
  return command;
}

core::Command Clients::enqueue(Dice& dice, Time now) {
  core::Enqueue command;
  command.jobs.push_back(spec(dice, now));
  if (dice.chance(200)) command.detail = core::Detail::kJobs;
  if (dice.chance(swarm_.of(Knob::kKeys))) {
    put_key(dice, command);
    command.key_window = dice.chance(500) ? Duration{1} + dice.time_up_to(Duration{60'000})
                                          : core::kDefaultIdempotencyWindow;
    return command;
  }
  for (std::uint64_t more = dice.chance(300) ? dice.below(8) : 0; more > 0; --more) {
    command.jobs.push_back(spec(dice, now));
  }
  if (come_back(command.jobs, dice, now) || dice.chance(swarm_.of(Knob::kAtomic))) {
    command.atomicity = core::Atomicity::kAll;
  }
  return command;
}

// --- Workers.

core::Claim Clients::claim(Dice& dice) {
  core::Claim claim;
  for (std::uint64_t i = 1 + dice.below(3); i > 0; --i) claim.queues.push_back(queue(dice));
  if (dice.chance(swarm_.of(Knob::kTypes) / 2)) {
    claim.types.emplace_back(fmt::format("t{}", dice.below(3)));
    if (dice.chance(500)) claim.types.emplace_back("t");
  }
  claim.limit = 1 + static_cast<std::uint32_t>(dice.below(dice.chance(200) ? 20 : 4));
  if (dice.chance(200)) claim.lease = core::kMinLease + dice.time_up_to(Duration{20'000});
  claim.worker = worker(dice);
  return claim;
}

engine::Request Clients::claim_request(Dice& dice) {
  engine::WaitingClaim request;
  request.claim = claim(dice);
  request.worker.id = request.claim.worker;
  if (dice.chance(600)) request.wait = some_wait(dice);
  return request;
}

core::AckItem Clients::ack_item(Dice& dice, Time now) {
  const Lease lease = some_lease(dice);
  core::AckItem item;
  item.id = lease.id;
  item.token = lease.token;
  item.outcome = core::AckOutcome::kSucceeded;
  if (dice.chance(500)) item.outcome = static_cast<core::AckOutcome>(dice.below(6));
  switch (item.outcome) {
    case core::AckOutcome::kSucceeded:
      if (dice.chance(500)) item.result = SharedBytes(R"({ "ok" : true })");
      break;
    case core::AckOutcome::kFailed:
      item.error = error(dice);
      item.retryable = !dice.chance(100);
      if (dice.chance(150)) item.delay = dice.time_up_to(Duration{20'000});
      break;
    case core::AckOutcome::kSnoozed:
      item.delay = dice.time_up_to(Duration{20'000});
      break;
    case core::AckOutcome::kDead:
      item.error = error(dice);
      break;
    default:
      break;
  }
  if (dice.chance(100)) item.logs.push_back({{}, 1, SharedBytes("done")});
  item.slow_down = some_wishes(lease, dice);
  if (dice.chance(swarm_.of(Knob::kNested))) {
    for (std::uint64_t i = 1 + dice.below(3); i > 0; --i) item.enqueue.push_back(spec(dice, now));
    come_back(item.enqueue, dice, now);
    for (core::JobSpec& spec : item.enqueue) debounce_nothing(spec);
    // An outbox has one place per id: with the same id for two queues, it would keep only the
    // first.
    for (std::size_t i = item.enqueue.size() - 1; made_as_ == Ids::kOfQueues && i > 0; --i) {
      const auto at = item.enqueue.begin() + static_cast<std::ptrdiff_t>(i);
      const bool twice = std::any_of(item.enqueue.begin(), at, [&](const core::JobSpec& other) {
        return other.id == at->id && other.queue != at->queue;
      });
      if (twice) item.enqueue.erase(at);
    }
  }
  settled_.push_back(lease);
  if (settled_.size() > kLeasesRemembered) settled_.pop_front();
  std::erase_if(leases_, [&](const Lease& known) { return known.token == lease.token; });
  return item;
}

std::optional<Clients::Held> Clients::some_finish(Dice& dice) {
  if (dice.chance(20)) return Held{numbered_id(2'000'000 + dice.below(50)), LeaseToken{1}};
  const std::deque<Lease>& from = dice.chance(200) ? settled_ : leases_;
  if (from.empty()) return std::nullopt;
  const Lease lease = from[dice.below(from.size())];
  const bool made_up = !granted_.contains({lease.id, lease.token});
  if (made_up || used_again_.contains(lease.id)) return std::nullopt;
  used_once_.insert(lease.id);
  if (dice.chance(30)) return Held{lease.id, kNeverGiven};
  if (dice.chance(30)) return Held{lease.id, from[dice.below(from.size())].token};
  // Some clients acknowledge the job too.
  if (dice.chance(600)) {
    std::erase_if(leases_, [&](const Lease& known) { return known.token == lease.token; });
  }
  return Held{lease.id, lease.token};
}

core::Heartbeat Clients::heartbeat(Dice& dice) {
  core::Heartbeat command;
  if (dice.chance(200)) command.detail = core::Detail::kJobs;
  for (std::uint64_t i = 1 + dice.below(3); i > 0; --i) {
    const Lease lease = some_lease(dice);
    core::HeartbeatItem item;
    item.id = lease.id;
    item.token = lease.token;
    if (dice.chance(400)) item.extend = core::kMinLease + dice.time_up_to(Duration{30'000});
    if (dice.chance(300)) {
      core::Progress progress{static_cast<double>(dice.below(100)), {}, {}};
      if (*progress.percent < 25) progress.checkpoint = SharedBytes("25");
      item.progress = std::make_shared<const core::Progress>(progress);
    }
    item.slow_down = some_wishes(lease, dice);
    command.items.push_back(std::move(item));
  }
  return command;
}

core::AppendLogs Clients::logs(Dice& dice) {
  core::AppendLogs command;
  for (std::uint64_t i = 1 + dice.below(3); i > 0; --i) {
    const Lease lease = some_lease(dice);
    command.items.push_back({lease.id, lease.token, {{}, 1, SharedBytes("at work")}});
  }
  return command;
}

engine::Request Clients::poll(Dice& dice, Time now) {
  engine::Poll poll;
  poll.worker.id = worker(dice);
  for (std::uint64_t i = dice.below(4); i > 0; --i) poll.acks.items.push_back(ack_item(dice, now));
  if (dice.chance(300)) poll.heartbeats = heartbeat(dice);
  if (dice.chance(100)) poll.logs = logs(dice);
  if (dice.chance(900)) poll.claim = claim(dice);
  if (dice.chance(700)) poll.wait = some_wait(dice);
  return poll;
}

// --- Operators.

core::Command Clients::set_queue(Dice& dice) {
  core::SetQueue command;
  command.queue = named_queue(dice);
  command.replace = dice.chance(300);
  command.create = dice.chance(300);
  if (dice.chance(100)) command.if_version = 1 + dice.below(5);
  core::QueuePatch& patch = command.patch;
  if (dice.chance(400)) patch.max_attempts = 1 + static_cast<std::uint32_t>(dice.below(5));
  if (dice.chance(400)) {
    patch.max_crashes.emplace();
    if (dice.chance(700)) patch.max_crashes = 1 + static_cast<std::uint32_t>(dice.below(3));
  }
  if (dice.chance(300)) patch.retry = retry_policy(dice);
  if (dice.chance(300)) patch.lease = core::kMinLease + dice.time_up_to(Duration{30'000});
  if (dice.chance(300)) {
    patch.max_ready.emplace();
    if (dice.chance(500)) patch.max_ready = dice.below(40);
  }
  for (auto* keep : {&patch.succeeded, &patch.dead, &patch.cancelled, &patch.expired}) {
    if (!dice.chance(swarm_.of(Knob::kShortRetention) > 0 ? 500 : 100)) continue;
    keep->emplace();
    if (dice.chance(900))
      **keep = dice.chance(200) ? Duration{0} : dice.time_up_to(Duration{60'000});
  }
  if (swarm_.of(Knob::kLimits) > 0) bind_queue(patch, dice);
  return command;
}

// The choice of somebody with a list of ids: usually those of waiting or of ended jobs.
core::StateSet Clients::some_states(Dice& dice) const {
  core::StateSet states;
  const std::uint32_t often = swarm_.of(Knob::kNamedStates);
  if (often == 0 || !dice.chance(often)) return states;
  const std::uint64_t kind = dice.below(3);
  for (std::size_t i = 0; i < core::kStateCount; ++i) {
    const auto state = static_cast<core::State>(i);
    const bool named = kind == 0   ? core::is_waiting(state)
                       : kind == 1 ? core::is_terminal(state)
                                   : dice.chance(500);
    if (!named) states.remove(state);
  }
  return states;
}

core::Command Clients::remove(Dice& dice, core::DeleteCause cause) {
  core::Delete command{some_ids(dice), cause, some_states(dice)};
  if (swarm_.of(Knob::kNamedStates) > 0 && dice.chance(150)) {
    command.if_version = 1 + dice.below(4);
  }
  return command;
}

// A queue with few jobs, or one that is created and deleted.
SharedBytes Clients::named_queue(Dice& dice) const {
  if (dice.chance(400)) return SharedBytes(fmt::format("spare{}", dice.below(3)));
  return queue(dice);
}

core::Command Clients::operate_queue(Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return core::PauseQueue{named_queue(dice), SharedBytes("a look at it"), dice.chance(700)};
    case 1:
      return core::DeleteQueue{named_queue(dice)};
    default:
      return core::ResumeQueue{named_queue(dice)};
  }
}

core::Command Clients::operate(Dice& dice, Time now) {
  switch (dice.below(12)) {
    case 0:
    case 1:
    case 2:
      return core::Cancel{some_ids(dice), SharedBytes("why not"), some_states(dice)};
    case 3:
    case 4:
    case 5: {
      core::Retry command{some_ids(dice), {}, dice.chance(500), some_states(dice)};
      if (dice.chance(300)) command.run_at = now + dice.time_up_to(Duration{20'000});
      if (swarm_.of(Knob::kLimits) > 0) command.drop_limits = dice.chance(400);
      return command;
    }
    case 6:
    case 7: {
      core::Edit command;
      command.ids = some_ids(dice);
      if (dice.chance(150)) command.if_version = 1 + dice.below(4);
      if (dice.chance(400)) command.priority = static_cast<std::int16_t>(dice.below(5));
      if (dice.chance(400)) {
        command.run_at = now + dice.time_up_to(Duration{30'000}) - Duration{5'000};
      }
      if (dice.chance(200)) command.payload = SharedBytes("[ 1 ]");
      if (dice.chance(200)) command.max_attempts = 1 + static_cast<std::uint32_t>(dice.below(6));
      if (dice.chance(100)) command.tags = std::vector<SharedBytes>{SharedBytes("edited")};
      command.states = some_states(dice);
      return command;
    }
    case 8:
      return remove(dice, core::DeleteCause::kOperator);
    case 9:
      return remove(dice, core::DeleteCause::kPurge);
    default:
      return operate_queue(dice);
  }
}

engine::Request Clients::read(Dice& dice) {
  switch (dice.below(5)) {
    case 0:
      if (dice.chance(300)) {
        const bool some = dice.chance(500);
        return core::Command(core::GetQueues{{},
                                             some ? named_queue(dice) : SharedBytes(),
                                             static_cast<std::uint32_t>(dice.below(4))});
      }
      return core::Command(core::GetQueues{named_queue(dice)});
    case 1:
      return engine::AwaitProjection{};
    case 2:
      return engine::AwaitEvents{{Seq{dice.below(1'000)}}, some_wait(dice)};
    default:
      return core::Command(core::GetJob{some_id(dice)});
  }
}

engine::Request Clients::ask(Dice& dice, Time now, bool crowded) {
  const std::uint32_t scheduling = swarm_.of(Knob::kSchedules);
  if (scheduling > 0 && dice.chance(scheduling)) return schedule(dice, now);
  const std::uint32_t cataloguing = swarm_.of(Knob::kCatalog);
  if (cataloguing > 0 && dice.chance(cataloguing)) return catalog(dice);
  const std::uint32_t operating = swarm_.of(Knob::kOperations);
  if (operating > 0 && dice.chance(operating)) return operation(dice, now);
  const std::uint32_t limiting = swarm_.of(Knob::kLimits);
  if (!to_tell_.empty() && dice.chance(700)) {
    core::Command told = std::move(to_tell_.back());
    to_tell_.pop_back();
    return told;
  }
  if (limiting > 0 && dice.chance(limiting)) {
    return dice.chance(250) ? set_queue(dice) : limit(dice);
  }
  if (dice.chance(swarm_.of(Knob::kOperators))) return operate(dice, now);
  if (dice.chance(swarm_.of(Knob::kQueueSettings))) return set_queue(dice);
  if (dice.chance(swarm_.of(Knob::kWatches))) {
    return engine::WatchJob{some_id(dice), some_wait(dice)};
  }
  const std::uint64_t kind = dice.below(100);
  if (kind < (crowded ? 10u : 34u)) return enqueue(dice, now);
  if (kind < 42) return read(dice);
  if (kind < 48) return core::Command(heartbeat(dice));
  if (kind < 50) return core::Command(logs(dice));
  if (dice.chance(swarm_.of(Knob::kPolls))) return poll(dice, now);
  if (kind < 74) return claim_request(dice);
  core::Ack command;
  if (dice.chance(200)) command.detail = core::Detail::kJobs;
  for (std::uint64_t i = 1 + dice.below(4); i > 0; --i) {
    command.items.push_back(ack_item(dice, now));
  }
  return core::Command(std::move(command));
}

engine::Request Clients::on_arrival(engine::Request request) {
  const auto renew = [this](std::vector<core::JobSpec>& specs) {
    for (core::JobSpec& spec : specs) {
      if (spec.id_origin == core::IdOrigin::kServer) spec.id = server_id(++made_, spec.queue);
    }
  };
  const auto renew_nested = [&](core::Ack& acks) {
    for (core::AckItem& item : acks.items) renew(item.enqueue);
  };
  if (auto* poll = std::get_if<engine::Poll>(&request)) {
    renew_nested(poll->acks);
  } else if (auto* command = std::get_if<core::Command>(&request)) {
    if (auto* enqueue = std::get_if<core::Enqueue>(command)) renew(enqueue->jobs);
    if (auto* set = std::get_if<core::SetSchedule>(command)) set->incarnation = ++incarnations_;
    if (auto* set = std::get_if<core::SetLimit>(command)) set->incarnation = ++incarnations_;
    if (auto* acks = std::get_if<core::Ack>(command)) renew_nested(*acks);
  }
  return request;
}

// --- What they hear.

void Clients::learn(const core::ClaimReply& reply) {
  for (const auto& item : reply.jobs) {
    leases_.push_back({item.job.id, item.job.token, item.job.latest.worker});
    if (item.job.extras != nullptr) leases_.back().limits = item.job.extras->limits;
    if (leases_.size() > kLeasesRemembered) leases_.pop_front();
    granted_.emplace(item.job.id, item.job.token);
  }
}

void Clients::remember(const JobId& id) {
  ids_.push_back(id);
  if (ids_.size() > kIdsRemembered) ids_.pop_front();
}

void Clients::heard(const engine::Answer& answer) {
  if (const auto* poll = std::get_if<engine::PollReply>(&answer)) return learn(poll->claim);
  const auto* reply = std::get_if<core::Reply>(&answer);
  if (reply == nullptr) return;
  if (const auto* claim = std::get_if<core::ClaimReply>(reply)) learn(*claim);
  learn_settings(*reply);
  if (const auto* limits = std::get_if<core::LimitReply>(reply)) learn_limits(*limits);
  const auto* submitted = std::get_if<core::EnqueueReply>(reply);
  if (submitted == nullptr || submitted->refused_as_one || made_as_ == Ids::kNumbered) return;
  for (const auto& item : submitted->items) {
    if (item.fate == core::Fate::kCreated) remember(item.id);
  }
}

}  // namespace millrace::sim
