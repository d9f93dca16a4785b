#include "engine/statistics/top_names.h"

#include <algorithm>
#include <utility>

#include "engine/models/model_bytes.h"

namespace millrace::engine {

bool TopNames::wants(std::string_view name) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (names_.size() >= kCountedNames) return false;
    found = names_.try_emplace(std::string(name)).first;
    found->second.chosen = chosen_ < most_;
    if (found->second.chosen) ++chosen_;
  }
  return found->second.chosen;
}

void TopNames::count(std::string_view name, std::uint64_t events) {
  const auto found = names_.find(name);
  if (found != names_.end()) found->second.score += events;
}

std::vector<std::string> TopNames::choose() {
  std::vector<std::pair<std::uint64_t, std::string>> order;
  // A name in the top stays unless another has twice its count.
  for (const auto& [name, of] : names_) {
    order.emplace_back(of.chosen ? 2 * of.score + 1 : of.score, name);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> gone;
  chosen_ = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Name& name = names_.find(order[i].second)->second;
    const bool chosen = i < most_;
    if (name.chosen && !chosen) gone.emplace_back(order[i].second);
    name.chosen = chosen;
    if (chosen) ++chosen_;
    name.score /= 2;
  }
  absl::erase_if(
      names_, [&](const auto& entry) { return entry.second.score == 0 && !entry.second.chosen; });
  // Make room for new names.
  if (names_.size() < kCountedNames) return gone;
  for (auto at = order.rbegin(); at != order.rend() && names_.size() > kCountedNames / 2; ++at) {
    const auto found = names_.find(at->second);
    if (found != names_.end() && !found->second.chosen) names_.erase(found);
  }
  return gone;
}

void TopNames::save(std::string& out) const {
  append_number(out, names_.size());
  for (const auto& [name, of] : names_) {
    append_text(out, name);
    append_number(out, of.score * 2 + (of.chosen ? 1 : 0));
  }
}

bool TopNames::load(std::string_view content) {
  ModelReader in(content);
  for (std::uint64_t left = in.number(kCountedNames); left > 0 && in.ok(); --left) {
    const std::string name = in.text();
    const std::uint64_t of = in.number();
    if (!in.ok()) break;
    names_[name] = {of / 2, of % 2 == 1};
    if (of % 2 == 1) ++chosen_;
  }
  return in.ok() && in.at_end();
}

}  // namespace millrace::engine
