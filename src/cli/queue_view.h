// Queues as people see them.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "millrace/queue.h"

namespace millrace::cli {

// All queues of the server, by as many requests as it takes.
sdk::Result<std::vector<sdk::Queue>> all_queues(sdk::Client& client);

std::string queue_table(const std::vector<sdk::Queue>& queues);
// As the API lists them, on one page.
std::string queue_list_json(const std::vector<sdk::Queue>& queues);
std::string queue_details(const sdk::Queue& queue);

}  // namespace millrace::cli
