#include "base/free_memory.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(FreeMemory, NothingIsHeldAfterwards) {
  std::string text(1 << 20, 'x');
  free_memory(text);
  EXPECT_TRUE(text.empty());
  EXPECT_LT(text.capacity(), 64u);
}

}  // namespace
}  // namespace millrace
