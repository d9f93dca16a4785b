// Queues as shown to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"
#include "millrace/queue.h"

namespace millrace::cli {

// All queues of the server, with as many requests as necessary.
sdk::Result<std::vector<sdk::Queue>> all_queues(sdk::Client& client);

// At most `width` columns wide, if possible.
std::string queue_table(const std::vector<sdk::Queue>& queues, std::size_t width);
// In the API's list format, on one page.
std::string queue_list_json(const std::vector<sdk::Queue>& queues);
std::string queue_details(const sdk::Queue& queue);
// The reasons that hold the queue's jobs back, one line each: "12 wait: the limit stripe is full,
// 20 of 20". `queue` must have been read alone, not in a list.
std::vector<std::string> held_back(const sdk::Queue& queue);

inline sdk::IfMissing if_missing(bool create) {
  return create ? sdk::IfMissing::kCreate : sdk::IfMissing::kFail;
}
// Prints that a change of a queue failed. If the queue does not exist, also says how to create it.
void fail_on_queue(const sdk::Error& error, std::string_view name, Session& session);

}  // namespace millrace::cli
