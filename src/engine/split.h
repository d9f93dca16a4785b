// A request for several shards as parts for one shard each, and their answers as one.
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

// Where a queue lives, and every job of it whose id was made as ids are.
inline ShardNumber shard_of(std::string_view queue, ShardNumber shards) {
  return shards == 1 ? 0 : queue_bits(queue) % shards;
}
inline ShardNumber shard_of(const JobId& id, ShardNumber shards) { return queue_bits(id) % shards; }

struct Part {
  ShardNumber shard = 0;
  Request request;
  // Where its items stand in the whole, where those are answered one by one.
  std::vector<std::uint32_t> places = {};
};

// The one shard that a request is for; none: it is for several.
std::optional<ShardNumber> only_shard(const Request& request, ShardNumber shards);
// Preconditions: only_shard() found none; it is no claim and no poll, which go from shard to shard
// (Pursuit); an atomic submission lies on one shard.
std::vector<Part> divide(Request request, ShardNumber shards);

// Puts an answer to a part into the whole, which begins as empty_whole() of the request. An
// Unavailable part refuses each of its items; where nothing is answered item by item, it is the
// whole's answer.
Answer empty_whole(const Request& request);
void unite(Answer& whole, const Part& part, Answer answer);

// Ids that were not made as ids are lie on any shard. Of an answer that is put together: the
// request for those items alone that their shards know nothing of, to be asked of every other one,
// and their places; none: there are no such items.
std::optional<Part> ask_elsewhere(const Request& request, const Answer& whole);
// Takes over what another shard knows better, or that it can't be asked.
void unite_elsewhere(Answer& whole, const Part& part, Answer answer);

// What gives all jobs of a claim back, where nobody can be told of them.
core::Ack releases_of(const core::ClaimReply& claim);

// Asked twice, it does what it does once, and the second answer stands for the first.
bool is_idempotent(const Request& request);
// Before it is asked again: the ids that a server made for a submission may be known now, as only a
// client's were before.
void make_repeatable(Request& request);
// The answer to what make_repeatable() made, as the first asking would have had it.
void as_first_answer(const Request& request, Answer& answer);

}  // namespace millrace::engine
