// What only the machine of `millrace doctor` can tell: its clock against those of the nodes,
// whether it reaches them, and the files of a store. All else the server says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/findings/finding.h"

namespace millrace::cli {

// Opens a client for another node, with the same token and certificates.
using OpenClient = std::function<Result<sdk::Client>(const std::string& url)>;

// Compares the clocks of all live nodes with this machine's, and adds what the others say of
// themselves. `query`: the thresholds.
void look_at_nodes(sdk::Client& client, const OpenClient& open, const std::string& query,
                   Findings& found);

// Checks a store's files, whether or not a server runs. False: there is none, which is a finding
// too.
bool judge_files(const std::string& directory, std::vector<Finding>& found);

}  // namespace millrace::cli
