# Writes HEADER, where it says something else: the commit that the folder it is run in stands at, with "-dirty" where
# files that git knows differ from it; "unknown" outside of git.
execute_process(COMMAND git describe --always --exclude=* --abbrev=12 --dirty
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
set(text "#define MILLRACE_COMMIT \"${commit}\"\n")
if(EXISTS "${HEADER}")
  file(READ "${HEADER}" before)
endif()
if(NOT text STREQUAL "${before}")
  file(WRITE "${HEADER}" "${text}")
endif()
