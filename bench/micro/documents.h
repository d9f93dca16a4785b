// JSON documents of any size, similar to those of users.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::bench {

// An object of exactly `bytes` bytes, at least 100: records with names, numbers, texts with escapes
// and non-ASCII letters, and lists.
std::string json_document(std::size_t bytes);

// The body of POST /v1/jobs and of POST /v1/jobs/batch.
std::string job_body(std::size_t payload_bytes);
std::string batch_body(std::size_t jobs, std::size_t payload_bytes);
// The body of a worker's poll that completes `jobs` jobs and claims as many.
std::string poll_body(std::size_t jobs);

}  // namespace millrace::bench
