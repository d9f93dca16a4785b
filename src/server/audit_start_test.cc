#include "server/audit_start.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

class AuditStartTest : public ::testing::Test, public engine::Gateway {
 protected:
  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials) override {
    EXPECT_EQ(credentials, engine::kNodesOwn);
    const auto& command = std::get<core::Command>(request);
    sent_.emplace_back(std::get<core::NoteAudit>(command).by->action.view());
    engine::Delivery delivery{ticket, answer_};
    port.deliver({&delivery, 1});
  }
  void cancel(engine::ReplyPort&, engine::Ticket) override {}

  store::Store store_ = store::make_memory_store();
  engine::StoreFormat format_;
  engine::Answer answer_ = core::Reply(core::CatalogReply{});
  std::vector<std::string> sent_;
  AuditStart start_{{.format = format_,
                     .tables = *store_.tables,
                     .router = *this,
                     .run = [](const std::function<void()>& work) { work(); }}};
};

TEST_F(AuditStartTest, WhereNoOlderNodeTookPartNothingBegins) {
  start_.tick(true);  // the format is not known yet
  format_.heard(store::EventFormat::kOperations);
  start_.tick(true);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(AuditStartTest, WhenTheLastOlderNodeHasGoneTheLeaderSaysSoOnce) {
  format_.heard(store::EventFormat{7});
  start_.tick(true);
  EXPECT_TRUE(sent_.empty());
  format_.heard(store::EventFormat::kOperations);
  start_.tick(false);
  EXPECT_TRUE(sent_.empty()) << "that is for the leader";
  answer_ = engine::Unavailable::kNoLeader;
  start_.tick(true);
  answer_ = core::Reply(core::CatalogReply{});
  start_.tick(true);
  start_.tick(true);
  EXPECT_EQ(sent_, (std::vector<std::string>{"audit.began", "audit.began"}))
      << "the first one was refused";
}

}  // namespace
}  // namespace millrace::server
