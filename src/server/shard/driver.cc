#include "server/shard/driver.h"

#include <malloc.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/thread_name.h"
#include "core/bounds.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using SteadyClock = std::chrono::steady_clock;

// The greatest age of the published figures while the shard is busy.
constexpr auto kPublishInterval = 100ms;
constexpr auto kTrimInterval = 2s;
// While there are leases the thread wakes this often, so that it can tell a wait from a standstill.
constexpr auto kPulse = 500ms;
// While a row is in flight, requests are gathered, since the shard could only hold them until it is
// durable. The thread is woken after kPatience, or by this many requests, and decides them
// meanwhile.
constexpr std::size_t kMailWorthWaking = 64;
constexpr auto kPatience = 2ms;
// While it is unknown whether this node leads.
constexpr auto kDoubtPulse = 20ms;
// A timer this late means that the clock ran on while the thread slept (the machine was suspended).
constexpr auto kLateWakeup = 100ms;
constexpr auto kLongestWait = 1h;
// The published figures are this old at most.
constexpr auto kFiguresAge = 1s;
constexpr std::int64_t kNoWakeup = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNotBusy = kNoWakeup;

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
      loop_(std::move(shard),
            {.time = parts_.time, .hands = *this, .lease = parts_.lease, .log = parts_.log}),
      liveness_(options_.liveness_file),
      memory_(options_.memory_bytes) {
  status_.figures = loop_.shard().figures();
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
  if (ended_) return;
  stamp(std::min(stopped_at_, loop_.shard().figures().owed_since.value_or(stopped_at_)));
}

void Driver::stop() {
  if (!thread_.joinable()) return;
  post([](Mailbox& mailbox) { mailbox.news.stop = true; });
  thread_.join();
  stopped_at_ = now();  // from here on nothing is decided
  std::vector<Mail> late;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    late.swap(mailbox_.news.mail);
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
    parts_.log.warn("the server can't write its liveness stamp",
                    {{"reason", written.error().message}});
  }
}

template <typename Change>
void Driver::post(Change change) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    change(mailbox_);
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
    if (!stopped) mailbox_.news.mail.push_back(std::move(mail));
    if (mailbox_.news.mail.size() >= wake_at_mail_) wake = std::exchange(waiting_, false);
  }
  if (stopped) return tell_stopped(port, ticket);
  if (wake) wake_.notify_one();
}

void Driver::cancel(engine::ReplyPort& port, engine::Ticket ticket) {
  post([&](Mailbox& mailbox) { mailbox.news.mail.push_back({&port, ticket, std::nullopt}); });
}

void Driver::drain() {
  {
    const MutexLock lock(status_mutex_);
    status_.draining = true;
  }
  post([](Mailbox& mailbox) { mailbox.news.drain = true; });
}

void Driver::end_flushes(std::function<void()> flushes_ended) {
  post([&](Mailbox& mailbox) { mailbox.flushes_ended = std::move(flushes_ended); });
}

void Driver::resign() {
  post([](Mailbox& mailbox) { mailbox.news.resign = true; });
}

void Driver::depose(std::string why) {
  post([&](Mailbox& mailbox) { mailbox.news.depose = std::move(why); });
}

void Driver::look_at_lease() {
  post([](Mailbox& mailbox) { mailbox.look = true; });
}

DriverStatus Driver::status() const {
  DriverStatus status;
  {
    const MutexLock lock(status_mutex_);
    status = status_;
  }
  status.wall_ahead = loop_.clock().wall_ahead();
  status.archive_failing = parts_.archiver != nullptr && parts_.archiver->failing();
  return status;
}

// --- The shard's thread.

