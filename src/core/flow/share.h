// Shares: the part of a limit's bounds that each shard of a store may use. The limit's home, which
// is the shard of its name, keeps a book of them for each gate; each shard keeps its own share.
//
// The book counts each grant in full until the shard reports a smaller share and no leases beyond
// it. So the counted portions sum to at most the bounds, whatever messages are lost, repeated or
// late.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/flow/limit.h"

namespace millrace::core {

// A part of a gate's bounds. Members for bounds that the gate does not have are 0.
struct Portion {
  std::uint32_t slots = 0;
  std::uint32_t rate = 0;   // of Rate::limit, in each Rate::per
  std::uint32_t burst = 0;  // of Rate::most_at_once()
  bool empty() const { return slots == 0 && rate == 0 && burst == 0; }
  friend bool operator==(const Portion&, const Portion&) = default;
};

// A shard's own share.
struct Share {
  std::uint64_t version = 0;  // by the home's counter, which never goes back
  std::uint64_t of = 0;       // Limit::bounds_revision of the bounds that it belongs to
  Portion portion;
  Duration per{};          // of its rate; 0: it has none
  Time not_before{};       // before that, its tokens belong to no shard; by the shard's time
  bool contested = false;  // other shards want some of it
  friend bool operator==(const Share&, const Share&) = default;
};

// The shard's use is unknown.
inline constexpr std::uint32_t kAny = std::numeric_limits<std::uint32_t>::max();

struct Grant {
  std::uint32_t shard = 0;
  std::uint64_t version = 0;
  Portion portion;     // as given
  Portion counted;     // the part that the shard may still use: at least `portion`
  bool taken = false;  // the shard has confirmed this version
  bool contested = false;
  std::uint64_t tokens = 0;  // units (bucket.h) that came with this version
  Time not_before{};
  friend bool operator==(const Grant&, const Grant&) = default;

  // There is nothing more to send to the shard.
  bool settled() const { return taken && counted == portion; }
};

struct ShareBook {
  std::uint64_t of = 0;       // Limit::bounds_revision
  Bounds bounds;              // of the gate
  std::vector<Grant> grants;  // by shard
  std::uint64_t tokens = 0;   // units that belong to no shard, at `at`
  Time at{};
  friend bool operator==(const ShareBook&, const ShareBook&) = default;
};

// A shard's last report of its needs. Not durable: the shard repeats it.
struct ShareNeed {
  std::uint32_t shard = 0;
  bool wants = false;       // jobs wait for a larger share
  bool idle = false;        // it has used none of its share for a while
  std::uint32_t slots = 0;  // its leases and its ready jobs
  std::uint32_t burst = 1;  // the highest cost of a start
  Time heard_at{};
  Duration ahead{};  // lead of its clock over the home's
  Time served_at{};  // when its share last grew
};

// The durable state of a gate: a row of the tables. Also holds a number that decides fair shares
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

  // The row holds nothing and is deleted.
  bool is_idle() const {
    return !level && !retry_level && !slow_until && !breaker && !share && !book && floor == 0;
  }
  friend bool operator==(const BucketRow&, const BucketRow&) = default;
};

// --- Messages between shards.

// From a shard to the limit's home, about one gate.
struct ShareReport {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::uint64_t incarnation = 0;
  std::uint64_t revision = 0;  // of its copy of the limit
  std::uint64_t version = 0;   // of its share; 0: it has none
  // The highest version that the shard has taken for any gate of the limit. Without a share, it
  // takes only versions above that.
  std::uint64_t floor = 0;
  std::uint32_t in_use = 0;
  std::uint32_t slots = 0;  // these three: see ShareNeed
  std::uint32_t burst = 1;
  bool wants = false;
  bool idle = false;
  std::uint64_t surplus = 0;  // units given up with this version; reported once
  Duration per{};             // of `surplus`
  Time at{};                  // by its own time
};

// From the home to a shard: its new share.
struct ShareGift {
  LimitKind kind{};
  SharedBytes name;
  SharedBytes key;
  std::uint64_t incarnation = 0;
  Share share;
  std::uint64_t tokens = 0;  // units that come with it
};

}  // namespace millrace::core
