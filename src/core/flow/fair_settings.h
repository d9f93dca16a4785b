// A queue's settings for fair shares and ageing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "terms/flow.h"

namespace millrace::core {

using terms::FairBy;

struct FairWeight {
  SharedBytes key;  // empty: for jobs without a key
  std::uint32_t weight = 1;
  friend bool operator==(const FairWeight&, const FairWeight&) = default;
};

struct FairSettings {
  std::vector<FairWeight> weights;   // at most kMaxFairWeights
  std::uint32_t default_weight = 1;  // for every other key
  FairBy by = FairBy::kTime;
  friend bool operator==(const FairSettings&, const FairSettings&) = default;
};

}  // namespace millrace::core
