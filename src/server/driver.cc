#include "server/driver.h"

#include <malloc.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/thread_name.h"
#include "core/limits.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using SteadyClock = std::chrono::steady_clock;

// How old the published figures may become while the shard is busy.
constexpr auto kPublishInterval = 100ms;
constexpr auto kTrimInterval = 2s;
// While there are leases the thread wakes this often, so that it knows a wait from a standstill.
constexpr auto kPulse = 500ms;
// While a row is in flight requests gather: the shard would only keep them until it is durable. It
// is woken for so many, which it decides meanwhile, or after so long.
constexpr std::size_t kMailWorthWaking = 64;
constexpr auto kPatience = 2ms;
// A row that takes so long keeps the tables behind: they are not to be blamed.
constexpr Duration kSlowRow{200};
// Changes that make no flush long: who brings no more is not slowed for what other shards do.
constexpr std::size_t kFewRows = 1'000;
// While it is not known whether this node leads, requests wait so long; then they are sent
// elsewhere.
constexpr auto kDoubtPatience = 500ms;
constexpr auto kDoubtPulse = 20ms;
// A timer this late means that the clock ran on while the thread slept (the machine was suspended).
constexpr auto kLateWakeup = 100ms;
constexpr auto kLongestWait = 1h;
constexpr std::int64_t kNoWakeup = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNotBusy = kNoWakeup;

// Brings new jobs, and nothing else.
bool submits(const engine::Request& request) {
  const auto* const command = std::get_if<core::Command>(&request);
  return command != nullptr && std::holds_alternative<core::Enqueue>(*command);
}

}  // namespace

Result<std::unique_ptr<Driver>> Driver::start(DriverOptions options, Parts parts) {
  const std::optional<Time> alive_until = LivenessFile(options.liveness_file).read();
  auto shard = engine::Shard::recover(options.shard, parts.store, parts.time.wall(), alive_until,
                                      parts.observer);
  if (!shard) return std::unexpected(std::move(shard.error()));
  return lead(std::move(options), std::move(parts), std::move(*shard));
}

std::unique_ptr<Driver> Driver::lead(DriverOptions options, Parts parts,
                                     std::unique_ptr<engine::Shard> shard) {
  return std::unique_ptr<Driver>(
      new Driver(std::move(options), std::move(parts), std::move(shard)));
}

Driver::Driver(DriverOptions options, Parts parts, std::unique_ptr<engine::Shard> shard)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      clock_(parts_.time, shard->machine().facts().at),
      shard_(std::move(shard)),
      liveness_(options_.liveness_file),
      memory_(options_.memory_bytes) {
  status_.figures = shard_->figures();
  status_.memory_budget = options_.memory_bytes;
  journal_ = std::make_unique<JournalThread>(
      *parts_.store.journal,
      [this](store::AppendResult result, std::chrono::nanoseconds took) {
        on_append_done(std::move(result), took);
      },
      parts_.log);
  projection_ = std::make_unique<ProjectionThread>(
      *parts_.store.tables, status_.figures.projected,
      ProjectionThread::Hooks{
          .flushed =
              [this](Status status, const engine::Flush& flush, std::chrono::nanoseconds took) {
                on_flush_done(std::move(status), flush, took);
              },
          .synced =
              [this](Seq seq) {
                synced_ = seq;
                const MutexLock lock(status_mutex_);
                status_.synced = seq;
              },
          .chores = [this] { do_chores(); }},
      parts_.log);
  thread_ = std::thread([this] { run(); });
}

Driver::~Driver() {
  stop();
  if (!ended_) stamp(std::min(stopped_at_, shard_->figures().owed_since.value_or(stopped_at_)));
}

void Driver::stop() {
  if (!thread_.joinable()) return;
  post([](Inbox& inbox) { inbox.stop = true; });
  thread_.join();
  stopped_at_ = clock_.now();  // from here on nothing is decided
  std::vector<Mail> late;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    late.swap(inbox_.mail);
  }
  for (const Mail& mail : late) {
    if (mail.request) tell_stopped(*mail.port, mail.ticket);
  }
  journal_->stop();
  projection_->stop();
  flush_turn_.reset();
}

