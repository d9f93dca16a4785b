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

void Caller::revoke() {
  revoked_ = true;
  abandon();
}

core::SharedOrigin Caller::origin_of(core::Origin origin) const {
  core::Actor& actor = origin.actor;
  if (access != nullptr) {
    actor.token = SharedBytes(access->id());
    actor.name = SharedBytes(access->settings().name);
  }
  actor.address = SharedBytes(address);
  actor.via = via;
  actor.request = SharedBytes(request_id);
  return std::make_shared<const core::Origin>(std::move(origin));
}

void Caller::attribute(engine::Request& request) const {
  if (scope != api::Scope::kOperate && scope != api::Scope::kAdmin) return;
  auto* const command = std::get_if<core::Command>(&request);
  if (command == nullptr) return;
  std::visit(
      [this]<typename C>(C& of) {
        if constexpr (core::Attributed<C>) {
          if (of.by == nullptr) of.by = origin_of(about);
        }
      },
      *command);
}

bool Caller::hold_answer(std::size_t bytes) {
  if (!services.answers.take(bytes)) return false;
  held += bytes;
  return true;
}

api::Problem Caller::problem_of_no_read(bool too_many) {
  return api::make_problem(
      ProblemCode::kOverloaded,
      too_many ? "this client has too many reads in progress; wait for their answers"
               : "the client closed its side of the connection, and the server ended the read");
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
  return api::make_problem(
      ProblemCode::kInternal,
      "the shard sent an answer of the wrong kind; report this bug with the request_id");
}

// Same as a refusal by this node, except that this node accepted the token, which the log records.
api::Problem Caller::problem_of(engine::Denied why) {
  note = "the node that leads the shard refused the token; configure the same tokens on all nodes";
  switch (why) {
    case engine::Denied::kUnauthenticated:
      return api::make_problem(ProblemCode::kUnauthenticated, {});  // the door adds the challenge
    case engine::Denied::kScope:
      return lacks_scope(scope);
    case engine::Denied::kQueue:
      break;
  }
  return api::make_problem(ProblemCode::kNotFound, "the token reaches no such job or queue");
}

api::Problem tables_unreadable() {
  return api::make_problem(ProblemCode::kStorageUnavailable,
                           "the server can't read its tables now; try again later");
}

api::Problem other_number_of_jobs() {
  return api::make_problem(
      ProblemCode::kInternal,
      "the shard answered for the wrong number of jobs; report this bug with the request_id");
}

api::Problem problem_of(engine::Unavailable why) {
  api::Problem problem;
  problem.retry_after = kRetryAfterTrouble;
  switch (why) {
    case engine::Unavailable::kDraining:
      problem.code = ProblemCode::kDraining;
      problem.detail = "the server is stopping and accepts no new work; try again later";
      problem.retry_after = kRetryAfterDrain;
      break;
    case engine::Unavailable::kStorage:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail = "the server can't write its store now; try again later";
      break;
    case engine::Unavailable::kOverloaded:
      problem.code = ProblemCode::kOverloaded;
      problem.detail = "too many changes wait for the disk; try again later";
      break;
    case engine::Unavailable::kNoLeader:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail =
          "the server can't reach a node that leads the queue's shard, and nothing was done; try "
          "again later";
      break;
    case engine::Unavailable::kUpgrading:
      problem.code = ProblemCode::kOverloaded;
      problem.detail =
          "an older node of this store does not know this operation, and nothing was done; upgrade "
          "all nodes, then try again";
      problem.retry_after = kRetryAfterDrain;
      break;
    case engine::Unavailable::kUnknown:
      problem.code = ProblemCode::kStorageUnavailable;
      problem.detail =
          "the storage, or the node that leads the queue's shard, did not answer in time; the "
          "request may have taken effect; send it again with the same id or key";
      break;
  }
  return problem;
}

}  // namespace millrace::service
