// The position of a row in a shard's inbox (store/inbox.h).
#pragma once

#include <compare>
#include <cstdint>

namespace millrace::store {

// The number of the database transaction that wrote the row, and the row's own number. Rows are
// taken in this order. If a transaction begins after another one's commit has returned, it has the
// higher `xid`.
struct InboxKey {
  std::uint64_t xid = 0;
  std::uint64_t id = 0;
  friend auto operator<=>(const InboxKey&, const InboxKey&) = default;
};

}  // namespace millrace::store