void Driver::tell_stopped(engine::ReplyPort& port, engine::Ticket ticket) {
  engine::Delivery delivery{ticket, engine::Unavailable::kNoLeader};
  port.deliver({&delivery, 1});
}

void Driver::stamp(Time alive_at) {
  if (parts_.lease != nullptr) return;  // the registry knows when this node last renewed it
  if (const Status written = liveness_.write(alive_at); !written) {
    parts_.log.warn("the liveness stamp can't be written", {{"reason", written.error().message}});
  }
}

template <typename Change>
void Driver::post(Change change) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    change(inbox_);
    wake = std::exchange(waiting_, false);
  }
  if (wake) wake_.notify_one();
}

void Driver::submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
                    std::string_view) {
  submit({&port, ticket, std::move(request)});
}

void Driver::submit(core::Command command, engine::FromInbox from, engine::ReplyPort& port,
                    engine::Ticket ticket) {
  submit({&port, ticket, std::move(command), from});
}

void Driver::submit(Mail mail) {
  engine::ReplyPort& port = *mail.port;
  const engine::Ticket ticket = mail.ticket;
  bool wake = false;
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    stopped = stopped_;
    if (!stopped) inbox_.mail.push_back(std::move(mail));
    if (inbox_.mail.size() >= wake_at_mail_) wake = std::exchange(waiting_, false);
  }
  if (stopped) return tell_stopped(port, ticket);
  if (wake) wake_.notify_one();
}

void Driver::cancel(engine::ReplyPort& port, engine::Ticket ticket) {
  post([&](Inbox& inbox) { inbox.mail.push_back({&port, ticket, std::nullopt}); });
}

void Driver::drain() {
  {
    const MutexLock lock(status_mutex_);
    status_.draining = true;
  }
  post([](Inbox& inbox) { inbox.drain = true; });
}

void Driver::end_flushes(std::function<void()> flushes_ended) {
  post([&](Inbox& inbox) { inbox.end_flushes = std::move(flushes_ended); });
}

void Driver::resign() {
  post([](Inbox& inbox) { inbox.resign = true; });
}

void Driver::depose(std::string why) {
  post([&](Inbox& inbox) { inbox.depose = std::move(why); });
}

void Driver::look_at_lease() {
  post([](Inbox& inbox) { inbox.look = true; });
}

DriverStatus Driver::status() const {
  DriverStatus status;
  {
    const MutexLock lock(status_mutex_);
    status = status_;
  }
  status.wall_ahead = clock_.wall_ahead();
  return status;
}

// --- The shard's thread.

void Driver::run() {
  name_this_thread("shard");
  Inbox inbox;
  woke_at_ = slept_at_ = clock_.now();
  while (true) {
    const Time now = wake_up();
    take_in(inbox, now);
    release_answers();
    look_at_memory();
    decide(now);
    hand_over_row();
    hand_over_flush(now);
    release_answers();
    if (shard_->ended() && !ended_) end();
    publish(false);
    if (inbox.stop) return;
    wait_for_work(inbox);
  }
}

bool Driver::leads() const {
  return parts_.lease == nullptr || parts_.lease->holds(parts_.time.since_boot());
}

// What came before a look at the lease that finds it holding may be answered from what is in
// memory: nobody else can have added to the journal until after the look.
void Driver::decide(Time now) {
  if (leads()) {
    if (std::exchange(in_doubt_since_, std::nullopt)) unpublished_ = true;
    shard_->step(now);
    return;
  }
  const auto clock = SteadyClock::now();
  if (!in_doubt_since_) {
    in_doubt_since_ = clock;
    unpublished_ = true;
    shard_->stood_still();  // nobody is answered meanwhile
  }
  if (clock - *in_doubt_since_ > kDoubtPatience) {
    shard_->turn_away(engine::Unavailable::kNoLeader);
  }
}

