// The graph of a workflow as text, for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::cli {

// A longer drawing is summarised, and then cut.
constexpr std::size_t kMostDrawnLines = 200;

struct DrawnMember {
  struct Need {
    std::size_t of = 0;            // a place in the list of members
    std::string on = "succeeded";  // or "failed", "ended"
  };
  std::string name;  // printable
  std::string state;
  std::vector<Need> needs;
};

// Each member once, below the need that is furthest from the beginning, with its other needs beside
// it. If there are more members than kMostDrawnLines, those that lie alike in the graph share a
// line that counts their states. The needs must form no circle. At most `width` columns wide, if
// possible.
std::string draw_graph(const std::vector<DrawnMember>& members, std::size_t width);

}  // namespace millrace::cli
