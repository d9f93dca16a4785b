// Any bytes as the URL of a push target: an accepted URL has one canonical form, which is read back
// unchanged, and a host that is an address is judged by the rules for that address.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "push/address_policy.h"
#include "push/url.h"

namespace {
using namespace millrace::push;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> memory(data, data + size);
  const std::string_view text(memory.data(), size);
  (void)parse_network(text);
  const auto url = parse_url(text);
  AddressPolicy policy;
  policy.allow_http = true;
  policy.all_ports = true;
  const auto allowed = parse_url(text, policy);
  if (!url) {
    MILLRACE_CHECK(!url.error().message.empty());
    MILLRACE_CHECK(!allowed);
    return 0;
  }
  const std::string form = url->text();
  for (const char c : form) MILLRACE_CHECK(c > ' ' && c < 0x7f);
  MILLRACE_CHECK(form.find('@') == std::string::npos ||
                 form.find('@') > form.find('/', form.find("://") + 3));
  const auto again = parse_url(form);
  MILLRACE_CHECK(again.has_value() && *again == *url);
  if (url->literal) MILLRACE_CHECK(allowed.has_value() == policy.refusal(*url->literal).empty());
  if (allowed && allowed->literal) MILLRACE_CHECK(special_kind(*allowed->literal).empty());
  return 0;
}
