# Every library comes from Debian's packages (tools/setup installs them). docs/internals/dependencies.md gives the
# reason and the version of each.

find_package(Threads REQUIRED)
find_package(Boost 1.81 CONFIG REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CURL REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# xxHash provides no CMake package.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
add_library(xxHash::xxhash UNKNOWN IMPORTED)
set_target_properties(xxHash::xxhash PROPERTIES
  IMPORTED_LOCATION "${XXHASH_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${XXHASH_INCLUDE_DIR}")

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  find_package(simdjson REQUIRED)
  find_package(Protobuf REQUIRED)
  find_package(benchmark REQUIRED)

  # RapidCheck's templates use std::aligned_storage, which C++23 deprecates and libstdc++ has marked since GCC 13. Clang
  # warns of it when a test instantiates them, although they are in a system header.
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("#include <version>
    #if _GLIBCXX_RELEASE < 13
    #error nothing is marked
    #endif
    int main() {}" MILLRACE_ALIGNED_STORAGE_IS_DEPRECATED)
  if(MILLRACE_ALIGNED_STORAGE_IS_DEPRECATED)
    target_compile_options(rapidcheck INTERFACE -Wno-deprecated-declarations)
  endif()
endif()

# Asio is compiled once, in cmake/asio.cc, and only declared elsewhere.
add_library(millrace_asio STATIC cmake/asio.cc)
target_compile_definitions(millrace_asio PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(millrace_asio PUBLIC Boost::headers Threads::Threads
                                    PRIVATE millrace_options)
