// The header Accept-Encoding: which codings of an answer a client takes.
#pragma once

#include <string_view>

namespace millrace::http {

struct RequestHead;

// The weight of `coding` in thousandths, 0 to 1000. The client does not take what weighs 0. An
// invalid weight is 0.
int weight_of(std::string_view accepted, std::string_view coding);

// Whether an answer to this request may have this coding: the client takes it, and has not said
// that it would rather have the answer uncoded.
bool takes_coding(const RequestHead& head, std::string_view coding);

}  // namespace millrace::http
