#include "sim/cluster/poller.h"

#include <memory>
#include <utility>

namespace millrace::sim {
namespace {

// Small enough to be reached.
constexpr node::InboxIntake::Bounds kBounds{
    .rows = 12, .bytes = 40, .rows_of_queues = 16, .rows_due = 8};

// Carries the call out at the database; the node may be gone by then. Returns the report to the
// intake:
std::function<void(node::InboxIntake&, node::Instant)> carry_out(Database& database,
                                                                 const node::InboxCall& call,
                                                                 const store::InboxReader& reader) {
  Transactions& inbox = database.transactions();
  if (std::holds_alternative<node::ReadPage>(call)) {
    return [reader, page = inbox.read(reader)](node::InboxIntake& intake, node::Instant) {
      (void)intake.read(reader, page);
    };
  }
  if (std::holds_alternative<node::ReadFinishes>(call)) {
    return [rows = inbox.finishes(reader.shard)](node::InboxIntake& intake, node::Instant) {
      intake.read(rows);
    };
  }
  if (const auto* const fetch = std::get_if<node::FetchRows>(&call)) {
    return [rows = inbox.fetch(reader.shard, fetch->keys)](node::InboxIntake& intake,
                                                           node::Instant) { intake.fetched(rows); };
  }
  if (const auto* const drop = std::get_if<node::DropRows>(&call)) {
    inbox.drop(reader.shard, drop->keys);
  } else if (const auto* const move = std::get_if<node::MoveRow>(&call)) {
    inbox.move(reader.shard, move->key, move->to);
  } else if (const auto* const reject = std::get_if<node::RejectRows>(&call)) {
    inbox.reject(reader.shard, reject->rows);
  }
  return [call](node::InboxIntake& intake, node::Instant) { intake.done(call); };
}

}  // namespace

std::expected<core::Command, std::string> Poller::command_of(const store::InboxRow& row) const {
  if (row.kind == store::InboxKind::kEnqueue) {
    return parts_.database.submissions().command(row.key);
  }
  core::AckItem item;
  item.id = row.job;
  item.token = row.token;
  item.outcome = core::AckOutcome::kSucceeded;
  item.result = SharedBytes(row.payload);
  core::Ack ack;
  ack.items.push_back(std::move(item));
  ack.right =
      row.kind == store::InboxKind::kFence ? core::AckRight::kFenceRaised : core::AckRight::kFence;
  return ack;
}

void Poller::begin() {
  end();
  intake_.emplace(node::InboxIntake::Parts{
      .shard = parts_.shard,
      .shards = parts_.database.shards(),
      .command_of = [this](const store::InboxRow& row) { return command_of(row); },
      .sentence_of = [](core::RefusalDetail) { return std::string_view("refused"); },
      .bounds = kBounds});
}

void Poller::end() {
  intake_.reset();
  ++life_;
  in_round_ = calling_ = false;
  told_ = nullptr;
  asked_.clear();
  answers_.clear();
}

void Poller::tick(node::Instant now) {
  if (!intake_ || (calling_ && !told_)) return;
  if (std::exchange(calling_, false)) std::exchange(told_, nullptr)(*intake_, now);
  if (!std::exchange(in_round_, true)) {
    take_answers(now);
    intake_->begin_round();
  }
  if (const auto next = intake_->next_call(now)) return call(*next);
  in_round_ = false;
  while (auto offer = intake_->next_offer(now)) bring(std::move(*offer));
}

void Poller::take_answers(node::Instant now) {
  for (const engine::Delivery& delivery : std::exchange(answers_, {})) {
    const auto asked = asked_.extract(delivery.ticket);
    if (!asked.empty()) intake_->answered(asked.mapped(), delivery.answer, now);
  }
}

void Poller::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) answers_.push_back(std::move(delivery));
}

// --- Calls to the database.

void Poller::call(const node::InboxCall& call) {
  calling_ = true;
  const auto heard = [this, life = life_](Told told) {
    if (life == life_) told_ = std::move(told);
  };
  parts_.database.begin(
      {Call::Kind::kInbox, parts_.self, parts_.shard,
       [&database = parts_.database, call, reader = intake_->reader(), heard]() -> Heard {
         return [heard, told = carry_out(database, call, reader)] { heard(told); };
       },
       [heard, call] {
         heard([call](node::InboxIntake& intake, node::Instant now) { intake.failed(call, now); });
       }});
}

// --- Requests to the shard.

void Poller::bring(node::InboxIntake::Offer offer) {
  tell(offer);
  const engine::Ticket ticket{++last_ticket_};
  asked_.emplace(ticket, offer.row);
  parts_.bring(std::move(offer.command), offer.from, ticket);
}

void Poller::tell(const node::InboxIntake::Offer& offer) {
  if (const auto* const enqueue = std::get_if<core::Enqueue>(&offer.command)) {
    const core::JobSpec& job = enqueue->jobs.front();
    parts_.database.submissions().brought(offer.row, parts_.self);
    parts_.story.tell("  {} brings {} to shard {}, in round {} of queue {}", parts_.name,
                      to_string(job.id), parts_.shard, offer.from.round, job.queue.view());
  } else if (const auto* const ack = std::get_if<core::Ack>(&offer.command)) {
    const core::AckItem& item = ack->items.front();
    const bool finish = ack->right == core::AckRight::kFence;
    if (finish) parts_.database.finishes().brought(item.id, item.token, parts_.self);
    parts_.story.tell("  {} brings the {} of a job with token {} to shard {}", parts_.name,
                      finish ? "finish" : "fence", to_number(item.token), parts_.shard);
  }
}

}  // namespace millrace::sim
