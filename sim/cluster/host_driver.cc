// One round of the driver, while the shard is led here.
#include <algorithm>
#include <utility>

#include "sim/cluster/host.h"
#include "sim/narrate.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

using std::chrono_literals::operator""ms;

// The values of server/shard/journal_thread.cc.
constexpr auto kFirstPause = 50ms;
constexpr auto kLongestPause = 1'000ms;

}  // namespace

// --- Submission.

void Host::submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
                  std::string_view credentials) {
  const By by = credentials == engine::kNodesOwn ? By::kRelay : By::kClient;
  post(std::move(request), {&port, ticket, by}, std::nullopt);
}

void Host::post(engine::Request request, Asked asked, std::optional<engine::FromInbox> from) {
  const engine::Ticket ticket = parts_.next_ticket();
  asked_.emplace(ticket, asked);
  inbox_.mail.push_back({this, ticket, std::move(request), from});
}

void Host::cancel(engine::ReplyPort& port, engine::Ticket ticket) {
  for (const auto& [own, asked] : asked_) {
    if (asked.port != &port || asked.ticket != ticket) continue;
    inbox_.mail.push_back({this, own, std::nullopt});
  }
}

void Host::durable(Seq seq, const core::EventBatch& batch) {
  durable_ = seq;
  for (const core::Event& event : batch.events) {
    const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
    if (advanced != nullptr && parts_.story.told()) parts_.story.tell("  {}", narrate(*advanced));
  }
  note([seq, batch](Auditor& auditor) { auditor.durable(seq, batch); });
}

void Host::keep_for_later(node::ShardLoop::News& news) {
  if (news.stop) return;
  const auto fits = [&](const node::ShardLoop::Mail& mail) {
    return !mail.request || step_budget_.takes(*mail.request);
  };
  const auto rest = std::ranges::find_if_not(news.mail, fits);
  inbox_.mail.assign(std::make_move_iterator(rest), std::make_move_iterator(news.mail.end()));
  news.mail.erase(rest, news.mail.end());
}

// --- A round.

void Host::run_driver() {
  if (!leads()) return;
  if (inbox_.appended) take_append();
  node::ShardLoop::News news = std::exchange(inbox_, {});
  keep_for_later(news);
  loop_->round(news);
  if (row_ != nullptr && now() >= not_before_append_) begin_append(*std::exchange(row_, nullptr));
  (void)loop_->sleep(true);
}

void Host::stood_still(Time from, Time to) {
  note([from, to](Auditor& auditor) { auditor.stalled(from, to); });
}

void Host::offers(const node::ShardLoop::Mail& mail) {
  const engine::Ticket ticket = mail.ticket;
  if (!mail.request) return note([ticket](Auditor& auditor) { auditor.cancelled(ticket); });
  const Asked& asked = asked_.at(ticket);
  if (parts_.story.told()) {
    parts_.story.tell("#{} at shard {} on {}: {}", static_cast<std::uint64_t>(ticket), number_,
                      parts_.name, narrate(*mail.request));
  }
  note([ticket, request = *mail.request, by = asked.by, round = asked.round](Auditor& auditor) {
    auditor.offered(ticket, request, by, round);
  });
}

void Host::turns_away() {
  turns_away_ = true;
  note([](Auditor& auditor) { auditor.may_refuse(engine::Unavailable::kNoLeader); });
}

void Host::decides(Time now) {
  turns_away_ = false;
  if (const auto since = std::exchange(doubt_began_, std::nullopt)) {
    note([since, now](Auditor& auditor) { auditor.stalled(*since, now); });
  }
  demand(parts_.database.registry().epoch(number_) == epoch_ || shard().ended(), "N3",
         "{} answers for shard {} inside its lease, and another node has taken it", parts_.name,
         number_);
  applied_ = shard().figures().applied;
}

