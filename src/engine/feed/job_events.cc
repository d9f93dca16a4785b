// The history of one job, made from its attempts and marks.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/feed/event_feed.h"

namespace millrace::engine {
namespace {

using terms::EventType;

class Life {
 public:
  explicit Life(const core::JobView& view) : view_(view) {}

  std::vector<FeedEvent> tell() {
    add(EventType::kJobSubmitted, view_.job.created_at, 0, {}, {});
    for (const core::Attempt& attempt : view_.attempts) tell_attempt(attempt, Place::kEarlier);
    if (view_.job.latest.n > 0) tell_attempt(view_.job.latest, Place::kLatest);
    for (const core::Mark& mark : view_.marks) {
      if (!told_with_attempt(mark)) tell_mark(mark);
    }
    // Facts of the same time stay in the order added.
    std::vector<std::size_t> order(facts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(facts_[i].at, i); });
    std::vector<FeedEvent> sorted;
    sorted.reserve(order.size());
    for (const std::size_t i : order) {
      sorted.push_back(std::move(facts_[i]));
      sorted.back().position = std::to_string(sorted.size());
    }
    return sorted;
  }

 private:
  enum class Place : std::uint8_t { kEarlier, kLatest };

  void tell_attempt(const core::Attempt& attempt, Place place) {
    add(EventType::kJobStarted, attempt.started_at, attempt.attempt, attempt.worker, {});
    if (!attempt.finished_at) return;
    // A request may have the same time, in milliseconds, as the end that it led to.
    for (const core::Mark& mark : view_.marks) {
      if (requests_cancellation_of(mark, attempt)) tell_mark(mark);
    }
    terms::AttemptFacts facts{.ran = *attempt.finished_at - attempt.started_at};
    if (attempt.error != nullptr) {
      facts.error = terms::AttemptError{attempt.error->type, attempt.error->message};
    }
    const auto ended = [&](EventType type) {
      add(type, *attempt.finished_at, attempt.attempt, attempt.worker, facts);
    };
    switch (attempt.outcome) {
      case core::AttemptOutcome::kSucceeded:
        return ended(EventType::kJobSucceeded);
      case core::AttemptOutcome::kSnoozed:
        ended(EventType::kJobSnoozed);
        if (cancel_requested(attempt)) ended(EventType::kJobCancelled);
        return;
      case core::AttemptOutcome::kReleased:
        ended(EventType::kJobReleased);
        if (cancel_requested(attempt)) ended(EventType::kJobCancelled);
        return;
      case core::AttemptOutcome::kCancelled:
        return ended(EventType::kJobCancelled);
      case core::AttemptOutcome::kDead:
        return ended(EventType::kJobDead);
      case core::AttemptOutcome::kLeaseExpired:
        ended(EventType::kJobLeaseExpired);
        break;
      case core::AttemptOutcome::kTimedOut:
        ended(EventType::kJobTimedOut);
        break;
      case core::AttemptOutcome::kFailed:
      case core::AttemptOutcome::kRunning:
        break;
    }
    ended(verdict(attempt, place));
  }

  // Whether cancellation was requested while the attempt ran.
  bool cancel_requested(const core::Attempt& attempt) const {
    return std::ranges::any_of(view_.marks, [&](const core::Mark& mark) {
      return requests_cancellation_of(mark, attempt);
    });
  }

  static bool requests_cancellation_of(const core::Mark& mark, const core::Attempt& attempt) {
    return mark.kind == core::MarkKind::kCancelRequested && mark.attempt == attempt.attempt &&
           attempt.finished_at && mark.at >= attempt.started_at && mark.at <= *attempt.finished_at;
  }

  bool told_with_attempt(const core::Mark& mark) const {
    return requests_cancellation_of(mark, view_.job.latest) ||
           std::ranges::any_of(view_.attempts, [&](const core::Attempt& attempt) {
             return requests_cancellation_of(mark, attempt);
           });
  }

  // The fate of the job after the attempt failed. Cancelled, if that was requested while the
  // attempt ran. Dead, if the job ended there, or if only an operator's retry led to its next
  // attempt.
  EventType verdict(const core::Attempt& attempt, Place place) const {
    if (cancel_requested(attempt)) return EventType::kJobCancelled;
    if (place == Place::kLatest && view_.job.state == core::State::kDead)
      return EventType::kJobDead;
    return retried_before_next(attempt) ? EventType::kJobDead : EventType::kJobRetrying;
  }

  // Whether an operator's retry is the first thing that happened to the job after the attempt.
  // False if the job was cancelled while it waited for its next attempt, and retried after that.
  bool retried_before_next(const core::Attempt& attempt) const {
    std::optional<Time> next_start;
    for (const core::Attempt& other : view_.attempts) {
      if (other.n == attempt.n + 1) next_start = other.started_at;
    }
    if (view_.job.latest.n == attempt.n + 1) next_start = view_.job.latest.started_at;
    for (const core::Mark& mark : view_.marks) {  // in order of time
      if (mark.at < *attempt.finished_at || (next_start && mark.at > *next_start)) continue;
      if (mark.kind == core::MarkKind::kCancelled) return false;
      if (mark.kind == core::MarkKind::kRetried) return true;
      if (mark.kind == core::MarkKind::kFinished) {
        return mark.reason.view() == name_of(core::State::kDead);
      }
    }
    return false;
  }

  void tell_mark(const core::Mark& mark) {
    terms::EventFacts facts = terms::EndFacts{.reason = mark.reason};
    if (mark.kind == core::MarkKind::kFinished) {
      facts = terms::FinishedFacts{core::State::kSucceeded,
                                   terms::value_named<core::State>(mark.reason.view()),
                                   SharedBytes(core::kFinishedByTransaction)};
    }
    add(type_of(mark.kind), mark.at, mark.attempt, {}, std::move(facts));
  }

  static EventType type_of(core::MarkKind kind) {
    switch (kind) {
      case core::MarkKind::kCancelRequested:
        return EventType::kJobCancelRequested;
      case core::MarkKind::kCancelled:
        return EventType::kJobCancelled;
      case core::MarkKind::kExpired:
        return EventType::kJobExpired;
      case core::MarkKind::kRetried:
        return EventType::kJobRetried;
      case core::MarkKind::kEdited:
        return EventType::kJobEdited;
      case core::MarkKind::kFinished:
        return EventType::kJobSucceeded;
    }
    MILLRACE_CHECK(false);
  }

  void add(EventType type, Time at, std::uint32_t attempt, const SharedBytes& worker,
           terms::EventFacts facts) {
    FeedEvent& fact = facts_.emplace_back();
    fact.at = at;
    fact.type = type;
    fact.queue = view_.job.queue;
    fact.job = view_.job.id;
    fact.job_type = view_.job.type;
    fact.attempt = attempt;
    fact.worker = worker;
    fact.facts = std::move(facts);
  }

  const core::JobView& view_;
  std::vector<FeedEvent> facts_;
};

}  // namespace

std::vector<FeedEvent> job_events(const core::JobView& view) { return Life(view).tell(); }

}  // namespace millrace::engine
