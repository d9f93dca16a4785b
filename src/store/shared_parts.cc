#include "store/shared_parts.h"

#include <utility>

namespace millrace::store {

std::uint32_t SharedPartsWriter::find_or_add(const SharedBytes& name) {
  const auto next = static_cast<std::uint32_t>(names_.size() + 1);
  const auto [place, added] = by_name_.try_emplace(name.view(), next);
  if (added) names_.push_back(name);
  return place->second;
}

std::uint32_t SharedPartsWriter::find_or_add(
    const std::shared_ptr<const core::RetryPolicy>& policy) {
  std::size_t index = 0;
  while (index < policies_.size() && *policies_[index] != *policy) ++index;
  if (index == policies_.size()) policies_.push_back(policy);
  last_policy_ = policy.get();
  last_policy_reference_ = static_cast<std::uint32_t>(index + 1);
  return last_policy_reference_;
}

std::shared_ptr<const core::RetryPolicy> share(core::RetryPolicy policy) {
  const auto& usual = core::default_retry_policy();
  if (policy == *usual) return usual;
  return std::make_shared<const core::RetryPolicy>(std::move(policy));
}

}  // namespace millrace::store
