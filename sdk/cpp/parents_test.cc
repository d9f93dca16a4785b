// What a handler learns of its workflow, and how it changes it.
#include <gtest/gtest.h>

#include "worker_testing.h"

namespace millrace::sdk {
namespace {

const std::string kMembership =
    R"("workflow":{"id":"w","name":null,"ref":"clean","number":1,"role":"member",)"
    R"("generation":2,"state":"running"},"parents":{)"
    R"("load":{"id":"j1","state":"succeeded","reason":null,"result":[1,2]},)"
    R"("big":{"id":"j2","state":"succeeded","reason":null,"omitted":"size"},)"
    R"("bad":{"id":"j3","state":"failed","reason":"dead"}})";

class ParentsTest : public WorkerTest {
 protected:
  // The outcome of a job with these members in its claim, as sent. They follow its payload.
  std::string outcome_of(const std::string& members, const Handler& handler) {
    server_.put("a", 1, "null," + members);
    EXPECT_TRUE(work(handler));
    const auto& sent = server_.outcomes["a"];
    return sent.empty() ? "" : sent.front();
  }
};

std::string fault_of(auto&& call) {
  try {
    call();
  } catch (const NoResult& fault) {
    return std::string("NoResult: ") + fault.what();
  } catch (const std::out_of_range& fault) {
    return std::string("out_of_range: ") + fault.what();
  } catch (const std::invalid_argument& fault) {
    return std::string("invalid_argument: ") + fault.what();
  } catch (const std::logic_error& fault) {
    return std::string("logic_error: ") + fault.what();
  }
  return "";
}

TEST_F(ParentsTest, AHandlerReadsThem) {
  outcome_of(kMembership, [](Context& context) {
    EXPECT_EQ(context.workflow()->ref, "clean");
    EXPECT_EQ(context.workflow()->number, 1);
    EXPECT_EQ(context.workflow()->generation, 2);
    EXPECT_EQ(context.parents().size(), 3u);
    EXPECT_EQ(context.parent("bad").reason, "dead");
    EXPECT_EQ(context.parent<std::vector<int>>("load"), (std::vector<int>{1, 2}));
    EXPECT_EQ(fault_of([&] { context.parent<int>("big"); }),
              "NoResult: the result of the parent big was left out: size; its job is j2");
    EXPECT_EQ(fault_of([&] { context.parent<int>("bad"); }),
              "NoResult: the parent bad has no result: it is failed, dead; its job is j3");
    EXPECT_EQ(fault_of([&] { context.parent("laod"); }),
              "out_of_range: the job has no parent laod; it has load, big, bad");
    EXPECT_THROW(context.parent<int>("load"), BadJson);
    return Outcome::succeeded();
  });
}

TEST_F(ParentsTest, OnlyASuccessGrowsTheWorkflow) {
  const auto grow = [](Context& context) {
    const Need more = context.add("more", {.type = "t", .payload = "1"});
    context.add("last", {.type = "t"}, {more.ended(), "clean"}, Needed::kAny);
    context.skip("publish");
    EXPECT_EQ(fault_of([&] { context.add("more", {.type = "t"}); }),
              "invalid_argument: the handler has added a member more already");
    return Outcome::succeeded();
  };
  const std::string sent = outcome_of(kMembership, grow);
  EXPECT_NE(sent.find(R"("grow":{"members":[{"ref":"more","job":{"type":"t","payload":1}},)"
                      R"({"ref":"last","job":{"type":"t","payload":null},"needs":[)"
                      R"({"ref":"more","on":"ended"},{"ref":"clean"}],"needs_any":true}],)"
                      R"("skip":["publish"]})"),
            std::string::npos)
      << sent;
  server_.outcomes.clear();
  const auto fails = [&grow](Context& context) -> Outcome {
    static_cast<void>(grow(context));
    throw std::runtime_error("no");
  };
  EXPECT_EQ(outcome_of(kMembership, fails).find("grow"), std::string::npos);
}

TEST_F(ParentsTest, AJobOfNoWorkflowHasNone) {
  outcome_of(R"("tags":[])", [](Context& context) {
    EXPECT_FALSE(context.workflow());
    EXPECT_EQ(fault_of([&] { context.parent("load"); }),
              "out_of_range: the job has no parent load; it has none");
    EXPECT_EQ(fault_of([&] { context.add("a", {.type = "t"}); }),
              "logic_error: job a is no member of a workflow, so it can't add or skip members; "
              "submit jobs by enqueue()");
    EXPECT_THROW(context.skip("a"), std::logic_error);
    return Outcome::succeeded();
  });
}

}  // namespace
}  // namespace millrace::sdk
