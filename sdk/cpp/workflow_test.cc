#include "millrace/workflow.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "json_encode.h"
#include "millrace/codec.h"
#include "workflow_jobs.h"

namespace millrace::sdk {
namespace {

TEST(WorkflowBuilderTest, AGraphIsWrittenAsTheApiHasIt) {
  WorkflowBuilder flow({.name = "nightly", .queue = "sales", .max_active = 10});
  const Need load = flow.add("load", new_job("sales.load", 7));
  const Need clean = flow.add("clean", {.type = "sales.clean"}, {load});
  flow.add("publish", {.type = "sales.publish"}, {"load", clean.failed(), clean.ended()},
           Needed::kAny);
  flow.add({.type = "sales.tidy"}, {clean});
  flow.on_failure = {.type = "page.me"};
  EXPECT_EQ(encode_workflow(flow),
            R"({"name":"nightly","queue":"sales","members":[)"
            R"({"ref":"load","job":{"type":"sales.load","payload":7}},)"
            R"({"ref":"clean","job":{"type":"sales.clean","payload":null},)"
            R"("needs":[{"ref":"load"}]},)"
            R"({"ref":"publish","job":{"type":"sales.publish","payload":null},"needs":[)"
            R"({"ref":"load"},{"ref":"clean","on":"failed"},{"ref":"clean","on":"ended"}],)"
            R"("needs_any":true},)"
            R"({"job":{"type":"sales.tidy","payload":null},"needs":[{"ref":"clean"}]}],)"
            R"("on_failure":{"type":"page.me","payload":null},"max_active":10})");
}

TEST(WorkflowBuilderTest, ARefTwiceIsRefusedAtOnce) {
  WorkflowBuilder flow({.members = {{.ref = "given", .job = {.type = "t"}}}});
  flow.add("load", {.type = "t"});
  EXPECT_THROW(flow.add("load", {.type = "t"}), std::invalid_argument);
  EXPECT_THROW(flow.add("given", {.type = "t"}), std::invalid_argument);
  EXPECT_THROW(flow.add("", {.type = "t"}), std::invalid_argument);
  flow.add({.type = "t"});
  flow.add({.type = "t"});
  EXPECT_EQ(flow.members.size(), 4u);
}

TEST(WithDefaultsTest, AJobKeepsWhatItNames) {
  const NewJob defaults{.type = "d", .payload = "[1]", .queue = "q", .tags = {"x"}};
  const NewJob merged = with_defaults({.type = "t", .max_attempts = 3}, defaults);
  EXPECT_EQ(merged.type, "t");
  EXPECT_EQ(merged.payload, "[1]");
  EXPECT_EQ(merged.queue, "q");
  EXPECT_EQ(merged.max_attempts, 3);
  EXPECT_EQ(merged.tags, std::vector<std::string>{"x"});
  EXPECT_EQ(with_defaults({.type = "", .payload = "2"}, defaults).payload, "2");
  EXPECT_EQ(with_defaults({.type = ""}, defaults).type, "d");
}

TEST(ReadNewWorkflowTest, ANeedMayBeAText) {
  const auto read = read_new_workflow(JsonView(
      R"({"queue":"q","open":true,"timeout_ms":5000,"unique":{"key":"k"},"members":[
          {"ref":"b","needs":["a",{"ref":"c","on":"ended"}],"needs_any":true,
           "job":{"type":"t","payload":[ 1 ]}}],"on_end":{"type":"e"}})"));
  EXPECT_EQ(read.queue, "q");
  EXPECT_EQ(read.open, true);
  EXPECT_EQ(read.timeout, Milliseconds{5'000});
  EXPECT_EQ(read.unique->key, "k");
  EXPECT_EQ(read.on_end->type, "e");
  const NewMember& member = read.members.at(0);
  EXPECT_EQ(member.needs.at(0).ref, "a");
  EXPECT_EQ(member.needs.at(0).on, "");
  EXPECT_EQ(member.needs.at(1).on, "ended");
  EXPECT_EQ(member.needs_any, true);
  EXPECT_EQ(member.job.payload, "[ 1 ]");
}

}  // namespace
}  // namespace millrace::sdk
