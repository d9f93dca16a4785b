#include "push/exchange.h"

#include <algorithm>

#include "push/signature.h"

namespace millrace::push {
namespace {

constexpr std::size_t kMaxTestAnswerBytes = 64 * 1024;
constexpr Duration kLongestTest{10'000};

void add_error(core::AckItem& item, std::string_view type, std::string_view message) {
  item.error = std::make_shared<core::JobError>();
  item.error->type = SharedBytes(type);
  item.error->message = SharedBytes(message);
}

std::string_view error_type(CallEnd::How how) {
  switch (how) {
    case CallEnd::How::kForbidden:
      return "forbidden_address";
    case CallEnd::How::kUnreachable:
      return "unreachable";
    case CallEnd::How::kTimedOut:
      return "timeout";
    case CallEnd::How::kBroken:
    case CallEnd::How::kAnswered:
      break;
  }
  return "broken_answer";
}

void sign(Call& call, const std::vector<std::string>& keys, std::string_view id, Time now) {
  const std::int64_t seconds = to_ms(now) / 1'000;
  call.headers.emplace_back("webhook-id", id);
  call.headers.emplace_back("webhook-timestamp", std::to_string(seconds));
  if (keys.empty()) return;
  call.headers.emplace_back("webhook-signature", signature(keys, id, seconds, call.body.view()));
}

void add_headers(Call& call, const api::StringMap& headers) {
  call.headers.insert(call.headers.end(), headers.begin(), headers.end());
}

}  // namespace

Call call_for(const core::Job& job, const Line& line, Time now, std::size_t max_answer_bytes) {
  const api::PushTarget& settings = line.target()->settings;
  const std::string id = to_string(job.id);
  Duration timeout = settings.timeout;
  if (job.timeout) timeout = std::min(timeout, *job.timeout);
  api::PushedJob pushed{.id = id,
                        .queue = job.queue.view(),
                        .type = job.type.view(),
                        .attempt = job.attempt,
                        .token = to_number(job.token),
                        .created_at = job.created_at,
                        .timeout = timeout};
  if (job.extras != nullptr) {
    pushed.traceparent = job.extras->traceparent.view();
    pushed.tracestate = job.extras->tracestate.view();
    pushed.schedule = job.extras->schedule.view();
  }
  Call call{.url = line.url(),
            .headers = api::push_headers(pushed),
            .body = job.payload,
            .timeout = timeout,
            .max_answer_bytes = max_answer_bytes};
  add_headers(call, settings.headers);
  sign(call, line.keys(), id, now);
  return call;
}

Call test_call(const Line& line, Time now) {
  const api::PushTarget& settings = line.target()->settings;
  const std::string id = "test-" + std::to_string(to_ms(now));
  const Duration timeout = std::min(settings.timeout, kLongestTest);
  Call call{.url = line.url(),
            .headers = api::push_headers({.id = id,
                                          .queue = settings.queues.front(),
                                          .type = "millrace.test",
                                          .created_at = now,
                                          .timeout = timeout}),
            .body = SharedBytes("{}"),
            .timeout = timeout,
            .max_answer_bytes = kMaxTestAnswerBytes};
  add_headers(call, settings.headers);
  sign(call, line.keys(), id, now);
  return call;
}

core::AckItem ack_of(JobId job, LeaseToken token, core::AckOutcome outcome) {
  core::AckItem item;
  item.id = job;
  item.token = token;
  item.outcome = outcome;
  return item;
}

api::PushVerdict verdict_of(const CallEnd& end, Time now, std::size_t max_result_bytes) {
  if (end.how == CallEnd::How::kAnswered) {
    return api::judge_push_answer({.status = end.status,
                                   .retry_after = end.retry_after,
                                   .body = end.body,
                                   .is_cut = end.is_cut},
                                  now, max_result_bytes);
  }
  return {.end = api::PushEnd::kFailed,
          .error_type = std::string(error_type(end.how)),
          .error_message = end.reason};
}

core::AckItem ack_of(JobId job, LeaseToken token, const api::PushVerdict& verdict) {
  using enum core::AckOutcome;
  switch (verdict.end) {
    case api::PushEnd::kSucceeded: {
      core::AckItem item = ack_of(job, token, kSucceeded);
      item.result = SharedBytes(verdict.result);
      return item;
    }
    case api::PushEnd::kSnoozed: {
      core::AckItem item = ack_of(job, token, kSnoozed);
      item.delay = verdict.delay;
      return item;
    }
    case api::PushEnd::kDead:
    case api::PushEnd::kDeadAndDisabled: {
      core::AckItem item = ack_of(job, token, kDead);
      item.retryable = false;
      add_error(item, verdict.error_type, verdict.error_message);
      return item;
    }
    case api::PushEnd::kAccepted:
    case api::PushEnd::kFailed:
      break;
  }
  core::AckItem item = ack_of(job, token, kFailed);
  add_error(item, verdict.error_type, verdict.error_message);
  return item;
}

}  // namespace millrace::push
