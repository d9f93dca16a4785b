#include "cli/workflow/drawing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kMostNames = 3;  // of the needs of a member
constexpr std::size_t kMostIndent = 60;
constexpr std::size_t kLeastName = 20;

std::string count_text(std::size_t count) { return grouped(static_cast<std::int64_t>(count)); }

using Places = std::vector<std::size_t>;

// A line of the drawing: members that lie alike, most often one.
struct Line {
  Places members;
  Places children;  // lines
};

struct Dependant {
  std::size_t member = 0;
  std::string_view on;
};

struct Graph {
  const std::vector<DrawnMember>& members;
  std::vector<std::vector<Dependant>> dependants;
  Places order;  // each member after those that it needs
  Places depth;  // the number of needs on the longest way to each
};

Graph read_graph(const std::vector<DrawnMember>& members) {
  const std::size_t size = members.size();
  Graph graph{members, std::vector<std::vector<Dependant>>(size), {}, Places(size)};
  Places unmet(size);
  for (std::size_t i = 0; i < size; ++i) {
    unmet[i] = members[i].needs.size();
    for (const DrawnMember::Need& need : members[i].needs) {
      graph.dependants[need.of].push_back({i, need.on});
    }
    if (unmet[i] == 0) graph.order.push_back(i);
  }
  for (std::size_t at = 0; at < graph.order.size(); ++at) {
    const std::size_t member = graph.order[at];
    for (const Dependant& dependant : graph.dependants[member]) {
      std::size_t& depth = graph.depth[dependant.member];
      depth = std::max(depth, graph.depth[member] + 1);
      if (--unmet[dependant.member] == 0) graph.order.push_back(dependant.member);
    }
  }
  return graph;
}

// Gives each distinct value a number.
template <typename Value>
class Numbers {
 public:
  std::size_t of(const Value& value) {
    return made_.try_emplace(value, made_.size()).first->second;
  }

 private:
  std::map<Value, std::size_t> made_;
};

using Neighbours = std::vector<std::pair<std::size_t, std::string_view>>;

Neighbours unique(Neighbours neighbours) {
  std::ranges::sort(neighbours);
  const auto repeated = std::ranges::unique(neighbours);
  neighbours.erase(repeated.begin(), repeated.end());
  return neighbours;
}

// Members with the same number need members that lie alike, and are needed by such.
Places likeness(const Graph& graph) {
  const std::size_t size = graph.members.size();
  Places above(size);
  Numbers<Neighbours> above_numbers;
  for (const std::size_t member : graph.order) {
    Neighbours needs;
    for (const auto& need : graph.members[member].needs) {
      needs.emplace_back(above[need.of], need.on);
    }
    above[member] = above_numbers.of(unique(std::move(needs)));
  }
  Places below(size);
  Numbers<Neighbours> below_numbers;
  Places alike(size);
  Numbers<std::pair<std::size_t, std::size_t>> alike_numbers;
  for (auto at = graph.order.rbegin(); at != graph.order.rend(); ++at) {
    Neighbours dependants;
    for (const Dependant& one : graph.dependants[*at]) {
      // Also by what else the dependant needs: a member of another shape is not like this one.
      dependants.emplace_back(alike[one.member], one.on);
    }
    below[*at] = below_numbers.of(unique(std::move(dependants)));
    alike[*at] = alike_numbers.of({above[*at], below[*at]});
  }
  return alike;
}

// The line of each member.
Places lines_of(const Graph& graph) {
  if (graph.members.size() > kMostDrawnLines) return likeness(graph);
  Places lines(graph.members.size());
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = i;
  return lines;
}

// The need below which a member is drawn.
std::size_t parent_of(const Graph& graph, std::size_t member) {
  const auto& needs = graph.members[member].needs;
  const auto place = [&](const DrawnMember::Need& need) {
    return std::pair(graph.depth[need.of], need.of);
  };
  return std::ranges::max_element(needs, {}, place)->of;
}

