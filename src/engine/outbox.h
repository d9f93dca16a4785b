// Jobs that an ack submits to queues of other shards. In the commit of the ack's outcome each
// becomes a job of a queue of the acked job's own shard, whose payload is the submission; from
// there the shard's leader passes them on (server/relay.h). So they exist if and only if the
// outcome does, and a moment later lie where they belong.
#pragma once

#include <chrono>
#include <expected>
#include <string_view>

#include "core/command.h"
#include "core/job.h"
#include "engine/split.h"
#include "store/submission_codec.h"

namespace millrace::engine {

// There is one on each shard. No client can name it in a request.
inline constexpr std::string_view kOutboxQueue = "~outbox";

// A submission may be repeated for so long, from its acceptance on, and makes one job: it is
// repeated where the former leader of the outbox's shard had passed it on and died before that was
// durable.
inline constexpr std::chrono::hours kOutboxKeyWindow{1};

// Under which a job of `queue` waits in an outbox. Not its own: the same job is never both there
// and passed on under one id. Each queue has another: two acks may give one id to jobs of two
// queues, and only where those lie is it seen that there can't be both.
JobId outbox_id_of(JobId id, std::string_view queue);

// Of an ack that is about to be decided on `shard`. Deterministic: ids follow from the jobs' own.
void put_in_outbox(core::Ack& ack, ShardNumber shard, ShardNumber shards);

// What is to be submitted for a job that a claim of the outbox has brought. Delays run from the
// ack. Fails where the payload is not one that put_in_outbox() made: for good where it is damaged;
// where it is too new, a later program will read it.
std::expected<core::Enqueue, store::UnreadableSubmission> from_outbox(const core::Job& job);

}  // namespace millrace::engine
