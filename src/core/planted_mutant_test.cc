// MILLRACE_MUTANT=NAME core_test: plants a known bug (base/mutant.h), which the random test of
// limits must find. See sim/mutants.
#include "base/mutant.h"

#ifdef MILLRACE_MUTANTS

#include <cstdlib>

#include "base/check.h"

namespace millrace::core {
namespace {

const bool planted = [] {
  const char* const name = std::getenv("MILLRACE_MUTANT");
  if (name == nullptr) return false;
  planted_mutant = mutant_by_name(name);
  MILLRACE_CHECK(planted_mutant != Mutant::kNone);
  return true;
}();

}  // namespace
}  // namespace millrace::core

#endif
