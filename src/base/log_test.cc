#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using std::string_literals::operator""s;

const Time kAt = time_from_ms(1'772'357'400'123);  // 2026-03-01T09:30:00.123Z

std::string format_log_line(LogFormat format, Time at, LogLevel level, std::string_view message,
                            LogFields fields) {
  return format_log_line(format, at, level, message, LogFieldSpan(fields.begin(), fields.size()));
}

std::string text_value(std::string_view value) {
  const std::string line =
      format_log_line(LogFormat::kText, kAt, LogLevel::kInfo, "m", {{"k", value}});
  return line.substr(line.find(" k=") + 3);
}

std::string json_value(std::string_view value) {
  const std::string line =
      format_log_line(LogFormat::kJson, kAt, LogLevel::kInfo, "m", {{"k", value}});
  const std::size_t at = line.find(R"("k":)") + 4;
  return line.substr(at, line.size() - at - 1);
}

TEST(Log, TextLine) {
  EXPECT_EQ(format_log_line(LogFormat::kText, kAt, LogLevel::kWarn, "request",
                            {{"method", "GET"}, {"status", 200}, {"ms", 1.25}, {"closed", true}}),
            "2026-03-01T09:30:00.123Z WARN  request method=GET status=200 ms=1.25 closed=true");
}

TEST(Log, JsonLine) {
  EXPECT_EQ(format_log_line(
                LogFormat::kJson, kAt, LogLevel::kError, "request",
                {{"method", "GET"}, {"size", std::uint64_t{18446744073709551615u}}, {"d", -3}}),
            R"({"time":"2026-03-01T09:30:00.123Z","level":"error","message":"request",)"
            R"("method":"GET","size":18446744073709551615,"d":-3})");
}

TEST(Log, HostileTextIsEscaped) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"plain", "plain"},
      {"", R"("")"},
      {"two words", R"("two words")"},
      {"a=b", R"("a=b")"},
      {"quote\"d", R"("quote\"d")"},
      {"back\\slash", R"("back\\slash")"},
      {"line\nbreak\r", R"("line\nbreak\r")"},
      {"tab\t", R"("tab\t")"},
      {"\x1b[31mred", R"("\x1b[31mred")"},
      {"nul\0!"s, R"("nul\x00!")"},
      {"del\x7f", R"("del\x7f")"},
      {"c1\xc2\x9b", R"("c1\u{9b}")"},          // CSI in eight bits
      {"rtl\xe2\x80\xae", R"("rtl\u{202e}")"},  // reverses the rest of the line
      {"sep\xe2\x80\xa8", R"("sep\u{2028}")"},
      {"zero\xe2\x80\x8b", R"("zero\u{200b}")"},
      {"tag\xf3\xa0\x81\x81", R"("tag\u{e0041}")"},
      {"caf\xc3\xa9", "\"caf\xc3\xa9\""},  // ordinary letters stay
      {"lone\x80", R"("lone\x80")"},
      {"overlong\xc0\xaf", R"("overlong\xc0\xaf")"},
      {"surrogate\xed\xa0\x80", R"("surrogate\xed\xa0\x80")"},
      {"high\xf4\x90\x80\x80", R"("high\xf4\x90\x80\x80")"},
      {"cut short\xe2\x82", R"("cut short\xe2\x82")"},
  };
  for (const auto& [given, wanted] : cases) EXPECT_EQ(text_value(given), wanted);
}

TEST(Log, HostileTextIsEscapedInJson) {
  EXPECT_EQ(json_value("a\"b\\c\n\x1b"), R"("a\"b\\c\u000a\u001b")");
  EXPECT_EQ(json_value("lone\x80"), R"("lone\ufffd")");
  EXPECT_EQ(json_value("tag\xf3\xa0\x81\x81"), R"("tag\udb40\udc41")");
  EXPECT_EQ(json_value("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(Log, TheMessageIsEscapedToo) {
  EXPECT_EQ(format_log_line(LogFormat::kText, kAt, LogLevel::kInfo, "a\nb", {}),
            "2026-03-01T09:30:00.123Z INFO  a\\nb");
}

TEST(Log, LongValuesAreCut) {
  EXPECT_EQ(text_value(std::string(kMaxLogValueBytes, 'x')), std::string(kMaxLogValueBytes, 'x'));
  EXPECT_EQ(text_value(std::string(kMaxLogValueBytes + 7, 'x')),
            std::string(kMaxLogValueBytes, 'x') + "...(+7 bytes)");
  // Never within a character.
  const std::string euros = std::string(kMaxLogValueBytes - 1, 'x') + "\xe2\x82\xac";
  EXPECT_EQ(json_value(euros), '"' + std::string(kMaxLogValueBytes - 1, 'x') + "...(+3 bytes)\"");
}

class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

TEST(Log, LevelsBelowTheLeastAreSilent) {
  Lines sink;
  const Logger log(sink, LogFormat::kText, LogLevel::kWarn, [] { return kAt; });
  log.debug("no");
  log.info("no");
  log.warn("yes");
  log.error("yes");
  EXPECT_EQ(sink.lines, (std::vector<std::string>{"2026-03-01T09:30:00.123Z WARN  yes",
                                                  "2026-03-01T09:30:00.123Z ERROR yes"}));
  const Logger silent;
  silent.error("goes nowhere");
  EXPECT_FALSE(silent.enabled(LogLevel::kError));
}

TEST(Log, LevelNames) {
  for (const auto* name : {"debug", "info", "warn", "error"}) {
    EXPECT_EQ(to_string(parse_log_level(name).value()), name);
  }
  EXPECT_FALSE(parse_log_level("INFO"));
  EXPECT_FALSE(parse_log_level(""));
}

}  // namespace
}  // namespace millrace
