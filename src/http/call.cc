#include "http/call.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

constexpr Duration kRetryAfterDrain{5'000};
constexpr Duration kRetryAfterTrouble{1'000};

}  // namespace

void Response::clear() {
  status = 200;
  media_type = MediaType::kJson;
  body.clear();
  version.reset();
  replayed = false;
  retry_after.reset();
  allow.clear();
  problem = {};
  must_close = false;
}

JobId IdMaker::make(Time now, std::string_view queue) {
  if (queue != last_queue_) {
    last_queue_ = queue;
    last_bits_ = queue_bits(queue);
  }
  return make_job_id(now, last_bits_, random_.next());
}

void Call::abandon() {
  if (waiting_ == nullptr) return;
  abandoned_ = true;
  waiting_->give_up();
}

void Call::refuse(const api::Problem& problem) {
  const api::ProblemKind& kind = api::kind_of(problem.code);
  response.clear();
  response.status = kind.status;
  response.media_type = MediaType::kProblem;
  response.problem = kind.name;
  response.retry_after = problem.retry_after;
  // Clients are told when to come back even where nobody can know it.
  if (!response.retry_after && (kind.status == 429 || kind.status == 503)) {
    response.retry_after = kRetryAfterTrouble;
  }
  api::JsonWriter json(response.body);
  api::encode(json, problem, request_id);
}

void Call::refuse(const engine::Answer& answer) {
  if (const auto* unavailable = std::get_if<engine::Unavailable>(&answer)) {
    return refuse(problem_of(*unavailable));
  }
  refuse(ProblemCode::kInternal, "the shard gave an answer of another kind");
}

api::Problem problem_of(engine::Unavailable why) {
  api::Problem problem;
  problem.retry_after = kRetryAfterTrouble;
  switch (why) {
    case engine::Unavailable::kDraining:
      problem.code = ProblemCode::kDraining;
      problem.detail = "the server is stopping and takes no new work";
      problem.retry_after = kRetryAfterDrain;
      break;
    case engine::Unavailable::kStorage:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail = "the store can't be written";
      break;
    case engine::Unavailable::kOverloaded:
      problem.code = ProblemCode::kOverloaded;
      problem.detail = "too much waits to be written; come back later";
      break;
  }
  return problem;
}

}  // namespace millrace::http
