// Reads workflows, their members, and the results of calls on them.
#include "json_fields.h"
#include "json_pages.h"
#include "json_reader.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

template <typename Answer>
bool read_whole(std::string_view json, Answer& answer) {
  answer.json = json;
  return with_document(json, [&answer](JsonValue root) { return read_members(root, answer); });
}

}  // namespace

Result<Workflow> read_workflow(std::string_view json) {
  Workflow workflow;
  const bool is_object = read_whole(json, workflow);
  if (!is_object || workflow.id.empty()) return std::unexpected(bad_answer("a workflow"));
  return workflow;
}

Result<Page<Workflow>> read_workflows(std::string_view json) {
  return read_list<Workflow>(json, "a list of workflows");
}

Result<Page<Member>> read_workflow_members(std::string_view json) {
  return read_list<Member>(json, "a list of a workflow's members");
}

Result<MemberDetail> read_workflow_member(std::string_view json) {
  MemberDetail member;
  const bool is_object = read_whole(json, member);
  if (!is_object || member.state.empty()) {
    return std::unexpected(bad_answer("a member of a workflow"));
  }
  return member;
}

Result<Page<GraphLine>> read_workflow_graph(std::string_view json) {
  return read_list<GraphLine>(json, "a page of a workflow's graph");
}

Result<WorkflowWhy> read_workflow_why(std::string_view json) {
  WorkflowWhy why;
  const bool is_object = read_whole(json, why);
  if (!is_object || why.id.empty()) return std::unexpected(bad_answer("why a workflow waits"));
  return why;
}

Result<AddedMembers> read_added_members(std::string_view json) {
  AddedMembers added;
  const bool is_object = read_whole(json, added);
  if (!is_object || !read_integer(json, "added")) {
    return std::unexpected(bad_answer("an outcome of an addition of members"));
  }
  return added;
}

}  // namespace millrace::sdk
