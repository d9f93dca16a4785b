# Every library comes from Debian 12's packages (tools/setup installs them); why each is here stands in
# docs/internals/dependencies.md.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CURL REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Asio is compiled once, in cmake/asio.cc, and only declared elsewhere.
add_library(millrace_asio STATIC cmake/asio.cc)
target_compile_definitions(millrace_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(millrace_asio PUBLIC Boost::headers Threads::Threads OpenSSL::Crypto
                                    PRIVATE millrace_options)
