#include "http/connection/accept_encoding.h"

#include <gtest/gtest.h>

#include "http/connection/request_guard.h"

namespace millrace::http {
namespace {

TEST(AcceptEncoding, AWeightIsThousandths) {
  EXPECT_EQ(weight_of("gzip", "gzip"), 1000);
  EXPECT_EQ(weight_of("br, GZip", "gzip"), 1000);
  EXPECT_EQ(weight_of("gzip;q=0.5", "gzip"), 500);
  EXPECT_EQ(weight_of("deflate;q=1 , gzip ; q=0.125,br", "gzip"), 125);
  EXPECT_EQ(weight_of("gzip;Q=1.000", "gzip"), 1000);
  EXPECT_EQ(weight_of("gzip;q=0.001", "gzip"), 1);
  EXPECT_EQ(weight_of("gzip;q=1", "gzip"), 1000);
}

TEST(AcceptEncoding, WhatIsNotTakenWeighsNothing) {
  for (const char* accepted :
       {"", "br", "gzip;q=0", "gzip;q=0.000", "gzips", "xgzip", "*;q=0", ",,"}) {
    EXPECT_EQ(weight_of(accepted, "gzip"), 0) << accepted;
  }
}

TEST(AcceptEncoding, AnInvalidWeightIsNone) {
  for (const char* accepted : {"gzip;q=", "gzip;q=2", "gzip;q=1.5", "gzip;q=.5", "gzip;q=0.1234",
                               "gzip;q=0,5", "gzip;q=x", "gzip;q=0x1", "gzip;level=9"}) {
    EXPECT_EQ(weight_of(accepted, "gzip"), 0) << accepted;
  }
}

TEST(AcceptEncoding, AStarIsForAllThatAreNotNamed) {
  EXPECT_EQ(weight_of("*", "gzip"), 1000);
  EXPECT_EQ(weight_of("br;q=0.2, *;q=0.7", "gzip"), 700);
  EXPECT_EQ(weight_of("*, gzip;q=0", "gzip"), 0);
}

bool takes(std::string_view accepted) {
  RequestHead head;
  head.fields.push_back({"Accept-Encoding", accepted});
  return takes_coding(head, "gzip");
}

TEST(AcceptEncoding, AClientMayRatherHaveItUncoded) {
  EXPECT_TRUE(takes("gzip"));
  EXPECT_TRUE(takes("gzip, identity"));
  EXPECT_TRUE(takes("gzip;q=0.2, *;q=0.1"));
  EXPECT_TRUE(takes("identity;q=0, *"));
  EXPECT_FALSE(takes("identity, gzip;q=0.5"));
  EXPECT_FALSE(takes("identity"));
  EXPECT_FALSE(takes(""));
  EXPECT_FALSE(takes_coding(RequestHead{}, "gzip"));
}

}  // namespace
}  // namespace millrace::http
