#include "cli/findings/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

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

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kBad:
      return "bad";
    case Severity::kWarn:
      return "warn";
    case Severity::kNote:
      return "note";
  }
  return "";
}

void put_in_order(Findings& findings) {
  std::map<std::string, std::size_t, std::less<>> told;
  std::map<std::string, Finding, std::less<>> rest;
  std::erase_if(findings, [&](const Finding& finding) {
    if (++told[finding.id] <= kMostOfAKind) return false;
    rest.try_emplace(finding.id, finding);
    return true;
  });
  for (auto& [id, finding] : rest) {
    finding.what = fmt::format("{} more like these ({})", told[id] - kMostOfAKind, id);
    finding.why.clear();
    findings.push_back(std::move(finding));
  }
  Findings sorted;
  for (const Severity severity : {Severity::kBad, Severity::kWarn, Severity::kNote}) {
    for (Finding& finding : findings) {
      if (finding.severity == severity) sorted.push_back(std::move(finding));
    }
  }
  findings = std::move(sorted);
}

bool has_faults(const Findings& findings) {
  return std::ranges::any_of(findings,
                             [](const Finding& f) { return f.severity != Severity::kNote; });
}

std::string findings_json(const Findings& findings) {
  sdk::JsonWriter json;
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    json.key("id").string(finding.id);
    json.key("severity").string(name_of(finding.severity));
    json.key("what").string(finding.what);
    json.key("why").string(finding.why);
    json.key("next").string(finding.next);
    json.end_object();
  }
  json.end_array();
  return json.take();
}

std::string findings_text(const Findings& findings, std::size_t width) {
  const std::size_t columns = std::max(width == kNoLimit ? kWidth : width, kLeastWidth) - kIndent;
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<{}}{}\n", name_of(finding.severity), kIndent,
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
  const std::size_t all = findings.size();
  const std::size_t shown = all <= most ? all : most - std::min<std::size_t>(most, 1);
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = findings[i];
    const std::string title =
        fmt::format("{:<{}}{}", name_of(finding.severity), kIndent, finding.what);
    const std::string line = finding.next.empty() ? title : title + ": " + finding.next;
    if (width_of(printable(line)) <= width) {
      text += printable(line) + "\n";
      continue;
    }
    // The next step matters most to a person, so it gets a line of its own.
    text += printable(title, width) + "\n";
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
