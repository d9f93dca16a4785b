#include "base/shown_url.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ShownUrl, OfADatabaseHasNoPassword) {
  for (const auto& [url, shown] : std::initializer_list<std::pair<const char*, const char*>>{
           {"postgres://host/jobs", "postgres://host/jobs"},
           {"postgres://user@host:5432/jobs", "postgres://user@host:5432/jobs"},
           {"postgres://user:secret@host/jobs", "postgres://user:***@host/jobs"},
           {"postgresql://user:se:cr@et@host/jobs", "postgresql://user:***@host/jobs"},
           {"postgres://user:sec/ret@host/jobs", "postgres://user:***@host/jobs"},
           {"postgres://user:sec?ret@host/jobs", "postgres://user:***@host/jobs"},
           {"postgres://host/jobs?password=secret", "postgres://host/jobs?password=***"},
           {"postgres://host/jobs?user=me&sslpassword=secret&sslmode=require&password=secret",
            "postgres://host/jobs?user=me&sslpassword=***&sslmode=require&password=***"},
           // libpq decodes names too.
           {"postgres://host/jobs?pass%77ord=secret", "postgres://host/jobs?pass%77ord=***"},
       }) {
    EXPECT_EQ(shown_url(url), shown);
  }
}

TEST(ShownUrl, OfHttpHasNoUserAndNoParameter) {
  for (const auto& [url, shown] : std::initializer_list<std::pair<const char*, const char*>>{
           {"http://host:4318", "http://host:4318"},
           {"https://host/v1/traces", "https://host/v1/traces"},
           {"https://user:secret@host:4318/x", "https://***@host:4318/x"},
           {"https://token@host", "https://***@host"},
           {"https://host/x?key=secret&secret", "https://host/x?key=***&***"},
           {"user:secret@host", "***@host"},
           {"", ""},
       }) {
    EXPECT_EQ(shown_url(url), shown);
  }
}

}  // namespace
}  // namespace millrace
