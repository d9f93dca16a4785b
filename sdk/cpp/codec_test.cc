#include <gtest/gtest.h>

#include <limits>

#include "millrace/members.h"

namespace {

struct Address {
  std::string street;
  std::optional<int> number;
};

struct Person {
  std::string name;
  std::vector<Address> addresses;
  std::map<std::string, double> scores;
  bool is_admin = false;
};

}  // namespace

MILLRACE_JSON(Address, street, number);
MILLRACE_JSON(Person, name, addresses, scores, is_admin);

namespace millrace::sdk {
namespace {

std::string fault_of(auto&& call) {
  try {
    call();
  } catch (const BadJson& fault) {
    return fault.what();
  }
  return "";
}

TEST(CodecTest, ReadsWhatItWrote) {
  const Person ada{"Ada \"L\"", {{"Main", 5}, {"Side", std::nullopt}}, {{"chess", 1.5}}, true};
  const std::string json = encode(ada);
  EXPECT_EQ(json, R"({"name":"Ada \"L\"","addresses":[{"street":"Main","number":5},)"
                  R"({"street":"Side","number":null}],"scores":{"chess":1.5},"is_admin":true})");
  const auto read = decode<Person>(json);
  EXPECT_EQ(read.name, ada.name);
  ASSERT_EQ(read.addresses.size(), 2u);
  EXPECT_EQ(read.addresses[0].number, 5);
  EXPECT_FALSE(read.addresses[1].number);
  EXPECT_EQ(read.scores, ada.scores);
  EXPECT_TRUE(read.is_admin);
}

TEST(CodecTest, AMemberMayBeMissingOnlyIfItIsOptional) {
  EXPECT_FALSE(decode<Address>(R"({"street":"Main","more":[1]})").number);
  EXPECT_EQ(fault_of([] { decode<Address>(R"({"number":5})"); }),
            "the member \"street\" is missing");
  EXPECT_EQ(fault_of([] { decode<Address>(R"({"street":7})"); }),
            "street: expected a string and found 7");
  EXPECT_EQ(fault_of([] { decode<Address>("[]"); }), "expected an object and found []");
}

TEST(CodecTest, NumbersMustFit) {
  EXPECT_EQ(decode<std::int8_t>("-128"), -128);
  EXPECT_EQ(decode<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
  EXPECT_NE(fault_of([] { decode<std::int8_t>("128"); }), "");
  EXPECT_NE(fault_of([] { decode<unsigned>("-1"); }), "");
  EXPECT_NE(fault_of([] { decode<int>("1.5"); }), "");
  EXPECT_NE(fault_of([] { encode(std::numeric_limits<double>::quiet_NaN()); }), "");
}

TEST(CodecTest, RawJsonStaysByteForByte) {
  EXPECT_EQ(encode(decode<RawJson>("[ 1e400, 123456789012345678901234567890 ]")),
            "[ 1e400, 123456789012345678901234567890 ]");
}

TEST(CodecTest, TextNeedsNoString) {
  EXPECT_EQ(new_job("t", "a \"b\"", {.queue = "q"}).payload, R"("a \"b\"")");
  EXPECT_EQ(new_job("t", "a", {.queue = "q"}).queue, "q");
}

TEST(ReadNewJobTest, ReadsTheShapeOfTheApi) {
  const auto job = read_new_job(JsonView(
      R"({"type":"t","queue":"q","payload":[ 1 ],"priority":-3,"delay_ms":5,"run_at":"x",
          "retry":{"strategy":"list","delays_ms":[1,2]},"unique":{"key":"u","for_ms":9},
          "tags":["a"],"meta":{"k":"v"},"max_attempts":"many"})"));
  EXPECT_EQ(job.payload, "[ 1 ]");
  EXPECT_EQ(job.priority, -3);
  EXPECT_EQ(job.delay, Milliseconds{5});
  EXPECT_FALSE(job.run_at);
  EXPECT_EQ(job.retry->delays.size(), 2u);
  EXPECT_EQ(job.unique->hold, Milliseconds{9});
  EXPECT_EQ(job.meta, (Meta{{"k", "v"}}));
  EXPECT_FALSE(job.max_attempts);
}

TEST(JsonViewTest, AnswersOnlyWhatTheValueIs) {
  const std::string text = R"( {"a":"x\u00e4","a":2,"b":[true,null]} )";
  const JsonView view(text);
  EXPECT_EQ(view["a"].integer(), 2);  // the last of the name
  EXPECT_FALSE(view["a"].string());
  EXPECT_EQ(view["b"].elements().at(0).boolean(), true);
  EXPECT_TRUE(view["b"].elements().at(1).is_null());
  EXPECT_FALSE(view["c"]);
  EXPECT_FALSE(JsonView("{} x"));
  EXPECT_EQ(view.members().at(0).second.string(), "x\u00e4");
}

}  // namespace
}  // namespace millrace::sdk
