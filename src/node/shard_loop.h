// A shard that is led here: what is done at each wake, and in which order. It decides; whoever runs
// it has the threads, carries out its appends and flushes, and brings what came of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "engine/lease.h"
#include "engine/shard.h"
#include "engine/shard_clock.h"
#include "node/instant.h"
#include "node/slow_lane.h"

namespace millrace::node {

// One thread, one owner, but for clock().
class ShardLoop {
 public:
  struct Mail {
    engine::ReplyPort* port = nullptr;
    engine::Ticket ticket{};
    std::optional<engine::Request> request;            // none: the ticket is cancelled
    std::optional<engine::FromInbox> from_inbox = {};  // then it is a command
  };
  // What has come since the last round.
  struct News {
    std::vector<Mail> mail;
    std::optional<store::AppendResult> appended;
    std::optional<Status> flushed;
    bool drain = false;
    bool resign = false;
    bool end_flushes = false;
    std::optional<std::string> depose;
    bool stop = false;  // this is the last one
  };

  // Of whoever runs it; called within a round, on its thread. None of it waits.
  class Hands {
   public:
    virtual ~Hands() = default;
    // At most one row is under way: News::appended. The row stays where it is until then.
    virtual void append(const store::JournalRow& row) = 0;
    // Others write tables too, and it is not this shard's turn: false. A round is due when it is.
    virtual bool may_flush() = 0;
    // The turn is not needed.
    virtual void needs_no_flush() = 0;
    // At most one is under way: News::flushed.
    virtual void flush(engine::Flush flush) = 0;
    virtual void release(std::vector<engine::Outgoing> answers) = 0;
    // `to_reuse` bytes of what is resident are empty.
    virtual engine::MemoryRoom memory_room(std::uint64_t to_reuse) = 0;

    // --- As it happens.
    // Nobody could be heard or answered: live leases get that time back.
    virtual void stood_still(Time /*from*/, Time /*to*/) {}
    virtual void offers(const Mail& /*mail*/) {}
    // The lease does not hold, since now; and who waits is told so.
    virtual void doubts(Time /*now*/) {}
    virtual void turns_away() {}
    // The lease holds: a step comes now; and one has decided something.
    virtual void decides(Time /*now*/) {}
    virtual void decided(Time /*now*/) {}
    // All waits end now.
    virtual void drains() {}
    virtual void resigns() {}
  };
  struct Parts {
    const engine::TimeSource& time;
    Hands& hands;
    const engine::Lease* lease = nullptr;  // null: nobody else can lead the shard
    Logger log;
  };
  ShardLoop(std::unique_ptr<engine::Shard> shard, Parts parts);

  // Before the first round: hands over the row that a term begins with.
  void begin();
  // Takes the news: what is left of it is of no use.
  void round(News& news);
  // Nothing is done from now on, until the next round; says when one is due by itself. `may_flush`:
  // a flush that falls due counts.
  std::optional<Time> sleep(bool may_flush);

  const engine::Shard& shard() const { return *shard_; }
  const engine::ShardClock& clock() const { return clock_; }
  bool in_doubt() const { return in_doubt_since_.has_value(); }
  bool deposed() const { return deposed_; }
  bool appending() const { return row_in_flight_; }
  bool flushing() const { return flush_in_flight_; }
  Time slept_at() const { return slept_at_; }
  // All was decided, committed and projected, since it drains.
  bool drained() const;
  // It was asked to resign: nothing more is decided, and what was is durable.
  bool resigned() const;
  // No flush is begun any more, and none is under way.
  bool flushes_ended() const { return flushes_end_ && !flush_in_flight_; }

 private:
  Time wake_up();
  void take_in(News& news, Time now);
  void take_mail(News& news, Time now);
  void offer(Mail mail);
  // How long a submission is to wait that comes now.
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
  SlowLane<Mail> slow_lane_;
  engine::MemoryRoom memory_room_ = engine::MemoryRoom::kWide;
  bool row_in_flight_ = false;
  Time row_handed_at_{};
  bool flush_in_flight_ = false;
  std::optional<Time> flushing_since_;  // since one was due; of one that failed: the first time
  Time tables_may_go_on_at_{};          // until then it waited for something else than the tables
  bool draining_ = false;
  bool resigning_ = false;
  bool flushes_end_ = false;
  std::optional<Instant> in_doubt_since_;
  bool deposed_ = false;
  Time woke_at_{};   // the last time
  Time slept_at_{};  // when the last wait began
};

}  // namespace millrace::node
