// Workflows and their members as shown to people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/workflow/drawing.h"
#include "millrace/job.h"
#include "millrace/json.h"

namespace millrace::cli {

bool workflow_has_ended(const sdk::JsonView& workflow);

// "running, 104 of 10,001 done, 2 failed"
std::string workflow_progress(const sdk::JsonView& workflow);
// "019cb0b7-...  running, 104 of 10,001 done"
std::string workflow_line(const sdk::JsonView& workflow);

// At most `width` columns wide, if possible.
std::string workflow_table(const std::vector<sdk::JsonView>& workflows, sdk::Timestamp now,
                           std::size_t width);
std::string workflow_details(const sdk::JsonView& workflow, sdk::Timestamp now);
std::string member_table(const std::vector<sdk::JsonView>& members, std::size_t width);
std::string member_details(const sdk::JsonView& member);
// Members that have failed, with the last errors of their jobs.
std::string failures_text(const std::vector<sdk::JsonView>& members, std::size_t width);

// Members of GET /v1/workflows/{id}/graph, all of them, as draw_graph() takes them.
std::vector<DrawnMember> drawn_members(const std::vector<sdk::JsonView>& graph);

// Sentences, one a line, of GET /v1/workflows/{id}/why.
std::string workflow_why(const sdk::JsonView& why);

}  // namespace millrace::cli
