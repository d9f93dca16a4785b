// The contract of every store's lists and searches: store/tables.h and store/job_match.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "store/job_match.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::Comparison;
using core::Condition;
using core::JobField;
using core::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ords = std::vector<std::uint64_t>;
using std::chrono_literals::operator""s;

Condition is(JobField field, std::vector<std::string> values) {
  Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}
Condition compared(JobField field, Comparison comparison, std::int64_t number) {
  Condition condition;
  condition.field = field;
  condition.comparison = comparison;
  condition.number = number;
  return condition;
}
Condition member(std::string path, std::vector<std::string> values) {
  Condition condition = is(JobField::kPayload, std::move(values));
  condition.path = std::move(path);
  return condition;
}
Condition contains(JobField field, std::string part) {
  Condition condition = is(field, {std::move(part)});
  condition.comparison = Comparison::kContains;
  return condition;
}
Condition negated(Condition condition) {
  condition.negated = true;
  return condition;
}

class SearchContract : public StoreContract {
 protected:
  void flush(std::vector<core::Job> jobs) {
    ASSERT_TRUE(flusher_.flush(tables(), std::move(jobs)));
  }
  // All that match, by pages of `limit`.
  Ords all(const std::vector<Condition>& conditions, std::uint32_t limit = 1000) {
    JobQuery query;
    query.filter.conditions = conditions;
    query.limit = limit;
    Ords ords;
    do {
      const auto page = tables().list(query);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return {};
      EXPECT_LE(page->jobs.size(), limit);
      for (const core::Job& job : page->jobs) ords.push_back(job.ord);
      query.after_ord = page->next_after_ord;
    } while (query.after_ord);
    return ords;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(SearchContract);

TEST_P(SearchContract, ListsNewestFirst) {
  flush({make_job(1), make_job(3), make_job(2)});
  EXPECT_THAT(all({}), ElementsAre(3, 2, 1));
  flush({make_job(5), make_job(4, "other", State::kSucceeded)});
  EXPECT_THAT(all({}), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(all({}, 1), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(all({}, 2), ElementsAre(5, 4, 3, 2, 1));
}

TEST_P(SearchContract, PagesAreNotMovedByWhatIsSubmittedMeanwhile) {
  flush({make_job(1), make_job(2), make_job(3)});
  JobQuery query;
  query.limit = 2;
  const auto first = tables().list(query).value();
  ASSERT_TRUE(first.next_after_ord);
  flush({make_job(4)});
  query.after_ord = first.next_after_ord;
  const auto second = tables().list(query).value();
  ASSERT_EQ(second.jobs.size(), 1u);
  EXPECT_EQ(second.jobs[0].ord, 1u);
  EXPECT_FALSE(second.next_after_ord);
}

TEST_P(SearchContract, AFullLastPageIsTheEnd) {
  flush({make_job(1), make_job(2)});
  JobQuery query;
  query.limit = 2;
  EXPECT_FALSE(tables().list(query)->next_after_ord);
}

TEST_P(SearchContract, APageEndsBeforeItHoldsTooManyBytes) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 5; ++ord) {
    jobs.push_back(make_job(ord, "mail", State::kSucceeded));
    jobs.back().payload = SharedBytes(std::string(ord == 3 ? 500 : 40, '1'));
    jobs.back().result = SharedBytes(std::string(10, '2'));
  }
  flush(jobs);
  JobQuery query;
  query.columns = {.payload = true, .result = true};
  query.bytes = 2 * (512 + 50);  // a job counts as its shown members plus half a KiB
  std::vector<Ords> pages;
  do {
    const auto page = tables().list(query).value();
    pages.emplace_back();
    for (const core::Job& job : page.jobs) pages.back().push_back(job.ord);
    query.after_ord = page.next_after_ord;
  } while (query.after_ord);
  EXPECT_THAT(pages, ElementsAre(Ords{5, 4}, Ords{3}, Ords{2, 1})) << "one comes in any case";
  // Members that are not shown do not count, even if the search reads them.
  query.bytes = 5 * (512 + 10);
  query.columns = {};
  EXPECT_EQ(tables().list(query)->jobs.size(), 5u);
  query.filter.conditions = {negated(member("n", {"1"}))};
  EXPECT_EQ(tables().list(query)->jobs.size(), 5u);
  query.columns.result = true;
  EXPECT_EQ(tables().list(query)->jobs.size(), 5u);
}

TEST_P(SearchContract, OneThatNobodyWaitsForEndsAtOnceWhereItCanGoOn) {
  flush({make_job(1), make_job(2), make_job(3)});
  std::stop_source gone;
  gone.request_stop();
  JobQuery query;
  query.budget.gone = gone.get_token();
  const auto page = tables().list(query);
  ASSERT_TRUE(page.has_value());
  EXPECT_LT(page->jobs.size(), 3u);
  ASSERT_TRUE(page->next_after_ord);
  JobQuery rest;
  rest.after_ord = page->next_after_ord;
  EXPECT_EQ(page->jobs.size() + tables().list(rest)->jobs.size(), 3u) << "nothing is left out";
}

TEST_P(SearchContract, APageCountsWhateverItsJobsCarry) {
  std::vector<core::Job> jobs{make_job(1), make_job(2), make_job(3)};
  for (core::Job& job : jobs) {
    auto progress = std::make_shared<core::Progress>();
    progress->checkpoint = SharedBytes(std::string(1'000, '1'));
    job.progress = std::move(progress);
  }
  flush(jobs);
  JobQuery query;
  query.bytes = 2 * (512 + 1'000);
  EXPECT_EQ(tables().list(query)->jobs.size(), 2u);
}

TEST_P(SearchContract, BringsLargeMembersOnlyWhereAsked) {
  core::Job job = make_job(1, "mail", State::kSucceeded);
  job.result = SharedBytes("[1]");
  flush({job});
  JobQuery query;
  EXPECT_TRUE(tables().list(query)->jobs.at(0).payload.empty());
  EXPECT_TRUE(tables().list(query)->jobs.at(0).result.empty());
  query.columns.payload = true;
  EXPECT_EQ(tables().list(query)->jobs.at(0).payload, job.payload);
  query.columns = {.payload = false, .result = true};
  EXPECT_EQ(tables().list(query)->jobs.at(0).result, job.result);
  query.columns = {.payload = true, .result = true};
  EXPECT_TRUE(tables().list(query)->jobs.at(0) == job);
  // Even if the search itself had to read it.
  query.columns = {};
  query.filter.conditions = {member("n", {"1"})};
  EXPECT_TRUE(tables().list(query)->jobs.at(0).payload.empty());
}

TEST_P(SearchContract, FindsByIdQueueTypeAndState) {
  core::Job five = make_job(5, "mail", State::kDead);
  five.type = SharedBytes("report");
  flush({make_job(1), make_job(2, "mailing"), make_job(3, "other"),
         make_job(4, "mail", State::kSucceeded), five});
  EXPECT_THAT(all({is(JobField::kId, {to_string(id_of(3))})}), ElementsAre(3));
  EXPECT_THAT(all({is(JobField::kId, {"nonsense", to_string(id_of(2)), to_string(id_of(4))})}),
              ElementsAre(4, 2));
  const std::string third = to_string(id_of(3));
  EXPECT_THAT(all({is(JobField::kId, {third, third})}), ElementsAre(3));
  EXPECT_EQ(tables().count({{is(JobField::kId, {third, third})}}, 10, 2s).value(), 1u);
  EXPECT_THAT(all({is(JobField::kQueue, {"mail", "mail", "mail*"}),
                   is(JobField::kState, {"ready", "ready"})}),
              ElementsAre(2, 1));
  EXPECT_THAT(all({is(JobField::kQueue, {"mail"})}), ElementsAre(5, 4, 1));
  EXPECT_THAT(all({is(JobField::kQueue, {"mail*"})}), ElementsAre(5, 4, 2, 1));
  EXPECT_THAT(all({is(JobField::kQueue, {"mail", "other"})}), ElementsAre(5, 4, 3, 1));
  EXPECT_THAT(all({is(JobField::kQueue, {"none"})}), IsEmpty());
  EXPECT_THAT(all({negated(is(JobField::kQueue, {"mail"}))}), ElementsAre(3, 2));
  EXPECT_THAT(all({is(JobField::kType, {"rep*"})}), ElementsAre(5));
  EXPECT_THAT(all({is(JobField::kType, {"mail.send"}), is(JobField::kQueue, {"mail"})}),
              ElementsAre(4, 1));
  EXPECT_THAT(all({is(JobField::kState, {"dead"})}), ElementsAre(5));
  EXPECT_THAT(all({is(JobField::kState, {"dead", "succeeded"})}), ElementsAre(5, 4));
  EXPECT_THAT(all({negated(is(JobField::kState, {"succeeded"}))}), ElementsAre(5, 3, 2, 1));
  EXPECT_THAT(all({is(JobField::kQueue, {"mail"}), is(JobField::kState, {"ready"})}),
              ElementsAre(1));
  EXPECT_THAT(all({is(JobField::kState, {"ready"}), is(JobField::kState, {"dead"})}), IsEmpty());
}

TEST_P(SearchContract, ComparesNumbersAndTimes) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 5; ++ord) {
    jobs.push_back(make_job(ord, "mail", ord == 5 ? State::kSucceeded : State::kReady));
    jobs.back().priority = static_cast<std::int16_t>(ord) - 3;
    jobs.back().attempt = static_cast<std::uint32_t>(ord);
  }
  flush(jobs);
  EXPECT_THAT(all({compared(JobField::kPriority, Comparison::kLess, -1)}), ElementsAre(1));
  EXPECT_THAT(all({compared(JobField::kPriority, Comparison::kEqual, 0)}), ElementsAre(3));
  EXPECT_THAT(all({compared(JobField::kAttempt, Comparison::kGreaterEqual, 4)}), ElementsAre(5, 4));
  EXPECT_THAT(all({compared(JobField::kAttempt, Comparison::kLessEqual, 2)}), ElementsAre(2, 1));
  const std::int64_t third = to_ms(jobs[2].created_at);
  const auto created = JobField::kCreatedAt;
  EXPECT_THAT(all({compared(created, Comparison::kGreater, third)}), ElementsAre(5, 4));
  EXPECT_THAT(all({compared(created, Comparison::kGreaterEqual, third)}), ElementsAre(5, 4, 3));
  EXPECT_THAT(all({compared(created, Comparison::kLess, third)}), ElementsAre(2, 1));
  EXPECT_THAT(all({compared(created, Comparison::kLessEqual, third)}), ElementsAre(3, 2, 1));
  EXPECT_THAT(all({compared(created, Comparison::kLess, 0)}), IsEmpty());
  EXPECT_THAT(all({compared(created, Comparison::kGreater, 9'000'000)}), IsEmpty());
  EXPECT_THAT(all({compared(created, Comparison::kLess, INT64_MAX)}), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(all({compared(JobField::kFinishedAt, Comparison::kGreater, 0)}), ElementsAre(5));
  EXPECT_THAT(all({negated(compared(JobField::kFinishedAt, Comparison::kGreater, 0))}),
              ElementsAre(4, 3, 2, 1));
}

TEST_P(SearchContract, FindsByTagMetaWorkerAndError) {
  core::Job one = make_job(1);
  core::JobExtras extras;
  extras.tags = {SharedBytes("vip"), SharedBytes("region.eu")};
  extras.meta = {{SharedBytes("tenant"), SharedBytes("Acme")}};
  one.extras = std::make_shared<core::JobExtras>(extras);
  core::Job two = make_job(2);
  two.latest.worker = SharedBytes("w-7");
  two.last_error = std::make_shared<core::JobError>(
      core::JobError{SharedBytes("Net.Error"), SharedBytes("Connection TIMEOUT"), {}, 1, 1, {}});
  flush({one, two, make_job(3)});
  EXPECT_THAT(all({is(JobField::kTag, {"vip"})}), ElementsAre(1));
  EXPECT_THAT(all({is(JobField::kTag, {"region.*"})}), ElementsAre(1));
  EXPECT_THAT(all({negated(is(JobField::kTag, {"vip"}))}), ElementsAre(3, 2));
  Condition meta = is(JobField::kMeta, {"Acme"});
  meta.path = "tenant";
  EXPECT_THAT(all({meta}), ElementsAre(1));
  meta.path = "Acme";
  EXPECT_THAT(all({meta}), IsEmpty());
  EXPECT_THAT(all({is(JobField::kWorker, {"w-7"})}), ElementsAre(2));
  EXPECT_THAT(all({contains(JobField::kError, "timeout")}), ElementsAre(2));
  EXPECT_THAT(all({contains(JobField::kError, "NET.")}), ElementsAre(2));
  EXPECT_THAT(all({is(JobField::kError, {"Net.Error"})}), ElementsAre(2));
  EXPECT_THAT(all({is(JobField::kError, {"timeout"})}), IsEmpty());
}

TEST_P(SearchContract, FindsByMembersOfPayloadAndResult) {
  core::Job one = make_job(1);
  one.payload = SharedBytes(R"({"user": {"id": 42, "tags": ["a", "b"]}, "price": 1.50})");
  core::Job two = make_job(2, "mail", State::kSucceeded);
  two.payload = SharedBytes(R"({"user": {"id": "42"}})");
  two.result = SharedBytes(R"({"sent": true})");
  flush({one, two, make_job(3)});
  EXPECT_THAT(all({member("user.id", {"42"})}), ElementsAre(2, 1));
  EXPECT_THAT(all({member("user.tags.1", {"b"})}), ElementsAre(1));
  EXPECT_THAT(all({member("price", {"1.50"})}), ElementsAre(1));
  EXPECT_THAT(all({member("price", {"1.5"})}), IsEmpty());
  Condition price = member("price", {});
  price.comparison = Comparison::kGreater;
  price.real = 1.4;
  EXPECT_THAT(all({price}), ElementsAre(1));
  price.real = 1.5;
  EXPECT_THAT(all({price}), IsEmpty());
  Condition sent = is(JobField::kResult, {"true"});
  sent.path = "sent";
  EXPECT_THAT(all({sent}), ElementsAre(2));
  // Input never becomes SQL, or a path of SQLite's.
  EXPECT_THAT(all({member("a') OR 1=1 --", {"' OR '1'='1"})}), IsEmpty());
  EXPECT_THAT(all({is(JobField::kQueue, {"' OR 1=1 --"})}), IsEmpty());
}

TEST_P(SearchContract, ComparesMembersAsTheNumbersTheyAre) {
  const char* const values[] = {"9007199254740992",
                                "9007199254740993",
                                "-9007199254740993",
                                "9007199254740993.0",
                                "1e400",
                                "-1e400",
                                "1e-400",
                                R"("inf")",
                                R"("Infinity")",
                                R"("nan")",
                                R"("0x10")",
                                R"("01")",
                                R"("12")",
                                "true",
                                "99999999999999999999"};
  std::vector<core::Job> jobs;
  for (const char* const value : values) {
    jobs.push_back(make_job(jobs.size() + 1));
    jobs.back().payload = SharedBytes("{\"v\": " + std::string(value) + "}");
  }
  flush(jobs);
  const auto found = [&](Comparison comparison, std::int64_t number) {
    Condition condition = member("v", {std::to_string(number)});
    condition.comparison = comparison;
    condition.real = static_cast<double>(number);
    return all({condition});
  };
  constexpr std::int64_t kLast = 9'007'199'254'740'992;  // the last before doubles have gaps
  EXPECT_THAT(found(Comparison::kGreater, kLast), ElementsAre(15, 5, 2));
  EXPECT_THAT(found(Comparison::kGreaterEqual, kLast), ElementsAre(15, 5, 4, 2, 1));
  EXPECT_THAT(found(Comparison::kLess, -kLast), ElementsAre(6, 3));
  EXPECT_THAT(found(Comparison::kGreater, 5), ElementsAre(15, 13, 5, 4, 2, 1));
  EXPECT_THAT(found(Comparison::kLess, 5), ElementsAre(7, 6, 3));
}

TEST_P(SearchContract, SelectsIdsByPages) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 10; ++ord) {
    jobs.push_back(make_job(ord, "mail", ord % 2 == 0 ? State::kDead : State::kReady));
  }
  flush(jobs);
  const core::JobFilter dead{{is(JobField::kState, {"dead"})}};
  const auto first = tables().select_ids(dead, std::nullopt, 3, 2s).value();
  EXPECT_THAT(first.ids, ElementsAre(id_of(10), id_of(8), id_of(6)));
  ASSERT_TRUE(first.next_after_ord);
  const auto second = tables().select_ids(dead, first.next_after_ord, 3, 2s).value();
  EXPECT_THAT(second.ids, ElementsAre(id_of(4), id_of(2)));
  EXPECT_FALSE(second.next_after_ord);
}

TEST_P(SearchContract, CountsUpToALimit) {
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 10; ++ord) {
    jobs.push_back(make_job(ord, ord <= 7 ? "mail" : "other"));
  }
  flush(jobs);
  const auto count = [&](std::vector<Condition> conditions, std::uint64_t limit) {
    return tables().count({std::move(conditions)}, limit, 2s).value();
  };
  EXPECT_EQ(count({}, 100), 10u);
  EXPECT_EQ(count({}, 4), 4u);
  EXPECT_EQ(count({}, 0), 0u);
  EXPECT_EQ(count({is(JobField::kQueue, {"mail"})}, 100), 7u);
  EXPECT_EQ(count({member("n", {"3", "4", "9"})}, 100), 3u);
}

// --- Against the definition: any filter finds the jobs that match it, in any page size.

class ArbitrarySearch {
 public:
  explicit ArbitrarySearch(std::uint64_t seed) : make_(seed) {}

