// For tests: a shard over a store, with a clock that the test sets. The test steps through the work
// of the driver's threads.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/feed/event_feed.h"
#include "engine/shard/recovery.h"
#include "engine/shard/shard.h"
#include "store/tables.h"

namespace millrace::engine {

class ShardFixture : public DurableObserver, public ReplyPort {
 public:
  ShardFixture(store::Store a_store, ShardOptions options)
      : store(std::move(a_store)), options_(std::move(options)) {
    start({});
  }

  // --- The process.

  // Crashes at this point, losing all that no append made durable, and restarts after `down`.
  void crash(Duration down = Duration{0}, std::optional<Time> alive_until = {}) {
    shard_.reset();
    answers_.clear();
    now += down;
    start(alive_until);
  }
  void start(std::optional<Time> alive_until) {
    Result<std::unique_ptr<Shard>> shard = Shard::recover(options_, store, now, alive_until, *this);
    ASSERT_TRUE(shard.has_value()) << shard.error().message;
    shard_ = std::move(*shard);
    digests[shard_->figures().applied] = machine().digest();
  }
  Shard& shard() { return *shard_; }
  const core::Machine& machine() const { return shard_->machine(); }

  // --- The driver's work, one step at a time.

  void step() {
    shard_->step(now);
    digests[shard_->figures().applied] = machine().digest();
    collect();
  }
  // False: there was nothing to append.
  bool append() {
    const store::JournalRow* row = shard_->next_append();
    if (row == nullptr) return false;
    append_done(store.journal->append(*row));
    return true;
  }
  void append_done(const store::AppendResult& result) {
    shard_->append_done(result, now);
    collect();
  }
  bool flush() {
    const std::optional<Flush> flush = shard_->next_flush(now);
    if (!flush) return false;
    ++flushes;
    shard_->flush_done(store.tables->flush(*flush->changes, flush->from, flush->to), now);
    collect();
    return true;
  }
  // Does everything that can happen without time passing.
  void run() {
    for (int quiet = 0; quiet < 2;) {
      step();
      const bool appended = append();
      const bool flushed = flush();
      quiet = appended || flushed ? 0 : quiet + 1;
    }
    machine().check_invariants();
  }
  // Lets time pass, waking the shard whenever it wants to be woken.
  void pass(Duration by) {
    run();
    const Time end = now + by;
    for (int wakeups = 0;; ++wakeups) {
      const std::optional<Time> wakeup = shard_->next_wakeup();
      if (!wakeup || *wakeup > end) break;
      ASSERT_LT(wakeups, 100'000) << "the shard wants to be woken for nothing";
      now = std::max(now, *wakeup);
      run();
    }
    now = end;
    run();
  }

  // --- Requests.

  Ticket ask(Request request) {
    const Ticket ticket{++tickets_};
    shard_->offer(std::move(request), *this, ticket);
    return ticket;
  }
  void cancel(Ticket ticket) { shard_->cancel(*this, ticket); }
  bool answered(Ticket ticket) const { return answers_.contains(ticket); }
  template <typename T>
  const T& answer(Ticket ticket) const {
    static const T kNone{};
    const auto found = answers_.find(ticket);
    if (found == answers_.end()) {
      ADD_FAILURE() << "no answer yet";
      return kNone;
    }
    if constexpr (kIsOfTheLoop<T>) {
      if (const T* answer = std::get_if<T>(&found->second)) return *answer;
    } else {
      const auto* reply = std::get_if<core::Reply>(&found->second);
      if (reply != nullptr && std::holds_alternative<T>(*reply)) return std::get<T>(*reply);
    }
    ADD_FAILURE() << "another answer than expected, of kind " << found->second.index();
    return kNone;
  }
  // An answer of any kind; there must be one.
  Answer take(Ticket ticket) { return std::move(answers_.extract(ticket).mapped()); }
  // Submits a request and lets everything happen.
  template <typename T>
  T now_answer(Request request) {
    const Ticket ticket = ask(std::move(request));
    run();
    return answer<T>(ticket);
  }

  // --- Jobs. A test names them by a word.

  static JobId id(const std::string& name) {
    JobId id;
    for (std::size_t i = 0; i < name.size() && i < 16; ++i) {
      id.bytes[i] = static_cast<std::uint8_t>(name[i]);
    }
    id.bytes[6] = 0x70;
    id.bytes[8] = 0x80;
    return id;
  }
  static std::string name(const JobId& id) {
    std::string name;
    for (std::size_t i = 0; i < 6 && id.bytes[i] != 0; ++i) name += static_cast<char>(id.bytes[i]);
    return name;
  }
  static core::JobSpec spec(const std::string& name, const std::string& queue = "mail",
                            const std::string& type = "send") {
    core::JobSpec spec;
    spec.id = id(name);
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes(type);
    spec.payload = SharedBytes("1");
    return spec;
  }
  static core::Command enqueue(core::JobSpec spec) {
    core::Enqueue command;
    command.jobs.push_back(std::move(spec));
    return command;
  }
  static core::Command enqueue(const std::string& name) { return enqueue(spec(name)); }
  static core::Claim claim(std::vector<std::string> queues = {"mail"},
                           std::vector<std::string> types = {}, std::uint32_t limit = 1) {
    core::Claim claim;
    for (const std::string& queue : queues) claim.queues.emplace_back(queue);
    for (const std::string& type : types) claim.types.emplace_back(type);
    claim.limit = limit;
    claim.worker = SharedBytes("anna");
    return claim;
  }
  static WorkerInfo worker(const std::string& name) {
    WorkerInfo info;
    info.id = SharedBytes(name);
    return info;
  }
  static WaitingClaim waiting(core::Claim claim, std::int64_t wait_ms = 10'000,
                              const std::string& who = "anna") {
    return {std::move(claim), Duration{wait_ms}, worker(who)};
  }
  core::AckItem ack_of(const std::string& name,
                       core::AckOutcome outcome = core::AckOutcome::kSucceeded) const {
    core::AckItem item;
    item.id = id(name);
    item.outcome = outcome;
    if (const auto view = machine().view(item.id)) item.token = view->job.token;
    if (outcome == core::AckOutcome::kFailed) {
      item.error = std::make_shared<core::JobError>();
      item.error->type = SharedBytes("Boom");
      item.error->message = SharedBytes("it broke");
    }
    return item;
  }
  core::Command ack(const std::string& name,
                    core::AckOutcome outcome = core::AckOutcome::kSucceeded) const {
    return core::Ack{{ack_of(name, outcome)}, core::Detail::kIds};
  }
  core::State state(const std::string& name) const {
    const auto view = machine().view(id(name));
    EXPECT_NE(view, nullptr) << name << " is not in memory";
    return view == nullptr ? core::State::kBlocked : view->job.state;
  }
  // The names of the jobs in a claim's answer: "a b".
  std::string claimed(Ticket ticket) const { return names(answer<core::ClaimReply>(ticket)); }
  static std::string names(const core::ClaimReply& reply) {
    std::string names;
    for (const auto& item : reply.jobs) names += (names.empty() ? "" : " ") + name(item.job.id);
    return names;
  }

  Time now = time_from_ms(1'700'000'000'000);
  store::Store store;
  std::vector<std::pair<Seq, core::EventBatch>> durable_batches;
  std::map<Seq, Fingerprint> digests;  // of the state after each decided row
  int flushes = 0;

  void durable(Seq seq, const core::EventBatch& batch) override {
    durable_batches.emplace_back(seq, batch);
  }
  void deliver(std::span<Delivery>) override { FAIL() << "the driver's, not the shard's"; }

 private:
  template <typename T>
  static constexpr bool kIsOfTheLoop =
      std::is_same_v<T, PollReply> || std::is_same_v<T, WorkersReply> ||
      std::is_same_v<T, Unavailable> || std::is_same_v<T, JobQuestions> ||
      std::is_same_v<T, OperationWork>;

  void collect() {
    for (Outgoing& out : shard_->take_answers()) {
      const Ticket ticket = out.delivery.ticket;
      const bool first = answers_.emplace(ticket, std::move(out.delivery.answer)).second;
      EXPECT_TRUE(first) << "a second answer";
    }
  }

  ShardOptions options_;
  std::unique_ptr<Shard> shard_;
  std::uint64_t tickets_ = 0;
  std::map<Ticket, Answer> answers_;
};

}  // namespace millrace::engine
