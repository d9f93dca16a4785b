#include "engine/routing/scatter_gather.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "engine/kinds.h"
#include "engine/routing/operation_parts.h"
#include "engine/shard/outbox.h"
#include "engine/shard/workers.h"

namespace millrace::engine {
namespace {

using core::ItemReply;
using core::Refusal;
using core::Rejection;

// Items of one request by shard, in order of each shard's first item.
class Places {
 public:
  void add(ShardNumber shard) {
    const std::uint32_t place = next_++;
    const auto same = [&](const auto& entry) { return entry.first == shard; };
    auto found = std::ranges::find_if(by_shard_, same);
    if (found == by_shard_.end()) {
      by_shard_.emplace_back(shard, std::vector<std::uint32_t>{});
      found = std::prev(by_shard_.end());
    }
    found->second.push_back(place);
  }
  std::vector<std::pair<ShardNumber, std::vector<std::uint32_t>>>& by_shard() { return by_shard_; }

 private:
  std::uint32_t next_ = 0;
  std::vector<std::pair<ShardNumber, std::vector<std::uint32_t>>> by_shard_;
};

template <typename T>
std::vector<T> pick(std::vector<T>& items, const std::vector<std::uint32_t>& places) {
  std::vector<T> picked;
  picked.reserve(places.size());
  for (const std::uint32_t place : places) picked.push_back(std::move(items[place]));
  return picked;
}

ShardNumber shard_of_item(const JobId& id, ShardNumber shards) { return shard_of(id, shards); }
ShardNumber shard_of_item(const core::JobSpec& spec, ShardNumber shards) {
  // The server's own ids carry the queue's bits; a client's may not.
  if (spec.id_origin == core::IdOrigin::kServer) return shard_of(spec.id, shards);
  return shard_of(spec.queue.view(), shards);
}
template <typename Item>
ShardNumber shard_of_item(const Item& item, ShardNumber shards) {
  return shard_of(item.id, shards);
}

const JobId& id_of(const JobId& id) { return id; }
template <typename Item>
const JobId& id_of(const Item& item) {
  return item.id;
}

// The single shard of all items seen.
class OneShard {
 public:
  void see(ShardNumber shard) {
    if (shard_ && *shard_ != shard) several_ = true;
    shard_ = shard;
  }
  template <typename Items>
  void see_items(const Items& items, ShardNumber shards) {
    for (const auto& item : items) see(shard_of_item(item, shards));
  }
  void see_queues(const std::vector<SharedBytes>& queues, ShardNumber shards) {
    for (const SharedBytes& queue : queues) see(shard_of(queue.view(), shards));
  }
  // Without any items, any shard will do.
  std::optional<ShardNumber> shard() const {
    return several_ ? std::nullopt : std::optional(shard_.value_or(0));
  }

 private:
  std::optional<ShardNumber> shard_;
  bool several_ = false;
};

// The single shard of a request, by kind; none: several shards.
struct OnlyShard {
  ShardNumber shards;

  template <HasItems Command>
  std::optional<ShardNumber> operator()(const Command& c) const {
    OneShard one;
    one.see_items(items_of(c), shards);
    return one.shard();
  }
  template <typename Command>
    requires(Kind<Command>::kRoute == Route::kByQueue)
  std::optional<ShardNumber> operator()(const Command& c) const {
    const std::string_view name = Kind<Command>::routed_by(c);
    return name.empty() ? std::nullopt : std::optional(shard_of(name, shards));
  }
  // To the workflow's home.
  template <typename Command>
    requires(std::derived_from<Kind<Command>, core::OnWorkflow> &&
             Kind<Command>::kRoute == Route::kToOne)
  std::optional<ShardNumber> operator()(const Command& c) const {
    return shard_of(c.id, shards);
  }
  template <typename Asked>
    requires(Kind<Asked>::kRoute == Route::kToAll)
  std::optional<ShardNumber> operator()(const Asked&) const {
    return std::nullopt;
  }

