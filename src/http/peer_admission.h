// The second lock: what a client's token must allow, looked at again by the node that leads the
// shard. The node that was asked first has done so already; one of them may have been told another
// set of tokens.
#pragma once

#include <optional>

#include "engine/gateway.h"
#include "http/answer_port.h"
#include "http/auth.h"
#include "http/call.h"
#include "http/task.h"

namespace millrace::http {

// Does the token have a scope that this kind of request needs?
bool allows_kind(const Access& access, const engine::Request& request);

// What to answer instead of asking the shard; none: the token allows the request. A job that is
// nowhere is nobody's to protect: the shard itself says that it is not there.
Task<std::optional<engine::Answer>> refusal_for(Services& services, AnswerPort& port,
                                                engine::Gateway& shard, const Access& access,
                                                const engine::Request& request);

// Takes from an answer what the token does not open.
void hide_from(const Access& access, engine::Answer& answer);

}  // namespace millrace::http
