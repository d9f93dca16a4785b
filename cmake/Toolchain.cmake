# C++23 as far as both GCC 12 and Clang 19 support it; warnings are errors; the release build is hardened.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(MILLRACE_WERROR "Warnings are errors" ON)
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
option(MILLRACE_UNITY "Compile several sources of a room as one (cmake/Rooms.cmake)" ON)
option(MILLRACE_FUZZ "Build the libFuzzer targets (Clang)" OFF)
option(MILLRACE_COVERAGE "Count which lines and branches run (Clang)" OFF)
option(MILLRACE_TOMORROW "A program of a later version, to upgrade to (src/base/tomorrow.h)" OFF)
option(MILLRACE_MUTANTS "Known bugs can be planted (src/base/mutant.h)" OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Required to cache compilations with precompiled headers; the tree uses no __TIME__.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_SLOPPINESS=pch_defines,time_macros" "${CCACHE_PROGRAM}")
endif()

add_library(millrace_options INTERFACE)
target_include_directories(millrace_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(millrace_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2
  -Werror=format-security -fno-delete-null-pointer-checks -fno-strict-overflow
  -ftrivial-auto-var-init=zero -fstack-protector-strong)
if(MILLRACE_WERROR)
  target_compile_options(millrace_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(millrace_options INTERFACE -Wthread-safety "SHELL:-Xclang -fno-pch-timestamp")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports these inside its own library headers at -O2 (known false positives).
  target_compile_options(millrace_options INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-free-nonheap-object -Wno-stringop-overflow)
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_options INTERFACE
    -fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(millrace_options INTERFACE -fsanitize=${MILLRACE_SANITIZE})
else()
  target_compile_options(millrace_options INTERFACE
    -U_FORTIFY_SOURCE -D_GLIBCXX_ASSERTIONS
    # It needs an optimising compiler.
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MILLRACE_NOT_OPTIMISED>>>:-D_FORTIFY_SOURCE=3>
    -fstack-clash-protection -fcf-protection=full)
  target_link_options(millrace_options INTERFACE
    -pie LINKER:-z,relro,-z,now,-z,noexecstack,-z,separate-code)
endif()
if(MILLRACE_FUZZ)
  target_compile_options(millrace_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(millrace_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(MILLRACE_COVERAGE)
  # The counters are in the mapped profile file, so that children that end by _exit are counted too.
  target_compile_options(millrace_options INTERFACE
    -fprofile-instr-generate -fcoverage-mapping "SHELL:-mllvm -runtime-counter-relocation")
  target_link_options(millrace_options INTERFACE -fprofile-instr-generate)
endif()

if(MILLRACE_TOMORROW)
  target_compile_definitions(millrace_options INTERFACE MILLRACE_TOMORROW)
endif()
if(MILLRACE_MUTANTS)
  target_compile_definitions(millrace_options INTERFACE MILLRACE_MUTANTS)
endif()

# Links a program only with the libraries that it calls.
target_link_options(millrace_options INTERFACE LINKER:--as-needed)
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  target_link_options(millrace_options INTERFACE -fuse-ld=mold)
endif()
