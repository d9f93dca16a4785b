// Workflows: jobs that wait for each other, with an end of the whole.
//
//   WorkflowBuilder flow({.name = "nightly", .queue = "sales"});
//   const Need load = flow.add("load", new_job(kLoad, {day}));
//   const Need clean = flow.add("clean", {.type = "sales.clean"}, {load});
//   flow.add("tidy", {.type = "sales.tidy"}, {clean.ended()});
//   flow.on_failure = {.type = "page.me"};
//   auto created = client.create_workflow(flow);
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "millrace/job.h"
#include "millrace/json.h"
#include "millrace/workflow_shapes.h"

namespace millrace::sdk {

// Which of its needs release a member.
enum class Needed {
  kAll,
  kAny,  // the first one that is met
};

// A workflow whose members are added one by one. Everything else is set as in NewWorkflow.
class WorkflowBuilder : public NewWorkflow {
 public:
  explicit WorkflowBuilder(NewWorkflow options = {});

  // Adds a member named `ref` and returns a need of its success, for members added later. They may
  // also name it by its ref. Throws std::invalid_argument if `ref` is empty or was added already.
  Need add(std::string ref, NewJob job, std::vector<Need> needs = {}, Needed needed = Needed::kAll);
  // Adds a member that no other one can need.
  void add(NewJob job, std::vector<Need> needs = {}, Needed needed = Needed::kAll);

 private:
  std::unordered_set<std::string> refs_;
};

struct CreatedWorkflow {
  Workflow workflow{};
  bool is_new = true;  // false: it already existed, by id, idempotency key or unique key
};

struct GetWorkflow {
  std::vector<std::string> include{};  // "result"
  bool until_final = false;            // wait for the workflow's end, at most `wait`
  Milliseconds wait{0};                // at most 60 s
  std::stop_token stop{};
};

// The workflows to list. Empty members do not filter.
struct WorkflowFilter {
  std::vector<std::string> states{};
  std::string queue{};
  std::string name{};
  std::string tag{};
  std::optional<Timestamp> created_after{};
  std::optional<Timestamp> created_before{};
  bool fresh = false;    // wait until the list includes all acknowledged changes
  int limit = 50;        // of a page, 1 to 1,000
  std::string cursor{};  // `next_cursor` of the previous page
};

// The members to list.
struct MemberFilter {
  std::string state{};                 // empty: any
  std::vector<std::string> include{};  // "job", "result"
  int limit = 50;                      // of a page, 1 to 1,000
  std::string cursor{};                // `next_cursor` of the previous page
};

struct GetMember {
  std::vector<std::string> include{};  // "job", "result"
  Milliseconds wait{0};                // for the member's end; at most 60 s
  std::stop_token stop{};
};

struct AddMembers {
  // The member that adds them, while it is active. Needed if the workflow is closed.
  std::string by{};
  bool close = false;             // close the workflow too
  std::string idempotency_key{};  // generated if empty and a member has no ref
};

struct RetryWorkflow {
  // The members to retry; empty: those whose failure no other member has caught.
  std::vector<std::string> refs{};
  bool reset_attempts = true;
  bool drop_limits = false;  // drop deleted limits; else they are an error, unknown_limit
};

// Reads a workflow from JSON in the API's format, for workflows that come from a file. Members that
// are missing or of the wrong type keep their defaults.
NewWorkflow read_new_workflow(JsonView json);

}  // namespace millrace::sdk
