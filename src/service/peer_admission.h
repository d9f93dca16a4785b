// The second check of a client's token, by the leader of the shard. The node that received the
// request has checked it already, but the two nodes may have different sets of tokens.
#pragma once

#include <optional>

#include "engine/routing/gateway.h"
#include "service/answer_port.h"
#include "service/auth.h"
#include "service/caller.h"
#include "service/task.h"

namespace millrace::service {

// Whether the token has a scope that this kind of request needs.
bool allows_kind(const Access& access, const engine::Request& request);

// The refusal to send instead of a request to the shard; none: the token allows the request. A
// request for a job that does not exist is allowed: the shard answers that there is no such job.
Task<std::optional<engine::Answer>> refusal_for(Services& services, AnswerPort& port,
                                                engine::Gateway& shard, const Access& access,
                                                const engine::Request& request);

// Removes from a worker, or from an answer, everything that the token may not see.
void hide_from(const Access& access, engine::WorkerView& worker);
void hide_from(const Access& access, engine::Answer& answer);

}  // namespace millrace::service
