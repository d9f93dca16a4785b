# The version and the commit go into one translation unit, so that a new commit recompiles nothing else.
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                OUTPUT_VARIABLE MILLRACE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT MILLRACE_COMMIT)
  set(MILLRACE_COMMIT "unknown")
endif()
set_source_files_properties(src/base/version.cc PROPERTIES COMPILE_DEFINITIONS
  "MILLRACE_VERSION=\"${PROJECT_VERSION}\";MILLRACE_COMMIT=\"${MILLRACE_COMMIT}\"")
