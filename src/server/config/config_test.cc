#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/config/config_keys.h"
#include "server/config/token.h"

namespace millrace::server {
namespace {

service::TokenSettings settings_of(std::string name, std::vector<std::string> scopes) {
  service::TokenSettings settings;
  settings.name = std::move(name);
  settings.scopes = std::move(scopes);
  return settings;
}

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::string name = std::filesystem::temp_directory_path() / "millrace-config-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    input.system_file = folder_ / "absent.toml";
  }
  ~ConfigTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& content) {
    const std::filesystem::path path = folder_ / "millrace.toml";
    std::ofstream(path) << content;
    return path;
  }

  // The errors of a file with this content.
  ConfigErrors errors_of(const std::string& content) {
    input.config_flag = write(content);
    auto loaded = load_config(input);
    return loaded ? ConfigErrors{} : loaded.error();
  }

  static const Setting& setting(const LoadedConfig& loaded, std::string_view key) {
    for (const Setting& setting : loaded.settings) {
      if (setting.key == key) return setting;
    }
    throw std::runtime_error("no such key");
  }

  ConfigInput input;
  std::filesystem::path folder_;
};

TEST_F(ConfigTest, EveryDefaultIsValidAndPrinted) {
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.size(), config_keys().size());
  for (const ConfigKey& key : config_keys()) {
    Config config;
    EXPECT_EQ(set_value(key, key.default_text, config), std::nullopt) << key.name;
    EXPECT_EQ(setting(*loaded, key.name).source, "default");
    // The printed value can be read back, and means the same.
    const std::string printed = setting(*loaded, key.name).value;
    EXPECT_EQ(set_value(key, printed, config), std::nullopt) << key.name << " " << printed;
    EXPECT_EQ(value_text(key, config), printed);
  }
  EXPECT_EQ(loaded->config.drain, 10s);
  EXPECT_EQ(loaded->config.body_bytes, 16u << 20);
  EXPECT_EQ(loaded->config.keep_dead, 30 * 24h);
}

TEST_F(ConfigTest, FlagOverEnvironmentOverFileOverDefault) {
  input.config_flag = write("drain = \"1s\"\nlog_level = \"error\"\nlog_format = \"json\"\n");
  input.environment = {{"MILLRACE_DRAIN", "2s"}, {"MILLRACE_LOG_LEVEL", "warn"}};
  input.flags = {{"drain", "3s"}};
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.drain, 3s);
  EXPECT_EQ(loaded->config.log_level, LogLevel::kWarn);
  EXPECT_EQ(loaded->config.log_format, LogFormat::kJson);
  EXPECT_EQ(setting(*loaded, "drain").source, "flag --drain");
  EXPECT_EQ(setting(*loaded, "log_level").source, "environment MILLRACE_LOG_LEVEL");
  EXPECT_EQ(setting(*loaded, "log_format").source, "file " + *input.config_flag + ":3");
  EXPECT_EQ(setting(*loaded, "data").source, "default");
}

TEST_F(ConfigTest, TheFileIsTheFlagsElseTheEnvironmentsElseTheSystems) {
  const std::string path = write("drain = \"7s\"");
  input.system_file = path;
  EXPECT_EQ(load_config(input)->config.drain, 7s);
  input.system_file = folder_ / "absent.toml";
  input.environment = {{"MILLRACE_CONFIG", path}};
  EXPECT_EQ(load_config(input)->config.drain, 7s);
  input.config_flag = folder_ / "other.toml";
  const auto loaded = load_config(input);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(), ElementsAre(HasSubstr("other.toml: No such file")));
}

TEST_F(ConfigTest, NumbersAndTextsAndTables) {
  input.config_flag = write(
      "[limits]\nbody = 65536\npayload = \"32KiB\"\nheaders = 32\n"
      "[retention]\nsucceeded = \"never\"\ndead = \"0\"\n");
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.body_bytes, 65536u);
  EXPECT_EQ(loaded->config.payload_bytes, 32768u);
  EXPECT_EQ(loaded->config.headers, 32u);
  EXPECT_EQ(loaded->config.keep_succeeded, std::nullopt);
  EXPECT_EQ(loaded->config.keep_dead, 0s);
  EXPECT_EQ(setting(*loaded, "limits.body").value, "64KiB");
  EXPECT_EQ(setting(*loaded, "retention.succeeded").value, "never");
}

