// The names and retry policies that the events of a batch share, written once and referred to by
// number. A reference is the index plus 1; 0 means none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/bytes.h"
#include "core/jobs/job.h"

namespace millrace::store {

class SharedPartsWriter {
 public:
  std::uint32_t reference(const SharedBytes& name) {
    if (name.empty()) return 0;
    // The maker of the events interns names, so that equal names mostly have the same address.
    const void* address = name.view().data();
    Recent& recent = recent_[(reinterpret_cast<std::uintptr_t>(address) >> 4) % recent_.size()];
    if (recent.address != address) recent = {address, find_or_add(name)};
    return recent.reference;
  }

  std::uint32_t reference(const std::shared_ptr<const core::RetryPolicy>& policy) {
    if (policy == nullptr) return 0;
    if (policy.get() == last_policy_) return last_policy_reference_;
    return find_or_add(policy);
  }

  // In order of first use; valid as long as the batch they come from.
  const std::vector<SharedBytes>& names() const { return names_; }
  const std::vector<std::shared_ptr<const core::RetryPolicy>>& policies() const {
    return policies_;
  }

 private:
  struct Recent {
    const void* address = nullptr;
    std::uint32_t reference = 0;
  };

  std::uint32_t find_or_add(const SharedBytes& name);
  std::uint32_t find_or_add(const std::shared_ptr<const core::RetryPolicy>& policy);

  std::array<Recent, 64> recent_{};
  absl::flat_hash_map<std::string_view, std::uint32_t> by_name_;
  std::vector<SharedBytes> names_;
  std::vector<std::shared_ptr<const core::RetryPolicy>> policies_;
  const core::RetryPolicy* last_policy_ = nullptr;
  std::uint32_t last_policy_reference_ = 0;
};

struct SharedPartsReader {
  std::vector<SharedBytes> names;
  std::vector<std::shared_ptr<const core::RetryPolicy>> policies;
};

// The shared default instance if `policy` equals it, as most jobs' policies do.
std::shared_ptr<const core::RetryPolicy> share(core::RetryPolicy policy);

}  // namespace millrace::store
