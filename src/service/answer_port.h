// An I/O thread's side of the engine: it issues tickets, takes batches of answers from the shard's
// thread, and resumes the coroutines that wait for them on its own thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/routing/gateway.h"

namespace millrace::service {

class EventTail;
class EventTurns;

// The credentials and the shard of a request.
struct Asking {
  std::string_view credentials;      // the client's; valid until the answer
  engine::Gateway* shard = nullptr;  // null: the port's own gateway, which finds the shard
};

class AnswerPort final : public engine::ReplyPort {
 public:
  // Receives an answer. It must outlive the wait, or call forget().
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void answered(engine::Answer answer) = 0;
  };

  // `wake` is called, on any thread, when run() has work.
  AnswerPort(engine::Gateway& gateway, std::function<void()> wake);
  ~AnswerPort() override;

  // --- The I/O thread.
  engine::Ticket ask(engine::Request request, Waiter& waiter, const Asking& asking = {});
  // The caller has gone, so nobody waits for the ticket. If the shard claims jobs for it anyway,
  // the port gives them back with these credentials.
  void cancel(engine::Ticket ticket, std::string_view credentials);
  // The waiter is being destroyed.
  void forget(engine::Ticket ticket);
  // This thread's event readers that wait for more.
  EventTail& events() { return *events_; }
  EventTurns& event_turns() { return *event_turns_; }
  // Delivers the answers that have arrived.
  void run();
  // Gives back the jobs of a claim whose answer cannot be sent.
  void give_back(const core::ClaimReply& claim, std::string_view credentials);

  // --- Any thread.
  void deliver(std::span<engine::Delivery> deliveries) override;
  // Runs `handle` on the I/O thread.
  void resume(std::coroutine_handle<> handle);

 private:
  struct Slot {
    Waiter* waiter = nullptr;
    engine::Gateway* asked = nullptr;
    std::uint32_t generation = 0;
  };
  // A cancelled ticket whose answer may still arrive, with jobs.
  struct Cancelled {
    engine::Ticket ticket{};
    std::string credentials;
  };
  static constexpr std::size_t kCancelledRemembered = 1'024;

  Waiter* release(engine::Ticket ticket);
  void give_back(engine::Delivery& delivery);

  engine::Gateway& gateway_;
  const std::function<void()> wake_;

  // A ticket is a slot's number and generation, so a late answer does not match a reused slot.
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Cancelled> cancelled_;  // a ring; only those with credentials
  std::size_t next_cancelled_ = 0;
  std::vector<engine::Delivery> running_;
  std::vector<std::coroutine_handle<>> resuming_;
  const std::unique_ptr<EventTail> events_;
  const std::unique_ptr<EventTurns> event_turns_;

  std::mutex mutex_;
  std::vector<engine::Delivery> inbox_;             // guarded by mutex_
  std::vector<std::coroutine_handle<>> to_resume_;  // guarded by mutex_
};

// The jobs that an answer hands out, or null.
core::ClaimReply* claim_in(engine::Answer& answer);

// A wait that may be given up. On the I/O thread.
class Abandonable {
 public:
  // The waiting coroutine goes on later, by AnswerPort::resume(): whoever gives up a wait may be in
  // the middle of a loop over connections or readers, and the coroutine may end one of them.
  virtual void give_up() = 0;

 protected:
  ~Abandonable() = default;
};

// The caller's current wait, for the code that may give it up.
struct Wait {
  Abandonable* waiting = nullptr;  // null: the caller is not waiting
  bool over = false;               // the client has gone: later waits are given up at once
  bool given_up = false;           // a wait was given up
};

// co_await Ask(port, request): the answer. With `wait` the wait can be given up. The answer is then
// Unavailable::kDraining, or kUnknown for a poll whose acks, heartbeats or logs are still executed.
// A client that has closed only its side of the connection still receives this answer.
class [[nodiscard]] Ask final : AnswerPort::Waiter, Abandonable {
 public:
  Ask(AnswerPort& port, engine::Request request, const Asking& asking = {}, Wait* wait = nullptr)
      : port_(port), request_(std::move(request)), asking_(asking), wait_(wait) {
    const auto* poll = std::get_if<engine::Poll>(&request_);
    brings_ = poll != nullptr && !(poll->acks.items.empty() && poll->heartbeats.items.empty() &&
                                   poll->logs.items.empty());
  }
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;
  ~Ask() override {
    if (ticket_) port_.forget(*ticket_);
  }

  bool await_ready() const { return false; }
  // Even if the wait is given up at once, the request is sent and then cancelled, so that a poll's
  // acks take effect.
  bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    if (wait_ != nullptr) wait_->waiting = this;
    ticket_ = port_.ask(std::move(request_), *this, asking_);
    if (wait_ == nullptr || !wait_->over) return true;
    cancel();
    return false;
  }
  engine::Answer await_resume() { return std::move(*answer_); }

 private:
  void give_up() override {
    cancel();
    port_.resume(handle_);
  }
  void cancel() {
    port_.cancel(*ticket_, asking_.credentials);
    ticket_.reset();
    wait_->waiting = nullptr;
    wait_->given_up = true;
    answer_ = brings_ ? engine::Unavailable::kUnknown : engine::Unavailable::kDraining;
  }
  void answered(engine::Answer answer) override {
    ticket_.reset();
    if (wait_ != nullptr) wait_->waiting = nullptr;
    answer_ = std::move(answer);
    handle_.resume();
  }

  AnswerPort& port_;
  engine::Request request_;
  const Asking asking_;
  Wait* const wait_;
  bool brings_ = false;
  std::coroutine_handle<> handle_;
  std::optional<engine::Ticket> ticket_;
  std::optional<engine::Answer> answer_;
};

// co_await AskAll(port, requests): the answers, in order.
class AskAll {
 public:
  AskAll(AnswerPort& port, std::vector<engine::Request> requests, const Asking& asking = {});
  AskAll(const AskAll&) = delete;
  AskAll& operator=(const AskAll&) = delete;
  ~AskAll();

  bool await_ready() const { return requests_.empty(); }
  void await_suspend(std::coroutine_handle<> handle);
  std::vector<engine::Answer> await_resume() { return std::move(answers_); }

 private:
  struct One final : AnswerPort::Waiter {
    AskAll* all = nullptr;
    std::optional<engine::Ticket> ticket;
    void answered(engine::Answer answer) override;
  };

  AnswerPort& port_;
  std::vector<engine::Request> requests_;
  const Asking asking_;
  std::vector<One> waiters_;
  std::vector<engine::Answer> answers_;
  std::size_t missing_ = 0;
  std::coroutine_handle<> handle_;
};

}  // namespace millrace::service
