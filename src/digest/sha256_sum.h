// The SHA-256 of content that is read piece by piece.
#pragma once

#include <string_view>

#include "digest/sha256.h"

struct evp_md_ctx_st;  // OpenSSL's

namespace millrace {

class Sha256Sum {
 public:
  Sha256Sum();
  ~Sha256Sum();
  Sha256Sum(const Sha256Sum&) = delete;
  Sha256Sum& operator=(const Sha256Sum&) = delete;
  void add(std::string_view piece);
  // Once, at the end.
  Sha256 finish();

 private:
  evp_md_ctx_st* const context_;
};

}  // namespace millrace
