option(SKYRANK_BUILD_TOOLS "Build the readers, the generators and the command line (needs Arrow C++)" ${PROJECT_IS_TOP_LEVEL})
option(SKYRANK_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What every target of the project is compiled with.
add_library(skyrank_build_flags INTERFACE)
target_include_directories(skyrank_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(skyrank_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-Werror>)
# GCC 12 warns of overlapping memory inside std::string's own operator+ (GCC bug 105651).
target_compile_options(skyrank_build_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
