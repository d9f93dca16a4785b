#include "node/shard_loop.h"

#include <algorithm>
#include <utility>

#include "core/bounds.h"

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;

// A row that takes this long delays the tables, which are then not the cause.
constexpr Duration kSlowRow{200};
// A flush of fewer changes is never slow: such a shard is not delayed on account of others.
constexpr std::size_t kFewRows = 1'000;
// While it is unknown whether this node leads, requests wait this long; then they are sent
// elsewhere.
constexpr auto kDoubtPatience = 500ms;

// The request only submits new jobs.
bool submits(const engine::Request& request) {
  const auto* const command = std::get_if<core::Command>(&request);
  return command != nullptr && std::holds_alternative<core::Enqueue>(*command);
}

}  // namespace

ShardLoop::ShardLoop(std::unique_ptr<engine::Shard> shard, Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.time, shard->machine().facts().at),
      shard_(std::move(shard)) {}

void ShardLoop::begin() {
  woke_at_ = slept_at_ = clock_.now();
  hand_over_row();
}

void ShardLoop::round(News& news) {
  const Time now = wake_up();
  take_in(news, now);
  release();
  look_at_memory();
  decide(now);
  hand_over_row();
  hand_over_flush(now);
  release();
}

std::optional<Time> ShardLoop::sleep(bool may_flush) {
  std::optional<Time> wakeup = shard_->next_wakeup(may_flush && !flushes_end_);
  if (const auto next = throttle_.next()) wakeup = std::min(wakeup.value_or(*next), *next);
  slept_at_ = clock_.now();
  return wakeup;
}

bool ShardLoop::drained() const {
  return draining_ && !row_in_flight_ && !flush_in_flight_ && shard_->idle();
}

bool ShardLoop::resigned() const { return resigning_ && !row_in_flight_ && shard_->quiet(); }

// --- Time.

// Extends leases by the time that a stopped process or a stepped clock took from them.
Time ShardLoop::wake_up() {
  // Longer than any wait while there are leases: the process was stopped, or a step waited for the
  // tables, and no worker could be heard meanwhile.
  bool stood_still = false;
  const Time before = clock_.now();
  const Duration away = std::max(before - slept_at_, slept_at_ - woke_at_);
  if (away > core::kStallGrace && shard_->machine().live_leases() > 0) {
    parts_.log.warn("the shard stood still; it extends live leases by that time",
                    {{"ms", away.count()}});
    parts_.hands.stood_still(before - away, before);
    shard_->stood_still();
    stood_still = true;
  }
  if (const Duration ahead = clock_.catch_up(); ahead > Duration{0}) {
    parts_.log.warn(
        "the wall clock is ahead; the shard follows it, and extends live leases by that time",
        {{"ahead_ms", ahead.count()}});
    parts_.hands.stood_still(before, before + ahead);
    shard_->stood_still();
    stood_still = true;
  }
  woke_at_ = clock_.now();
  if (stood_still) tables_may_go_on_at_ = woke_at_;
  return woke_at_;
}

void ShardLoop::look_at_memory() {
  const engine::MemoryRoom room = parts_.hands.memory_room(shard_->machine().bytes_to_reuse());
  if (room != std::exchange(memory_room_, room)) shard_->set_memory_room(room);
}

// --- News.

void ShardLoop::take_in(News& news, Time now) {
  if (news.appended) {
    row_in_flight_ = false;
    if (now - row_handed_at_ > kSlowRow) tables_may_go_on_at_ = now;
    shard_->append_done(*news.appended, now);
    // Hands over a row that was decided while the last one was in flight, so that the disk need not
    // wait for the step.
    hand_over_row();
  }
  if (news.flushed) {
    flush_in_flight_ = false;
    if (*news.flushed) flushing_since_.reset();
    shard_->flush_done(*news.flushed, now);
  }
  take_mail(news, now);
  // Requests that came before the drain are decided now if possible, not refused because of it.
  if (news.drain && !draining_) decide(now);
  const bool drains = news.drain && !std::exchange(draining_, true);
  const bool resigns = news.resign && !std::exchange(resigning_, true);
  // Waits are answered from memory, which may be stale if another node already leads.
  if ((drains || resigns) && !leads()) {
    parts_.hands.turns_away();
    shard_->refuse_waits(engine::Unavailable::kNoLeader);
    release();
  }
  if (drains) {
    parts_.hands.drains();
    shard_->drain();
  }
  if (resigns) {
    parts_.hands.resigns();
    shard_->resign();
  }
  if (news.depose && !shard_->ended()) {
    release();  // answers that were already durable
    deposed_ = true;
    shard_->depose(*news.depose);
  }
  if (news.end_flushes) flushes_end_ = true;
}