TEST_F(ConfigTest, UnknownKeysAreErrorsWithASuggestion) {
  EXPECT_THAT(errors_of("drian = \"1s\""),
              ElementsAre(HasSubstr("millrace.toml:1: unknown key drian; did you mean drain?")));
  EXPECT_THAT(errors_of("[limits]\nbdoy = 1"), ElementsAre(HasSubstr("did you mean limits.body?")));
  EXPECT_THAT(errors_of("idle_timeout = \"1m\""),
              ElementsAre(HasSubstr("did you mean limits.idle_timeout?")));
  EXPECT_THAT(errors_of("[something]\nelse = 1"),
              ElementsAre(testing::EndsWith("unknown key something.else")));
}

TEST_F(ConfigTest, UnknownVariablesAreErrorsButTheClientsAreNot) {
  input.environment = {
      {"MILLRACE_URL", "x"},      {"MILLRACE_TOKEN", "x"},        {"MILLRACE_JOB_ID", "x"},
      {"MILLRACE_ATTEMPT", "1"},  {"MILLRACE_LEASE_TOKEN", "1"},  {"MILLRACE_TYPE", "t"},
      {"MILLRACE_SCHEDULE", "s"}, {"MILLRACE_SCHEDULED_AT", "t"}, {"MILLRACE_WORKER_VERSION", "2"}};
  EXPECT_TRUE(load_config(input));
  input.environment = {{"MILLRACE_LOGLEVEL", "info"}};
  const auto loaded = load_config(input);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error(),
              ElementsAre("unknown environment variable MILLRACE_LOGLEVEL; did you mean "
                          "MILLRACE_LOG_LEVEL?"));
}

TEST_F(ConfigTest, EveryBadValueIsNamedWithWhatItMustBe) {
  const std::pair<const char*, const char*> cases[] = {
      {"listen", ""},
      {"listen", "7600"},
      {"listen", "127.0.0.1"},
      {"listen", "host:1"},
      {"listen", "127.0.0.1:x"},
      {"listen", "127.0.0.1:70000"},
      {"listen", "::1:7600"},
      {"listen", "[::1]"},
      {"listen", "[127.0.0.1]:1"},
      {"data", ""},
      {"postgres", "mysql://host/database"},
      {"postgres", ""},
      {"allow_unsafe_postgres", "yes"},
      {"drain", "10"},
      {"drain", "-1s"},
      {"drain", "2h"},
      {"drain", ""},
      {"log_level", "loud"},
      {"log_format", "xml"},
      {"io_threads", "65"},
      {"io_threads", "two"},
      {"io_threads", "-1"},
      {"limits.body", "17MiB"},
      {"limits.body", "1"},
      {"limits.body", "big"},
      {"limits.payload", "5MiB"},
      {"limits.payload", "0"},
      {"limits.headers", "7"},
      {"limits.headers", "1001"},
      {"limits.json_depth", "0"},
      {"limits.target", "1"},
      {"limits.header_block", "2MiB"},
      {"limits.header_timeout", "1ms"},
      {"limits.idle_timeout", "2d"},
      {"limits.connections", "0"},
      {"limits.max_keys", "0"},
      {"limits.idempotency_window", "0"},
      {"retention.succeeded", "ever"},
      {"retention.dead", "11000d"},
      {"retention.cancelled", ""},
      {"retention.expired", "1"},
      {"retention.events", "never"},
      {"retention.events_size", "1KiB"},
  };
  for (const auto& [key, value] : cases) {
    input.flags = {{key, value}};
    const auto loaded = load_config(input);
    ASSERT_FALSE(loaded) << key << " " << value;
    // An address may hold a password.
    const std::string shown =
        std::string_view(key) == "postgres" ? "" : "(it is \"" + std::string(value) + "\")";
    EXPECT_THAT(loaded.error(), ElementsAre(AllOf(testing::StartsWith(flag_of(key)),
                                                  HasSubstr(" must "), HasSubstr(shown))));
  }
}

