#include "node/inbox_intake.h"

#include <utility>

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;

// The pause after the shard could not take the offered rows.
constexpr auto kOfferPause = 100ms;
constexpr auto kFinishesPause = 500ms;

// The queue of a row whose order matters; empty: it does not matter. No queue's name has a space.
std::string order_of(const core::Command& command) {
  if (const auto* const enqueue = std::get_if<core::Enqueue>(&command)) {
    return std::string(enqueue->jobs.front().queue.view());
  }
  if (const auto* const create = std::get_if<core::CreateWorkflow>(&command)) {
    return std::string(create->spec.queue.view());
  }
  const auto of_schedule = [](const SharedBytes& name) {
    return std::string("schedule ").append(name.view());
  };
  if (const auto* const set = std::get_if<core::SetSchedule>(&command)) {
    return of_schedule(set->name);
  }
  if (const auto* const gone = std::get_if<core::DeleteSchedule>(&command)) {
    return of_schedule(gone->name);
  }
  return {};
}

}  // namespace

InboxIntake::InboxIntake(Parts parts) : parts_(std::move(parts)) { reader_.shard = parts_.shard; }

std::string InboxIntake::reason_of(const core::Refusal& refusal) const {
  if (refusal.detail == core::RefusalDetail::kNone) return "the shard refuses it";
  return std::string(parts_.sentence_of(refusal.detail));
}

bool InboxIntake::holds(const store::InboxKey& key) const {
  return waiting_.contains(key) || asked_.contains(key) || useless_.contains(key) ||
         astray_.contains(key) || rejected_.contains(key) || queues_.holds(key);
}

bool InboxIntake::has_enough() const {
  if (waiting_.size() + asked_.size() >= parts_.bounds.rows) return true;
  std::size_t bytes = 0;
  for (const auto& [key, row] : waiting_) bytes += row.payload.size();
  for (const auto& [key, row] : asked_) bytes += row.payload.size();
  return bytes >= parts_.bounds.bytes;
}

bool InboxIntake::add(store::InboxRow row) {
  const store::InboxKey key = row.key;
  return !holds(key) && waiting_.emplace(key, std::move(row)).second;
}

void InboxIntake::wait_a_moment(Instant now) { not_before_ = now + kOfferPause; }

// --- Calls of the inbox.

// Handles first the rows that no append takes. A failure to remove them does not stop reading.
std::optional<InboxCall> InboxIntake::next_call(Instant now) {
  if (stage_ == Stage::kDrop) {
    stage_ = Stage::kMove;
    if (!useless_.empty()) return DropRows{{useless_.begin(), useless_.end()}};
  }
  if (stage_ == Stage::kMove) {
    if (!astray_.empty()) return MoveRow{*astray_.begin(), (parts_.shard + 1) % parts_.shards};
    stage_ = Stage::kReject;
  }
  if (stage_ == Stage::kReject) {
    stage_ = Stage::kRead;
    RejectRows reject;
    for (const auto& [key, row] : rejected_) reject.rows.push_back(row);
    if (!reject.rows.empty()) return reject;
  }
  if (stage_ == Stage::kRead) {
    stage_ = Stage::kFetch;
    if (auto read = next_read(now)) return read;
  }
  if (stage_ == Stage::kFetch) {
    stage_ = Stage::kOver;
    if (now < not_before_) return std::nullopt;
    FetchRows fetch{queues_.due(parts_.bounds.rows_due, now)};
    if (!fetch.keys.empty()) return fetch;
  }
  return std::nullopt;
}

std::optional<InboxCall> InboxIntake::next_read(Instant now) {
  if (!proved_ || has_enough()) return std::nullopt;
  if (queues_.size() < parts_.bounds.rows_of_queues) return ReadPage{};
  // A finish must not wait until other rows have room: its job would be run again in the meantime,
  // for nothing.
  if (now < next_finishes_) return std::nullopt;
  next_finishes_ = now + kFinishesPause;
  return ReadFinishes{};
}

void InboxIntake::done(const InboxCall& call) {
  if (const auto* const drop = std::get_if<DropRows>(&call)) {
    for (const store::InboxKey& key : drop->keys) {
      useless_.erase(key);
      queues_.settle(key);  // rows of schedules; the others are settled already
    }
  } else if (const auto* const move = std::get_if<MoveRow>(&call)) {
    astray_.erase(move->key);
  } else if (const auto* const reject = std::get_if<RejectRows>(&call)) {
    for (const store::RejectedRow& row : reject->rows) {
      rejected_.erase(row.key);
      queues_.settle(row.key);
    }
  }
}

bool InboxIntake::read(store::InboxReader reader, store::InboxPage page) {
  reader_ = std::move(reader);
  reader_.place.advance(page);
  bool more = false;
  for (store::InboxRow& row : page.rows) {
    if (add(std::move(row))) more = page.cut;
  }
  return more;
}

void InboxIntake::read(std::vector<store::InboxRow> finishes) {
  for (store::InboxRow& row : finishes) add(std::move(row));
}

void InboxIntake::fetched(store::FetchedRows rows) {
  for (const store::InboxKey& key : rows.left) queues_.put_back(key);
  for (const store::InboxKey& key : rows.gone) queues_.settle(key);
  for (store::InboxRow& row : rows.rows) {
    const store::InboxKey key = row.key;
    waiting_.emplace(key, std::move(row));
  }
}

