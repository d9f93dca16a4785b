// The second lock: what a client's token must allow, looked at again by the node that leads the
// shard. The node that was asked first has done so already; one of them may have been told another
// set of tokens.
#pragma once

#include <optional>

#include "engine/routing/gateway.h"
#include "service/answer_port.h"
#include "service/auth.h"
#include "service/caller.h"
#include "service/task.h"

namespace millrace::service {

// Does the token have a scope that this kind of request needs?
bool allows_kind(const Access& access, const engine::Request& request);

// What to answer instead of asking the shard; none: the token allows the request. A job that is
// nowhere is nobody's to protect: the shard itself says that it is not there.
Task<std::optional<engine::Answer>> refusal_for(Services& services, AnswerPort& port,
                                                engine::Gateway& shard, const Access& access,
                                                const engine::Request& request);

// Takes from an answer, or a worker, what the token does not open.
void hide_from(const Access& access, engine::WorkerView& worker);
void hide_from(const Access& access, engine::Answer& answer);

}  // namespace millrace::service
