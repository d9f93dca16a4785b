// The commands from their arguments to the server's requests and the printed output, over a socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/cli.h"
#include "cli/exit_code.h"
#include "cli/stub_server_testing.h"

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kSchedule =
    R"({"name":"n","cron":"@daily","every_ms":null,"timezone":"UTC","job":{"type":"t"},)"
    R"("paused":true,"state":"paused","managed_by":null,"version":2,"next":[]})";
constexpr const char* kNotFoundAnswer = R"({"status":404,"code":"not_found","detail":"no"})";

class ScheduleCommands : public ::testing::Test {
 protected:
  ~ScheduleCommands() override { std::remove(file_.c_str()); }

  // Returns the exit code; the output is in `out` and `err`.
  int run(std::vector<std::string> words) {
    words.insert(words.begin(), {"millrace", "--url", server_.url, "schedule"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = cli::run(static_cast<int>(arguments.size()), arguments.data(), {});
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }

  std::string file(std::string_view content) {
    std::ofstream(file_) << content;
    return file_;
  }

  StubServer server_;
  std::string out;
  std::string err;

 private:
  std::string file_ = ::testing::TempDir() + "millrace-schedules." + std::to_string(getpid());
};

TEST_F(ScheduleCommands, ListReadsAllPages) {
  server_.answer(200, fmt::format(R"({{"items":[{}],"next_cursor":"c"}})", kSchedule));
  server_.answer(200, fmt::format(R"({{"items":[{}],"next_cursor":null}})", kSchedule));
  EXPECT_EQ(run({"list", "--managed-by", "me", "-q", "a", "-o", "json"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/schedules?managed_by=me&queue=a&limit=1000",
                          "GET /v1/schedules?managed_by=me&queue=a&limit=1000&cursor=c"));
  EXPECT_EQ(out, fmt::format("{{\"items\":[{0},{0}],\"next_cursor\":null}}\n", kSchedule));
}

TEST_F(ScheduleCommands, ListStopsAtItsLimit) {
  server_.answer(200, fmt::format(R"({{"items":[{}],"next_cursor":"c"}})", kSchedule));
  EXPECT_EQ(run({"list", "-n", "1"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(), ElementsAre("GET /v1/schedules?limit=1"));
  EXPECT_THAT(out, HasSubstr("n     paused"));
  EXPECT_THAT(err, HasSubstr("the first 1 are shown"));
}

TEST_F(ScheduleCommands, SetMakesOne) {
  server_.answer(404, kNotFoundAnswer);
  server_.answer(201, kSchedule);
  EXPECT_EQ(run({"set", "n", "--cron", "0 9 * * *", "-t", "t", "--payload", R"({ "a" : 1 })",
                 "--missed", "all:5", "--jitter", "2s", "--tag", "x", "--meta", "k=v"}),
            kOk)
      << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/schedules/n",
                          R"(PUT /v1/schedules/n {"cron":"0 9 * * *","jitter_ms":2000,)"
                          R"("missed":"all","missed_limit":5,"job":{"type":"t","tags":["x"],)"
                          R"("meta":{"k":"v"},"payload":{ "a" : 1 }}})"));
  EXPECT_THAT(out, HasSubstr("state:"));
}

TEST_F(ScheduleCommands, SetChangesOnlyWhatIsNamed) {
  server_.answer(200, kSchedule);
  server_.answer(200, kSchedule);
  EXPECT_EQ(run({"set", "n", "--every", "30s"}), kOk) << err;
  // The state paused or not is unchanged.
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("GET /v1/schedules/n",
                          R"(PUT /v1/schedules/n {"timezone":"UTC","job":{"type":"t"},)"
                          R"("every_ms":30000})"));
  server_.answer(200, kSchedule);
  server_.answer(200, kSchedule);
  EXPECT_EQ(run({"set", "n", "--no-paused"}), kOk) << err;
  EXPECT_THAT(server_.take_requests().at(1),
              R"(PUT /v1/schedules/n {"cron":"@daily","timezone":"UTC","job":{"type":"t"},)"
              R"("paused":false})");
}

TEST_F(ScheduleCommands, SetReplacesWhereItIsToldSo) {
  server_.answer(200, kSchedule);
  EXPECT_EQ(run({"set", "n", "--replace", "--cron", "@hourly", "-t", "u"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre(R"(PUT /v1/schedules/n {"cron":"@hourly","job":{"type":"u"}})"));
}

TEST_F(ScheduleCommands, SetTakesAFile) {
  server_.answer(200, kSchedule);
  const std::string path = file("cron = \"@daily\"\njob = { type = \"t\" }\n");
  EXPECT_EQ(run({"set", "n", "--file", path}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre(R"(PUT /v1/schedules/n {"cron":"@daily","job":{"type":"t"}})"));
  EXPECT_EQ(run({"set", "n", "--file", path, "--cron", "@daily"}), kUsage);
  EXPECT_THAT(err, HasSubstr("together with --cron"));
  EXPECT_EQ(run({"set", "n", "--file", path + ".absent"}), kUsage);
  EXPECT_THAT(server_.take_requests(), IsEmpty());
}

TEST_F(ScheduleCommands, SetTakesAWorkflowFromAFile) {
  server_.answer(404, kNotFoundAnswer);
  server_.answer(201, R"({"name":"n","cron":"@daily","workflow":{"name":"w","members":[{},{}]},)"
                      R"("state":"active","version":1,"next":[]})");
  const std::string path = file(R"({"members":[{"job":{"type":"t"}}]})");
  EXPECT_EQ(run({"set", "n", "--cron", "@daily", "--workflow", path}), kOk) << err;
  EXPECT_EQ(
      server_.take_requests().at(1),
      R"(PUT /v1/schedules/n {"cron":"@daily","workflow":{"members":[{"job":{"type":"t"}}]}})");
  EXPECT_THAT(out, HasSubstr("w, 2 members"));
  EXPECT_EQ(run({"set", "n", "--workflow", path, "--type", "t"}), kUsage);
  EXPECT_THAT(err, HasSubstr("--workflow can't stand together with options of a job"));
}

TEST_F(ScheduleCommands, SetAsksForWhatIsMissing) {
  EXPECT_EQ(run({"set", "n"}), kUsage);
  EXPECT_EQ(run({"set", "n", "--cron", "@daily", "--every", "1s"}), kUsage);
  EXPECT_EQ(run({"set", "n", "--cron", "@daily", "--payload", "{no"}), kUsage);
  EXPECT_EQ(run({"set", "n", "--meta", "no"}), kUsage);
  EXPECT_EQ(run({"set", "n", "--overlap", "never"}), kUsage);
  EXPECT_THAT(server_.take_requests(), IsEmpty());
  server_.answer(404, kNotFoundAnswer);
  EXPECT_EQ(run({"set", "n", "--timezone", "UTC"}), kNotFound);
  EXPECT_THAT(err, HasSubstr("there is no schedule n: --cron or --every, and --type"));
}

TEST_F(ScheduleCommands, SetSaysWhoseItIs) {
  const char* const owned =
      R"({"name":"n","cron":"@daily","job":{"type":"t"},"managed_by":"deploy"})";
  server_.answer(200, owned);
  server_.answer(200, owned);
  EXPECT_EQ(run({"set", "n", "--cron", "@hourly"}), kOk);
  EXPECT_THAT(server_.take_requests().at(1), HasSubstr(R"("managed_by":"deploy")"));
  EXPECT_THAT(err, HasSubstr("n is managed by deploy"));
}

TEST_F(ScheduleCommands, PauseResumeTriggerRunsDelete) {
  server_.answer(200, kSchedule);
  EXPECT_EQ(run({"pause", "n", "--reason", "why"}), kOk) << err;
  EXPECT_EQ(out, "n  paused\n");
  server_.answer(200, kSchedule);
  EXPECT_EQ(run({"resume", "n"}), kOk);
  server_.answer(201, R"({"id":"j","state":"ready"})");
  EXPECT_EQ(run({"trigger", "n", "--scheduled-at", "2026-03-01T00:00:00Z"}), kOk);
  EXPECT_EQ(out, "j  ready\n");
  server_.answer(200, R"({"items":[]})");
  EXPECT_EQ(run({"runs", "n"}), kOk);
  EXPECT_EQ(run({"delete", "n"}), kUsage);  // nobody can be asked
  server_.answer(204, "");
  EXPECT_EQ(run({"delete", "n", "-y"}), kOk) << err;
  EXPECT_EQ(out, "n  deleted\n");
  EXPECT_THAT(
      server_.take_requests(),
      ElementsAre(R"(POST /v1/schedules/n/pause {"reason":"why"})", "POST /v1/schedules/n/resume",
                  R"(POST /v1/schedules/n/trigger {"scheduled_at":)"
                  R"("2026-03-01T00:00:00.000Z"})",
                  "GET /v1/schedules/n/runs", "DELETE /v1/schedules/n"));
  for (const char* command : {"get", "pause", "resume", "trigger", "runs"}) {
    server_.answer(404, kNotFoundAnswer);
    EXPECT_EQ(run({command, "n"}), kNotFound) << command;
    EXPECT_THAT(err, HasSubstr("there is no schedule n"));
  }
}

TEST_F(ScheduleCommands, BackfillGoesOnUntilAllAreSubmitted) {
  const std::vector<std::string> range{
      "backfill", "n", "--from", "2026-03-01T00:00:00Z", "--to", "2026-03-02T00:00:00Z"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), range.begin(), range.end());
    return run(std::move(more));
  };
  server_.answer(200, R"({"submitted":1000,"existing":0,"more":true})");
  server_.answer(200, R"({"submitted":5,"existing":1000,"more":false})");
  EXPECT_EQ(with({"--all"}), kOk) << err;
  EXPECT_EQ(out, "n  1005 submitted, 1000 existing\n");
  EXPECT_THAT(server_.take_requests(), testing::SizeIs(2));
  // A server that submits no more jobs is not asked for ever.
  server_.answer(200, R"({"submitted":0,"existing":1000,"more":true})");
  EXPECT_EQ(with({"--all", "-o", "json"}), kOk);
  EXPECT_EQ(out, "{\"submitted\":0,\"existing\":1000,\"more\":true}\n");
  server_.answer(200, R"({"submitted":7,"existing":0,"more":true})");
  EXPECT_EQ(with({"-n", "1000", "--dry-run"}), kOk);
  EXPECT_THAT(out, HasSubstr("7 to submit"));
  EXPECT_EQ(with({"-n", "1001"}), kUsage);
  EXPECT_EQ(with({"-n", "0"}), kUsage);
  EXPECT_EQ(with({"--all", "--rerun"}), kUsage);
  EXPECT_EQ(run({"backfill", "n", "--from", "2026-03-01T00:00:00Z"}), kUsage);
  EXPECT_EQ(
      run({"backfill", "n", "--from", "2026-03-01T00:00:00Z", "--to", "2026-03-01T00:00:00Z"}),
      kUsage);
  EXPECT_EQ(
      run({"backfill", "n", "--from", "2026-03-02T00:00:00Z", "--to", "2026-03-01T00:00:00Z"}),
      kUsage);
}

TEST_F(ScheduleCommands, PreviewShowsTheInstants) {
  server_.answer(200, R"({"description":"At 09:00, UTC","next":["2026-03-01T09:00:00.000Z"],)"
                      R"("warnings":["w"]})");
  EXPECT_EQ(run({"preview", "0 9 * * *", "-n", "1000", "--dst-gap", "skip"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre(R"(POST /v1/schedules/preview {"cron":"0 9 * * *","count":1000,)"
                          R"("dst_gap":"skip"})"));
  EXPECT_THAT(out, StartsWith("At 09:00, UTC\nwarning: w\n\nUTC"));
  EXPECT_THAT(out, HasSubstr("Sun 2026-03-01 09:00:00"));
  EXPECT_EQ(run({"preview"}), kUsage);
  EXPECT_EQ(run({"preview", "@daily", "-n", "1001"}), kUsage);
  server_.answer(422, R"({"status":422,"code":"validation_failed","detail":"1 fault",)"
                      R"("errors":[{"pointer":"/cron","detail":"hour: no"}]})");
  EXPECT_EQ(run({"preview", "0 25 * * *"}), kUsage);
  EXPECT_THAT(err, StartsWith("millrace: cron: hour: no"));
}

TEST_F(ScheduleCommands, ApplySendsWhatTheFileAndTheFlagsSay) {
  const std::string path =
      file("managed_by = \"me\"\nprune = true\n[schedules.a]\ncron = \"@daily\"\n");
  server_.answer(200, R"({"created":["a"],"updated":[],"unchanged":["b"],"deleted":[]})");
  EXPECT_EQ(run({"apply", path, "--dry-run", "--force", "--managed-by", "you"}), kOk) << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre(R"(PUT /v1/schedules {"managed_by":"you","schedules":{"a":)"
                          R"({"cron":"@daily"}},"prune":true,"dry_run":true,"force":true})"));
  EXPECT_EQ(out, "created  a\n1 created, 0 updated, 1 unchanged, 0 deleted\n");
  EXPECT_THAT(err, HasSubstr("dry run"));
  server_.answer(409, R"({"status":409,"code":"conflict","detail":"a is of other"})");
  EXPECT_EQ(run({"apply", path}), kConflict);
  EXPECT_THAT(err, HasSubstr("--force"));
  server_.answer(503, R"({"status":503,"code":"unavailable","detail":"in part"})");
  EXPECT_EQ(run({"apply", path}), kTryAgain);
  server_.take_requests();
  EXPECT_EQ(run({"apply", file("[schedules.a]\ncron = \"@daily\"\n")}), kUsage);
  EXPECT_THAT(err, HasSubstr("--managed-by"));
  EXPECT_EQ(run({"apply", file("[schedules]\na = 1\n")}), kUsage);
  EXPECT_THAT(err, HasSubstr(":2: a must be a table"));
  EXPECT_THAT(server_.take_requests(), IsEmpty());
}

TEST_F(ScheduleCommands, ImportIsADryRunWithoutYes) {
  const std::string path = file("0 3 * * * backup\n");
  const char* const created = R"({"created":["backup"],"updated":[],"unchanged":[],"deleted":[]})";
  server_.answer(200, created);
  EXPECT_EQ(run({"import", "crontab", path, "--timezone", "UTC", "--managed-by", "me"}), kOk)
      << err;
  const std::string set =
      R"({"managed_by":"me","schedules":{"backup":{"cron":"0 3 * * *","timezone":"UTC","job":)"
      R"({"type":"crontab","queue":"crontab","max_attempts":1,"payload":{"command":"backup"}},)"
      R"("missed":"skip"}})";
  EXPECT_THAT(server_.take_requests(),
              ElementsAre("PUT /v1/schedules " + set + R"(,"dry_run":true})"));
  EXPECT_THAT(out, HasSubstr("   1  backup  0 3 * * *  UTC   crontab  backup\n"));
  EXPECT_THAT(err, HasSubstr("--yes does it, as me"));

  server_.answer(200, created);
  EXPECT_EQ(run({"import", "crontab", path, "--timezone", "UTC", "--managed-by", "me", "--yes"}),
            kOk);
  EXPECT_THAT(server_.take_requests(), ElementsAre("PUT /v1/schedules " + set + "}"));
  EXPECT_EQ(run({"import", "crontab", path, "--timezone", "UTC", "--managed-by", "me", "--print"}),
            kOk);
  EXPECT_EQ(out, set + "}\n");
  EXPECT_THAT(server_.take_requests(), IsEmpty());
}

TEST_F(ScheduleCommands, ImportSubmitsNothingWhereALineIsWrong) {
  EXPECT_EQ(run({"import", "crontab", file("0 3 * * * backup\n@reboot a\n"), "--yes"}), kUsage);
  EXPECT_THAT(err, HasSubstr(":2: @reboot is no time"));
  EXPECT_EQ(run({"import", "json", file("[{\"cron\":\"@daily\",\"task\":\"t\"},\n{}]"), "--yes"}),
            kUsage);
  EXPECT_THAT(err, HasSubstr(":2: when is it due?"));
  EXPECT_THAT(server_.take_requests(), IsEmpty());
  server_.answer(422, R"({"status":422,"code":"validation_failed","detail":"1 fault",)"
                      R"("errors":[{"pointer":"/schedules/b/timezone","detail":"no zone"}]})");
  EXPECT_EQ(
      run({"import", "crontab", file("@daily a\nCRON_TZ=x/y\n@daily b\n"), "--timezone", "UTC"}),
      kUsage);
  EXPECT_THAT(err, HasSubstr(":3: /schedules/b/timezone: no zone"));
}

TEST_F(ScheduleCommands, ImportTakesAList) {
  server_.answer(200, R"({"created":["x.a"],"updated":[],"unchanged":[],"deleted":[]})");
  const std::string path = file(R"([{"name":"a","cron":"@daily","klass":"A","args":[1]}])");
  EXPECT_EQ(run({"import", "json", path, "--prefix", "x.", "--managed-by", "me", "--missed",
                 "all:3", "--overlap", "skip", "--prune", "--yes"}),
            kOk)
      << err;
  EXPECT_THAT(server_.take_requests(),
              ElementsAre(R"(PUT /v1/schedules {"managed_by":"me","schedules":{"x.a":)"
                          R"({"cron":"@daily","job":{"type":"A","payload":[1]},"missed":"all",)"
                          R"("missed_limit":3,"overlap":"skip"}},"prune":true})"));
}

}  // namespace
}  // namespace millrace::cli
