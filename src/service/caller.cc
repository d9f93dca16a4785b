#include "service/caller.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

constexpr Duration kRetryAfterDrain{5'000};
constexpr Duration kRetryAfterTrouble{1'000};

}  // namespace

void Caller::abandon() {
  wait_.over = true;
  if (wait_.waiting != nullptr) wait_.waiting->give_up();
}

bool Caller::hold_answer(std::size_t bytes) {
  if (!services.answers.take(bytes)) return false;
  held += bytes;
  return true;
}

api::Problem Caller::problem_of_no_read(bool too_many) {
  return api::make_problem(
      ProblemCode::kOverloaded,
      too_many ? "this client has too many reads under way; wait for their answers first"
               : "the client closed its side of the connection, which ends a long read");
}

api::Problem Caller::problem_of_read(const Error& error) {
  note = error.message;
  return tables_unreadable();
}

api::Problem Caller::problem_of(const engine::Answer& answer) {
  if (const auto* unavailable = std::get_if<engine::Unavailable>(&answer)) {
    return service::problem_of(*unavailable);
  }
  if (const auto* denied = std::get_if<engine::Denied>(&answer)) return problem_of(*denied);
  return api::make_problem(ProblemCode::kInternal, "the shard gave an answer of another kind");
}

// As if this node had refused it, which found the token good: the log is told that.
api::Problem Caller::problem_of(engine::Denied why) {
  note = "the node that leads the shard refused the token: do all nodes have the same ones?";
  switch (why) {
    case engine::Denied::kUnauthenticated:
      return api::make_problem(ProblemCode::kUnauthenticated, {});  // the door says how
    case engine::Denied::kScope:
      return lacks_scope(scope);
    case engine::Denied::kQueue:
      break;
  }
  return api::make_problem(ProblemCode::kNotFound, "there is no such job or queue for this token");
}

api::Problem tables_unreadable() {
  return api::make_problem(ProblemCode::kStorageUnavailable, "the tables can't be read now");
}

api::Problem other_number_of_jobs() {
  return api::make_problem(ProblemCode::kInternal, "the shard answered for another number of jobs");
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

}  // namespace millrace::service
