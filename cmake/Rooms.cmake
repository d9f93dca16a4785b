# millrace_room(NAME DIR DEPS ... [TEST_DEPS ...] [TEST_PROTOS ...]): every source under DIR makes the static library
# millrace_NAME, every *_test.cc the test binary NAME_test. A new file needs no edit here.
function(millrace_room name dir)
  cmake_parse_arguments(ROOM "" "" "DEPS;TEST_DEPS;TEST_PROTOS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(NOT sources)  # a room that so far holds headers only
    set(sources "${CMAKE_BINARY_DIR}/empty_${name}.cc")
    file(CONFIGURE OUTPUT "${sources}" CONTENT "namespace millrace {}\n")
  endif()
  add_library(millrace_${name} STATIC ${sources})
  target_link_libraries(millrace_${name} PUBLIC millrace_options ${ROOM_DEPS} Threads::Threads)
  if(tests AND BUILD_TESTING)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE millrace_${name} ${ROOM_TEST_DEPS}
                                               GTest::gtest GTest::gmock GTest::gtest_main rapidcheck)
    add_test(NAME ${name} COMMAND ${name}_test)
    if(ROOM_TEST_PROTOS)
      # Generated code is not held to our warnings.
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