TEST_F(ConfigTest, APasswordIsNotShown) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"postgres://me:secret@host/jobs", "postgres://me:***@host/jobs"},
      {"postgres://me:se:c@ret@host:5433/jobs?a=b", "postgres://me:***@host:5433/jobs?a=b"},
      {"postgresql://host/jobs?user=me&password=secret&a=b",
       "postgresql://host/jobs?user=me&password=***&a=b"},
      {"postgres://me@host", "postgres://me@host"},
      {"none", "none"},
  };
  for (const auto& [url, shown] : cases) {
    input.flags = {{"postgres", url}};
    const auto loaded = load_config(input);
    ASSERT_TRUE(loaded) << url;
    EXPECT_EQ(setting(*loaded, "postgres").value, shown);
    EXPECT_EQ(loaded->config.postgres, url == "none" ? "" : url);
  }
}

TEST_F(ConfigTest, NoUrlShowsASecret) {
  input.flags = {{"otlp_endpoint", "https://me:secret@collector:4318/v1/traces?key=secret"}};
  EXPECT_EQ(setting(*load_config(input), "otlp_endpoint").value,
            "https://***@collector:4318/v1/traces?key=***");
  // Nor does the error about one.
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"otlp_endpoint", "grpc://me:secret@collector"},
           {"postgres", "mysql://me:secret@host/jobs"},
           {"postgres", "host=db password=secret"},
           {"advertise", "http://me:secret@10.0.0.7:7600"},
       }) {
    input.flags = {{key, value}};
    const auto loaded = load_config(input);
    ASSERT_FALSE(loaded) << key;
    EXPECT_THAT(loaded.error(), ElementsAre(AllOf(HasSubstr(" must "), Not(HasSubstr("secret")))));
  }
}

TEST_F(ConfigTest, AFileMaySayTrueOrFalse) {
  input.config_flag = write("allow_unsafe_postgres = true\n");
  EXPECT_TRUE(load_config(input)->config.allow_unsafe_postgres);
}

TEST_F(ConfigTest, AllErrorsAreReportedTogether) {
  input.config_flag = write("drain = \"x\"\nnope = 1\n");
  input.environment = {{"MILLRACE_LIMITS_BODY", "x"}};
  input.flags = {{"log_level", "x"}};
  const auto loaded = load_config(input);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().size(), 4u);
}

TEST_F(ConfigTest, BrokenFiles) {
  EXPECT_THAT(errors_of("drain = "), ElementsAre(HasSubstr("millrace.toml:1: ")));
  EXPECT_THAT(errors_of("a = 1\na = 2"), ElementsAre(HasSubstr("millrace.toml:2: ")));
  EXPECT_THAT(errors_of("drain = 1.5"),
              ElementsAre(HasSubstr("must be a string, a whole number, true or false")));
  EXPECT_THAT(errors_of("drain = [\"1s\"]"), ElementsAre(HasSubstr("must be a string")));
  EXPECT_THAT(errors_of("name = \"\xff\""), testing::SizeIs(1));
}

TEST_F(ConfigTest, AnAddressThatOthersReachNeedsTokens) {
  for (const char* listen : {"0.0.0.0:7600", "[::]:7600", "192.0.2.1:80", "[::ffff:10.0.0.1]:80"}) {
    input.flags = {{"listen", listen}};
    const auto loaded = load_config(input);
    ASSERT_FALSE(loaded) << listen;
    EXPECT_THAT(loaded.error(), ElementsAre(HasSubstr("millrace token new")));
  }
  for (const char* listen : {"127.0.0.1:0", "127.8.8.8:1", "[::1]:7600", "localhost:7600"}) {
    input.flags = {{"listen", listen}};
    EXPECT_TRUE(load_config(input)) << listen;
  }
  const IssuedToken token = issue_token(settings_of("t", {"read"}));
  input.config_flag = write(token_toml(token.settings));
  input.flags = {{"listen", "0.0.0.0:7600"}};
  EXPECT_TRUE(load_config(input));
}

