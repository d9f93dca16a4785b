# Writes HEADER if its content changes: the current folder's commit, with "-dirty" if tracked files differ from it, or
# "unknown" outside of git.
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
