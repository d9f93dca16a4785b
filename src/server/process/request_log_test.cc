#include "server/process/request_log.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::server {
namespace {

class Heard final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) override {
    last = level;
    text = line;
  }
  std::optional<LogLevel> last;
  std::string text;
};

class Metrics final : public http::Observer {
 public:
  void answered(const http::RequestRecord&) override { ++answers; }
  void connection(Connection) override {}
  void streamed(Streamed) override {}
  int answers = 0;
};

class RequestLogTest : public testing::Test {
 protected:
  std::optional<LogLevel> level_of(std::string_view path, int status,
                                   std::string_view problem = {}) {
    Heard heard;
    RequestLog log(metrics_, Logger(heard, LogFormat::kText, least_, [] { return Time(); }));
    http::RequestRecord record;
    record.request_id = "r-1";
    record.route = http::match_route(api::Method::kPost, path).route;
    record.status = status;
    record.problem = problem;
    log.answered(record);
    text_ = heard.text;
    return heard.last;
  }

  Metrics metrics_;
  LogLevel least_ = LogLevel::kDebug;
  std::string text_;
};

TEST_F(RequestLogTest, WhatWorksIsToldOnlyToWhoDebugs) {
  EXPECT_EQ(level_of("/v1/jobs", 201), LogLevel::kDebug);
  EXPECT_EQ(level_of("/v1/workers/w/poll", 200), LogLevel::kDebug);
  EXPECT_NE(text_.find("request_id=r-1"), std::string::npos) << text_;
  least_ = LogLevel::kInfo;
  EXPECT_EQ(level_of("/v1/jobs", 201), std::nullopt);
  EXPECT_EQ(metrics_.answers, 3);
}

TEST_F(RequestLogTest, RefusalsAndWhatOperatorsDoAreInformations) {
  EXPECT_EQ(level_of("/v1/jobs", 422, "invalid"), LogLevel::kInfo);
  EXPECT_EQ(level_of("/v1/queues/q/pause", 200), LogLevel::kInfo);
  EXPECT_EQ(level_of("/v1/admin/backup", 200), LogLevel::kInfo);
}

TEST_F(RequestLogTest, FaultsOfOurOwnAreWarnings) {
  EXPECT_EQ(level_of("/v1/jobs", 503, "storage_unavailable"), LogLevel::kWarn);
  EXPECT_EQ(level_of("/v1/jobs", 503, "draining"), LogLevel::kInfo);
}

}  // namespace
}  // namespace millrace::server
