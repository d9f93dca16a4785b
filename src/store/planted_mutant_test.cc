// MILLRACE_MUTANT=NAME store_test: plants a known bug (base/mutant.h), which the contract tests
// must find in the affected stores. See sim/mutants.
#include "base/mutant.h"

#ifdef MILLRACE_MUTANTS

#include <cstdlib>

#include "base/check.h"

namespace millrace::store {
namespace {

const bool planted = [] {
  const char* const name = std::getenv("MILLRACE_MUTANT");
  if (name == nullptr) return false;
  planted_mutant = mutant_by_name(name);
  MILLRACE_CHECK(planted_mutant != Mutant::kNone);
  return true;
}();

}  // namespace
}  // namespace millrace::store

#endif
