// Answers on their way out: each rests on a journal row and leaves when that is durable, in the
// order given.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/asker.h"
#include "engine/shard.h"

namespace millrace::engine {

class Answers {
 public:
  // Precondition: `needs` never falls from call to call.
  void hold(Seq needs, Asker asker, Answer answer) {
    held_.push_back({needs, {asker.port, {asker.ticket, std::move(answer)}}});
  }
  // Rests on nothing: a refusal that no state was read for.
  void send(Asker asker, Answer answer) {
    ready_.push_back({asker.port, {asker.ticket, std::move(answer)}});
  }
  void release(Seq durable) {
    for (; !held_.empty() && held_.front().needs <= durable; held_.pop_front()) {
      ready_.push_back(std::move(held_.front().outgoing));
    }
  }
  // What was decided may never become durable: everybody gets `instead`.
  void replace_held(Unavailable instead) {
    for (Held& held : held_) {
      held.outgoing.delivery.answer = instead;
      ready_.push_back(std::move(held.outgoing));
    }
    held_.clear();
  }

  std::vector<Outgoing> take() { return std::exchange(ready_, {}); }
  bool empty() const { return held_.empty() && ready_.empty(); }

 private:
  struct Held {
    Seq needs{};
    Outgoing outgoing;
  };
  std::deque<Held> held_;
  std::vector<Outgoing> ready_;
};

}  // namespace millrace::engine
