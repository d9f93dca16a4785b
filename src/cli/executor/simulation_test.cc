#include "cli/executor/simulation.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::cli {
namespace {

std::string fault_of(std::string_view payload) {
  const auto steps = parse_steps(payload);
  return steps ? "" : steps.error().message;
}

TEST(Simulation, ReadsEachKindOfStep) {
  const auto steps = parse_steps(R"({"steps": [
      {"do": "sleep", "ms": 5}, {"do": "log", "message": "hi", "level": "warn"},
      {"ms": 7, "do": "compute"},
      {"do": "http_call", "url": "http://a/", "method": "POST", "status": 204},
      {"do": "fail", "message": "no", "retryable": false, "until_attempt": 3}]})");
  ASSERT_TRUE(steps.has_value()) << steps.error().message;
  ASSERT_EQ(steps->size(), 5U);
  EXPECT_EQ(std::get<SleepStep>(steps->at(0)).ms, 5);
  EXPECT_EQ(std::get<LogStep>(steps->at(1)).level, "warn");
  EXPECT_EQ(std::get<ComputeStep>(steps->at(2)).ms, 7);
  EXPECT_EQ(std::get<HttpCallStep>(steps->at(3)).status, 204);
  EXPECT_EQ(std::get<FailStep>(steps->at(4)).until_attempt, 3);
  EXPECT_FALSE(std::get<FailStep>(steps->at(4)).retryable);
  EXPECT_TRUE(parse_steps(R"({"steps": []})").has_value());
}

TEST(Simulation, ABadStepIsNamed) {
  EXPECT_EQ(fault_of("7"), "the payload must be an object with the member steps");
  EXPECT_EQ(fault_of("{"), "the payload must be an object with the member steps");
  EXPECT_EQ(fault_of("{}"), "the payload must have the member steps, an array");
  EXPECT_EQ(fault_of(R"({"steps": {}})"), "the payload must have the member steps, an array");
  EXPECT_EQ(fault_of(R"({"steps": [], "a": 1})"), "the payload must have no member but steps");
  EXPECT_EQ(fault_of(R"({"steps": [7]})"), "step 1 is no object");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "log", "message": ""}, {"do": "dance"}]})"),
            "step 2: do must be sleep, log, compute, http_call or fail");
  EXPECT_EQ(fault_of(R"({"steps": [{}]})"),
            "step 1: do must be sleep, log, compute, http_call or fail");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "sleep"}]})"), "step 1: ms is missing");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "sleep", "ms": 3600001}]})"),
            "step 1: ms must be a whole number from 0 to 3600000");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "sleep", "ms": 1.5}]})"),
            "step 1: ms must be a whole number from 0 to 3600000");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "sleep", "ms": 1, "s": 1}]})"), "step 1: s is unknown");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "log", "message": 1}]})"),
            "step 1: message must be a string");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "log", "message": "", "level": "loud"}]})"),
            "step 1: level must be debug, info, warn or error");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "http_call", "url": "file:///a"}]})"),
            "step 1: url must begin with http:// or https://");
  EXPECT_EQ(fault_of(R"({"steps": [{"do": "fail", "retryable": 1}]})"),
            "step 1: retryable must be true or false");
  std::string many = R"({"steps": [)";
  for (std::size_t i = 0; i < kMaxSteps; ++i) many += R"({"do":"sleep","ms":0},)";
  many.pop_back();
  EXPECT_EQ(fault_of(many + "]}"), "");
  EXPECT_EQ(fault_of(many + R"(,{"do":"sleep","ms":0}]})"), "more than 1000 steps");
}

}  // namespace
}  // namespace millrace::cli