void Driver::wait_for_work(Inbox& inbox) {
  inbox.mail.clear();
  // Whose turn to flush has not come is told when it comes.
  const bool awaits_turn = flush_turn_ && !flush_turn_->has_come();
  std::optional<Time> wakeup = shard_->next_wakeup(!awaits_turn && !flushes_end_);
  if (const auto next = slow_lane_.next()) wakeup = std::min(wakeup.value_or(*next), *next);
  wakeup_ms_.store(wakeup ? to_ms(*wakeup) : kNoWakeup, std::memory_order_relaxed);
  slept_at_ = clock_.now();
  auto until = SteadyClock::time_point::max();
  // A timer may be centuries away.
  if (wakeup) {
    until =
        SteadyClock::now() + std::clamp<Duration>(*wakeup - slept_at_, Duration{0}, kLongestWait);
  }
  if (shard_->machine().live_leases() > 0) until = std::min(until, SteadyClock::now() + kPulse);
  if (memory_room_ != engine::MemoryRoom::kWide) {
    until = std::min(until, SteadyClock::now() + kPulse);
  }
  if (unpublished_) until = std::min(until, published_ + kPublishInterval);
  // A lease that holds again is told of; one that does not is looked at for those who wait.
  if (in_doubt_since_) until = SteadyClock::now() + kDoubtPulse;

  busy_since_ms_.store(kNotBusy, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  wake_at_mail_ = row_in_flight_ ? kMailWorthWaking : 1;
  if (row_in_flight_) until = std::min(until, SteadyClock::now() + kPatience);
  while (inbox_.mail.size() < wake_at_mail_ && inbox_.only_mail()) {
    waiting_ = true;
    if (until == SteadyClock::time_point::max()) {
      wake_.wait(mutex_);
    } else if (!wake_.wait_until(mutex_, until)) {
      break;
    }
  }
  waiting_ = false;
  // The mail's two buffers change places: neither allocates again once they have grown.
  std::swap(inbox.mail, inbox_.mail);
  inbox.appended = std::exchange(inbox_.appended, std::nullopt);
  inbox.flushed = std::exchange(inbox_.flushed, std::nullopt);
  inbox.drain = std::exchange(inbox_.drain, false);
  inbox.resign = std::exchange(inbox_.resign, false);
  inbox.end_flushes = std::exchange(inbox_.end_flushes, nullptr);
  inbox.depose = std::exchange(inbox_.depose, std::nullopt);
  inbox.look = std::exchange(inbox_.look, false);
  inbox.stop = inbox_.stop;
}

void Driver::take_in(Inbox& inbox, Time now) {
  if (inbox.appended) {
    row_in_flight_ = false;
    if (now - row_handed_at_ > kSlowRow) tables_may_go_on_at_ = now;
    shard_->append_done(*inbox.appended, now);
    // One that was decided while the last one was in flight: the disk need not wait for the step.
    hand_over_row();
  }
  if (inbox.flushed) {
    flush_in_flight_ = false;
    if (inbox.flushed->status) flushing_since_.reset();
    shard_->flush_done(inbox.flushed->status, now);
  }
  const Duration delay = delay_of_submissions(now);
  const auto release = [this](Time until) {
    while (auto mail = slow_lane_.take(until)) offer(std::move(*mail));
  };
  release(delay > Duration{0} ? now : Time::max());
  for (Mail& mail : inbox.mail) {
    if (delay > Duration{0} && mail.request && submits(*mail.request)) {
      slow_lane_.hold(std::move(mail), now + delay);
    } else {
      offer(std::move(mail));
    }
  }
  inbox.mail.clear();
  if (inbox.drain || inbox.resign || inbox.depose || inbox.stop) release(Time::max());
  // What was asked before the drain is not refused for it, if it can be decided now.
  if (inbox.drain && !draining_) decide(now);
  const bool drains = inbox.drain && !std::exchange(draining_, true);
  const bool resigns = inbox.resign && !std::exchange(resigning_, true);
  // Waits are answered from memory: not where another may lead already.
  if ((drains || resigns) && !leads()) shard_->refuse_waits(engine::Unavailable::kNoLeader);
  if (drains) shard_->drain();
  if (resigns) shard_->resign();
  if (inbox.depose && !shard_->ended()) {
    deposed_ = true;
    shard_->depose(*inbox.depose);
  }
  if (inbox.end_flushes) {
    flushes_end_ = true;
    flushes_ended_ = std::move(inbox.end_flushes);
  }
  if (flushes_ended_ && !flush_in_flight_) std::exchange(flushes_ended_, nullptr)();
}

bool Driver::row_is_slow(Time now) const {
  return row_in_flight_ && now - row_handed_at_ > kSlowRow;
}

Duration Driver::delay_of_submissions(Time now) const {
  const bool goes_on = !draining_ && !resigning_ && !in_doubt_since_ && !shard_->ended() &&
                       memory_room_ != engine::MemoryRoom::kNone;
  const bool brings_little = shard_->machine().rows_to_flush() < kFewRows;
  if (!flushing_since_ || !goes_on || brings_little || row_is_slow(now)) return {};
  return SlowLane<Mail>::delay(now - std::max(*flushing_since_, tables_may_go_on_at_));
}

void Driver::offer(Mail mail) {
  if (mail.from_inbox) {
    shard_->offer(std::get<core::Command>(std::move(*mail.request)), *mail.from_inbox, *mail.port,
                  mail.ticket);
  } else if (mail.request) {
    shard_->offer(std::move(*mail.request), *mail.port, mail.ticket);
    ++requests_since_row_;
  } else {
    shard_->cancel(*mail.port, mail.ticket);
  }
}

void Driver::hand_over_row() {
  if (row_in_flight_ || shard_->ended()) return;
  const store::JournalRow* const row = shard_->next_append();
  if (row == nullptr) return;
  row_in_flight_ = true;
  row_handed_at_ = woke_at_;
  row_bytes_ = row->body.size();
  row_requests_ = std::exchange(requests_since_row_, 0);
  journal_->append(row);
}

void Driver::hand_over_flush(Time now) {
  if (flush_in_flight_) return;
  if (draining_) shard_->request_flush();
  if (flushes_end_ || !shard_->flush_due(now)) return flush_turn_.reset();
  if (!flushing_since_) {
    flushing_since_ = now;
    shard_->request_flush();  // what came and went meanwhile costs it no place in the line
  }
  if (!may_flush()) return;
  if (auto flush = shard_->next_flush(now)) {
    flush_in_flight_ = true;
    projection_->flush(std::move(*flush), std::move(flush_turn_));
  } else if (row_is_slow(now)) {
    flush_turn_.reset();  // others need not wait for this shard's journal
  }
}

bool Driver::may_flush() {
  if (parts_.flush_turns == nullptr) return true;
  if (!flush_turn_) {
    flush_turn_ = std::make_unique<FlushTurns::Place>(
        *parts_.flush_turns, [this] { post([](Inbox& inbox) { inbox.look = true; }); });
  }
  return flush_turn_->has_come();
}

void Driver::release_answers() {
  for (engine::Outgoing& answer : shard_->take_answers()) {
    auto at =
        std::ranges::find(outgoing_, answer.port, [](const auto& entry) { return entry.first; });
    if (at == outgoing_.end()) at = outgoing_.insert(at, {answer.port, {}});
    at->second.push_back(std::move(answer.delivery));
  }
  for (auto& [port, deliveries] : outgoing_) {
    if (!deliveries.empty()) port->deliver(deliveries);
    deliveries.clear();
  }
}

Time Driver::wake_up() {
  // Longer than any wait with leases lasts, whether the process was stopped or a step waited for
  // the tables: nobody was heard meanwhile.
  bool stood_still = false;
  const Duration away = std::max(clock_.now() - slept_at_, slept_at_ - woke_at_);
  if (away > core::kStallGrace && shard_->machine().live_leases() > 0) {
    parts_.log.warn("the shard stood still: live leases get as much more time",
                    {{"ms", away.count()}});
    shard_->stood_still();
    stood_still = true;
  }
  if (const Duration ahead = clock_.catch_up(); ahead > Duration{0}) {
    parts_.log.warn("the wall clock is ahead: following it, live leases get as much more time",
                    {{"ahead_ms", ahead.count()}});
    shard_->stood_still();
    stood_still = true;
  }
  woke_at_ = clock_.now();
  if (stood_still) tables_may_go_on_at_ = woke_at_;
  busy_since_ms_.store(to_ms(woke_at_), std::memory_order_relaxed);
  return woke_at_;
}

void Driver::look_at_memory() {
  const engine::MemoryRoom room =
      memory_.room(SteadyClock::now(), shard_->machine().bytes_to_reuse());
  if (room == memory_room_) return;
  if (room == engine::MemoryRoom::kNone) {
    parts_.log.warn("memory is short: new jobs are refused until some is free",
                    {{"budget", options_.memory_bytes}});
  } else if (memory_room_ == engine::MemoryRoom::kNone) {
    parts_.log.info("new jobs are taken again: there is memory", {});
  }
  memory_room_ = room;
  memory_is_short_ = room != engine::MemoryRoom::kWide;
  shard_->set_memory_room(room);
}

void Driver::publish(bool force) {
  const auto now = SteadyClock::now();
  const bool drained = draining_ && !row_in_flight_ && !flush_in_flight_ && shard_->idle();
  const bool resigned = resigning_ && !row_in_flight_ && shard_->quiet();
  if (!force && !drained && !resigned && now - published_ < kPublishInterval) {
    unpublished_ = true;
    return;
  }
  unpublished_ = false;
  published_ = now;
  const engine::Shard::Figures figures = shard_->figures();
  bool settled = false;
  {
    const MutexLock lock(status_mutex_);
    status_.figures = figures;
    status_.memory_room = memory_room_;
    status_.in_doubt = in_doubt_since_.has_value();
    settled = drained && !std::exchange(status_.drained, true);
    settled |= resigned && !std::exchange(status_.resigned, true);
  }
  if (settled) parts_.on_settled();
}

void Driver::end() {
  ended_ = true;
  // Whoever deposed it says why, where that is worth saying.
  if (!deposed_) parts_.log.error("the shard has stopped", {{"reason", *shard_->ended()}});
  {
    const MutexLock lock(status_mutex_);
    status_.ended = shard_->ended();
    status_.broken = shard_->broken();
  }
  publish(true);
  parts_.on_settled();
}

// --- The other threads' reports.

void Driver::on_append_done(store::AppendResult result, std::chrono::nanoseconds took) {
  const bool durable = result.outcome == store::AppendOutcome::kDurable;
  if (durable) {
    parts_.probe.committed(took, row_bytes_, row_requests_);
  } else {
    parts_.probe.append_failed(result.outcome);
  }
  {
    const MutexLock lock(status_mutex_);
    status_.journal_failing = !durable;
  }
  post([&](Inbox& inbox) { inbox.appended = std::move(result); });
}

void Driver::on_flush_done(Status status, const engine::Flush& flush,
                           std::chrono::nanoseconds took) {
  parts_.probe.flushed(took, flush.changes->jobs.size(), status.has_value());
  {
    const MutexLock lock(status_mutex_);
    status_.tables_failing = !status;
  }
  post([&](Inbox& inbox) { inbox.flushed = FlushDone{std::move(status)}; });
}

void Driver::do_chores() {
  const DriverStatus status = this->status();
  const Time now = clock_.now();
  // While the shard waits for the tables it hears nobody.
  const Time heard = std::min(now, time_from_ms(busy_since_ms_.load(std::memory_order_relaxed)));
  if (!status.ended) stamp(std::min(heard, status.figures.owed_since.value_or(heard)));
  const bool overslept =
      to_ms(now) - wakeup_ms_.load(std::memory_order_relaxed) > kLateWakeup.count();
  if (status.wall_ahead > core::kMaxClockLag || overslept) {
    post([](Inbox& inbox) { inbox.look = true; });
  }
  // What was freed goes back to the system, or it would count as used for ever.
  if (memory_is_short_) ::malloc_trim(0);
  if (SteadyClock::now() >= next_trim_) {
    next_trim_ = SteadyClock::now() + kTrimInterval;
    trim();
  }
  parts_.chores(now);
}

void Driver::trim() {
  const Result<Seq> below =
      trim_point(*parts_.store.journal, synced_, clock_.now(), options_.events);
  if (below) {
    journal_->trim_below(*below);
  } else {
    parts_.log.warn("the journal can't be measured", {{"reason", below.error().message}});
  }
}

}  // namespace millrace::server