std::string need_text(const DrawnMember& member, const std::vector<DrawnMember>& members) {
  const auto& needs = member.needs;
  const bool is_plain = needs.size() == 1 && needs.front().on == "succeeded";
  if (needs.empty() || is_plain) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(needs.size(), kMostNames); ++i) {
    const std::string& name = members[needs[i].of].name;
    const bool is_usual = needs[i].on == "succeeded";
    names.push_back(is_usual ? name : fmt::format("{} ({})", name, needs[i].on));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (needs.size() > kMostNames) {
    text += fmt::format(" and {} more", count_text(needs.size() - kMostNames));
  }
  return text;
}

std::string state_text(const Line& line, const std::vector<DrawnMember>& members) {
  if (line.members.size() == 1) return members[line.members.front()].state;
  std::map<std::string_view, std::size_t> counts;
  for (const std::size_t member : line.members) ++counts[members[member].state];
  std::vector<std::string> parts;
  for (const std::string_view state : {"succeeded", "failed", "skipped", "active", "blocked"}) {
    const auto found = counts.find(state);
    if (found == counts.end()) continue;
    parts.push_back(fmt::format("{} {}", count_text(found->second), state));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_text(const Line& line, const std::vector<DrawnMember>& members) {
  const std::string& first = members[line.members.front()].name;
  if (line.members.size() == 1) return first;
  return fmt::format("{} and {} like it", first, count_text(line.members.size() - 1));
}

class Drawing {
 public:
  Drawing(const Graph& graph, const std::vector<Line>& lines) : graph_(graph), lines_(lines) {}

  // Draws these lines and all below them.
  void draw(const Places& roots) {
    struct Step {
      std::size_t line;
      std::string indent;  // of the line
      std::string below;   // of its children
    };
    std::vector<Step> steps;
    for (const std::size_t root : roots) {
      steps.push_back({root, "", ""});
      while (!steps.empty()) {
        const Step step = std::move(steps.back());
        steps.pop_back();
        add(lines_[step.line], step.indent);
        const Places& children = lines_[step.line].children;
        for (std::size_t i = children.size(); i > 0; --i) {
          const bool is_last = i == children.size();
          steps.push_back({children[i - 1], step.below + (is_last ? "`- " : "|- "),
                           step.below + (is_last ? "   " : "|  ")});
        }
      }
    }
  }

  std::string text(std::size_t width) const {
    std::string text = table_.text(width);
    if (left_out_ > 0) text += fmt::format("... and {} more lines\n", count_text(left_out_));
    return text;
  }

 private:
  void add(const Line& line, std::string_view indent) {
    if (drawn_ == kMostDrawnLines) {
      ++left_out_;
      return;
    }
    ++drawn_;
    std::string shown(indent);
    if (shown.size() > kMostIndent) shown.replace(0, shown.size() - kMostIndent, "...");
    table_.add({shown + name_text(line, graph_.members), state_text(line, graph_.members),
                need_text(graph_.members[line.members.front()], graph_.members)});
  }

  const Graph& graph_;
  const std::vector<Line>& lines_;
  Table table_{
      {{.title = "MEMBER", .least = kLeastName}, {"STATE"}, {.title = "NEEDS", .least = 0}}};
  std::size_t drawn_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string draw_graph(const std::vector<DrawnMember>& members, std::size_t width) {
  const Graph graph = read_graph(members);
  const Places line_of = lines_of(graph);
  std::vector<Line> lines(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) lines[line_of[i]].members.push_back(i);
  Places roots;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (lines[line_of[i]].members.front() != i) continue;
    const bool is_root = members[i].needs.empty();
    (is_root ? roots : lines[line_of[parent_of(graph, i)]].children).push_back(line_of[i]);
  }
  Drawing drawing(graph, lines);
  drawing.draw(roots);
  return drawing.text(width);
}

}  // namespace millrace::cli
