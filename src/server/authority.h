// `millrace admin ca`: the operator's own certificate authority, kept as two files in a directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::server {

// A certificate and its key, in PEM. Only the owner can read the key's file.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

// Creates the directory if necessary. Fails if it already holds an authority.
Result<CertificateFiles> make_authority_in(const std::filesystem::path& directory,
                                           const std::string& name);

// Makes a certificate for these names and addresses, signed by the authority in `authority`. The
// files are named after the first of `names` and replace existing ones.
Result<CertificateFiles> issue_into(const std::filesystem::path& directory,
                                    const std::filesystem::path& authority,
                                    const std::vector<std::string>& names);

}  // namespace millrace::server
