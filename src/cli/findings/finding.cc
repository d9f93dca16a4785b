#include "cli/findings/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/words.h"
#include "cli/limit/calls.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kIndent = 6;
constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kWidth = 100;  // used without a terminal

// Breaks text between words, and indents every line but the first.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line > 0 && line + 1 + width_of(word) > width) {
      out += "\n" + std::string(kIndent, ' ');
      line = 0;
    } else if (line > 0) {
      out += ' ';
      ++line;
    }
    out += word;
    line += width_of(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Severity severity_named(std::string_view name) {
  for (const Severity severity : {Severity::kBad, Severity::kWarn}) {
    if (name == api::name_of(severity)) return severity;
  }
  return Severity::kNote;
}

std::string text(sdk::JsonView value) { return value.string().value_or(""); }

std::string worded(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// The worst first.
std::vector<Finding> ordered(const std::vector<Finding>& findings) {
  std::vector<Finding> sorted;
  for (const Severity severity : {Severity::kBad, Severity::kWarn, Severity::kNote}) {
    std::ranges::copy_if(findings, std::back_inserter(sorted),
                         [&](const Finding& each) { return each.severity == severity; });
  }
  return sorted;
}

// All to be shown, the worst first; those of one severity that were left out come last.
std::vector<Finding> lines_of(const Findings& findings) {
  std::vector<Finding> lines = findings.items;
  for (const Findings::More& more : findings.more) {
    Finding& line = lines.emplace_back();
    line.code = more.code;
    line.severity = more.severity;
    line.what = fmt::format("{} more like these ({})", more.count, more.code);
  }
  return ordered(lines);
}

}  // namespace

sdk::Result<Findings> read_findings(sdk::Client& client, std::string_view query) {
  const auto answer = send(client, "GET", fmt::format("/v1/findings?{}", query));
  if (!answer) return std::unexpected(answer.error());
  const sdk::JsonView body(*answer);
  Findings found;
  for (const sdk::JsonView item : body["items"].elements()) {
    found.items.push_back({.code = text(item["code"]),
                           .severity = severity_named(text(item["severity"])),
                           .what = text(item["what"]),
                           .why = text(item["why"]),
                           .next = text(item["next"]),
                           .json = std::string(item.text())});
  }
  for (const sdk::JsonView more : body["more"].elements()) {
    found.more.push_back({text(more["code"]), severity_named(text(more["severity"])),
                          more["count"].integer().value_or(0)});
  }
  for (const sdk::JsonView part : body["not_looked_at"].elements()) {
    found.not_looked_at.push_back(
        fmt::format("{}: {}", worded(text(part["about"])), text(part["why"])));
  }
  for (const auto& [name, count] : body["looked_at"].members()) {
    found.looked_at.emplace_back(name, count.integer().value_or(0));
  }
  return found;
}

void merge(Findings& all, Findings others) {
  for (Finding& finding : others.items) {
    const bool is_there = std::ranges::any_of(all.items, [&](const Finding& known) {
      return known.code == finding.code && known.what == finding.what;
    });
    if (!is_there) all.items.push_back(std::move(finding));
  }
  std::ranges::move(others.more, std::back_inserter(all.more));
}

bool has_faults(const Findings& findings) {
  const auto is_fault = [](const auto& each) { return each.severity != Severity::kNote; };
  return std::ranges::any_of(findings.items, is_fault) ||
         std::ranges::any_of(findings.more, is_fault);
}

void write_findings(sdk::JsonWriter& json, const Findings& findings) {
  json.key("findings").begin_array();
  for (const Finding& finding : ordered(findings.items)) {
    if (!finding.json.empty()) {
      json.raw(finding.json);
      continue;
    }
    json.begin_object();
    json.key("code").string(finding.code);
    json.key("severity").string(api::name_of(finding.severity));
    json.key("about").raw("{}");
    json.key("what").string(finding.what);
    json.key("why").string(finding.why);
    json.key("next").string(finding.next);
    json.key("command").null();
    json.key("figures").raw("[]");
    json.end_object();
  }
  json.end_array();
  json.key("more").begin_array();
  for (const Findings::More& more : findings.more) {
    json.begin_object();
    json.key("code").string(more.code);
    json.key("severity").string(api::name_of(more.severity));
    json.key("count").integer(more.count);
    json.end_object();
  }
  json.end_array();
}

std::string looked_at_text(const Findings& findings) {
  std::string all;
  for (const auto& [name, count] : findings.looked_at) {
    const std::string many = worded(name);
    all += (all.empty() ? "" : ", ") + count_of(count, many.substr(0, many.size() - 1), many);
  }
  return all;
}

std::string findings_text(const Findings& findings, std::size_t width) {
  const std::size_t columns = std::max(width == kNoLimit ? kWidth : width, kLeastWidth) - kIndent;
  std::string text;
  for (const Finding& finding : lines_of(findings)) {
    text += fmt::format("{:<{}}{}\n", api::name_of(finding.severity), kIndent,
                        wrapped(printable(finding.what), columns));
    for (const std::string& line :
         {finding.why, finding.next.empty() ? "" : "Next: " + finding.next}) {
      if (line.empty()) continue;
      text += std::string(kIndent, ' ') + wrapped(printable(line), columns) + "\n";
    }
  }
  return text;
}

std::string findings_lines(const Findings& findings, std::size_t width, std::size_t most) {
  std::string text;
  const std::vector<Finding> lines = lines_of(findings);
  const std::size_t all = lines.size();
  const std::size_t shown = all <= most ? all : most - std::min<std::size_t>(most, 1);
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = lines[i];
    const std::string title =
        fmt::format("{:<{}}{}", api::name_of(finding.severity), kIndent, finding.what);
    const std::string line = finding.next.empty() ? title : title + ": " + finding.next;
    if (width_of(printable(line)) <= width) {
      text += printable(line) + "\n";
      continue;
    }
    // The next step matters most to a person, so it gets a line of its own.
    text += printable(title, width) + "\n";
    if (finding.next.empty()) continue;
    text += printable(std::string(kIndent, ' ') + finding.next, width) + "\n";
  }
  if (shown < all) {
    text +=
        printable(fmt::format("{:<{}}{} more; see `millrace doctor`", "...", kIndent, all - shown),
                  width) +
        "\n";
  }
  return text;
}

}  // namespace millrace::cli
