#include "cli/queue/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(QueueDetails, ShowsTheSettingsThatAreSetOneALine) {
  sdk::Queue queue;
  queue.name = "mail";
  queue.settings = R"({"max_attempts":5,"max_crashes":null,"lease_ms":30000,"limits":[],)"
                   R"("retention":{"succeeded_ms":86400000,"dead_ms":null}})";
  EXPECT_THAT(queue_details(queue), testing::EndsWith("max_attempts:  5\n"
                                                      "lease:         30s\n"
                                                      "retention:     succeeded 1d\n"));
}

}  // namespace
}  // namespace millrace::cli
