#include "http/connection/request_guard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/ascii.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

// The space in a request line for everything but its target: the method, the version and the
// spaces. No known method is longer.
constexpr std::size_t kRequestLineSlackBytes = 64;

enum CharacterClass : std::uint8_t {
  kTokenCharacter = 1,   // RFC 9110: names and methods
  kTargetCharacter = 2,  // visible ASCII except '#', since fragments are never sent
  kValueCharacter = 4,   // tab, space, visible ASCII, and all bytes above ASCII
  kHostCharacter = 8,
};

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) {
    if (is_alphanumeric(static_cast<char>(c))) classes[c] |= kTokenCharacter | kHostCharacter;
    if (c > ' ' && c < 0x7f && c != '#') classes[c] |= kTargetCharacter;
    if (c == '\t' || (c >= ' ' && c != 0x7f)) classes[c] |= kValueCharacter;
  }
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) {
    classes[static_cast<unsigned char>(c)] |= kTokenCharacter;
  }
  for (const char c : std::string_view(".-_~:[]%!$&'()*+,;=")) {
    classes[static_cast<unsigned char>(c)] |= kHostCharacter;
  }
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool all_of_class(std::string_view text, CharacterClass wanted) {
  return std::all_of(text.begin(), text.end(), [wanted](char c) {
    return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
  });
}

std::string_view trim(std::string_view text, std::string_view what) {
  const std::size_t first = text.find_first_not_of(what);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

api::Method parse_method(std::string_view text) {
  using api::Method;
  for (const Method method : {Method::kGet, Method::kHead, Method::kPost, Method::kPut,
                              Method::kPatch, Method::kDelete}) {
    if (text == api::name_of(method)) return method;
  }
  return Method::kOther;
}

std::uint64_t saturating_number(std::string_view digits) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - digit) / 10) return kMax;
    value = value * 10 + digit;
  }
  return value;
}

constexpr std::string_view kNoProxyHeader =
    "the server takes a PROXY header of version 2 alone, and from the addresses of `proxies` alone";

// A version 2 PROXY header begins with an empty line.
constexpr std::string_view kEmptyLine =
    "the request line is empty; the server takes a PROXY header from the addresses of `proxies` "
    "alone";

GuardFault bad(std::string_view detail) { return {ProblemCode::kInvalidRequest, detail}; }

}  // namespace

std::string_view RequestHead::query() const {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

const Field* RequestHead::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

void RequestGuard::reset() {
  line_start_ = 0;
  field_lines_ = 0;
  scanned_ = 0;
  fault_.reset();
}

RequestGuard::Verdict RequestGuard::refuse(ProblemCode code, std::string_view detail) {
  fault_ = GuardFault{code, detail};
  return Verdict::kRefused;
}

// Sizes are checked before contents, for whole and partial lines alike. So a line that came in
// pieces gets the same verdict as one that came at once.
std::optional<GuardFault> RequestGuard::overflow(std::size_t line_size) const {
  if (line_start_ == 0 && line_size > limits_.target_bytes + kRequestLineSlackBytes) {
    return GuardFault{ProblemCode::kUriTooLong,
                      "the request line is too long; shorten the path or the query"};
  }
  if (line_start_ + line_size > limits_.block_bytes) {
    return GuardFault{ProblemCode::kHeadersTooLarge,
                      "the header block is too large; send fewer or shorter fields"};
  }
  return std::nullopt;
}

// Looks for the end of the head line by line; contents are parsed once it has arrived. Sizes, bare
// line feeds and the number of fields are checked before, so that nobody waits for an end that
// would change nothing.
RequestGuard::Verdict RequestGuard::advance(std::string_view received) {
  if (fault_) return Verdict::kRefused;
  while (true) {
    const void* found = scanned_ < received.size() ? std::memchr(received.data() + scanned_, '\n',
                                                                 received.size() - scanned_)
                                                   : nullptr;
    if (found == nullptr) {
      scanned_ = received.size();
      if (const auto fault = overflow(received.size() - line_start_)) {
        return refuse(fault->code, fault->detail);
      }
      return Verdict::kNeedMore;
    }
    const auto end =
        static_cast<std::size_t>(static_cast<const char*>(found) - received.data()) + 1;
    const std::string_view line = received.substr(line_start_, end - line_start_);
    if (const auto fault = overflow(line.size())) return refuse(fault->code, fault->detail);
    if (line.size() < 2 || line[line.size() - 2] != '\r') {
      return refuse(ProblemCode::kInvalidRequest, "each line of the head must end with CRLF");
    }
    const bool first = line_start_ == 0;
    line_start_ = scanned_ = end;
    if (line.size() == 2) {
      if (first) return refuse(ProblemCode::kInvalidRequest, kEmptyLine);
      return read_head(received.substr(0, end));
    }
    if (!first && ++field_lines_ > limits_.fields) {
      return refuse(ProblemCode::kHeadersTooLarge, "the request has too many header fields");
    }
  }
}

RequestGuard::Verdict RequestGuard::read_head(std::string_view block) {
  head_.fields.clear();
  head_.expects_continue = head_.chunked = false;
  head_.content_length.reset();
  hosts_ = 0;
  asks_keep_alive_ = asks_close_ = false;

  std::size_t start = 0;
  while (true) {
    const std::size_t end = block.find('\n', start);
    const std::string_view line = block.substr(start, end - 1 - start);
    if (line.empty()) break;
    const auto fault = start == 0 ? read_request_line(line) : read_field(line);
    if (fault) return refuse(fault->code, fault->detail);
    start = end + 1;
  }
  if (const auto fault = judge_framing()) return refuse(fault->code, fault->detail);
  head_.keep_alive = !asks_close_ && (!head_.http_1_0 || asks_keep_alive_);
  if (head_.http_1_0) head_.expects_continue = false;
  return Verdict::kComplete;
}

std::optional<GuardFault> RequestGuard::read_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return bad("the request line must have three parts");
  if (line.substr(0, first) == "PROXY") return bad(kNoProxyHeader);
  head_.method_text = line.substr(0, first);
  head_.target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);

  if (head_.method_text.empty() || !all_of_class(head_.method_text, kTokenCharacter)) {
    return bad("the method is not a valid token");
  }
  if (head_.target.size() > limits_.target_bytes) {
    return GuardFault{ProblemCode::kUriTooLong, "the target is too long"};
  }
  if (head_.target.empty() || head_.target[0] != '/') {
    return bad("the target must start with '/'");
  }
  if (!all_of_class(head_.target, kTargetCharacter)) {
    return bad("the target has a character that needs percent-encoding");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return bad("the version must be HTTP/1.1");
  head_.http_1_0 = version.back() == '0';
  head_.method = parse_method(head_.method_text);
  return std::nullopt;
}

