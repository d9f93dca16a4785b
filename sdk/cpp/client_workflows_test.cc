#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "fake_transport.h"
#include "millrace/client.h"
#include "millrace/exceptions.h"
#include "millrace/json.h"
#include "trace.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

const std::string kId = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff";

std::string workflow_json(std::string_view state, std::string_view more = "") {
  return fmt::format(
      R"({{"id":"{}","name":"nightly","queue":"sales","state":"{}","reason":null,"generation":2,)"
      R"("version":7,"open":false,"created_at":"2026-02-01T00:00:00.000Z","timeout_at":null,)"
      R"("ended_at":"2026-02-02T00:00:00.000Z","members":3,"counts":{{"blocked":0,"active":0,)"
      R"("succeeded":2,"failed":1,"skipped":0}},"callbacks":{{"on_end":"j"}},"tags":["a"],)"
      R"("meta":{{"k":"v"}},"on_member_failed":"ignore","max_active":10,"timeout_ms":null,)"
      R"("result_from":"load","keep_members":true,"unique":{{"key":"u"}}{}}})",
      kId, state, more);
}

class ClientWorkflowsTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  Client client_{{.url = "http://server"}, transport_};

  const Request& request(std::size_t i = 0) { return transport_->requests.at(i); }
  std::string header(std::size_t i, std::string_view name) {
    for (const auto& [known, value] : request(i).headers) {
      if (known == name) return value;
    }
    return "";
  }
};

TEST_F(ClientWorkflowsTest, ACreationWithoutAnIdGetsOneAndIsRepeated) {
  transport_->lose_answer();
  transport_->answer(201, workflow_json("running"));
  WorkflowBuilder flow({.queue = "sales"});
  flow.add("load", {.type = "t"});
  const auto created = client_.create_workflow(flow);
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_TRUE(created->is_new);
  ASSERT_EQ(transport_->requests.size(), 2u);
  EXPECT_EQ(request(0).body, request(1).body);
  EXPECT_EQ(request().path, "/v1/workflows");
  const std::string id = JsonView(request().body)["id"].string().value_or("");
  EXPECT_EQ(id.substr(14, 4), make_id("sales").substr(14, 4));
  EXPECT_EQ(header(0, "Idempotency-Key"), "");
}

TEST_F(ClientWorkflowsTest, AnIdempotencyKeyIsAHeader) {
  transport_->answer(200, workflow_json("running"));
  const auto created = client_.create_workflow({.idempotency_key = "k"});
  ASSERT_TRUE(created);
  EXPECT_FALSE(created->is_new);
  EXPECT_EQ(request().body, "{}");
  EXPECT_EQ(header(0, "Idempotency-Key"), "k");
}

TEST_F(ClientWorkflowsTest, ItCarriesTheTraceOfItsSubmitter) {
  transport_->answer(201, workflow_json("running"));
  const TraceScope scope({"00-1-2-01", "a=b"});
  ASSERT_TRUE(client_.create_workflow({}));
  EXPECT_EQ(header(0, "traceparent"), "00-1-2-01");
  EXPECT_EQ(header(0, "tracestate"), "a=b");
}

TEST_F(ClientWorkflowsTest, APayloadOfNullIsThatOfTheDefaults) {
  transport_->answer(201, workflow_json("running"));
  WorkflowBuilder flow({.defaults = NewJob{.type = "t", .max_attempts = 1}, .id = kId});
  flow.add("a", {});
  flow.on_end = {.type = "e"};
  ASSERT_TRUE(client_.create_workflow(flow));
  EXPECT_EQ(request().body, R"({"id":")" + kId +
                                R"(","members":[{"ref":"a","job":{}}],"on_end":{"type":"e"},)"
                                R"("defaults":{"type":"t","max_attempts":1}})");
}