void Host::decided(Time now) {
  step_budget_.decided();
  demand(parts_.database.shown_to_lead(parts_.self, number_, epoch_), "N4",
         "{} decides for shard {}, and what it last heard of its lease does not show that it leads",
         parts_.name, number_);
  parts_.marks.hit_if(std::exchange(doubted_, false), Mark::kLedOnAfterDoubt);
  decided_ = true;
  parts_.chronicle.served(term_, now);
  const Seq after = shard().figures().applied;
  const std::optional<Seq> row = after == applied_ ? std::nullopt : std::optional(after);
  const Time shown = parts_.time.wall();
  const Wall wall{std::min(now, belief_.believe(shown, parts_.time.since_boot())),
                  parts_.zones.data()};
  note([now, wall, row, after, closing = closing_](Auditor& auditor) {
    auditor.decided(now, wall, row, after, closing, false);
  });
}

void Host::resigns() {
  closing_ = Closing::kResigning;
  if (shard().ended()) return;
  note([head = shard().figures().applied](Auditor& auditor) { auditor.waits_ended(head); });
}

void Host::release(std::vector<engine::Outgoing> answers) {
  const bool ails = row_since_ && shard_time() - *row_since_ >= Duration{1'000};
  if (shard().ended()) {
    note([answers](Auditor& auditor) { auditor.gave_up(answers); });
  } else {
    parts_.chronicle.answered(term_, answers);
    const bool doubt = loop_->in_doubt() || turns_away_;
    note([ails, doubt, seq = durable_](Auditor& auditor) {
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

// --- The shard's journal and tables.

void Host::take_append() {
  if (inbox_.appended->outcome == store::AppendOutcome::kDurable) {
    note([from = *row_since_, to = shard_time()](Auditor& auditor) { auditor.stalled(from, to); });
    row_since_.reset();
    append_failures_ = 0;
    not_before_append_ = {};
  } else {
    const auto pause = kFirstPause * (1 << std::min(append_failures_++, 5));
    not_before_append_ = now() + std::min<Instant>(pause, kLongestPause);
  }
}

void Host::begin_append(const store::JournalRow& row) {
  if (!row_since_) row_since_ = shard_time();
  parts_.story.tell("  {} appends row {} of shard {}", parts_.name, to_number(row.seq), number_);
  const auto heard = [this, life = life_](store::AppendResult result) {
    if (life != life_) return;
    parts_.story.tell(
        "  {}: append to shard {}: {}", parts_.name, number_,
        result.outcome == store::AppendOutcome::kDurable ? "durable" : result.message);
    inbox_.appended = std::move(result);
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

void Host::flush(engine::Flush flush) {
  const auto heard = [this, life = life_](Status status) {
    if (life != life_) return;
    if (!status) {
      parts_.story.tell("  {}: flush of shard {}: {}", parts_.name, number_,
                        status.error().message);
    }
    inbox_.flushed = std::move(status);
  };
  parts_.database.begin({Call::Kind::kFlush, parts_.self, number_,
                         [flush = std::move(flush), heard, shard = number_, epoch = epoch_,
                          &database = parts_.database]() -> Heard {
                           return [heard, status = database.flush(shard, flush, epoch)] {
                             heard(status);
                           };
                         },
                         [heard] { heard(failure("the connection is lost")); }});
}

void Host::trim(Seq keep) {
  if (!leads()) return;
  const Seq below = std::min(keep, shard().figures().projected);
  parts_.database.begin(
      {Call::Kind::kTrim, parts_.self, number_,
       [below, shard = number_, epoch = epoch_, &database = parts_.database]() -> Heard {
         database.trim(shard, below, epoch);
         return [] {};
       },
       [] {}});
}

// --- For the world.

std::optional<Duration> Host::due_in() const {
  if (!leads()) return std::nullopt;
  const std::optional<Time> due = shard().next_wakeup();
  return due ? std::optional(*due - shard_time()) : std::nullopt;
}

bool Host::flushed() const {
  return !leads() || shard().figures().projected == shard().figures().applied;
}

void Host::check_whole() {
  if (!leads() || !parts_.chronicle.is_current(term_)) return;
  Auditor& auditor = parts_.chronicle.auditor();
  if (shard().figures().applied == auditor.folded()) auditor.compare(shard().machine());
}

}  // namespace millrace::sim
