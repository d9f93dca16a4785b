// Queues as people see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"
#include "millrace/queue.h"

namespace millrace::cli {

// All queues of the server, by as many requests as it takes.
sdk::Result<std::vector<sdk::Queue>> all_queues(sdk::Client& client);

// At most `width` columns wide, as far as that can be.
std::string queue_table(const std::vector<sdk::Queue>& queues, std::size_t width);
// As the API lists them, on one page.
std::string queue_list_json(const std::vector<sdk::Queue>& queues);
std::string queue_details(const sdk::Queue& queue);

inline sdk::IfMissing if_missing(bool create) {
  return create ? sdk::IfMissing::kCreate : sdk::IfMissing::kFail;
}
// Says that a change of a queue failed; of a name never used, how to make it.
void fail_on_queue(const sdk::Error& error, std::string_view name, Session& session);

}  // namespace millrace::cli
