#include "base/free_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(FreeMemory, NothingIsHeldAfterwards) {
  std::string text(1 << 20, 'x');
  free_memory(text);
  EXPECT_TRUE(text.empty());
  EXPECT_LT(text.capacity(), 64u);
  std::vector<int> numbers(1'000);
  free_memory(numbers);
  EXPECT_EQ(numbers.capacity(), 0u);
}

}  // namespace
}  // namespace millrace
