#include "push/span_post.h"

#include <gtest/gtest.h>

namespace millrace::push {
namespace {

TEST(SpanPostTest, AnAddressWithoutAPathGetsTheUsualOne) {
  EXPECT_EQ(traces_url("http://c:4318"), "http://c:4318/v1/traces");
  EXPECT_EQ(traces_url("http://c:4318/"), "http://c:4318/v1/traces");
  EXPECT_EQ(traces_url("https://c/otlp/v1/traces"), "https://c/otlp/v1/traces");
}

}  // namespace
}  // namespace millrace::push