TEST_F(ConfigTest, ASocketOfThisMachineNeedsNoTokens) {
  input.flags = {{"listen", "unix:/run/millrace.sock"}, {"socket_mode", "0660"}};
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  const ListenAddress& address = loaded->config.listen;
  EXPECT_EQ(address.path, "/run/millrace.sock");
  EXPECT_TRUE(address.loopback);
  EXPECT_EQ(to_string(address), "unix:/run/millrace.sock");
  EXPECT_FALSE(parse_listen("unix:"));
  EXPECT_FALSE(parse_listen("unix:relative.sock"));
  EXPECT_THAT(errors_of("socket_mode = \"0777\""), ElementsAre(HasSubstr("must be 0600")));
  EXPECT_THAT(errors_of("postgres = \"postgres://u@h/d\""),
              ElementsAre(HasSubstr("on an address")));
}

TEST_F(ConfigTest, ProxiesAreNamedInAnArrayOrInOneText) {
  for (const char* content :
       {"proxies = [\"10.0.0.0/8\", \"fd00::1\"]", "proxies = \"10.0.0.0/8, fd00::1\""}) {
    input.config_flag = write(content);
    const auto loaded = load_config(input);
    ASSERT_TRUE(loaded) << loaded.error().front();
    EXPECT_THAT(loaded->config.proxies, ElementsAre("10.0.0.0/8", "fd00::1"));
    EXPECT_EQ(setting(*loaded, "proxies").value, "10.0.0.0/8,fd00::1");
  }
  EXPECT_THAT(errors_of("proxies = \"none\""), IsEmpty());
  EXPECT_THAT(errors_of("proxies = [\"10.0.0.0/33\"]"), ElementsAre(HasSubstr("10.0.0.0/33")));
  EXPECT_THAT(errors_of("proxies = []"), testing::Not(IsEmpty()));
  EXPECT_THAT(errors_of("data = [\"a\"]"), ElementsAre(HasSubstr("must be a string")));
}

TEST_F(ConfigTest, ATokenMaySayThatItSeesNoPayloads) {
  service::TokenSettings settings = settings_of("blind", {"read"});
  settings.sees_payloads = false;
  const std::string lines = token_toml(issue_token(settings).settings);
  input.config_flag = write(lines);
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->config.tokens[0].sees_payloads);
  const std::string plain = token_toml(issue_token(settings_of("old", {"read"})).settings);
  EXPECT_EQ(plain.find("payload"), std::string::npos);
  input.config_flag = write(plain);
  EXPECT_TRUE(load_config(input)->config.tokens[0].sees_payloads)
      << "as before there was the scope";
  settings.scopes = {"read", "payload"};
  EXPECT_THAT(errors_of(token_toml(issue_token(settings).settings)),
              ElementsAre(HasSubstr("contradicts")));
  EXPECT_THAT(errors_of(plain + "payload = \"no\"\n"), ElementsAre(HasSubstr("true or false")));
}

TEST_F(ConfigTest, ItIsSaidOfEachKeyWhetherItIsReadAgain) {
  std::vector<std::string_view> at_once;
  for (const ConfigKey& key : config_keys()) {
    if (key.reload == Reload::kAtOnce) at_once.push_back(key.name);
  }
  EXPECT_THAT(at_once, ElementsAre("drain", "log_level", "limits.failed_logins"));
}

TEST_F(ConfigTest, TokensAsTheyArePrinted) {
  service::TokenSettings settings = settings_of("deploy", {"submit", "read"});
  settings.queues = {"mail.*"};
  settings.expires_at = parse_rfc3339("2027-01-31T00:00:00Z");
  const IssuedToken token = issue_token(settings);
  input.config_flag = write("drain = \"1s\"\n" + token_toml(token.settings));
  const auto loaded = load_config(input);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->config.tokens.size(), 1u);
  const service::TokenSettings& entry = loaded->config.tokens[0];
  EXPECT_EQ(entry.name, "deploy");
  EXPECT_EQ(entry.hash, token.settings.hash);
  EXPECT_THAT(entry.scopes, ElementsAre("submit", "read"));
  EXPECT_THAT(entry.queues, ElementsAre("mail.*"));
  EXPECT_EQ(entry.expires_at, token.settings.expires_at);
  EXPECT_EQ(loaded->settings.back().key, "tokens.deploy");
  for (const Setting& setting : loaded->settings) {
    EXPECT_THAT(setting.value, testing::Not(HasSubstr("sha256"))) << setting.key;
  }
}

