// An I/O thread's side of the engine: gives out tickets, takes batches of answers from the shard's
// thread, and resumes the coroutines that wait for them on its own thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/routing/gateway.h"

namespace millrace::service {

// In whose name to ask, and whom.
struct Asking {
  std::string_view credentials;      // the client's; they stay where they are until the answer
  engine::Gateway* shard = nullptr;  // null: the port's own gateway, which finds the shard
};

class AnswerPort final : public engine::ReplyPort {
 public:
  // Someone who waits for an answer; outlives the wait or calls forget().
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void answered(engine::Answer answer) = 0;
  };

  // `wake` is called from any thread when there is something to run() after there was nothing.
  AnswerPort(engine::Gateway& gateway, std::function<void()> wake)
      : gateway_(gateway), wake_(std::move(wake)) {}

  // --- The I/O thread.
  engine::Ticket ask(engine::Request request, Waiter& waiter, const Asking& asking = {});
  // The caller has gone: nobody waits on the ticket any more. Jobs that are claimed for it all the
  // same are given back, with these credentials.
  void cancel(engine::Ticket ticket, std::string_view credentials);
  // The waiter is being destroyed.
  void forget(engine::Ticket ticket);
  // Hands out what has come.
  void run();
  // Of the jobs in a claim that can't be answered.
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
  // Whose answer may still come, with jobs.
  struct Cancelled {
    engine::Ticket ticket{};
    std::string credentials;
  };
  static constexpr std::size_t kCancelledRemembered = 1'024;

  Waiter* release(engine::Ticket ticket);
  void give_back(engine::Delivery& delivery);

  engine::Gateway& gateway_;
  const std::function<void()> wake_;

  // A ticket is a slot's number and its generation: a late answer finds its slot reused.
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Cancelled> cancelled_;  // a ring; only those with credentials
  std::size_t next_cancelled_ = 0;
  std::vector<engine::Delivery> running_;
  std::vector<std::coroutine_handle<>> resuming_;

  std::mutex mutex_;
  std::vector<engine::Delivery> inbox_;             // guarded by mutex_
  std::vector<std::coroutine_handle<>> to_resume_;  // guarded by mutex_
};

// The jobs that an answer hands out, or null.
core::ClaimReply* claim_in(engine::Answer& answer);

// Something that a call waits for and that may be given up. The I/O thread.
class Abandonable {
 public:
  virtual void give_up() = 0;

 protected:
  ~Abandonable() = default;
};

// Where whoever may give a wait up finds it.
struct Wait {
  Abandonable* waiting = nullptr;  // just now
  bool over = false;      // nobody waits any more: what is asked from now on is given up at once
  bool given_up = false;  // some wait was
};

// co_await Ask(port, request): the answer. With `wait` it can be given up: the answer is then
// Unavailable::kDraining, or kUnknown of a poll that brought something, which is carried out. Who
// has closed only its side of the connection still sees it.
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
  // What is given up at once is asked all the same, and cancelled: a poll's acks count.
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
    handle_.resume();
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
