// What the driver does while the shard is led here, one round of it.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "sim/host.h"
#include "sim/narrate.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

// As in server/driver.cc and server/journal_thread.cc.
constexpr auto kDoubtPatience = 500ms;
constexpr auto kFirstPause = 50ms;
constexpr auto kLongestPause = 1'000ms;

}  // namespace

// --- The way in.

void Host::submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
                  std::string_view credentials) {
  const By by = credentials == engine::kNodesOwn ? By::kRelay : By::kClient;
  mail_.push_back({&port, ticket, std::move(request), by});
}

void Host::cancel(engine::ReplyPort& port, engine::Ticket ticket) {
  mail_.push_back({&port, ticket, std::nullopt, {}});
}

void Host::durable(Seq seq, const core::EventBatch& batch) {
  durable_ = seq;
  note([seq, batch](Auditor& auditor) { auditor.durable(seq, batch); });
}

// --- A round.

void Host::run_driver() {
  if (!leads()) return;
  const Time now = wake_up();
  take_in(now);
  release();
  decide(now);
  hand_over_row();
  hand_over_flush(now);
  release();
  slept_at_ = clock_->now();
}

Time Host::wake_up() {
  const Time before = clock_->now();
  if (before - slept_at_ > core::kStallGrace && shard_->machine().live_leases() > 0) {
    note([from = slept_at_, before](Auditor& auditor) { auditor.stalled(from, before); });
    shard_->stood_still();
  }
  if (const Duration ahead = clock_->catch_up(); ahead > Duration{0}) {
    parts_.marks.hit(Mark::kWallClockFollowed);
    note([before, ahead](Auditor& auditor) { auditor.stalled(before, before + ahead); });
    shard_->stood_still();
  }
  return clock_->now();
}

void Host::take_in(Time now) {
  if (const auto appended = std::exchange(appended_, std::nullopt)) {
    row_in_flight_ = false;
    if (appended->outcome == store::AppendOutcome::kDurable) {
      note([from = *row_since_, now](Auditor& auditor) { auditor.stalled(from, now); });
      row_since_.reset();
      failing_since_.reset();
      append_failures_ = 0;
      not_before_append_ = {};
    } else {
      if (!failing_since_) failing_since_ = now;
      const auto pause = kFirstPause * (1 << std::min(append_failures_++, 5));
      not_before_append_ = this->now() + std::min<Instant>(pause, kLongestPause);
    }
    shard_->append_done(*appended, now);
    hand_over_row();
  }
  if (const auto flushed = std::exchange(flushed_, std::nullopt)) {
    flush_in_flight_ = false;
    shard_->flush_done(*flushed, now);
  }
  for (Mail& mail : std::exchange(mail_, {})) offer(std::move(mail));
}

void Host::offer(Mail mail) {
  if (!mail.request) {
    for (const auto& [ticket, asked] : asked_) {
      if (asked.port != mail.port || asked.ticket != mail.ticket) continue;
      note([ticket](Auditor& auditor) { auditor.cancelled(ticket); });
      shard_->cancel(*this, ticket);
    }
    return;
  }
  const engine::Ticket ticket = parts_.next_ticket();
  if (parts_.story.told()) {
    parts_.story.tell("#{} at shard {} on {}: {}", static_cast<std::uint64_t>(ticket), number_,
                      parts_.name, narrate(*mail.request));
  }
  note([ticket, request = *mail.request, by = mail.by, round = mail.from.round](Auditor& auditor) {
    auditor.offered(ticket, request, by, round);
  });
  engine::Request request = std::move(*std::exchange(mail.request, std::nullopt));
  const engine::FromInbox from = mail.from;
  asked_.emplace(ticket, std::move(mail));
  if (from.row == store::InboxKey{}) {
    shard_->offer(std::move(request), *this, ticket);
  } else {
    shard_->offer(std::get<core::Command>(std::move(request)), from, *this, ticket);
  }
}

void Host::decide(Time now) {
  const Instant clock = this->now();
  if (!lease_.lease().holds(clock)) {
    if (!in_doubt_since_) {
      in_doubt_since_ = clock;
      doubt_began_ = now;
      shard_->stood_still();
    }
    if (clock - *in_doubt_since_ > kDoubtPatience) {
      note([](Auditor& auditor) { auditor.may_refuse(engine::Unavailable::kNoLeader); });
      shard_->turn_away(engine::Unavailable::kNoLeader);
      release();
    }
    return;
  }
  in_doubt_since_.reset();
  if (const auto since = std::exchange(doubt_began_, std::nullopt)) {
    note([since, now](Auditor& auditor) { auditor.stalled(*since, now); });
  }
  demand(parts_.database.registry().epoch(number_) == epoch_ || shard_->ended(), "N3",
         "{} answers for shard {} inside its lease, and another node has taken it", parts_.name,
         number_);
  const Seq before = shard_->figures().applied;
  if (!shard_->step(now)) return;
  demand(parts_.database.shown_to_lead(parts_.self, number_, epoch_), "N4",
         "{} decides for shard {}, and what it last heard of its lease does not show that it leads",
         parts_.name, number_);
  parts_.marks.hit_if(std::exchange(doubted_, false), Mark::kLedOnAfterDoubt);
  decided_ = true;
  parts_.chronicle.served(term_, now);
  const Seq after = shard_->figures().applied;
  const std::optional<Seq> row = after == before ? std::nullopt : std::optional(after);
  note([now, row, after, closing = closing_](Auditor& auditor) {
    auditor.decided(now, row, after, closing, false);
  });
}

