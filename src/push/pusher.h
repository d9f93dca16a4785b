// The worker inside the server. It claims the push targets' jobs through the router like any
// worker, calls the receiver for each, and acknowledges the job according to the answer. One node
// of a cluster does so at a time. It takes the time from a clock it is given, so that tests can
// step it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/push_target.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "engine/routing/gateway.h"
#include "push/caller.h"
#include "push/line.h"
#include "push/target.h"

namespace millrace::push {

// The most calls of all targets together. Each target has its concurrency as a fixed share, so a
// target whose receiver hangs takes nothing from the others.
inline constexpr std::int64_t kMaxCalls = 4'000;

class Pusher final : private engine::ReplyPort {
 public:
  static constexpr Duration kTick{200};
  static constexpr Duration kClaimWait{20'000};
  static constexpr std::uint32_t kMaxClaim = 500;
  // A call's lease exceeds its timeout by this; a lease longer than kLongestLease is instead kept
  // by heartbeats.
  static constexpr Duration kLeaseSlack{5'000};
  static constexpr Duration kLongestLease{60'000};
  // Heartbeats also report that a job is being cancelled.
  static constexpr Duration kHeartbeatPause{3'000};
  // A job taken ahead is given back after waiting this long, since its lease must outlast its call.
  static constexpr Duration kLongestAhead{3'000};
  // A call ends this long before its lease expires by this node's clock.
  static constexpr Duration kLeaseMargin{1'000};

  struct Parts {
    engine::Gateway& gateway;
    Caller& caller;
    const Clock& clock;
    AddressPolicy policy;
    // All targets as last known; null: not known yet. Thread-safe.
    std::function<std::shared_ptr<const Targets>()> targets;
    // Whether this node may begin calls at this moment. Thread-safe.
    std::function<bool()> leads;
    // Adds payloads that are no longer in memory. May block; called on `run`.
    std::function<Status(core::ClaimReply&)> complete;
    // The live leases of the targets' workers on all shards, from durable state. May block; called
    // on `run`.
    std::function<Result<std::vector<HeldLease>>(const std::vector<std::string>& targets)> held;
    // Runs the function later, on a thread that may block.
    std::function<void(std::function<void()>)> run;
    // Called when the receiver wants no more calls. On the pusher's thread; must not block.
    std::function<void(const Target& target, const std::string& reason)> disable;
    std::size_t max_result_bytes = 1024 * 1024;
    Logger log;
  };
  // Must outlive the functions passed to `run` and the requests that it has sent.
  explicit Pusher(Parts parts);
  ~Pusher() override;
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  void start();
  // Begins no more calls, waits for those in flight until `deadline`, and acknowledges them. Jobs
  // whose calls are not over by then stay leased until their leases expire.
  void stop(Steady deadline);

  // --- Thread-safe.
  // The target's current health; none if this node does not serve it or has not yet counted leases.
  std::optional<api::PushHealth> health(std::string_view target);
  std::vector<std::pair<std::string, api::PushHealth>> all_health();
  // Tells the pusher that the targets may have changed.
  void look() { parts_.caller.wake(); }
  // Makes one call without a job, at once. `done` is called on the pusher's thread.
  using Tested = std::function<void(api::PushTestResult)>;
  void test(std::shared_ptr<const Target> target, Tested done);

  // One step: waits for at most `most`, then does all work that is due. Called by start()'s thread
  // or by a test.
  void step(Duration most);
  bool idle();  // no calls and no acknowledgements are pending

 private:
  struct Flight {
    Line* line = nullptr;
    JobId job{};
    LeaseToken token{};
    Duration lease{};
    Steady lease_ends{};
    Steady next_heartbeat{};
    bool is_beating = false;
  };
  struct PendingAck {
    core::AckItem item;
    Steady not_before{};
    Steady until{};
  };
  struct AskedClaim {
    Line* line;
    Steady at;
  };
  struct AskedAcks {
    std::vector<PendingAck> items;
  };
  struct AskedHeartbeats {
    std::vector<CallNumber> calls;
    Steady at;
  };
  struct AskedNothing {};  // the answer is ignored
  using Asked = std::variant<AskedClaim, AskedAcks, AskedHeartbeats, AskedNothing>;
  using Mail = std::function<void()>;

  enum class Phase : std::uint8_t { kFollows, kCounts, kServes };

  void deliver(std::span<engine::Delivery> deliveries) override;
  void post(Mail mail);
  engine::Ticket ask(engine::Request request, Asked asked) MILLRACE_REQUIRES(mutex_);
  Line* find(std::string_view target) MILLRACE_REQUIRES(mutex_);

  void tick(Steady now) MILLRACE_REQUIRES(mutex_);
  void look_who_leads(Steady now) MILLRACE_REQUIRES(mutex_);
  void look_at_targets() MILLRACE_REQUIRES(mutex_);
  void take_targets() MILLRACE_REQUIRES(mutex_);
  void count(Steady now) MILLRACE_REQUIRES(mutex_);
  void counted(Result<std::vector<HeldLease>> held, std::vector<std::string> of)
      MILLRACE_REQUIRES(mutex_);
  void forget_claim(Line& line) MILLRACE_REQUIRES(mutex_);

  void want_jobs(Line& line, Steady now) MILLRACE_REQUIRES(mutex_);
  void take(engine::Delivery delivery, Steady now) MILLRACE_REQUIRES(mutex_);
  void take_claim(Line& line, engine::Answer answer, Steady now) MILLRACE_REQUIRES(mutex_);
  void begin_calls(Line& line, core::ClaimReply claim, Steady leased_at) MILLRACE_REQUIRES(mutex_);
  void call_next(Line& line, Steady now) MILLRACE_REQUIRES(mutex_);
  void give_back_ahead(Line& line) MILLRACE_REQUIRES(mutex_);
  void begin_call(Line& line, const core::Job& job, Steady leased_at) MILLRACE_REQUIRES(mutex_);
  void give_back(const core::ClaimReply& claim) MILLRACE_REQUIRES(mutex_);
  void finished(CallEnd end, Steady now) MILLRACE_REQUIRES(mutex_);
  void acknowledge(core::AckItem item, Steady until) MILLRACE_REQUIRES(mutex_);
  void take_acks(AskedAcks asked, const engine::Answer& answer, Steady now)
      MILLRACE_REQUIRES(mutex_);
  void take_heartbeats(const AskedHeartbeats& asked, const engine::Answer& answer)
      MILLRACE_REQUIRES(mutex_);
  void beat(Steady now) MILLRACE_REQUIRES(mutex_);
  void flush(Steady now) MILLRACE_REQUIRES(mutex_);

  Parts parts_;

  Mutex mail_mutex_;
  std::vector<engine::Delivery> deliveries_ MILLRACE_GUARDED_BY(mail_mutex_);
  std::vector<Mail> mail_ MILLRACE_GUARDED_BY(mail_mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mail_mutex_) = false;
  Steady deadline_ MILLRACE_GUARDED_BY(mail_mutex_){};

  Mutex mutex_;  // guards all below; held by a step except while it waits, and by readers
  Phase phase_ MILLRACE_GUARDED_BY(mutex_) = Phase::kFollows;
  bool drains_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Targets> targets_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<Line>, std::less<>> lines_ MILLRACE_GUARDED_BY(mutex_);
  std::unordered_map<CallNumber, Flight> flights_ MILLRACE_GUARDED_BY(mutex_);
  std::unordered_map<CallNumber, Tested> tests_ MILLRACE_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Asked> asked_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<PendingAck> acks_ MILLRACE_GUARDED_BY(mutex_);
  CallNumber next_call_ MILLRACE_GUARDED_BY(mutex_) = 1;
  std::uint64_t next_ticket_ MILLRACE_GUARDED_BY(mutex_) = 1;
  Steady next_tick_ MILLRACE_GUARDED_BY(mutex_){};
  Steady next_count_ MILLRACE_GUARDED_BY(mutex_){};
  Duration count_pause_ MILLRACE_GUARDED_BY(mutex_){1'000};
  bool is_counting_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::uint64_t term_ MILLRACE_GUARDED_BY(mutex_) = 0;  // how often it began to lead

  std::thread thread_;
};

}  // namespace millrace::push
