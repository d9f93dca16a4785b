// The worker inside the server: claims the jobs of the push targets through the router, as any
// worker does, carries each to its receiver by a call, and acknowledges it by what the receiver
// answers. One node of a cluster does so at a time. Decides by time as it is told, so that tests
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

// The most calls of all targets together. A target's share is its concurrency, so that one whose
// receiver hangs takes nothing from another.
inline constexpr std::int64_t kMaxCalls = 4'000;

class Pusher final : private engine::ReplyPort {
 public:
  static constexpr Duration kTick{200};
  static constexpr Duration kClaimWait{20'000};
  static constexpr std::uint32_t kMaxClaim = 100;
  // A call's lease outlasts its timeout by this; beyond kLongestLease heartbeats do it.
  static constexpr Duration kLeaseSlack{5'000};
  static constexpr Duration kLongestLease{60'000};
  // Heartbeats also tell that somebody cancels the job.
  static constexpr Duration kHeartbeatPause{3'000};
  // Before its lease is over, by our clock, a call ends.
  static constexpr Duration kLeaseMargin{1'000};

  struct Parts {
    engine::Gateway& gateway;
    Caller& caller;
    const Clock& clock;
    AddressPolicy policy;
    // All targets as last known; null: not known yet. Any thread.
    std::function<std::shared_ptr<const Targets>()> targets;
    // Whether this node may begin calls at this moment. Any thread.
    std::function<bool()> leads;
    // Adds payloads that memory has dropped. May block: it is called on `run`.
    std::function<Status(core::ClaimReply&)> complete;
    // The live leases of the targets' workers, on all shards, as durable now. On `run` too.
    std::function<Result<std::vector<HeldLease>>(const std::vector<std::string>& targets)> held;
    // Runs the function later, on a thread that may block.
    std::function<void(std::function<void()>)> run;
    // The receiver wants no more calls. On the pusher's thread; must not block.
    std::function<void(const Target& target, const std::string& reason)> disable;
    std::size_t max_result_bytes = 1024 * 1024;
    Logger log;
  };
  // Outlives what `run` runs, and the requests that it has sent.
  explicit Pusher(Parts parts);
  ~Pusher() override;
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  void start();
  // Begins no more calls, waits for those under way until `deadline`, and acknowledges them. Jobs
  // whose calls are not over by then keep their leases until these run out.
  void stop(Steady deadline);

  // --- Thread-safe.
  // As it is now; none: this node does not serve it, or has not counted yet.
  std::optional<api::PushHealth> health(std::string_view target);
  std::vector<std::pair<std::string, api::PushHealth>> all_health();
  // The targets may have changed.
  void look() { parts_.caller.wake(); }
  // One call with no job, now; `done` is called on the pusher's thread.
  using Tested = std::function<void(api::PushTestResult)>;
  void test(std::shared_ptr<const Target> target, Tested done);

  // One step: waits for at most `most`, then does what is to be done. For start()'s thread, or a
  // test.
  void step(Duration most);
  bool idle();  // no calls, no acknowledgements on their way

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
  struct AskedNothing {};  // the answer does not matter
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

  Mutex mutex_;  // of all below: held by a step while it does not wait, and by those who look
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
  std::uint64_t term_ MILLRACE_GUARDED_BY(mutex_) = 0;  // counts the times that it began to lead

  std::thread thread_;
};

}  // namespace millrace::push
