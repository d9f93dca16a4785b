// `millrace admin ca`: a certificate authority of the operator's own, as two files in a directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::server {

// A certificate and its key, in PEM. The key's file is for its owner alone.
struct CertificateFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

// Makes the directory if there is none. An authority that is there already is an error.
Result<CertificateFiles> make_authority_in(const std::filesystem::path& directory,
                                           const std::string& name);

// A certificate for these names and addresses, by the authority in `authority`. The files are
// named after the first of `names`, and replace what is there.
Result<CertificateFiles> issue_into(const std::filesystem::path& directory,
                                    const std::filesystem::path& authority,
                                    const std::vector<std::string>& names);

}  // namespace millrace::server
