// The turns of the event streams of one I/O thread: only a few read at a time, in order of arrival.
// So the streams together take no more of the readers' and of this thread's time than a few of them
// would, however many have something to read.
#pragma once

#include <coroutine>
#include <cstddef>
#include <list>
#include <utility>

#include "service/answer_port.h"

namespace millrace::service {

// For the I/O thread.
class EventTurns {
 public:
  // Two: one stream's page is read while another's, which may be long, is under way.
  static constexpr std::size_t kAtATime = 2;

  class Turn;

  explicit EventTurns(AnswerPort& port) : port_(port) {}
  EventTurns(const EventTurns&) = delete;
  EventTurns& operator=(const EventTurns&) = delete;

 private:
  AnswerPort& port_;
  std::size_t free_ = kAtATime;
  std::list<Turn*> waiting_;  // the first comes next
};

// co_await Turn(turns, wait): waits for a turn, which leave() ends. It must not move. If the wait
// is given up, it goes on without a turn. `wait`: may be null.
class EventTurns::Turn final : Abandonable {
 public:
  Turn(EventTurns& turns, Wait* wait) : turns_(turns), wait_(wait) {}
  // Without a prior leave(), as when the thread ends with all its waits, nobody is woken.
  ~Turn() {
    if (handle_) turns_.waiting_.remove(this);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool await_ready() {
    has_it_ = turns_.free_ > 0;
    if (has_it_) --turns_.free_;
    return has_it_;
  }
  bool await_suspend(std::coroutine_handle<> handle) {
    if (wait_ != nullptr && wait_->over) {
      wait_->given_up = true;
      return false;
    }
    if (wait_ != nullptr) wait_->waiting = this;
    handle_ = handle;
    place_ = turns_.waiting_.insert(turns_.waiting_.end(), this);
    return true;
  }
  void await_resume() const {}

  // The next one takes over.
  void leave() {
    if (!std::exchange(has_it_, false)) return;
    if (turns_.waiting_.empty()) {
      ++turns_.free_;
      return;
    }
    Turn& next = *turns_.waiting_.front();
    next.has_it_ = true;
    next.go_on();
  }

 private:
  void give_up() override {
    wait_->given_up = true;
    go_on();
  }
  void go_on() {
    turns_.waiting_.erase(place_);
    if (wait_ != nullptr) wait_->waiting = nullptr;
    turns_.port_.resume(std::exchange(handle_, nullptr));
  }

  EventTurns& turns_;
  Wait* const wait_;
  bool has_it_ = false;
  std::coroutine_handle<> handle_;  // set while it waits
  std::list<Turn*>::iterator place_;
};

}  // namespace millrace::service
