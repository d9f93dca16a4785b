# The version and the commit are compiled into one translation unit, so that a new commit recompiles nothing else. Each
# build, not the configuration, looks up the commit, so that a program reports the commit it was built from.
set(MILLRACE_COMMIT_HEADER "${CMAKE_BINARY_DIR}/generated/build_commit.h")
set(write_commit "${CMAKE_COMMAND}" -D "HEADER=${MILLRACE_COMMIT_HEADER}" -P "${CMAKE_SOURCE_DIR}/cmake/WriteCommit.cmake")
execute_process(COMMAND ${write_commit} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(millrace_commit ALL COMMAND ${write_commit} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                  BYPRODUCTS "${MILLRACE_COMMIT_HEADER}" COMMENT "" VERBATIM)
set_source_files_properties(src/base/version.cc PROPERTIES
  COMPILE_DEFINITIONS "MILLRACE_VERSION=\"${PROJECT_VERSION}\""
  INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/generated"
  OBJECT_DEPENDS "${MILLRACE_COMMIT_HEADER}")
