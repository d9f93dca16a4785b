// Divides a request for several shards into parts for one shard each, and merges their answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/request.h"

namespace millrace::engine {

using ShardNumber = std::uint32_t;

// The shard of a queue, and of each of its jobs whose id Millrace made.
inline ShardNumber shard_of(std::string_view queue, ShardNumber shards) {
  return shards == 1 ? 0 : queue_bits(queue) % shards;
}
inline ShardNumber shard_of(const JobId& id, ShardNumber shards) { return queue_bits(id) % shards; }

struct Part {
  ShardNumber shard = 0;
  Request request;
  // The positions of its items in the whole request, if they are answered one by one.
  std::vector<std::uint32_t> places = {};
};

// The only shard that a request is for; none: it is for several.
std::optional<ShardNumber> only_shard(const Request& request, ShardNumber shards);
// Preconditions: only_shard() found none; the request is neither a claim nor a poll, which go from
// shard to shard (MultiShardClaim); an atomic submission is for one shard.
std::vector<Part> scatter(Request request, ShardNumber shards);

// Merges the answer to a part into the whole, which begins as empty_answer() of the request. An
// Unavailable part refuses each of its items; if the request is not answered item by item,
// Unavailable becomes the whole answer.
Answer empty_answer(const Request& request);
void gather(Answer& whole, const Part& part, Answer answer);

// An id that Millrace did not make may be on any shard. For a merged answer, returns a request with
// the items that their shards do not know, and their positions; send it to every other shard. None:
// there are no such items.
std::optional<Part> ask_elsewhere(const Request& request, const Answer& whole);
// Merges the answer of another shard to ask_elsewhere(), or the fact that it could not be asked.
void gather_elsewhere(Answer& whole, const Part& part, Answer answer);

// The ack that gives back all jobs of a claim whose caller can't be reached.
core::Ack releases_of(const core::ClaimReply& claim);

// Whether the request takes effect once if it is sent twice, and the second answer replaces the
// first.
bool is_idempotent(const Request& request);
// Prepares a request for a repetition: ids that a server made for a submission may exist now, so
// they are marked like ids of a client.
void make_repeatable(Request& request);
// Changes the answer to a repetition into the answer to the first sending.
void as_first_answer(const Request& request, Answer& answer);

}  // namespace millrace::engine
