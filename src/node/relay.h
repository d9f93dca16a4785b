// Carries messages between a shard and other shards, while this node leads the shard: what lies in
// its outbox (engine/shard/outbox.h), of which workflows and messages about their members may be
// for the shard itself, and the questions of its schedules about workflows, and about jobs on other
// shards. It only decides; its
// caller sends its requests and passes on the answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/routing/gateway.h"

namespace millrace::node {

// One caller at a time. Call take_asks() and take_incomplete() after each call.
class Relay {
 public:
  explicit Relay(Logger log) : log_(std::move(log)) {}

  struct Asking {
    enum class Whom : std::uint8_t {
      kShard,  // the shard, which this node leads
      kOwner,  // the owner of the job's queue, through the router, with engine::kNodesOwn
    } whom{};
    engine::Request request;
    engine::Ticket ticket{};  // 0: the answer is not needed
    JobId box{};              // kOwner: the outbox job that is passed on
  };
  std::vector<Asking> take_asks() { return std::exchange(asks_, {}); }
  // Jobs whose payloads memory has dropped; the caller must read them (engine::Reads::complete()).
  struct Incomplete {
    std::uint64_t term = 0;
    core::ClaimReply claim;
  };
  std::vector<Incomplete> take_incomplete() { return std::exchange(incomplete_, {}); }

  // begin(): this node leads the shard from now on. end(): it no longer does.
  void begin();
  void end();
  // Call a few times a second: repeats failed requests.
  void tick() {
    ask();
    ask_questions();
  }
  void answered(engine::Ticket ticket, engine::Answer answer);
  void completed(Incomplete claim, const Status& read);

  bool passes_on() const {
    return !under_way_.empty() || !workflows_.empty() || !messages_.empty() || !given_up_.empty();
  }

 private:
  struct InFlight {
    JobId id;
    LeaseToken token{};
    Duration waited{};  // from the ack that submitted it to the start of this attempt
    // Of a submission: the member that never becomes a job if this fails for good.
    std::optional<core::MemberReport> member = {};
  };

  void ask();
  void ask_questions();
  void carry(const engine::JobQuestions& questions);
  void tell(const engine::JobQuestion& question, const engine::Answer& answer);
  void told(const engine::JobQuestion& question, bool ended);
  void pass_on(const core::ClaimReply& claim);
  void pass_on_message(const InFlight& job, const core::Job& box);
  void pass_on_workflow(const InFlight& job, const core::Job& box);
  void give_up_member(InFlight job, core::AckItem ack);
  void member_given_up(const InFlight& job, core::AckItem ack, const engine::Answer& answer);
  void tell_settings();
  void passed(const InFlight& job, core::AckItem ack);
  void settle(const InFlight& job, core::AckItem item);
  engine::Ticket next_ticket() { return engine::Ticket{++last_ticket_}; }

  const Logger log_;
  std::uint64_t term_ = 0;  // counts terms
  bool leads_ = false;
  bool settings_told_ = false;
  std::uint64_t last_ticket_ = 0;
  std::optional<engine::Ticket> claim_;  // the pending claim
  std::map<engine::Ticket, InFlight> under_way_;
  std::map<engine::Ticket, InFlight> workflows_;
  std::map<engine::Ticket, InFlight> messages_;  // about members, sent to the owners of their jobs
  // Dead boxes whose workflow must hear of it first, with their acks.
  std::map<engine::Ticket, std::pair<InFlight, core::AckItem>> given_up_;
  std::optional<engine::Ticket> asking_;                      // the pending request for questions
  std::map<engine::Ticket, engine::JobQuestion> questioned_;  // sent to the owners of their jobs
  std::vector<Asking> asks_;
  std::vector<Incomplete> incomplete_;
};

}  // namespace millrace::node