  std::optional<ShardNumber> operator()(const core::Claim& c) const { return of(c.queues); }
  std::optional<ShardNumber> operator()(const WaitingClaim& c) const { return of(c.claim.queues); }
  std::optional<ShardNumber> operator()(const AwaitWork& wait) const { return of(wait.queues); }
  std::optional<ShardNumber> operator()(const AwaitEvents&) const { return std::nullopt; }
  // The first shard holds the data of the whole store.
  std::optional<ShardNumber> operator()(const core::PutCatalogEntry&) const { return 0; }
  std::optional<ShardNumber> operator()(const core::DeleteCatalogEntry&) const { return 0; }
  std::optional<ShardNumber> operator()(const core::GetCatalog&) const { return 0; }
  std::optional<ShardNumber> operator()(const core::NoteAudit&) const { return 0; }
  // These go to a shard's own gateway.
  std::optional<ShardNumber> operator()(const AwaitJobQuestions&) const { return 0; }
  std::optional<ShardNumber> operator()(const AwaitOperationWork&) const { return 0; }
  std::optional<ShardNumber> operator()(const core::StepOperation&) const { return 0; }
  std::optional<ShardNumber> operator()(const TellOfJob& told) const {
    return shard_of(told.schedule.view(), shards);
  }
  std::optional<ShardNumber> operator()(const core::ReportShares& c) const { return of(c.shard); }
  std::optional<ShardNumber> operator()(const core::GiveShares& c) const { return of(c.shard); }
  std::optional<ShardNumber> operator()(const core::SettleMembers& c) const { return of(c.shard); }
  std::optional<ShardNumber> operator()(const core::RetryMember& c) const { return of(c.shard); }
  std::optional<ShardNumber> operator()(const core::CancelMembers& c) const { return of(c.shard); }
  std::optional<ShardNumber> operator()(const core::StartOperation& c) const {
    return c.shard ? of(*c.shard) : std::nullopt;
  }
  std::optional<ShardNumber> operator()(const core::CopyLimit& c) const {
    return c.shard ? of(*c.shard) : std::nullopt;
  }
  std::optional<ShardNumber> operator()(const core::GetJob& c) const {
    return shard_of(c.id, shards);
  }
  std::optional<ShardNumber> operator()(const core::GetWhy& c) const {
    return shard_of(c.id, shards);
  }
  std::optional<ShardNumber> operator()(const WatchJob& watch) const {
    return watch.queue.empty() ? shard_of(watch.id, shards) : shard_of(watch.queue.view(), shards);
  }
  std::optional<ShardNumber> operator()(const Poll& poll) const {
    // All shards must learn that the worker ends.
    if (poll.goodbye) return std::nullopt;
    // Only for the worker's commands: any shard may have some.
    if (!poll.claim && poll.acks.items.empty() && poll.heartbeats.items.empty() &&
        poll.logs.items.empty()) {
      return std::nullopt;
    }
    OneShard one;
    one.see_items(poll.acks.items, shards);
    one.see_items(poll.heartbeats.items, shards);
    one.see_items(poll.logs.items, shards);
    if (poll.claim) one.see_queues(poll.claim->queues, shards);
    return one.shard();
  }

