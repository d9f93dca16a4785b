// Shares: how much of a limit's bounds each shard of a store may use. The limit's home, which is
// the shard of its name, keeps a book of them for each gate; each shard keeps its own share.
//
// The book counts for a shard what it was given until the shard has said that it has less, and no
// lease above that. So what is counted sums to at most the bounds, whatever messages are lost,
// repeated or late.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/limit.h"

namespace millrace::core {

// A part of a gate's bounds. Members of bounds that the gate does not have are 0.
struct Portion {
  std::uint32_t slots = 0;
  std::uint32_t rate = 0;   // of Rate::limit, in each Rate::per
  std::uint32_t burst = 0;  // of Rate::most_at_once()
  bool empty() const { return slots == 0 && rate == 0 && burst == 0; }
  friend bool operator==(const Portion&, const Portion&) = default;
};

// A shard's own.
struct Share {
  std::uint64_t version = 0;  // by the home's counter, which never goes back
  std::uint64_t of = 0;       // Limit::bounds_revision of the bounds that it is a part of
  Portion portion;
  Duration per{};          // of its rate; 0: it has none
  Time not_before{};       // its tokens were nobody's before that; by the shard's time
  bool contested = false;  // others want some of it
  friend bool operator==(const Share&, const Share&) = default;
};

// It is not known how much a shard uses.
inline constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();

struct Grant {
  std::uint32_t shard = 0;
  std::uint64_t version = 0;
  Portion portion;     // as given
  Portion counted;     // what the shard may still use: at least `portion`
  bool taken = false;  // the shard has said that it has this version
  bool contested = false;
  std::uint64_t tokens = 0;  // units (bucket.h) that came with this version
  Time not_before{};
  friend bool operator==(const Grant&, const Grant&) = default;

  // Nothing more is to be told to the shard.
  bool settled() const { return taken && counted == portion; }
};

struct ShareBook {
  std::uint64_t of = 0;       // Limit::bounds_revision
  Bounds bounds;              // of the gate
  std::vector<Grant> grants;  // by shard
  std::uint64_t tokens = 0;   // units that no shard has, at `at`
  Time at{};
  friend bool operator==(const ShareBook&, const ShareBook&) = default;
};

// What a shard last said that it needs. Not durable: it says so again.
struct ShareNeed {
  std::uint32_t shard = 0;
  bool wants = false;       // jobs wait for more than its share
  bool idle = false;        // it has used none of it for a while
  bool unclaimed = false;   // no claim has named a queue of its jobs for kClaimRemembered
  std::uint32_t slots = 0;  // its leases and its ready jobs
  std::uint32_t burst = 1;  // the highest cost of a start
  Time heard_at{};
  Duration ahead{};  // its clock of the home's
  Time served_at{};  // when it was last given more
};

// What a gate has to remember: a row of the tables. Also a number that decides fair shares
// (fair.h).
struct BucketRow {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::optional<std::uint64_t> level;  // units (bucket.h), at `at`; none: the bucket is full
  Time at{};
  std::optional<std::uint64_t> retry_level;  // of the bucket of retries
  std::optional<Time> slow_until;            // a worker asked for less
  std::optional<BreakerRow> breaker;
  std::optional<Share> share;
  std::optional<ShareBook> book;
  std::uint64_t floor = 0;  // see ShareReport; in the row without a key

  // There is nothing to remember: the row goes.
  bool is_idle() const {
    return !level && !retry_level && !slow_until && !breaker && !share && !book && floor == 0;
  }
  friend bool operator==(const BucketRow&, const BucketRow&) = default;
};

// --- What shards tell each other.

// A shard to the limit's home, about one gate.
struct ShareReport {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::uint64_t incarnation = 0;
  std::uint64_t revision = 0;  // of its copy of the limit
  std::uint64_t version = 0;   // of its share; 0: it has none
  // Of the highest version that it has taken of any gate of the limit. Without a share it takes
  // none that is not above.
  std::uint64_t floor = 0;
  std::uint32_t in_use = 0;
  std::uint32_t slots = 0;  // these three: see ShareNeed
  std::uint32_t burst = 1;
  bool wants = false;
  bool idle = false;
  std::uint64_t surplus = 0;  // units that it gave up with this version; said once
  Duration per{};             // of `surplus`
  Time at{};                  // by its own time
  bool unclaimed = false;     // see ShareNeed
};

// The home to a shard: its share from now on.
struct ShareGift {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::uint64_t incarnation = 0;
  Share share;
  std::uint64_t tokens = 0;  // units that come with it
};

}  // namespace millrace::core
