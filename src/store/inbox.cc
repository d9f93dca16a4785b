#include "store/inbox.h"

#include <algorithm>
#include <limits>

namespace millrace::store {

void InboxPlace::advance(const InboxPage& page) {
  const InboxSnapshot& seen = page.snapshot;
  if (seen.next <= after_.xid) {
    // The server has crashed, or another one has replaced it. It assigns again the numbers of
    // transactions that it had not written to disk.
    *this = {};
    return;
  }
  const auto was_open = [&](std::uint64_t xid) {
    return std::ranges::binary_search(seen.in_progress, xid);
  };
  // An uncut page was read to the end. Rows of another database's past, whose numbers this one has
  // not reached yet, count as read too.
  InboxKey end{seen.next - 1, std::numeric_limits<std::int64_t>::max()};
  if (page.cut && !page.rows.empty()) end = std::min(end, page.rows.back().key);

  std::vector<InboxKey> open;
  for (const InboxKey& key : open_) {
    if (was_open(key.xid) || key.xid > end.xid) {
      open.push_back(key);
    } else if (key.xid == end.xid) {
      open.push_back(end);
    }
  }
  for (const std::uint64_t xid : seen.in_progress) {
    if (xid > after_.xid && xid <= end.xid) open.push_back({xid, 0});
  }
  std::ranges::sort(open);
  open_ = std::move(open);
  after_ = std::max(after_, end);
}

}  // namespace millrace::store
