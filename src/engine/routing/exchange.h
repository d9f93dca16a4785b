// A request on its way through the router: the parts that were sent and the answers that came back.
// Each way of spreading a request has its own class: a small state machine, which advances when
// answers come.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/routing/reply_address.h"
#include "engine/routing/scatter_gather.h"

namespace millrace::engine {

class Router;

// Time since the machine started: TimeSource::since_boot().
using Instant = std::chrono::nanoseconds;

// How long a part waits for its shard to have a reachable leader. Longer than the replacement of a
// dead leader takes.
inline constexpr std::chrono::milliseconds kLeaderPatience{4'000};
// The pause before a part is sent again.
inline constexpr std::chrono::milliseconds kSendAgainAfter{20};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Router& router, ReplyAddress reply_to, std::string credentials)
      : router_(router), reply_to_(reply_to), credentials_(std::move(credentials)) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const ReplyAddress& reply_to() const { return reply_to_; }

  // --- For the router. Thread-safe; not to be called from within the exchange.
  void begin(std::uint64_t number);
  void answer_came(std::size_t part, Answer answer);
  // The caller has gone.
  void cancel();
  void send_again(std::size_t part);
  // A held part has waited for too long.
  void refuse(std::size_t part, Unavailable why);
  // The time set by ring_at() has come.
  void ring();
  // Whether the exchange finished so long ago that no more answers are expected.
  bool over_since(Instant now) const;

 protected:
  virtual void start() MILLRACE_REQUIRES(mutex_) = 0;
  virtual void answered(std::size_t part, Answer answer) MILLRACE_REQUIRES(mutex_) = 0;
  // The caller has gone: abandons everything that only the caller would use.
  virtual void given_up() MILLRACE_REQUIRES(mutex_) {}
  virtual void rang() MILLRACE_REQUIRES(mutex_) {}

  // Sends the request. Returns the part's number, from 0; answered() gets the same number.
  std::size_t ask(ShardNumber shard, Request request) MILLRACE_REQUIRES(mutex_);
  // Stops waiting for the part's answer. Jobs leased for it anyway are given back.
  void give_up(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // Like give_up(), for a part that leases nothing: its answer is ignored.
  void drop(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // Gives back jobs that were leased for the caller, who will not see them.
  void give_back(ShardNumber shard, const core::ClaimReply& claim) MILLRACE_REQUIRES(mutex_);
  // rang() is called at about that time.
  void ring_at(Instant at) MILLRACE_REQUIRES(mutex_);
  // To be called at most once.
  void finish(Answer answer) MILLRACE_REQUIRES(mutex_);
  bool finished() const MILLRACE_REQUIRES(mutex_) { return finished_; }
  Instant now() const;
  ShardNumber shards() const;

  mutable Mutex mutex_;

 private:
  friend class Router;
  enum class Stage : std::uint8_t { kOpen, kGivenUp, kAnswered };
  struct Sent {
    ShardNumber shard = 0;
    std::optional<Request> request;  // kept while it may have to be sent again
    Stage stage{};
    bool repeated = false;
    Instant until{};  // how long it waits for a leader
  };
  void send(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // Holds the part to send it again, if the answer allows that.
  bool hold_again(std::size_t part, const Answer& answer) MILLRACE_REQUIRES(mutex_);
  void close(std::size_t part) MILLRACE_REQUIRES(mutex_);

  Router& router_;
  const ReplyAddress reply_to_;
  const std::string credentials_;
  std::uint64_t number_ = 0;
  std::vector<Sent> sent_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t open_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool finished_ MILLRACE_GUARDED_BY(mutex_) = false;
  Instant finished_at_ MILLRACE_GUARDED_BY(mutex_){};
};

// The exchange that fits the request. `shard`: the only shard it is for, if there is one.
std::shared_ptr<Exchange> make_exchange(Router& router, Request request,
                                        std::optional<ShardNumber> shard, ReplyAddress reply_to,
                                        std::string credentials);

// A claim or a poll over several shards (multi_shard_claim.cc).
std::shared_ptr<Exchange> make_multi_shard_claim(Router& router, Request request,
                                                 ReplyAddress reply_to, std::string credentials);

}  // namespace millrace::engine