void Host::hand_over_row() {
  if (row_in_flight_ || shard_->ended() || now() < not_before_append_) return;
  const store::JournalRow* const row = shard_->next_append();
  if (row != nullptr) begin_append(*row);
}

void Host::begin_append(const store::JournalRow& row) {
  row_in_flight_ = true;
  if (!row_since_) row_since_ = clock_->now();
  parts_.story.tell("  {} appends row {} of shard {}", parts_.name, to_number(row.seq), number_);
  const auto heard = [this, life = life_](store::AppendResult result) {
    if (life != life_) return;
    parts_.story.tell(
        "  {}: append to shard {}: {}", parts_.name, number_,
        result.outcome == store::AppendOutcome::kDurable ? "durable" : result.message);
    appended_ = std::move(result);
  };
  parts_.database.begin(
      {Call::Kind::kAppend, parts_.self, number_,
       [row, heard, shard = number_, epoch = epoch_, &database = parts_.database,
        &chronicle = parts_.chronicle]() -> Heard {
         const store::AppendResult result = database.append(shard, row, epoch);
         chronicle.advance();
         return [heard, result] { heard(result); };
       },
       [heard] { heard({store::AppendOutcome::kUnknown, "the connection is lost"}); },
       [heard] { heard({store::AppendOutcome::kFailed, "the disk is full"}); }});
}

void Host::hand_over_flush(Time now) {
  if (flush_in_flight_ || flushes_end_ || shard_->ended()) return;
  auto flush = shard_->next_flush(now);
  if (!flush) return;
  flush_in_flight_ = true;
  const auto heard = [this, life = life_](Status status) {
    if (life != life_) return;
    if (!status) {
      parts_.story.tell("  {}: flush of shard {}: {}", parts_.name, number_,
                        status.error().message);
    }
    flushed_ = std::move(status);
  };
  parts_.database.begin({Call::Kind::kFlush, parts_.self, number_,
                         [flush = std::move(*flush), heard, shard = number_, epoch = epoch_,
                          &database = parts_.database]() -> Heard {
                           return [heard, status = database.flush(shard, flush, epoch)] {
                             heard(status);
                           };
                         },
                         [heard] { heard(failure("the connection is lost")); }});
}

void Host::trim(Seq keep) {
  if (!leads()) return;
  const Seq below = std::min(keep, shard_->figures().projected);
  parts_.database.begin(
      {Call::Kind::kTrim, parts_.self, number_,
       [below, shard = number_, epoch = epoch_, &database = parts_.database]() -> Heard {
         database.trim(shard, below, epoch);
         return [] {};
       },
       [] {}});
}

void Host::release() {
  std::vector<engine::Outgoing> answers = shard_->take_answers();
  const Time now = clock_->now();
  const bool ails = row_since_ && now - *row_since_ >= Duration{1'000};
  if (shard_->ended()) {
    note([answers](Auditor& auditor) { auditor.gave_up(answers); });
  } else {
    parts_.chronicle.answered(term_, answers);
    note([ails, doubt = in_doubt_since_.has_value(), seq = durable_](Auditor& auditor) {
      if (!doubt)
        auditor.may_refuse(ails ? std::optional(engine::Unavailable::kStorage) : std::nullopt);
      auditor.follow(seq);
    });
  }
  for (engine::Outgoing& out : answers) {
    const auto node = asked_.extract(out.delivery.ticket);
    if (node.empty()) continue;
    parts_.answered(out.delivery);
    engine::Delivery delivery{node.mapped().ticket, std::move(out.delivery.answer)};
    node.mapped().port->deliver({&delivery, 1});
  }
}

// --- For the world.

std::optional<Duration> Host::due_in() const {
  if (!leads()) return std::nullopt;
  const std::optional<Time> due = shard_->next_wakeup();
  return due ? std::optional(*due - clock_->now()) : std::nullopt;
}

bool Host::flushed() const {
  return !leads() || shard_->figures().projected == shard_->figures().applied;
}

void Host::check_whole() {
  if (!leads() || !parts_.chronicle.is_current(term_)) return;
  Auditor& auditor = parts_.chronicle.auditor();
  if (shard_->figures().applied == auditor.folded()) auditor.compare(shard_->machine());
}

}  // namespace millrace::sim
