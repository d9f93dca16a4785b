#include "api/event_data.h"

#include <gtest/gtest.h>

namespace millrace::api {
namespace {

TEST(EventData, LosesTheTextsOfAnErrorAndNothingElse) {
  EXPECT_EQ(without_error_texts(R"({"state":"dead","error":{"type":"Oops","message":"a \"b\""}})"),
            R"({"state":"dead","error":{"type":"Oops","message":"","redacted":true}})");
  EXPECT_EQ(without_error_texts(R"({"error":{"type":"Oops","message":"x"},"ran_ms":5})"),
            R"({"error":{"type":"Oops","message":"","redacted":true},"ran_ms":5})");
}

TEST(EventData, WhereThereIsNoneItStaysAsItIs) {
  for (const char* data : {"{}", R"({"reason":"late"})", R"({"schedule":"s","error":"no zone"})",
                           R"({"run_at":"x","n":[1,{"error":{"message":"y"}}]})"}) {
    EXPECT_EQ(without_error_texts(data), data);
  }
}

}  // namespace
}  // namespace millrace::api
