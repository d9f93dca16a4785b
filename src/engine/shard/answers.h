// Answers waiting to be sent. Each depends on a journal row and is sent, in order, when that row is
// durable.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/routing/reply_address.h"
#include "engine/shard/shard.h"

namespace millrace::engine {

class Answers {
 public:
  // Precondition: `needs` never decreases from call to call.
  // `patient`: the caller waits however long it takes.
  void hold(Seq needs, ReplyAddress reply_to, Answer answer, bool patient = false) {
    held_.push_back({needs, patient, {reply_to.port, {reply_to.ticket, std::move(answer)}}});
  }
  // For an answer that depends on no state, such as a refusal made without reading any.
  void send(ReplyAddress reply_to, Answer answer) {
    ready_.push_back({reply_to.port, {reply_to.ticket, std::move(answer)}});
  }
  void release(Seq durable) {
    for (; !held_.empty() && held_.front().needs <= durable; held_.pop_front()) {
      ready_.push_back(std::move(held_.front().outgoing));
    }
  }
  // The decided rows may never become durable: replaces every held answer by `instead`.
  void replace_held(Unavailable instead) {
    for (Held& held : held_) {
      held.outgoing.delivery.answer = instead;
      ready_.push_back(std::move(held.outgoing));
    }
    held_.clear();
  }

  // The row in flight takes too long: all but patient callers get `instead` now, although the row
  // may still become durable. Answers with leases stay, because no one else knows of these leases.
  // Refusals stay, because they are more specific than `instead`.
  void give_up_held(Unavailable instead) {
    std::deque<Held> kept;
    for (Held& held : held_) {
      if (held.patient || says_more(held.outgoing.delivery.answer)) {
        kept.push_back(std::move(held));
        continue;
      }
      held.outgoing.delivery.answer = instead;
      ready_.push_back(std::move(held.outgoing));
    }
    held_ = std::move(kept);
  }

  std::vector<Outgoing> take() { return std::exchange(ready_, {}); }
  bool empty() const { return held_.empty() && ready_.empty(); }

 private:
  static bool says_more(const Answer& answer) {
    if (std::holds_alternative<Unavailable>(answer)) return true;
    if (const auto* poll = std::get_if<PollReply>(&answer)) return !poll->claim.jobs.empty();
    const auto* reply = std::get_if<core::Reply>(&answer);
    const auto* claim = reply == nullptr ? nullptr : std::get_if<core::ClaimReply>(reply);
    return claim != nullptr && !claim->jobs.empty();
  }

  struct Held {
    Seq needs{};
    bool patient = false;
    Outgoing outgoing;
  };
  std::deque<Held> held_;
  std::vector<Outgoing> ready_;
};

}  // namespace millrace::engine