  core::Job job(std::uint64_t ord) {
    core::Job job = make_job(ord, pick({"a", "ab", "b"}), make_.any<State>());
    job.type = SharedBytes(pick({"x", "xy", "z"}));
    job.priority = static_cast<std::int16_t>(make_.below(3));
    job.attempt = static_cast<std::uint32_t>(make_.below(3));
    // Several in one millisecond.
    job.created_at = time_from_ms(static_cast<std::int64_t>(ord / 3));
    job.run_at = time_from_ms(static_cast<std::int64_t>(make_.below(20)));
    job.payload = SharedBytes("{\"k\": " + std::to_string(make_.below(4)) + "}");
    if (make_.coin()) {
      core::JobExtras extras;
      extras.tags = {SharedBytes(pick({"t", "tu"}))};
      job.extras = std::make_shared<core::JobExtras>(extras);
    }
    return job;
  }
  Condition condition() {
    const JobField fields[] = {JobField::kQueue,     JobField::kType,  JobField::kState,
                               JobField::kTag,       JobField::kId,    JobField::kPriority,
                               JobField::kCreatedAt, JobField::kRunAt, JobField::kFinishedAt,
                               JobField::kPayload,   JobField::kError};
    Condition condition;
    condition.field = fields[make_.below(std::size(fields))];
    condition.negated = make_.below(4) == 0;
    condition.number = static_cast<std::int64_t>(make_.below(22)) - 1;
    condition.path = "k";
    condition.values = values_of(condition.field);
    const bool number =
        condition.field == JobField::kPriority || condition.field == JobField::kCreatedAt ||
        condition.field == JobField::kRunAt || condition.field == JobField::kFinishedAt;
    if (number) {
      condition.comparison = static_cast<Comparison>(2 + make_.below(4));
    } else if (make_.below(4) == 0) {
      condition.comparison = Comparison::kContains;
    }
    return condition;
  }
  std::vector<Condition> conditions() {
    std::vector<Condition> made;
    for (std::uint64_t left = make_.below(4); left > 0; --left) made.push_back(condition());
    return made;
  }

