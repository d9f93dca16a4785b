# millrace_precompile(TARGET DIR HEADER...): precompiles DIR/precompiled.h and the headers for the target.
function(millrace_precompile target dir)
  if(EXISTS "${CMAKE_SOURCE_DIR}/${dir}/precompiled.h")
    target_precompile_headers(${target} PRIVATE "${CMAKE_SOURCE_DIR}/${dir}/precompiled.h" ${ARGN})
  endif()
endfunction()

# millrace_together(TARGET SOURCE...): compiles up to eight of these sources as one, never of two folders.
function(millrace_together target)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR batch "0${seen_${folder}} / 8")
    math(EXPR seen_${folder} "0${seen_${folder}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MILLRACE_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()

# millrace_quick_to_build(TARGET): a test's own code is compiled without optimising it, in a third of the time. What it
# tests is compiled as users run it.
function(millrace_quick_to_build target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_target_properties(${target} PROPERTIES MILLRACE_NOT_OPTIMISED ON)
    target_compile_options(${target} PRIVATE -O0 -g0)
  endif()
endfunction()

# millrace_room(NAME DIR DEPS ... [TEST_DEPS ...] [TEST_PROTOS ...] [ALONE ...] [HEAVY_TESTS]): builds the static
# library millrace_NAME from the sources under DIR, and the test binary NAME_test from every *_test.cc. A new file needs
# no edit here. Up to eight sources of a folder are compiled as one, so that a header is read, and a template instantiated,
# once for all of them; the preset gcc compiles each alone, so that each keeps including what it uses. ALONE names sources
# whose local names are also another source's, so that they are not compiled together. HEAVY_TESTS: the tests compute for longer than
# it takes to optimise them.
# DIR/precompiled.h, if it exists, lists the headers that nearly every file of the room includes; it is compiled once.
function(millrace_room name dir)
  cmake_parse_arguments(ROOM "HEAVY_TESTS" "" "DEPS;TEST_DEPS;TEST_PROTOS;ALONE" ${ARGN})
  if(ROOM_ALONE)
    list(TRANSFORM ROOM_ALONE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/")
    file(GLOB alone CONFIGURE_DEPENDS ${ROOM_ALONE})
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cc")
  # These folders contain programs with their own main().
  list(FILTER sources EXCLUDE REGEX "${dir}/(conformance|examples|package)/")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(NOT sources)  # a room that so far holds headers only
    set(sources "${CMAKE_BINARY_DIR}/empty_${name}.cc")
    file(CONFIGURE OUTPUT "${sources}" CONTENT "namespace millrace {}\n")
  endif()
  add_library(millrace_${name} STATIC ${sources})
  millrace_together(millrace_${name} ${sources})
  target_link_libraries(millrace_${name} PUBLIC millrace_options ${ROOM_DEPS} Threads::Threads)
  millrace_precompile(millrace_${name} "${dir}")
  if(tests AND BUILD_TESTING)
    add_executable(${name}_test ${tests})
    if(NOT ROOM_HEAVY_TESTS)
      millrace_quick_to_build(${name}_test)
    endif()
    target_link_libraries(${name}_test PRIVATE millrace_${name} ${ROOM_TEST_DEPS}
                                               GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
    millrace_precompile(${name}_test "${dir}" <gtest/gtest.h>)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES COST 30000)  # among the first: see tests/CMakeLists.txt
    if(ROOM_TEST_PROTOS)
      # Generated code is compiled without our warnings.
      add_library(${name}_test_proto STATIC ${ROOM_TEST_PROTOS})
      protobuf_generate(TARGET ${name}_test_proto LANGUAGE cpp IMPORT_DIRS "${CMAKE_SOURCE_DIR}/src"
                        PROTOC_OUT_DIR "${CMAKE_BINARY_DIR}/generated")
      file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/generated/src")
      target_include_directories(${name}_test_proto SYSTEM PUBLIC
                                 "${CMAKE_BINARY_DIR}/generated" "${CMAKE_BINARY_DIR}/generated/src")
      target_link_libraries(${name}_test_proto PUBLIC protobuf::libprotobuf-lite)
      target_link_libraries(${name}_test PRIVATE ${name}_test_proto)
    endif()
  endif()
endfunction()
