#include "store/postgres/server_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::store {
namespace {

using ::testing::HasSubstr;

TEST(ServerIdentity, FollowsAPromotionAndDoesNotGoBack) {
  ServerIdentity server;
  EXPECT_TRUE(server.meet({7, 1}));
  EXPECT_TRUE(server.meet({7, 1}));
  EXPECT_TRUE(server.meet({7, 2}));
  const Status former = server.meet({7, 1});
  ASSERT_FALSE(former);
  EXPECT_THAT(former.error().message, HasSubstr("former primary"));
  EXPECT_TRUE(server.meet({7, 2}));
}

TEST(ServerIdentity, AnotherClusterIsRefused) {
  ServerIdentity server;
  EXPECT_TRUE(server.meet({7, 1}));
  const Status other = server.meet({8, 5});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("another database cluster"));
}

}  // namespace
}  // namespace millrace::store
