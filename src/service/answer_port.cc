#include "service/answer_port.h"

#include <algorithm>
#include <variant>

#include "engine/routing/scatter_gather.h"
#include "service/event_tail.h"
#include "service/event_turns.h"

namespace millrace::service {
namespace {

// The ticket of answers that nobody waits for.
constexpr engine::Ticket kNobody{~std::uint64_t{0}};

engine::Ticket ticket_of(std::uint32_t slot, std::uint32_t generation) {
  return engine::Ticket{(std::uint64_t{generation} << 32) | slot};
}

}  // namespace

AnswerPort::AnswerPort(engine::Gateway& gateway, std::function<void()> wake)
    : gateway_(gateway),
      wake_(std::move(wake)),
      events_(std::make_unique<EventTail>(*this)),
      event_turns_(std::make_unique<EventTurns>(*this)) {}

AnswerPort::~AnswerPort() = default;

engine::Ticket AnswerPort::ask(engine::Request request, Waiter& waiter, const Asking& asking) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  engine::Gateway& asked = asking.shard != nullptr ? *asking.shard : gateway_;
  slots_[slot].waiter = &waiter;
  slots_[slot].asked = &asked;
  const engine::Ticket ticket = ticket_of(slot, slots_[slot].generation);
  asked.submit(std::move(request), *this, ticket, asking.credentials);
  return ticket;
}

AnswerPort::Waiter* AnswerPort::release(engine::Ticket ticket) {
  const auto number = static_cast<std::uint64_t>(ticket);
  const auto slot = static_cast<std::uint32_t>(number);
  if (slot >= slots_.size() || slots_[slot].generation != number >> 32) return nullptr;
  ++slots_[slot].generation;
  free_slots_.push_back(slot);
  return std::exchange(slots_[slot].waiter, nullptr);
}

void AnswerPort::cancel(engine::Ticket ticket, std::string_view credentials) {
  if (release(ticket) == nullptr) return;
  if (!credentials.empty()) {
    if (cancelled_.size() < kCancelledRemembered) cancelled_.emplace_back();
    Cancelled& remembered = cancelled_[next_cancelled_];
    next_cancelled_ = (next_cancelled_ + 1) % kCancelledRemembered;
    remembered.ticket = ticket;
    remembered.credentials = credentials;
  }
  slots_[static_cast<std::uint32_t>(ticket)].asked->cancel(*this, ticket);
}

void AnswerPort::forget(engine::Ticket ticket) { release(ticket); }

void AnswerPort::deliver(std::span<engine::Delivery> deliveries) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = inbox_.empty() && to_resume_.empty();
    for (engine::Delivery& delivery : deliveries) inbox_.push_back(std::move(delivery));
  }
  if (was_empty && !deliveries.empty()) wake_();
}

void AnswerPort::resume(std::coroutine_handle<> handle) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = inbox_.empty() && to_resume_.empty();
    to_resume_.push_back(handle);
  }
  if (was_empty) wake_();
}

void AnswerPort::run() {
  {
    const std::lock_guard lock(mutex_);
    running_.swap(inbox_);
    resuming_.swap(to_resume_);
  }
  for (engine::Delivery& delivery : running_) {
    if (Waiter* waiter = release(delivery.ticket)) {
      waiter->answered(std::move(delivery.answer));
    } else {
      give_back(delivery);
    }
  }
  for (const std::coroutine_handle<> handle : resuming_) handle.resume();
  running_.clear();
  resuming_.clear();
}

// The claimer's connection closed before the answer could be sent: do not make the jobs wait for
// the end of their leases.
void AnswerPort::give_back(engine::Delivery& delivery) {
  const core::ClaimReply* const claim = claim_in(delivery.answer);
  if (claim == nullptr) return;
  const auto remembered = std::ranges::find(cancelled_, delivery.ticket, &Cancelled::ticket);
  give_back(*claim, remembered == cancelled_.end() ? std::string_view() : remembered->credentials);
}

void AnswerPort::give_back(const core::ClaimReply& claim, std::string_view credentials) {
  if (claim.jobs.empty()) return;
  gateway_.submit(core::Command(engine::releases_of(claim)), *this, kNobody, credentials);
}

core::ClaimReply* claim_in(engine::Answer& answer) {
  if (auto* reply = std::get_if<core::Reply>(&answer)) return std::get_if<core::ClaimReply>(reply);
  auto* poll = std::get_if<engine::PollReply>(&answer);
  return poll == nullptr ? nullptr : &poll->claim;
}

AskAll::AskAll(AnswerPort& port, std::vector<engine::Request> requests, const Asking& asking)
    : port_(port),
      requests_(std::move(requests)),
      asking_(asking),
      waiters_(requests_.size()),
      answers_(requests_.size()),
      missing_(requests_.size()) {}

AskAll::~AskAll() {
  for (const One& one : waiters_) {
    if (one.ticket) port_.forget(*one.ticket);
  }
}

void AskAll::await_suspend(std::coroutine_handle<> handle) {
  handle_ = handle;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    waiters_[i].all = this;
    waiters_[i].ticket = port_.ask(std::move(requests_[i]), waiters_[i], asking_);
  }
}

void AskAll::One::answered(engine::Answer answer) {
  ticket.reset();
  all->answers_[static_cast<std::size_t>(this - all->waiters_.data())] = std::move(answer);
  if (--all->missing_ == 0) all->handle_.resume();
}

}  // namespace millrace::service