std::optional<GuardFault> RequestGuard::read_field(std::string_view line) {
  if (line[0] == ' ' || line[0] == '\t')
    return bad("the server does not accept folded header fields");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bad("a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view untrimmed = line.substr(colon + 1);
  if (name.empty() || !all_of_class(name, kTokenCharacter)) {
    return bad("the name of a header field is not a valid token");
  }
  if (!all_of_class(untrimmed, kValueCharacter)) {
    return bad("a header field has a control character");
  }
  const Field field{name, trim(untrimmed, " \t")};
  if (const auto fault = note_repeated(field)) return fault;
  head_.fields.push_back(field);
  return note_framing(field, untrimmed);
}

// Fields that must have a single value. With two, the result would depend on which one is read.
std::optional<GuardFault> RequestGuard::note_repeated(const Field& field) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kSingle = {
      {{"if-match", "the request has two different values of If-Match"},
       {"idempotency-key", "the request has two different values of Idempotency-Key"},
       {"authorization", "the request has two different values of Authorization"},
       {"content-type", "the request has two different values of Content-Type"}}};
  for (const auto& [name, fault] : kSingle) {
    if (!equals_ignoring_case(field.name, name)) continue;
    const Field* const before = head_.find(name);
    if (before != nullptr && before->value != field.value) return bad(fault);
  }
  return std::nullopt;
}

// Reads the fields that decide where the request ends. A tab does not count as white space here:
// some readers trim it, others take the value for an unknown one.
std::optional<GuardFault> RequestGuard::note_framing(const Field& field,
                                                     std::string_view untrimmed) {
  if (equals_ignoring_case(field.name, "content-length")) {
    const std::string_view digits = trim(untrimmed, " ");
    if (head_.content_length) return bad("the request has two Content-Length fields");
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return bad("Content-Length is not a number");
    }
    head_.content_length = saturating_number(digits);
  } else if (equals_ignoring_case(field.name, "transfer-encoding")) {
    if (head_.chunked) return bad("the request has two Transfer-Encoding fields");
    if (trim(untrimmed, " ") != "chunked") return bad("Transfer-Encoding must be chunked");
    head_.chunked = true;
  } else if (equals_ignoring_case(field.name, "host")) {
    if (++hosts_ > 1) return bad("the request has two Host fields");
    if (field.value.empty() || !all_of_class(field.value, kHostCharacter)) {
      return bad("Host is not a valid host");
    }
  } else if (equals_ignoring_case(field.name, "expect")) {
    if (!equals_ignoring_case(field.value, "100-continue"))
      return bad("Expect must be 100-continue");
    head_.expects_continue = true;
  } else if (equals_ignoring_case(field.name, "connection")) {
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view option = trim(rest.substr(0, comma), " \t");
      if (equals_ignoring_case(option, "close")) asks_close_ = true;
      if (equals_ignoring_case(option, "keep-alive")) asks_keep_alive_ = true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return std::nullopt;
}

std::optional<GuardFault> RequestGuard::judge_framing() const {
  if (head_.chunked && head_.content_length) {
    return bad("the request must not have both Content-Length and Transfer-Encoding");
  }
  if (head_.chunked && head_.http_1_0)
    return bad("an HTTP/1.0 request must not have Transfer-Encoding");
  if (hosts_ == 0 && !head_.http_1_0) return bad("the request needs a Host field");
  return std::nullopt;
}

}  // namespace millrace::http