TEST_F(ConfigTest, AFileOfTheDirectoryThatIsNotReadIsNamed) {
  EXPECT_EQ(load_config(input)->warning, "");
  input.local_file = write("");
  EXPECT_THAT(load_config(input)->warning, HasSubstr("give --config " + input.local_file));
  input.config_flag = input.local_file;
  EXPECT_EQ(load_config(input)->warning, "");
}

TEST_F(ConfigTest, ATextWithoutQuotes) {
  EXPECT_THAT(errors_of("listen = 127.0.0.1:7600"), ElementsAre(HasSubstr("put a text in quotes")));
  EXPECT_THAT(errors_of("[push"), ElementsAre(testing::Not(HasSubstr("quotes"))));
}

TEST_F(ConfigTest, BadTokens) {
  const std::string hash =
      "hash = \"" + issue_token(settings_of("a", {"read"})).settings.hash + "\"\n";
  const std::string good = "name = \"a\"\nscopes = [\"read\"]\n" + hash;
  EXPECT_THAT(errors_of("[[tokens]]\n" + good), IsEmpty());
  EXPECT_THAT(errors_of("[[tokens]]\nname = \"a\"\nscopes = [\"read\"]\n"),
              ElementsAre(HasSubstr("needs either a hash or the name in a certificate")));
  EXPECT_THAT(errors_of("[[tokens]]\n" + good + "certificate = \"a.example\"\n"),
              ElementsAre(HasSubstr("needs either a hash or the name in a certificate")));
  EXPECT_THAT(errors_of("[[tokens]]\nname = \"a\"\nscopes = [\"read\"]\nhash = \"x\"\n"),
              ElementsAre(HasSubstr("the hash is not valid")));
  EXPECT_THAT(errors_of("[[tokens]]\nname = \"a\"\nscopes = [\"reed\"]\n" + hash),
              ElementsAre(HasSubstr("unknown scope \"reed\"")));
  EXPECT_THAT(errors_of("[[tokens]]\nname = \"a\"\n" + hash), ElementsAre(HasSubstr("no scopes")));
  EXPECT_THAT(errors_of("[[tokens]]\nscopes = \"read\"\nname = \"a\"\n" + hash),
              Contains(HasSubstr("must be an array of one or more strings")));
  EXPECT_THAT(errors_of("[[tokens]]\nscope = [\"read\"]\n" + good),
              ElementsAre(HasSubstr("unknown key tokens.scope; did you mean scopes?")));
  EXPECT_THAT(errors_of("[[tokens]]\nqueues = [\"a b\"]\n" + good),
              ElementsAre(HasSubstr("\"a b\" can't match the name of a queue")));
  EXPECT_THAT(errors_of("[[tokens]]\nexpires_at = \"tomorrow\"\n" + good),
              ElementsAre(HasSubstr("must be a time")));
  EXPECT_THAT(errors_of("[[tokens]]\nexpires_at = 2027-01-31T00:00:00Z\n" + good), IsEmpty());
  EXPECT_THAT(errors_of("[[tokens]]\n" + good + "[[tokens]]\n" + good),
              ElementsAre(HasSubstr("two tokens have the name \"a\"")));
  EXPECT_THAT(errors_of("tokens = 3"), ElementsAre(HasSubstr("[[tokens]]")));
}

TEST(Token, IsNewEveryTimeAndItsHashHidesIt) {
  const IssuedToken a = issue_token(settings_of("a", {"read"}));
  const IssuedToken b = issue_token(settings_of("a", {"read"}));
  EXPECT_NE(a.text, b.text);
  const std::string secret = a.text.substr(17, 64);
  EXPECT_THAT(token_toml(a.settings), testing::Not(HasSubstr(secret)));
  const auto book = service::TokenBook::make({a.settings});
  ASSERT_TRUE(book);
  EXPECT_NE(book->authenticate("Bearer " + a.text, Time{}), nullptr);
  EXPECT_EQ(book->authenticate("Bearer " + b.text, Time{}), nullptr);
}

}  // namespace
}  // namespace millrace::server
