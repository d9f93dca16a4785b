// A request on its way through the router: what was sent of it, what has come back. One kind for
// each way in which requests spread; each is a small machine that only answers move on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/asker.h"
#include "engine/split.h"

namespace millrace::engine {

class Router;

// Since the machine started: TimeSource::since_boot().
using Instant = std::chrono::nanoseconds;

// A part waits this long for its shard to have a leader that can be reached: longer than a leader
// that died is missed for.
inline constexpr std::chrono::milliseconds kLeaderPatience{4'000};
// Before it is sent again.
inline constexpr std::chrono::milliseconds kSendAgainAfter{20};

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation(Router& router, Asker asker, std::string credentials)
      : router_(router), asker_(asker), credentials_(std::move(credentials)) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const Asker& asker() const { return asker_; }

  // --- The router's. Any thread; not from within the operation.
  void begin(std::uint64_t number);
  void answer_came(std::size_t part, Answer answer);
  // The asker has gone.
  void cancel();
  void send_again(std::size_t part);
  // What was held waited for too long.
  void refuse(std::size_t part, Unavailable why);
  // The time that was set with ring_at() has come.
  void ring();
  // Answered so long ago that nothing comes any more.
  bool over_since(Instant now) const;

 protected:
  virtual void start() MILLRACE_REQUIRES(mutex_) = 0;
  virtual void answered(std::size_t part, Answer answer) MILLRACE_REQUIRES(mutex_) = 0;
  // The asker has gone: what only it gains from is given up.
  virtual void given_up() MILLRACE_REQUIRES(mutex_) {}
  virtual void rang() MILLRACE_REQUIRES(mutex_) {}

  // Sends it; its number, counted from 0, comes back with the answer.
  std::size_t ask(ShardNumber shard, Request request) MILLRACE_REQUIRES(mutex_);
  // Its answer is not waited for any more. Jobs that are leased for it all the same are given back.
  void give_up(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // The same of what leases nothing: no answer of it is to come.
  void drop(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // Jobs that were leased for the asker, and that it will not see.
  void give_back(ShardNumber shard, const core::ClaimReply& claim) MILLRACE_REQUIRES(mutex_);
  // rang() is called then, about.
  void ring_at(Instant at) MILLRACE_REQUIRES(mutex_);
  // At most once.
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
    std::optional<Request> request;  // while it may have to be sent again
    Stage stage{};
    bool repeated = false;
    Instant until{};  // for its leader's sake
  };
  void send(std::size_t part) MILLRACE_REQUIRES(mutex_);
  // Holds it to be sent again, if the answer says that it may be.
  bool hold_again(std::size_t part, const Answer& answer) MILLRACE_REQUIRES(mutex_);
  void close(std::size_t part) MILLRACE_REQUIRES(mutex_);

  Router& router_;
  const Asker asker_;
  const std::string credentials_;
  std::uint64_t number_ = 0;
  std::vector<Sent> sent_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t open_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool finished_ MILLRACE_GUARDED_BY(mutex_) = false;
  Instant finished_at_ MILLRACE_GUARDED_BY(mutex_){};
};

// The way that this request goes. `shard`: the one it is for, where there is one.
std::shared_ptr<Operation> make_operation(Router& router, Request request,
                                          std::optional<ShardNumber> shard, Asker asker,
                                          std::string credentials);

// A claim or a poll over several shards (pursuit.cc).
std::shared_ptr<Operation> make_pursuit(Router& router, Request request, Asker asker,
                                        std::string credentials);

}  // namespace millrace::engine
