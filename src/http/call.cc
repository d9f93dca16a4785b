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
  upgrades.reset();
}

JobId IdMaker::make(Time now, std::string_view queue) {
  if (queue != last_queue_) {
    last_queue_ = queue;
    last_bits_ = queue_bits(queue);
  }
  return make_job_id(now, last_bits_, random_.next());
}

void Call::abandon() {
  wait_.over = true;
  if (wait_.waiting != nullptr) wait_.waiting->give_up();
}

std::string_view Call::client() const {
  // A scraper's one read now and then waits for no turn of its neighbours at the same address.
  if (route_id() == api::RouteId::kMetrics) return "metrics";
  return access != nullptr ? std::string_view(access->settings().name) : peer;
}

void Call::refuse_read(bool too_many) {
  if (too_many) {
    return refuse(ProblemCode::kOverloaded,
                  "this client has too many reads under way; wait for their answers first");
  }
  refuse(ProblemCode::kOverloaded,
         "the client closed its side of the connection, which ends a long read");
}

bool Call::hold_answer(std::size_t bytes) {
  if (services.answers.take(bytes)) {
    held += bytes;
    return true;
  }
  refuse(ProblemCode::kOverloaded, "too many large answers are on their way; come back later");
  return false;
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
  JsonWriter json(response.body);
  api::encode(json, problem, request_id);
}

void Call::refuse(const engine::Answer& answer) {
  if (const auto* unavailable = std::get_if<engine::Unavailable>(&answer)) {
    return refuse(problem_of(*unavailable));
  }
  if (const auto* denied = std::get_if<engine::Denied>(&answer)) return refuse(*denied);
  refuse(ProblemCode::kInternal, "the shard gave an answer of another kind");
}

// As if this node had refused it, which found the token good: the log is told that.
void Call::refuse(engine::Denied why) {
  note = "the node that leads the shard refused the token: do all nodes have the same ones?";
  switch (why) {
    case engine::Denied::kUnauthenticated:
      return refuse(ProblemCode::kUnauthenticated,
                    "send a live token as 'Authorization: Bearer mlr_...'");
    case engine::Denied::kScope:
      return refuse(ProblemCode::kForbidden,
                    "the token lacks the scope " + std::string(api::name_of(route.route->scope)));
    case engine::Denied::kQueue:
      return refuse(ProblemCode::kNotFound, "there is no such job or queue for this token");
  }
}

std::string_view Call::credentials() const {
  const Field* field = head == nullptr ? nullptr : head->find("authorization");
  return field == nullptr ? std::string_view() : field->value;
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
    case engine::Unavailable::kNoLeader:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail = "no node that leads the queue's shard can be reached, and nothing was done";
      break;
    case engine::Unavailable::kUpgrading:
      problem.code = ProblemCode::kOverloaded;
      problem.detail =
          "a node of an older version takes part in this store and does not know this; nothing was "
          "done: ask again once all nodes are upgraded";
      problem.retry_after = kRetryAfterDrain;
      break;
    case engine::Unavailable::kUnknown:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail =
          "the storage, or the node that leads the queue's shard, did not answer in time: it may "
          "have been done; ask again with the same id or key";
      break;
  }
  return problem;
}

}  // namespace millrace::http
