# Writes OUTPUT, a header with the commit that SOURCE_DIR is at; leaves the file alone where nothing changed.
execute_process(COMMAND git describe --always --dirty --exclude=* WORKING_DIRECTORY "${SOURCE_DIR}"
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(content "#define SKYRANK_COMMIT \"${commit}\"\n")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" existing)
endif()
if(NOT content STREQUAL existing)
  file(WRITE "${OUTPUT}" "${content}")
endif()