 private:
  std::string pick(std::vector<std::string> from) { return from[make_.below(from.size())]; }
  std::vector<std::string> values_of(JobField field) {
    switch (field) {
      case JobField::kState:
        return {pick({"ready", "dead"}), pick({"succeeded", "running", "no"})};
      case JobField::kTag:
        return {pick({"t", "t*", "u"})};
      case JobField::kId:
        return {to_string(id_of(make_.below(60))), "no id"};
      case JobField::kPayload:
        return {pick({"1", "2"}), pick({"3", "x"})};
      case JobField::kType:
        return {pick({"x", "x*", "*", "z"})};
      default:
        return {pick({"a", "a*", "b", "c"}), pick({"b", "c*", "ab"})};
    }
  }

  Arbitrary make_;
};

TEST_P(SearchContract, FindsExactlyWhatMatches) {
  ArbitrarySearch make(11);
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 60; ++ord) jobs.push_back(make.job(ord));
  flush(jobs);
  std::size_t found = 0;
  for (int round = 0; round < 600; ++round) {
    const std::vector<Condition> conditions = make.conditions();
    Ords expected;
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
      if (matches(core::JobFilter{conditions}, *job)) expected.push_back(job->ord);
    }
    found += expected.size();
    ASSERT_EQ(all(conditions, round % 2 == 0 ? 1000 : 7), expected) << "round " << round;
    ASSERT_EQ(tables().count({conditions}, 1000, 2s).value(), expected.size());
  }
  EXPECT_GT(found, 2'000u);
}

}  // namespace
}  // namespace millrace::store
