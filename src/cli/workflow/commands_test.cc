// The commands from their arguments to the server's requests and the printed output, over a socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/stub_server_testing.h"

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string workflow(std::string_view state, int succeeded = 0, int failed = 0) {
  return fmt::format(
      R"({{"id":"w","queue":"q","state":"{}","reason":null,"members":2,)"
      R"("counts":{{"blocked":0,"active":{},"succeeded":{},"failed":{},"skipped":0}}}})",
      state, 2 - succeeded - failed, succeeded, failed);
}

class WorkflowCommands : public ::testing::Test {
 protected:
  ~WorkflowCommands() override { std::remove(file_.c_str()); }

  // Returns the exit code; the output is in `out` and `err`.
  int run(std::vector<std::string> words) {
    words.insert(words.begin(), {"millrace", "--url", server_.url, "workflow"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = cli::run(static_cast<int>(arguments.size()), arguments.data(), {});
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string file(std::string_view content) {
    std::ofstream(file_) << content;
    return file_;
  }

  StubServer server_;
  std::string out;
  std::string err;

 private:
  std::string file_ = ::testing::TempDir() + "millrace-workflow." + std::to_string(getpid());
};

TEST_F(WorkflowCommands, CreateSendsTheFileAsItIs) {
  server_.answer(201, workflow("running"));
  EXPECT_EQ(run({"create", file(R"({ "members" : [1.50] })")}), kOk) << err;
  EXPECT_THAT(server_.take_requests(), ElementsAre(R"(POST /v1/workflows { "members" : [1.50] })"));
  EXPECT_EQ(out, "w  running, 0 of 2 done\n");
}

TEST_F(WorkflowCommands, CreateFindsOneThatIsGone) {
  server_.answer(200, R"({"id":"w","state":"pruned"})");
  EXPECT_EQ(run({"create", file("{}"), "--idempotency-key", "k"}), kDidNotSucceed);
  EXPECT_EQ(out, "w  pruned\n");
  EXPECT_THAT(err, HasSubstr("its outcome is unknown"));
}

TEST_F(WorkflowCommands, CreateNamesThePlacesOfFaults) {
  server_.answer(422, R"({"status":422,"code":"validation_failed","detail":"1 fault",)"
                      R"("errors":[{"pointer":"/members/0/job","detail":"is required"}]})");
  EXPECT_EQ(run({"create", file("{}")}), kUsage);
  EXPECT_THAT(err, HasSubstr(": /members/0/job: is required\n"));
  EXPECT_EQ(run({"create", file("{")}), kUsage);
  EXPECT_THAT(err, HasSubstr("is not JSON"));
  EXPECT_EQ(server_.take_requests().size(), 1);
}

TEST_F(WorkflowCommands, ListReadsPagesUpToItsLimit) {
  const std::string page = fmt::format(R"({{"items":[{}],"next_cursor":"c"}})", workflow("failed"));
  server_.answer(200, page);
  server_.answer(200, page);
  EXPECT_EQ(run({"list", "--state", "failed,cancelled", "-q", "a b", "-n", "2"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/workflows?fresh=true&state=failed,cancelled&queue=a%20b&limit=2",
                          "GET /v1/workflows?fresh=true&state=failed,cancelled&queue=a%20b&limit=1&"
                          "cursor=c"));
  EXPECT_THAT(err, HasSubstr("the first 2 are shown; --all lists all"));
  server_.answer(200, page);
  EXPECT_EQ(run({"list", "-n", "1", "-o", "json"}), kOk) << err;
  EXPECT_EQ(out, page + "\n");
}

TEST_F(WorkflowCommands, GetGathersWhatAPersonAsksNext) {
  server_.answer(200, workflow("running", 0, 1));
  server_.answer(200, R"({"items":[{"number":0,"ref":"a","state":"failed","needs":[]},)"
                      R"({"number":1,"ref":"b","state":"active","needs":[]}],)"
                      R"("next_cursor":null})");
  server_.answer(200, R"({"items":[{"number":0,"ref":"a","reason":"dead","job_id":"j"}],)"
                      R"("next_cursor":null})");
  server_.answer(200, R"({"state":"running","summary":"One job is active.","blocking":[]})");
  EXPECT_EQ(run({"get", "w"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/workflows/w", "GET /v1/workflows/w/graph",
                          "GET /v1/workflows/w/members?state=failed&include=job&limit=10",
                          "GET /v1/workflows/w/why"));
  for (const char* part :
       {"2: 1 failed, 1 active\n", "a       failed\n", "a       dead    j",
        "`millrace workflow retry w` runs them again\n", "\nOne job is active.\n"}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
  server_.answer(200, workflow("running"));
  EXPECT_EQ(run({"get", "w", "-o", "json"}), kOk) << err;
  EXPECT_EQ(server_.take_requests().size(), 1);
}

TEST_F(WorkflowCommands, ChangesSendWhatIsNamed) {
  for (int i = 0; i < 6; ++i) server_.answer(200, workflow("running"));
  EXPECT_EQ(run({"close", "w"}), kOk) << err;
  EXPECT_EQ(run({"cancel", "w", "--reason", "too late"}), kOk) << err;
  EXPECT_EQ(run({"retry", "w"}), kOk) << err;
  EXPECT_EQ(run({"retry", "w", "--ref", "a", "--ref", "@2", "--keep-attempts", "--drop-limits"}),
            kOk)
      << err;
  EXPECT_EQ(run({"skip", "w", "@2"}), kOk) << err;
  EXPECT_EQ(run({"add", "w", file(R"([{"ref":"a"}])")}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("POST /v1/workflows/w/close",
                          R"(POST /v1/workflows/w/cancel {"reason":"too late"})",
                          "POST /v1/workflows/w/retry {}",
                          R"(POST /v1/workflows/w/retry {"refs":["a","@2"],)"
                          R"("reset_attempts":false,"drop_limits":true})",
                          "POST /v1/workflows/w/members/%402/skip",
                          R"(POST /v1/workflows/w/members {"members":[{"ref":"a"}]})"));
}

TEST_F(WorkflowCommands, DeleteAsks) {
  EXPECT_EQ(run({"delete", "w"}), kUsage);
  EXPECT_THAT(server_.take_requests(), IsEmpty());
  server_.answer(204, "");
  EXPECT_EQ(run({"delete", "w", "--yes"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(), ElementsAre("DELETE /v1/workflows/w"));
  EXPECT_EQ(out, "w  deleted\n");
}

TEST_F(WorkflowCommands, WaitEndsAsTheWorkflow) {
  server_.answer(200, workflow("succeeded", 2));
  EXPECT_EQ(run({"wait", "w"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/workflows/w?include=result&until=final&wait_ms=2000"));
  EXPECT_EQ(out, "w  succeeded, 2 of 2 done\n");
  server_.answer(200, workflow("failed", 1, 1));
  EXPECT_EQ(run({"wait", "w"}), kDidNotSucceed);
  EXPECT_THAT(err, HasSubstr("`millrace workflow get w` shows what failed"));
  server_.answer(200, workflow("running"));
  EXPECT_EQ(run({"wait", "w", "--timeout", "0s"}), kFailure);
  EXPECT_THAT(err, HasSubstr("did not end within 0s; it goes on"));
}

TEST_F(WorkflowCommands, SayWhereKnownOnesAre) {
  constexpr const char* kNotThere = R"({"status":404,"code":"not_found","detail":"no"})";
  server_.answer(404, kNotThere);
  EXPECT_EQ(run({"get", "w"}), kNotFound);
  EXPECT_THAT(err, HasSubstr("there is no workflow w; `millrace workflow list`"));
  server_.answer(404, kNotThere);
  EXPECT_EQ(run({"member", "w", "m"}), kNotFound);
  EXPECT_THAT(err, HasSubstr("there is no workflow w with a member m; `millrace workflow members"));
}

}  // namespace
}  // namespace millrace::cli