void ShardLoop::take_mail(News& news, Time now) {
  const Duration delay = delay_of_submissions(now);
  const auto release_until = [this](Time until) {
    while (auto mail = throttle_.take(until)) offer(std::move(*mail));
  };
  release_until(delay > Duration{0} ? now : Time::max());
  for (Mail& mail : news.mail) {
    if (delay > Duration{0} && mail.request && submits(*mail.request)) {
      throttle_.hold(std::move(mail), now + delay);
    } else {
      offer(std::move(mail));
    }
  }
  news.mail.clear();
  if (news.drain || news.resign || news.depose || news.stop) release_until(Time::max());
}

bool ShardLoop::row_is_slow(Time now) const {
  return row_in_flight_ && now - row_handed_at_ > kSlowRow;
}

Duration ShardLoop::delay_of_submissions(Time now) const {
  const bool goes_on = !draining_ && !resigning_ && !in_doubt_since_ && !shard_->ended() &&
                       memory_room_ != engine::MemoryRoom::kNone;
  const bool brings_little = shard_->machine().rows_to_flush() < kFewRows;
  if (!flushing_since_ || !goes_on || brings_little || row_is_slow(now)) return {};
  return SubmissionThrottle<Mail>::delay(now - std::max(*flushing_since_, tables_may_go_on_at_));
}

void ShardLoop::offer(Mail mail) {
  parts_.hands.offers(mail);
  if (mail.from_inbox) {
    shard_->offer(std::get<core::Command>(std::move(*mail.request)), *mail.from_inbox, *mail.port,
                  mail.ticket);
  } else if (mail.request) {
    shard_->offer(std::move(*mail.request), *mail.port, mail.ticket);
  } else {
    shard_->cancel(*mail.port, mail.ticket);
  }
}

// --- Deciding and handing over.

bool ShardLoop::leads() const {
  return parts_.lease == nullptr || parts_.lease->holds(parts_.time.since_boot());
}

// If the lease holds at the check, requests that arrived before it may be answered from memory: no
// other node can have added to the journal until after the check.
void ShardLoop::decide(Time now) {
  if (leads()) {
    in_doubt_since_.reset();
    parts_.hands.decides(now);
    if (shard_->step(now)) parts_.hands.decided(now);
    return;
  }
  const Instant clock = parts_.time.since_boot();
  if (!in_doubt_since_) {
    in_doubt_since_ = clock;
    parts_.hands.doubts(now);
    shard_->stood_still();  // no caller is answered meanwhile
  }
  if (clock - *in_doubt_since_ > kDoubtPatience) {
    parts_.hands.turns_away();
    shard_->turn_away(engine::Unavailable::kNoLeader);
  }
}

void ShardLoop::hand_over_row() {
  if (row_in_flight_ || shard_->ended()) return;
  const store::JournalRow* const row = shard_->next_append();
  if (row == nullptr) return;
  row_in_flight_ = true;
  row_handed_at_ = woke_at_;
  parts_.hands.append(*row);
}

void ShardLoop::hand_over_flush(Time now) {
  if (flush_in_flight_) return;
  if (draining_) shard_->request_flush();
  if (flushes_end_ || !shard_->flush_due(now)) return parts_.hands.needs_no_flush();
  if (!flushing_since_) {
    flushing_since_ = now;
    shard_->request_flush();  // jobs that came and went meanwhile do not cost it its turn
  }
  if (!parts_.hands.may_flush()) return;
  if (auto flush = shard_->next_flush(now)) {
    flush_in_flight_ = true;
    parts_.hands.flush(std::move(*flush));
  } else if (row_is_slow(now)) {
    parts_.hands.needs_no_flush();  // other shards need not wait for this one's journal
  }
}

}  // namespace millrace::node