 private:
  // Another node may have given this number: reduce it to an existing shard.
  std::optional<ShardNumber> of(ShardNumber shard) const { return shard % shards; }
  std::optional<ShardNumber> of(const std::vector<SharedBytes>& queues) const {
    OneShard one;
    one.see_queues(queues, shards);
    return one.shard();
  }
};

template <HasItems Command>
std::vector<Part> scatter_items(Command command, ShardNumber shards) {
  auto items = std::move(items_of(command));
  items_of(command).clear();
  Places places;
  for (const auto& item : items) places.add(shard_of_item(item, shards));
  std::vector<Part> parts;
  for (auto& [shard, where] : places.by_shard()) {
    Command part = command;
    items_of(part) = pick(items, where);
    parts.push_back({shard, core::Command(std::move(part)), std::move(where)});
  }
  return parts;
}

std::vector<Part> for_each_shard(const Request& request, ShardNumber shards) {
  std::vector<Part> parts;
  for (ShardNumber shard = 0; shard < shards; ++shard) parts.push_back({shard, request});
  return parts;
}

// Each shard waits for its own rows.
std::vector<Part> scatter_wait(const AwaitEvents& wait, ShardNumber shards) {
  std::vector<Part> parts;
  for (ShardNumber shard = 0; shard < shards; ++shard) {
    AwaitEvents own{{}, wait.wait};
    if (shard < wait.after.size()) own.after.push_back(wait.after[shard]);
    parts.push_back({shard, std::move(own)});
  }
  return parts;
}

Refusal refusal_of(Unavailable why) {
  using core::RefusalDetail;
  switch (why) {
    case Unavailable::kUnknown:
      return {Rejection::kOverloaded, {}, RefusalDetail::kShardSilent};
    case Unavailable::kNoLeader:
    case Unavailable::kUpgrading:  // the shard's leader or a follower is too old for it
      return {Rejection::kOverloaded, {}, RefusalDetail::kShardWithoutLeader};
    case Unavailable::kDraining:
      return {Rejection::kOverloaded, {}, RefusalDetail::kShardStopping};
    default:
      return {Rejection::kOverloaded, {}, RefusalDetail::kShardUnwritable};
  }
}

void put(core::EnqueueReply& whole, const Part& part, core::EnqueueReply reply) {
  for (std::size_t i = 0; i < part.places.size() && i < reply.items.size(); ++i) {
    whole.items[part.places[i]] = std::move(reply.items[i]);
  }
}
void put(core::ItemsReply& whole, const Part& part, core::ItemsReply reply) {
  for (std::size_t i = 0; i < part.places.size() && i < reply.items.size(); ++i) {
    whole.items[part.places[i]] = std::move(reply.items[i]);
  }
}

void refuse_items(Answer& whole, const Part& part, const Refusal& refusal) {
  auto& reply = std::get<core::Reply>(whole);
  for (const std::uint32_t place : part.places) {
    if (auto* enqueued = std::get_if<core::EnqueueReply>(&reply)) {
      enqueued->items[place].fate = core::Fate::kRefused;
      enqueued->items[place].refusal = refusal;
    } else {
      std::get<core::ItemsReply>(reply).items[place].refusal = refusal;
    }
  }
}

// The shard does not have the job; for a lease it can't tell that from a lost one.
bool is_unknown(const ItemReply& item) {
  return item.refusal.why == Rejection::kNotFound || item.refusal.why == Rejection::kLeaseLost;
}

// Adds another shard's view of the same worker.
void merge_views(WorkerView& whole, WorkerView more) {
  const bool newer = more.last_seen_at > whole.last_seen_at;
  const auto add_to = [](std::vector<SharedBytes>& names, std::vector<SharedBytes>& others) {
    for (SharedBytes& name : others) {
      const auto is_it = [&](const SharedBytes& known) { return known.view() == name.view(); };
      if (std::ranges::none_of(names, is_it)) names.push_back(std::move(name));
    }
  };
  add_to(whole.queues, more.queues);
  add_to(whole.types, more.types);
  whole.state = std::max(whole.state, more.state);
  whole.first_seen_at = std::min(whole.first_seen_at, more.first_seen_at);
  whole.last_seen_at = std::max(whole.last_seen_at, more.last_seen_at);
  const bool better = newer ? !says_nothing(more.info) : says_nothing(whole.info);
  if (better) whole.info = std::move(more.info);
  std::ranges::move(more.running, std::back_inserter(whole.running));
}

// Merges two lists sorted by id, possibly very long; the views of one worker become one.
void merge_workers(WorkersReply& whole, WorkersReply more) {
  whole.found = whole.found || more.found;
  std::vector<WorkerView> both;
  both.reserve(whole.workers.size() + more.workers.size());
  const auto name_of = [](const WorkerView& view) { return view.info.id.view(); };
  std::ranges::merge(
      std::make_move_iterator(whole.workers.begin()), std::make_move_iterator(whole.workers.end()),
      std::make_move_iterator(more.workers.begin()), std::make_move_iterator(more.workers.end()),
      std::back_inserter(both), {}, name_of, name_of);
  whole.workers.clear();
  for (WorkerView& view : both) {
    const bool same = !whole.workers.empty() && name_of(whole.workers.back()) == name_of(view);
    if (same) {
      merge_views(whole.workers.back(), std::move(view));
    } else {
      whole.workers.push_back(std::move(view));
    }
  }
}

// For FindJob: the shard that has the job answers for all, including those that cannot.
const core::JobView* job_in(const Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* job = reply == nullptr ? nullptr : std::get_if<core::JobReply>(reply);
  return job == nullptr ? nullptr : job->job.get();
}

template <typename Named>
std::string_view name_of(const Named& one) {
  return one.name.view();
}
std::string_view name_of(const core::LimitView& one) { return one.limit.name.view(); }
std::string_view name_of(const core::GateUse& one) { return one.key.view(); }
std::string name_of(const core::LimitHolder& one) { return to_string(one.job); }

// Merges pages by name. Full pages are merged only as far as every shard has reported.
template <typename Named>
void merge_pages(std::vector<Named>& whole, SharedBytes& whole_next, std::vector<Named>& more,
                 const SharedBytes& more_next) {
  std::ranges::move(more, std::back_inserter(whole));
  std::ranges::sort(whole, {}, [](const Named& one) { return name_of(one); });
  if (whole_next.empty() || (!more_next.empty() && more_next.view() < whole_next.view())) {
    whole_next = more_next;
  }
  if (whole_next.empty()) return;
  std::erase_if(whole, [&](const Named& one) { return name_of(one) > whole_next.view(); });
}

// Leaves out the shards' own queues.
void merge_queues(core::QueueReply& whole, core::QueueReply more) {
  std::erase_if(more.queues,
                [](const core::Queue& queue) { return queue.name.view() == kOutboxQueue; });
  merge_pages(whole.queues, whole.next, more.queues, more.next);
}

// The use of one limit, or key, on two shards: the counts are added.
void add_use(core::GateUse& whole, const core::GateUse& more) {
  whole.in_use += more.in_use;
  whole.waiting += more.waiting;
  whole.unfinished += more.unfinished;
  if (!whole.pause) whole.pause = more.pause;
  // Each shard judges its breakers by itself: the most restrictive one is shown.
  if (more.breaker && (!whole.breaker || *whole.breaker < *more.breaker)) {
    whole.breaker = more.breaker;
    whole.open_until = more.open_until;
  }
  if (more.slow_until)
    whole.slow_until = std::max(whole.slow_until.value_or(Time{}), *more.slow_until);
  // A token on one shard is only available to jobs there.
  if (more.next_token_at && (!whole.next_token_at || *more.next_token_at < *whole.next_token_at)) {
    whole.next_token_at = more.next_token_at;
  }
}
void add_same(core::LimitView& whole, core::LimitView& more) {
  // An older copy contributes only its counts.
  if (whole.limit.revision < more.limit.revision) {
    std::swap(whole.limit, more.limit);
    std::swap(whole.use.pause, more.use.pause);
  } else {
    more.use.pause.reset();
  }
  add_use(whole.use, more.use);
}
void add_same(core::GateUse& whole, core::GateUse& more) { add_use(whole, more); }

// Adjacent entries with the same name become one.
template <typename Named>
void unite(std::vector<Named>& all) {
  std::vector<Named> united;
  for (Named& one : all) {
    if (!united.empty() && name_of(united.back()) == name_of(one)) {
      add_same(united.back(), one);
    } else {
      united.push_back(std::move(one));
    }
  }
  all = std::move(united);
}

// A shard without the limit has missed the copy, or its jobs never named it.
void merge_limits(core::LimitReply& whole, core::LimitReply more) {
  whole.created |= more.created;
  whole.changed |= more.changed;
  whole.named |= more.named;
  if (more.refusal && more.refusal.why != Rejection::kNotFound) whole.refusal = more.refusal;
  SharedBytes next = whole.next;
  merge_pages(whole.limits, next, more.limits, more.next);
  unite(whole.limits);
  const SharedBytes next_limit = next;
  next = whole.next;
  merge_pages(whole.keys, next, more.keys, more.next);
  unite(whole.keys);
  next = whole.next;
  merge_pages(whole.holders, next, more.holders, more.next);
  whole.next = next_limit;
}

}  // namespace

std::optional<ShardNumber> only_shard(const Request& request, ShardNumber shards) {
  if (shards == 1) return 0;
  return visit_kind(OnlyShard{shards}, request);
}

std::vector<Part> scatter(Request request, ShardNumber shards) {
  if (const auto* wait = std::get_if<AwaitEvents>(&request)) return scatter_wait(*wait, shards);
  auto* const command = std::get_if<core::Command>(&request);
  if (command == nullptr) return for_each_shard(request, shards);
  return std::visit(
      [&]<typename Command>(Command& c) -> std::vector<Part> {
        if constexpr (HasItems<Command>) {
          return scatter_items(std::move(c), shards);
        } else {
          return for_each_shard(core::Command(std::move(c)), shards);
        }
      },
      *command);
}

Answer empty_answer(const Request& request) {
  return visit_kind(
      []<typename T>(const T& asked) -> Answer {
        typename Kind<T>::Answer answer{};
        if constexpr (Kind<T>::kRoute == Route::kByJob) {
          answer.items.resize(asked.jobs.size());
        } else if constexpr (Kind<T>::kRoute == Route::kByItem) {
          for (const auto& item : items_of(asked)) {
            answer.items.emplace_back().id = id_of(item);
          }
        } else if constexpr (std::is_same_v<T, SetWorkerState>) {
          answer.found = false;  // until a shard knows the worker
        }
        if constexpr (std::is_constructible_v<core::Reply, decltype(answer)> &&
                      !std::is_same_v<decltype(answer), std::monostate>) {
          return core::Reply(std::move(answer));
        } else {
          return answer;
        }
      },
      request);
}

void gather(Answer& whole, const Part& part, Answer answer) {
  if (job_in(whole) != nullptr) return;
  if (job_in(answer) != nullptr) {
    whole = std::move(answer);
    return;
  }
  if (std::holds_alternative<Unavailable>(whole) || std::holds_alternative<Denied>(whole)) {
    // If it may have been done, that takes precedence.
    const auto* why = std::get_if<Unavailable>(&answer);
    if (why != nullptr && *why == Unavailable::kUnknown) whole = *why;
    return;
  }
  if (const auto* denied = std::get_if<Denied>(&answer)) {
    if (part.places.empty()) {
      whole = *denied;
    } else {
      refuse_items(whole, part, {Rejection::kOverloaded, {}, core::RefusalDetail::kShardDenied});
    }
    return;
  }
  if (const auto* why = std::get_if<Unavailable>(&answer)) {
    if (part.places.empty()) {
      whole = *why;
    } else {
      refuse_items(whole, part, refusal_of(*why));
    }
    return;
  }
  if (auto* workers = std::get_if<WorkersReply>(&whole)) {
    return merge_workers(*workers, std::get<WorkersReply>(std::move(answer)));
  }
  auto* reply = std::get_if<core::Reply>(&whole);
  if (reply == nullptr) return;  // done, without a reply
  auto& more = std::get<core::Reply>(answer);
  if (auto* enqueued = std::get_if<core::EnqueueReply>(reply)) {
    put(*enqueued, part, std::get<core::EnqueueReply>(std::move(more)));
  } else if (auto* items = std::get_if<core::ItemsReply>(reply)) {
    put(*items, part, std::get<core::ItemsReply>(std::move(more)));
  } else if (auto* job = std::get_if<core::JobReply>(reply)) {
    job->deleted = job->deleted || std::get<core::JobReply>(more).deleted;
  } else if (auto* limits = std::get_if<core::LimitReply>(reply)) {
    merge_limits(*limits, std::get<core::LimitReply>(std::move(more)));
  } else if (auto* operations = std::get_if<core::OperationReply>(reply)) {
    merge_operations(*operations, std::get<core::OperationReply>(std::move(more)));
  } else if (auto* schedules = std::get_if<core::ScheduleReply>(reply)) {
    auto& others = std::get<core::ScheduleReply>(more);
    merge_pages(schedules->schedules, schedules->next, others.schedules, others.next);
  } else {
    merge_queues(std::get<core::QueueReply>(*reply), std::get<core::QueueReply>(std::move(more)));
  }
}

std::optional<Part> ask_elsewhere(const Request& request, const Answer& whole) {
  const auto* command = std::get_if<core::Command>(&request);
  const auto* reply = std::get_if<core::Reply>(&whole);
  const auto* items = reply == nullptr ? nullptr : std::get_if<core::ItemsReply>(reply);
  if (command == nullptr || items == nullptr) return std::nullopt;
  Part part;
  for (std::uint32_t place = 0; place < items->items.size(); ++place) {
    if (is_unknown(items->items[place])) part.places.push_back(place);
  }
  if (part.places.empty()) return std::nullopt;
  part.request = std::visit(
      [&]<typename Command>(Command c) -> Request {
        if constexpr (HasItems<Command>) {
          items_of(c) = pick(items_of(c), part.places);
        }
        return core::Command(std::move(c));
      },
      *command);
  return part;
}

void gather_elsewhere(Answer& whole, const Part& part, Answer answer) {
  auto& items = std::get<core::ItemsReply>(std::get<core::Reply>(whole)).items;
  if (const auto* why = std::get_if<Unavailable>(&answer)) {
    // That shard may have the job, so the job may still exist.
    const Refusal refusal = refusal_of(*why);
    for (const std::uint32_t place : part.places) {
      ItemReply& item = items[place];
      const bool may_be_done = refusal.detail == core::RefusalDetail::kShardSilent;
      const bool refused = item.refusal.why == Rejection::kOverloaded;
      if (is_unknown(item) || (refused && may_be_done)) item.refusal = refusal;
    }
    return;
  }
  if (std::holds_alternative<Denied>(answer)) {
    for (const std::uint32_t place : part.places) {
      ItemReply& item = items[place];
      if (is_unknown(item)) {
        item.refusal = {Rejection::kOverloaded, {}, core::RefusalDetail::kShardDenied};
      }
    }
    return;
  }
  auto* reply = std::get_if<core::Reply>(&answer);
  auto* more = reply == nullptr ? nullptr : std::get_if<core::ItemsReply>(reply);
  if (more == nullptr) return;
  for (std::size_t i = 0; i < part.places.size() && i < more->items.size(); ++i) {
    if (!is_unknown(more->items[i])) items[part.places[i]] = std::move(more->items[i]);
  }
}

core::Ack releases_of(const core::ClaimReply& claim) {
  core::Ack release_all;
  for (const core::ClaimReply::Item& item : claim.jobs) {
    core::AckItem ack;
    ack.id = item.job.id;
    ack.token = item.job.token;
    ack.outcome = core::AckOutcome::kReleased;
    release_all.items.push_back(std::move(ack));
  }
  return release_all;
}

// Longer than a request takes from node to node.
constexpr Duration kOutlastsEveryWay{60'000};

bool is_idempotent(const Request& request) {
  const Again again = facts_of(request).again;
  if (again != Again::kIfKeyed) return again == Again::kAlways;
  const auto& enqueue = std::get<core::Enqueue>(std::get<core::Command>(request));
  // An id is known while its job exists: only for a moment if the queue keeps nothing. A key is
  // known for its window.
  if (enqueue.key) return enqueue.key_window >= kOutlastsEveryWay;
  return std::ranges::all_of(enqueue.jobs, [](const core::JobSpec& spec) {
    return spec.key != nullptr && spec.key->window >= kOutlastsEveryWay;
  });
}

void make_repeatable(Request& request) {
  auto* command = std::get_if<core::Command>(&request);
  auto* enqueue = command == nullptr ? nullptr : std::get_if<core::Enqueue>(command);
  if (enqueue == nullptr) return;
  for (core::JobSpec& spec : enqueue->jobs) spec.id_origin = core::IdOrigin::kClient;
}

void as_first_answer(const Request& request, Answer& answer) {
  const auto* command = std::get_if<core::Command>(&request);
  const auto* enqueue = command == nullptr ? nullptr : std::get_if<core::Enqueue>(command);
  auto* reply = std::get_if<core::Reply>(&answer);
  auto* enqueued = reply == nullptr ? nullptr : std::get_if<core::EnqueueReply>(reply);
  if (enqueue == nullptr || enqueued == nullptr) return;
  for (std::size_t i = 0; i < enqueue->jobs.size() && i < enqueued->items.size(); ++i) {
    core::EnqueueReply::Item& item = enqueued->items[i];
    if (item.fate == core::Fate::kExisting && item.id == enqueue->jobs[i].id) {
      item.fate = core::Fate::kCreated;
    }
  }
}

}  // namespace millrace::engine