// Answers as the server does; counts the members of each request.
class Chunks {
 public:
  explicit Chunks(FakeTransport& transport) {
    transport.respond_by([this](const Request& request) -> Result<Response> {
      const JsonView body(request.body);
      if (request.method == "GET") return Response{200, workflow_json("running"), {}};
      sizes.push_back(body["members"].elements().size());
      if (request.path != "/v1/workflows") {
        last_type = body["members"].elements().back()["job"]["type"].string().value_or("");
        return Response{200, R"({"added":1,"existing":0,"members":1})", {}};
      }
      return Response{status, workflow_json("running", R"(,"open":)" + open), {}};
    });
  }
  int status = 201;
  std::string open = "true";
  std::vector<std::size_t> sizes;
  std::string last_type;
};

NewWorkflow wide(std::size_t count) {
  WorkflowBuilder flow({.defaults = NewJob{.type = "resize"}, .id = kId});
  for (std::size_t i = 0; i < count; ++i) flow.add({});
  return flow;
}

TEST_F(ClientWorkflowsTest, AWideOneIsCreatedInParts) {
  Chunks chunks(*transport_);
  ASSERT_TRUE(client_.create_workflow(wide(20'001)));
  EXPECT_EQ(chunks.sizes, (std::vector<std::size_t>{10'000, 10'000, 1}));
  EXPECT_EQ(chunks.last_type, "resize");
  ASSERT_EQ(transport_->requests.size(), 4u);
  EXPECT_TRUE(JsonView(request(0).body)["open"].boolean().value_or(false));
  EXPECT_FALSE(JsonView(request(1).body)["close"]);
  EXPECT_TRUE(JsonView(request(2).body)["close"].boolean().value_or(false));
  EXPECT_EQ(request(1).path, "/v1/workflows/" + kId + "/members");
  EXPECT_EQ(header(1, "Idempotency-Key"), kId + "-0");
  EXPECT_EQ(header(2, "Idempotency-Key"), kId + "-10000");
}

TEST_F(ClientWorkflowsTest, AnOpenOneStaysOpen) {
  Chunks chunks(*transport_);
  NewWorkflow flow = wide(10'001);
  flow.open = true;
  ASSERT_TRUE(client_.create_workflow(flow));
  EXPECT_FALSE(JsonView(request(1).body)["close"]);
}

TEST_F(ClientWorkflowsTest, AnotherWorkflowOfTheKeyGetsNoMembers) {
  Chunks chunks(*transport_);
  chunks.status = 200;
  NewWorkflow flow = wide(10'001);
  flow.id = make_id();
  ASSERT_TRUE(client_.create_workflow(flow));
  EXPECT_EQ(chunks.sizes.size(), 1u);
  flow.id = kId;
  chunks.open = "false";  // an earlier call has added them all
  ASSERT_TRUE(client_.create_workflow(flow));
  EXPECT_EQ(chunks.sizes.size(), 2u);
}

TEST_F(ClientWorkflowsTest, AFailedPartNamesTheWorkflow) {
  transport_->answer(201, workflow_json("running", R"(,"open":true)"));
  transport_->answer(422, R"({"status":422,"code":"validation_failed","detail":"no"})");
  const auto created = client_.create_workflow(wide(10'001));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().problem(), Problem::kValidationFailed);
  EXPECT_NE(created.error().message.find(kId), std::string::npos) << created.error().message;
}

TEST_F(ClientWorkflowsTest, ReadsAWorkflow) {
  const std::string json = workflow_json("failed", R"(,"cancel_reason":"why","result":{ "n" : 1})");
  transport_->answer(200, json);
  const auto read = client_.workflow(kId, {.include = {"result"}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(request().path, "/v1/workflows/" + kId + "?include=result");
  EXPECT_EQ(read->name, "nightly");
  EXPECT_EQ(read->generation, 2);
  EXPECT_EQ(read->version, 7);
  EXPECT_EQ(read->members, 3);
  EXPECT_EQ(read->counts.failed, 1);
  EXPECT_EQ(read->callbacks.on_end, "j");
  EXPECT_EQ(read->max_active, 10);
  EXPECT_EQ(read->unique->key, "u");
  EXPECT_EQ(read->cancel_reason, "why");
  EXPECT_EQ(read->result, R"({ "n" : 1})");
  EXPECT_EQ(read->ended_at, parse_rfc3339("2026-02-02T00:00:00Z"));
  EXPECT_TRUE(read->is_final());
  EXPECT_EQ(read->json, json);
}

TEST_F(ClientWorkflowsTest, WaitReturnsAlsoAFailedOne) {
  transport_->answer(404, R"({"status":404,"code":"not_found"})");
  transport_->answer(200, workflow_json("failed"));
  const auto ended = client_.wait_workflow(kId, 10s);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->state, "failed");
  EXPECT_EQ(request(1).path.find("/v1/workflows/" + kId + "?include=result&until=final&wait_ms="),
            0u);
}

TEST_F(ClientWorkflowsTest, WaitEndsWithItsTimeout) {
  transport_->answer(200, workflow_json("running"));
  const auto ended = client_.wait_workflow(kId, 0ms);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().problem(), Problem::kWaitTimeout);
  EXPECT_EQ(ended.error().message, "workflow " + kId + " is running and has not ended within 0 ms");
}

TEST_F(ClientWorkflowsTest, ListsWorkflows) {
  transport_->answer(200, R"({"items":[)" + workflow_json("running") + R"(],"next_cursor":"c"})");
  transport_->answer(200, R"({"items":[],"next_cursor":null})");
  int count = 0;
  for (const auto& each : client_.all_workflows(
           {.states = {"running", "failed"}, .queue = "q", .name = "n", .tag = "t", .limit = 1})) {
    ASSERT_TRUE(each);
    ++count;
  }
  EXPECT_EQ(count, 1);
  EXPECT_EQ(request(0).path, "/v1/workflows?state=running%2Cfailed&queue=q&name=n&tag=t&limit=1");
  EXPECT_EQ(request(1).path,
            "/v1/workflows?state=running%2Cfailed&queue=q&name=n&tag=t&limit=1&cursor=c");
}

const std::string kMember =
    R"({"number":1,"ref":"a/b","state":"active","reason":null,"generation":1,"queue":"q",)"
    R"("job_id":"j","job":{"id":"j","state":"running"},"result":null,"needs":[{"ref":"@0",)"
    R"("on":"ended"}],"needs_any":true,"definition":{ "type": "t"},"waits_for":["x"]})";

TEST_F(ClientWorkflowsTest, ReadsMembers) {
  transport_->answer(200, kMember);
  const auto member = client_.workflow_member(kId, "a/b", {.include = {"job"}, .wait = 5s});
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_EQ(request().path, "/v1/workflows/" + kId + "/members/a%2Fb?include=job&wait_ms=5000");
  EXPECT_EQ(request().timeout, 35s);
  EXPECT_EQ(member->number, 1);
  EXPECT_EQ(member->job->json, R"({"id":"j","state":"running"})");
  EXPECT_EQ(member->needs.at(0).on, "ended");
  EXPECT_EQ(member->definition, R"({ "type": "t"})");
  EXPECT_EQ(member->waits_for, std::vector<std::string>{"x"});
  transport_->answer(200, R"({"items":[)" + kMember + R"(],"next_cursor":null})");
  transport_->answer(200, R"({"items":[)" + kMember + R"(],"next_cursor":null})");
  ASSERT_TRUE(client_.workflow_members(kId));
  const auto page = client_.workflow_members(kId, {.state = "active", .include = {"result"}});
  ASSERT_TRUE(page);
  EXPECT_EQ(request(2).path,
            "/v1/workflows/" + kId + "/members?state=active&include=result&limit=50");
  EXPECT_EQ(page->items.at(0).job_id, "j");
}

TEST_F(ClientWorkflowsTest, ReadsItsGraphAndWhyItWaits) {
  transport_->answer(200, R"({"items":[{"number":0,"ref":"a","kind":"job","state":"blocked",)"
                          R"("needs":[]}],"next_cursor":null})");
  transport_->answer(200, R"({"id":"w","state":"running","at":"2026-02-01T00:00:00.000Z",)"
                          R"("summary":"s","blocking":[{"code":"active","count":2,)"
                          R"("jobs":["j"]},{"code":"open"}]})");
  for (const auto& line : client_.all_graph_lines(kId)) EXPECT_EQ(value_of(line).ref, "a");
  const auto why = client_.why_workflow(kId);
  ASSERT_TRUE(why) << why.error().message;
  EXPECT_EQ(why->blocking.at(0).count, 2);
  EXPECT_EQ(why->blocking.at(0).jobs, std::vector<std::string>{"j"});
  EXPECT_EQ(why->blocking.at(1).code, "open");
  EXPECT_EQ(request(0).path, "/v1/workflows/" + kId + "/graph");
  EXPECT_EQ(request(1).path, "/v1/workflows/" + kId + "/why");
}

TEST_F(ClientWorkflowsTest, OnlyMembersWithoutARefNeedAKey) {
  transport_->lose_answer();
  transport_->answer(200, R"({"added":1,"existing":2,"members":3})");
  WorkflowBuilder more;
  more.add("a", {.type = "t"});
  const auto added = client_.add_members(kId, more.members, {.by = "b", .close = true});
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(added->existing, 2);
  EXPECT_EQ(request(1).body,
            R"({"members":[{"ref":"a","job":{"type":"t","payload":null}}],"by":"b","close":true})");
  EXPECT_EQ(header(1, "Idempotency-Key"), "");
  more.add({.type = "t"});
  ASSERT_TRUE(client_.add_members(kId, more.members));
  EXPECT_EQ(header(2, "Idempotency-Key").size(), 36u);
  ASSERT_TRUE(client_.add_members(kId, more.members, {.idempotency_key = "k"}));
  EXPECT_EQ(header(3, "Idempotency-Key"), "k");
}

const std::string kInvalidState = R"({"status":409,"code":"invalid_state","detail":"no"})";

TEST_F(ClientWorkflowsTest, ACancelMayHaveBeenDoneByAnEarlierTry) {
  transport_->lose_answer();
  transport_->answer(409, kInvalidState);
  transport_->answer(200, workflow_json("cancelled"));
  const auto cancelled = client_.cancel_workflow(kId, "no need");
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->state, "cancelled");
  EXPECT_EQ(request().body, R"({"reason":"no need"})");
}

TEST_F(ClientWorkflowsTest, ACancelOfAnEndedOneFails) {
  transport_->answer(409, kInvalidState);
  EXPECT_EQ(client_.cancel_workflow(kId).error().problem(), Problem::kInvalidState);
  EXPECT_EQ(transport_->requests.size(), 1u);
}

TEST_F(ClientWorkflowsTest, ASkipMayHaveBeenDoneByAnEarlierTry) {
  transport_->lose_answer();
  transport_->answer(409, kInvalidState);
  transport_->answer(200, R"({"number":0,"ref":"a","state":"skipped"})");
  transport_->answer(200, workflow_json("running"));
  const auto skipped = client_.skip_member(kId, "a");
  ASSERT_TRUE(skipped) << skipped.error().message;
  EXPECT_EQ(skipped->id, kId);
  EXPECT_EQ(request().path, "/v1/workflows/" + kId + "/members/a/skip");
}

TEST_F(ClientWorkflowsTest, ARetryIsSentOnce) {
  transport_->lose_answer();
  const auto lost =
      client_.retry_workflow(kId, {.refs = {"a"}, .reset_attempts = false, .drop_limits = true});
  EXPECT_EQ(lost.error().problem(), Problem::kUnreachable);
  EXPECT_EQ(transport_->requests.size(), 1u);
  EXPECT_EQ(request().body, R"({"refs":["a"],"reset_attempts":false,"drop_limits":true})");
}

TEST_F(ClientWorkflowsTest, ClosesAndDeletes) {
  transport_->answer(200, workflow_json("running"));
  ASSERT_TRUE(client_.close_workflow(kId));
  EXPECT_EQ(request().path, "/v1/workflows/" + kId + "/close");
  ASSERT_TRUE(client_.delete_workflow(kId, 7));
  EXPECT_EQ(request(1).method, "DELETE");
  EXPECT_EQ(header(1, "If-Match"), "\"7\"");
}

TEST_F(ClientWorkflowsTest, ADuplicateHasItsClass) {
  transport_->answer(409, R"({"status":409,"code":"duplicate_workflow"})");
  EXPECT_THROW(value_of(client_.create_workflow({})), DuplicateWorkflow);
}

}  // namespace
}  // namespace millrace::sdk
