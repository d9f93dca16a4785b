// The loop of a shard that this node leads: its work at each wake-up, and the order of that work.
// It only decides; its caller has the threads, performs its appends and flushes, and passes on the
// results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/routing/leader_lease.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_clock.h"
#include "node/instant.h"
#include "node/submission_throttle.h"

namespace millrace::node {

// One thread, one owner, except for clock().
class ShardLoop {
 public:
  struct Mail {
    engine::ReplyPort* port = nullptr;
    engine::Ticket ticket{};
    std::optional<engine::Request> request;            // none: cancels the ticket
    std::optional<engine::FromInbox> from_inbox = {};  // if set, `request` is a command
  };
  // Everything that has arrived since the last round.
  struct News {
    std::vector<Mail> mail;
    std::optional<store::AppendResult> appended;
    std::optional<Status> flushed;
    bool drain = false;
    bool resign = false;
    bool end_flushes = false;
    std::optional<std::string> depose;
    bool stop = false;  // this is the last round
  };

  // Implemented by the caller; called within a round, on the round's thread. No call blocks.
  class Hands {
   public:
    virtual ~Hands() = default;
    // At most one append is pending; its result arrives as News::appended. The row stays valid
    // until then.
    virtual void append(const store::JournalRow& row) = 0;
    // False: flushes of other shards come first. The caller makes a round due when this shard's
    // turn comes.
    virtual bool may_flush() = 0;
    // Gives up the shard's turn.
    virtual void needs_no_flush() = 0;
    // At most one flush is pending; its result arrives as News::flushed.
    virtual void flush(engine::Flush flush) = 0;
    virtual void release(std::vector<engine::Outgoing> answers) = 0;
    // `to_reuse`: resident bytes that are empty.
    virtual engine::MemoryRoom memory_room(std::uint64_t to_reuse) = 0;

    // --- Notifications.
    // The shard could neither hear nor answer anyone during this time; live leases are extended by
    // it.
    virtual void stood_still(Time /*from*/, Time /*to*/) {}
    virtual void offers(const Mail& /*mail*/) {}
    // doubts(): the lease does not hold any more. turns_away(): waiting requests get an answer that
    // says so.
    virtual void doubts(Time /*now*/) {}
    virtual void turns_away() {}
    // decides(): the lease holds and a step follows. decided(): that step has decided something.
    virtual void decides(Time /*now*/) {}
    virtual void decided(Time /*now*/) {}
    // All waits end now.
    virtual void drains() {}
    virtual void resigns() {}
  };
  struct Parts {
    const engine::TimeSource& time;
    Hands& hands;
    const engine::LeaderLease* lease = nullptr;  // null: nobody else can lead the shard
    Logger log;
  };
  ShardLoop(std::unique_ptr<engine::Shard> shard, Parts parts);

  // Call before the first round: hands over the row that begins the term.
  void begin();
  // Consumes `news`.
  void round(News& news);
  // Call when nothing will happen until the next round. Returns when the next round is due without
  // news. `may_flush`: include a flush that falls due.
  std::optional<Time> sleep(bool may_flush);

  const engine::Shard& shard() const { return *shard_; }
  const engine::ShardClock& clock() const { return clock_; }
  bool in_doubt() const { return in_doubt_since_.has_value(); }
  bool deposed() const { return deposed_; }
  bool appending() const { return row_in_flight_; }
  bool flushing() const { return flush_in_flight_; }
  Time slept_at() const { return slept_at_; }
  // The shard drains, and everything is decided, committed and projected.
  bool drained() const;
  // The shard was asked to resign, decides nothing more, and all its decisions are durable.
  bool resigned() const;
  // No flush will begin, and none is pending.
  bool flushes_ended() const { return flushes_end_ && !flush_in_flight_; }

 private:
  Time wake_up();
  void take_in(News& news, Time now);
  void take_mail(News& news, Time now);
  void offer(Mail mail);
  // The delay for a submission that arrives now.
  Duration delay_of_submissions(Time now) const;
  bool row_is_slow(Time now) const;
  void look_at_memory();
  void decide(Time now);
  bool leads() const;
  void hand_over_row();
  void hand_over_flush(Time now);
  void release() { parts_.hands.release(shard_->take_answers()); }

  Parts parts_;
  engine::ShardClock clock_;
  std::unique_ptr<engine::Shard> shard_;
  SubmissionThrottle<Mail> throttle_;
  engine::MemoryRoom memory_room_ = engine::MemoryRoom::kWide;
  bool row_in_flight_ = false;
  Time row_handed_at_{};
  bool flush_in_flight_ = false;
  std::optional<Time> flushing_since_;  // when one became due; after a failure: the first one
  Time tables_may_go_on_at_{};          // before this, the tables did not cause the delay
  bool draining_ = false;
  bool resigning_ = false;
  bool flushes_end_ = false;
  std::optional<Instant> in_doubt_since_;
  bool deposed_ = false;
  Time woke_at_{};   // last time
  Time slept_at_{};  // when the last wait began
};

}  // namespace millrace::node
