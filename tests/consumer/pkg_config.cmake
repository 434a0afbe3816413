# Installs BUILD into PREFIX, compiles PROGRAM with the flags that PKG_CONFIG gives for it, and runs it. Its output has to
# match EXPECTED.
include("${CMAKE_CURRENT_LIST_DIR}/install.cmake")
file(GLOB_RECURSE pc "${PREFIX}/*/skyrank.pc")
get_filename_component(folder "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${folder}")
get_filename_component(libraries "${folder}" DIRECTORY)
set(ENV{LD_LIBRARY_PATH} "${libraries}")

file(GLOB shared "${PREFIX}/*/libskyrank.so")
execute_process(COMMAND "${PKG_CONFIG}" --print-errors --cflags --libs skyrank
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "pkg-config --cflags --libs skyrank: ${flags}")
if(shared AND flags MATCHES "-ltbb")
  message(FATAL_ERROR "The shared library has linked its dependencies, an application must not.")
endif()
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(COMMAND "${COMPILER}" -std=c++20 "${PROGRAM}" -o "${PREFIX}/program" ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PREFIX}/program" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "The program printed: ${output}")
endif()
