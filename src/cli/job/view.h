// Jobs as shown to people, and steps shared by several job commands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "millrace/client.h"

namespace millrace::cli {

// At most `width` columns wide, if possible.
std::string job_table(const std::vector<sdk::Job>& jobs, sdk::Timestamp now, std::size_t width);
std::string job_details(const sdk::Job& job, sdk::Timestamp now);

// "succeeded after 2 attempts", "dead: timeout: no answer"
std::string job_summary(const sdk::Job& job);

// Waits for the job's end, across restarts of the server. None: `timeout` passed first.
sdk::Result<std::optional<sdk::Job>> wait_for_end(sdk::Client& client, std::string_view id,
                                                  std::optional<sdk::Milliseconds> timeout);
// kOk if the job succeeded, else kDidNotSucceed.
int exit_code_of_end(const sdk::Job& job);

// Applies `act` to each job in turn and prints the text that it returns. If all jobs failed, the
// exit code is that of the failures; if some succeeded, it is kPartlyFailed.
using Act = std::function<sdk::Result<std::string>(sdk::Client& client, const std::string& id)>;
void for_each_job(Session& session, const std::vector<std::string>& ids, const Act& act);

}  // namespace millrace::cli
