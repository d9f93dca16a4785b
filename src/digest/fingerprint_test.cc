#include "digest/fingerprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "digest/sha256.h"

namespace millrace {
namespace {

TEST(Fingerprints, AreTheFirstHalfOfSha256) {
  const Fingerprint print = fingerprint("abc");
  EXPECT_EQ(print.bytes[0], 0xba);
  EXPECT_EQ(print.bytes[15], 0x23);  // ba7816bf 8f01cfea 414140de 5dae2223
}

TEST(Fingerprints, OfTwoPartsTellWhereTheFirstEnds) {
  EXPECT_NE(fingerprint("ab", "c"), fingerprint("a", "bc"));
  EXPECT_NE(fingerprint("", "abc"), fingerprint("abc", ""));
  EXPECT_EQ(fingerprint("a", "bc"), fingerprint("a", "bc"));
}

TEST(Sha256, OfTwoTextsIsThatOfBothTogether) { EXPECT_EQ(sha256("ab", "c"), sha256("abc")); }

// queue_bits() uses base's own SHA-256, because the SDK does without OpenSSL.
std::uint16_t first_bits(std::string_view text) {
  const Sha256 digest = sha256(text);
  return static_cast<std::uint16_t>(digest[0] << 4 | digest[1] >> 4);
}

TEST(QueueBits, AreThoseOfOpenSslAtEveryLength) {
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text(size, static_cast<char>(size));
    EXPECT_EQ(queue_bits(text), first_bits(text)) << size;
  }
}

RC_GTEST_PROP(QueueBitsProperty, AreThoseOfOpenSsl, (const std::string& text)) {
  RC_ASSERT(queue_bits(text) == first_bits(text));
}

}  // namespace
}  // namespace millrace
