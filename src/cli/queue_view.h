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
// As the API lists them, on one page.
std::string queue_list_json(const std::vector<sdk::Queue>& queues);
std::string queue_details(const sdk::Queue& queue);
// What holds the queue back, one line each: "12 wait: the limit stripe is full, 20 of 20". Of a
// queue that was asked for alone.
std::vector<std::string> held_back(const sdk::Queue& queue);

inline sdk::IfMissing if_missing(bool create) {
  return create ? sdk::IfMissing::kCreate : sdk::IfMissing::kFail;
}
// Prints that a change of a queue failed; for a name that was never used, also how to create it.
void fail_on_queue(const sdk::Error& error, std::string_view name, Session& session);

}  // namespace millrace::cli