void InboxIntake::failed(const InboxCall& call, Instant now) {
  if (std::holds_alternative<MoveRow>(call)) {
    stage_ = Stage::kReject;  // the next round tries again
  } else if (const auto* const fetch = std::get_if<FetchRows>(&call)) {
    for (const store::InboxKey& key : fetch->keys) queues_.put_back(key);
    wait_a_moment(now);
  }
}

// --- Offers to the shard.

std::optional<InboxIntake::Offer> InboxIntake::next_offer(Instant now) {
  if (now < not_before_) return std::nullopt;
  if (!proved_) {
    wait_a_moment(now);
    return Offer{{}, core::GetJob{}, {}};
  }
  while (!waiting_.empty()) {
    auto node = waiting_.extract(waiting_.begin());
    const store::InboxKey key = node.key();
    auto command = parts_.command_of(node.mapped());
    if (!command) {
      queues_.settle(key);
      reject({key, std::move(command.error())});
      continue;
    }
    engine::FromInbox from{key};
    if (const std::string queue = order_of(*command); !queue.empty()) {
      const auto flow = store::is_of_schedule(node.mapped().kind) ? InboxQueues::Flow::kOneByOne
                                                                  : InboxQueues::Flow::kFree;
      if (!queues_.holds(key) && !queues_.add(queue, key, flow)) continue;
      from.round = queues_.round(key);
    }
    asked_.insert(std::move(node));
    return Offer{key, std::move(*command), from};
  }
  return std::nullopt;
}

void InboxIntake::answered(const store::InboxKey& row, const engine::Answer& answer, Instant now) {
  const auto* const reply = std::get_if<core::Reply>(&answer);
  if (row == store::InboxKey{}) {
    if (reply == nullptr) return wait_a_moment(now);
    proved_ = true;
    not_before_ = {};
    return;
  }
  auto node = asked_.extract(row);
  if (reply == nullptr) {
    if (queues_.holds(row)) return queues_.refused(row, now);
    waiting_.insert(std::move(node));
    return wait_a_moment(now);
  }
  if (const auto* const enqueued = std::get_if<core::EnqueueReply>(reply)) {
    conclude_enqueue(row, *enqueued, now);
  } else if (const auto* const workflow = std::get_if<core::WorkflowReply>(reply)) {
    conclude_workflow(row, *workflow, now);
  } else if (const auto* const schedule = std::get_if<core::ScheduleReply>(reply)) {
    conclude_schedule(row, *schedule, now);
  } else {
    conclude_finish(node.mapped(), std::get<core::ItemsReply>(*reply));
  }
}

void InboxIntake::conclude_enqueue(const store::InboxKey& key, const core::EnqueueReply& reply,
                                   Instant now) {
  const core::EnqueueReply::Item& item = reply.items.front();
  if (engine::is_put_off(reply)) return queues_.refused(key, now);
  queues_.settle(key);
  switch (item.fate) {
    case core::Fate::kCreated:  // the append deletes the row
      return;
    case core::Fate::kExisting:
      useless_.insert(key);
      return;
    case core::Fate::kRefused:
      reject({key, reason_of(item.refusal)});
  }
}

void InboxIntake::conclude_workflow(const store::InboxKey& key, const core::WorkflowReply& reply,
                                    Instant now) {
  if (engine::is_put_off(reply)) return queues_.refused(key, now);
  queues_.settle(key);
  if (reply.refusal) {
    reject({key, reason_of(reply.refusal)});
  } else if (!reply.created) {
    useless_.insert(key);
  }
}

void InboxIntake::conclude_schedule(const store::InboxKey& key, const core::ScheduleReply& reply,
                                    Instant now) {
  switch (reply.refusal.why) {
    case core::Rejection::kNone:
      if (reply.changed) {
        queues_.settle(key);  // the append deletes the row
      } else {
        useless_.insert(key);
      }
      return;
    case core::Rejection::kOverloaded:
      return queues_.refused(key, now);
    case core::Rejection::kNotFound:  // there is nothing to delete
      useless_.insert(key);
      return;
    default:
      reject({key, reason_of(reply.refusal)});
  }
}

// Also handles the results of fences.
void InboxIntake::conclude_finish(const store::InboxRow& row, const core::ItemsReply& reply) {
  const core::ItemReply& item = reply.items.front();
  using core::RefusalDetail;
  if (!item.refusal) {
    if (item.version == 0) useless_.insert(row.key);  // nothing had to be changed
  } else if (item.refusal.detail == RefusalDetail::kNoSuchLease) {
    reject({row.key, reason_of(item.refusal), store::FenceOfRejected::kReopened, item.fence});
  } else if (item.refusal.detail == RefusalDetail::kLeaseForgotten) {
    reject({row.key, reason_of(item.refusal)});
  } else if (row.moves + 1 < parts_.shards) {
    astray_.insert(row.key);  // an id chosen by a client does not identify the shard
  } else if (row.kind == store::InboxKind::kFence) {
    useless_.insert(row.key);
  } else {
    // The job may have existed when the transaction committed, which then ended its generation.
    reject({row.key, "there is no such job: it may have been pruned"});
  }
}

}  // namespace millrace::node
