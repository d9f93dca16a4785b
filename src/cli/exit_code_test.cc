#include "cli/exit_code.h"

#include <gtest/gtest.h>

#include "cli/session.h"

namespace millrace::cli {
namespace {

sdk::Error refused(int status, std::string code = {}) {
  sdk::Error error;
  error.kind = sdk::ErrorKind::kRefused;
  error.status = status;
  error.code = std::move(code);
  error.message = "no";
  return error;
}

sdk::Error of_kind(sdk::ErrorKind kind) {
  sdk::Error error;
  error.kind = kind;
  return error;
}

TEST(ExitCode, SaysWhatTheCallerShouldDo) {
  EXPECT_EQ(exit_code_of(refused(400)), 2);
  EXPECT_EQ(exit_code_of(refused(422)), 2);
  EXPECT_EQ(exit_code_of(refused(413)), 2);
  EXPECT_EQ(exit_code_of(refused(404)), 3);
  EXPECT_EQ(exit_code_of(refused(410)), 3);
  EXPECT_EQ(exit_code_of(refused(401)), 4);
  EXPECT_EQ(exit_code_of(refused(403)), 4);
  EXPECT_EQ(exit_code_of(refused(409)), 5);
  EXPECT_EQ(exit_code_of(refused(412)), 5);
  EXPECT_EQ(exit_code_of(refused(422, "idempotency_mismatch")), 5);
  EXPECT_EQ(exit_code_of(refused(429)), 75);
  EXPECT_EQ(exit_code_of(refused(503)), 75);
  EXPECT_EQ(exit_code_of(refused(500)), 1);
  EXPECT_EQ(exit_code_of(refused(502)), 6);
  EXPECT_EQ(exit_code_of(of_kind(sdk::ErrorKind::kUnreachable)), 6);
  EXPECT_EQ(exit_code_of(of_kind(sdk::ErrorKind::kBadArgument)), 2);
  EXPECT_EQ(exit_code_of(of_kind(sdk::ErrorKind::kInterrupted)), 130);
  EXPECT_EQ(exit_code_of(of_kind(sdk::ErrorKind::kBadAnswer)), 1);
}

TEST(Explain, NamesTheNextStep) {
  EXPECT_NE(explain(of_kind(sdk::ErrorKind::kUnreachable)).find("millrace serve"),
            std::string::npos);
  EXPECT_NE(explain(refused(401)).find("MILLRACE_TOKEN"), std::string::npos);
  auto busy = refused(503);
  busy.retry_after = std::chrono::seconds{3};
  EXPECT_EQ(explain(busy), "no; try again in 3 s");
  auto broken = refused(500);
  broken.request_id = "r1";
  EXPECT_EQ(explain(broken), "no [request r1]");
}

TEST(Session, DoesNotGoOnWithoutItsToken) {
  Session session;
  session.token_file = "/nowhere/token";
  bool was_run = false;
  session.with_client([&](sdk::Client&) { was_run = true; });
  EXPECT_FALSE(was_run);
  EXPECT_EQ(session.exit_code, kBadConfiguration);
}

}  // namespace
}  // namespace millrace::cli