void Driver::run() {
  name_this_thread("shard");
  Mailbox mailbox;
  loop_.begin();
  while (true) {
    busy_since_ms_.store(to_ms(now()), std::memory_order_relaxed);
    if (mailbox.flushes_ended) {
      mailbox.news.end_flushes = true;
      flushes_ended_ = std::exchange(mailbox.flushes_ended, nullptr);
    }
    const bool was_in_doubt = loop_.in_doubt();
    loop_.round(mailbox.news);
    if (loop_.in_doubt() != was_in_doubt) unpublished_ = true;
    if (flushes_ended_ && loop_.flushes_ended()) std::exchange(flushes_ended_, nullptr)();
    if (loop_.shard().ended() && !ended_) end();
    publish(false);
    if (mailbox.news.stop) return;
    wait_for_work(mailbox);
  }
}

void Driver::wait_for_work(Mailbox& mailbox) {
  // A shard that waits for its turn to flush is told when the turn comes.
  const bool awaits_turn = flush_turn_ && !flush_turn_->granted();
  const std::optional<Time> wakeup = loop_.sleep(!awaits_turn);
  wakeup_ms_.store(wakeup ? to_ms(*wakeup) : kNoWakeup, std::memory_order_relaxed);
  auto until = SteadyClock::time_point::max();
  // A timer may be centuries away.
  if (wakeup) {
    until = SteadyClock::now() +
            std::clamp<Duration>(*wakeup - loop_.slept_at(), Duration{0}, kLongestWait);
  }
  if (loop_.shard().machine().live_leases() > 0) {
    until = std::min(until, SteadyClock::now() + kPulse);
  }
  if (memory_room_ != engine::MemoryRoom::kWide) {
    until = std::min(until, SteadyClock::now() + kPulse);
  }
  if (unpublished_) until = std::min(until, published_ + kPublishInterval);
  // The loop is told when the lease holds again; whether it fails is checked for those who wait.
  if (loop_.in_doubt()) until = SteadyClock::now() + kDoubtPulse;

  busy_since_ms_.store(kNotBusy, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  wake_at_mail_ = loop_.appending() ? kMailWorthWaking : 1;
  if (loop_.appending()) until = std::min(until, SteadyClock::now() + kPatience);
  while (mailbox_.news.mail.size() < wake_at_mail_ && mailbox_.only_mail()) {
    waiting_ = true;
    if (until == SteadyClock::time_point::max()) {
      wake_.wait(mutex_);
    } else if (!wake_.wait_until(mutex_, until)) {
      break;
    }
  }
  waiting_ = false;
  take(mailbox);
}

void Driver::take(Mailbox& mailbox) {
  node::ShardLoop::News& news = mailbox.news;
  node::ShardLoop::News& come = mailbox_.news;
  // The two mail buffers are swapped: once they have grown, neither allocates again.
  std::swap(news.mail, come.mail);
  news.appended = std::exchange(come.appended, std::nullopt);
  news.flushed = std::exchange(come.flushed, std::nullopt);
  news.drain = std::exchange(come.drain, false);
  news.resign = std::exchange(come.resign, false);
  news.end_flushes = false;
  news.depose = std::exchange(come.depose, std::nullopt);
  news.stop = come.stop;
  mailbox.flushes_ended = std::exchange(mailbox_.flushes_ended, nullptr);
  mailbox_.look = false;
}

// --- Called in a round.

void Driver::offers(const Mail& mail) {
  if (mail.request && !mail.from_inbox) ++requests_since_row_;
}

void Driver::append(const store::JournalRow& row) {
  row_bytes_ = row.body.size();
  row_requests_ = std::exchange(requests_since_row_, 0);
  journal_->append(&row);
}

bool Driver::may_flush() {
  if (parts_.flush_semaphore == nullptr) return true;
  if (!flush_turn_) {
    flush_turn_ = std::make_unique<FlushSemaphore::Permit>(
        *parts_.flush_semaphore, [this] { post([](Mailbox& mailbox) { mailbox.look = true; }); });
  }
  return flush_turn_->granted();
}

void Driver::flush(engine::Flush flush) {
  projection_->flush(std::move(flush), std::move(flush_turn_));
}

void Driver::release(std::vector<engine::Outgoing> answers) {
  for (engine::Outgoing& answer : answers) {
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

engine::MemoryRoom Driver::memory_room(std::uint64_t to_reuse) {
  const engine::MemoryRoom room = memory_.room(SteadyClock::now(), to_reuse);
  if (room == memory_room_) return room;
  if (room == engine::MemoryRoom::kNone) {
    parts_.log.warn("the server is short of memory; it refuses new jobs until some is free",
                    {{"budget", options_.memory_bytes}});
  } else if (memory_room_ == engine::MemoryRoom::kNone) {
    parts_.log.info("the server has memory again; it accepts new jobs", {});
  }
  memory_room_ = room;
  memory_is_short_ = room != engine::MemoryRoom::kWide;
  return room;
}

void Driver::publish(bool force) {
  const auto now = SteadyClock::now();
  const bool drained = loop_.drained();
  const bool resigned = loop_.resigned();
  if (!force && !drained && !resigned && now - published_ < kPublishInterval) {
    unpublished_ = true;
    return;
  }
  unpublished_ = false;
  published_ = now;
  const engine::Shard::Figures figures = loop_.shard().figures();
  bool settled = false;
  {
    const MutexLock lock(status_mutex_);
    status_.figures = figures;
    status_.memory_room = memory_room_;
    status_.in_doubt = loop_.in_doubt();
    settled = drained && !std::exchange(status_.drained, true);
    settled |= resigned && !std::exchange(status_.resigned, true);
  }
  if (settled) parts_.on_settled();
}

void Driver::end() {
  ended_ = true;
  // The component that deposed the shard logs the reason if necessary.
  const engine::Shard& shard = loop_.shard();
  if (!loop_.deposed()) parts_.log.error("the shard stopped", {{"reason", *shard.ended()}});
  {
    const MutexLock lock(status_mutex_);
    status_.ended = shard.ended();
    status_.broken = shard.broken();
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
  post([&](Mailbox& mailbox) { mailbox.news.appended = std::move(result); });
}

void Driver::on_flush_done(Status status, const engine::Flush& flush,
                           std::chrono::nanoseconds took) {
  parts_.probe.flushed(took, flush.changes->jobs.size(), status.has_value());
  {
    const MutexLock lock(status_mutex_);
    status_.tables_failing = !status;
  }
  post([&](Mailbox& mailbox) { mailbox.news.flushed = std::move(status); });
}

void Driver::do_chores() {
  const DriverStatus status = this->status();
  const Time now = this->now();
  // While the shard waits for the tables, it takes no requests.
  const Time heard = std::min(now, time_from_ms(busy_since_ms_.load(std::memory_order_relaxed)));
  const Time answered = std::min(heard, status.figures.owed_since.value_or(heard));
  if (!status.ended) stamp(answered);
  if (parts_.archiver != nullptr) parts_.archiver->answered_until(answered - kFiguresAge);
  const bool overslept =
      to_ms(now) - wakeup_ms_.load(std::memory_order_relaxed) > kLateWakeup.count();
  if (status.wall_ahead > core::kMaxClockLag || overslept) {
    post([](Mailbox& mailbox) { mailbox.look = true; });
  }
  // Returns freed memory to the system; otherwise it would count as used for ever.
  if (memory_is_short_) ::malloc_trim(0);
  if (SteadyClock::now() >= next_trim_) {
    next_trim_ = SteadyClock::now() + kTrimInterval;
    trim();
  }
  if (parts_.chores) parts_.chores(now);
}

void Driver::trim() {
  // The read models are stored in the tables on their own schedule. They need the journal's rows
  // until the result is synced.
  const Seq read = parts_.read_until();
  if (read > read_and_synced_ && parts_.store.tables->sync()) read_and_synced_ = read;
  const Result<Seq> below = trim_point(
      *parts_.store.journal, {.synced = synced_, .read = read_and_synced_}, now(), options_.events);
  if (below) {
    const bool keeps = parts_.archiver != nullptr;
    journal_->trim_below(keeps ? std::min(*below, next(parts_.archiver->archived())) : *below);
  } else {
    parts_.log.warn("the server can't measure the journal", {{"reason", below.error().message}});
  }
}

}  // namespace millrace::server
