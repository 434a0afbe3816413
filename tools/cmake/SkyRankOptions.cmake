option(SKYRANK_BUILD_TOOLS "Build the readers, the generators and the command line (needs Arrow C++)" ${PROJECT_IS_TOP_LEVEL})
option(SKYRANK_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SKYRANK_BUILD_PYTHON "Build the Python package (needs nanobind)" OFF)
option(SKYRANK_ONE_MODULE "Put the readers of files and the command line into skyrank._core, as tools/wheel.sh does" OFF)
set(SKYRANK_STATIC_LIBRARIES "" CACHE PATH "Folder of static libraries that replace the system's shared ones, as tools/wheel.sh links them")
mark_as_advanced(SKYRANK_STATIC_LIBRARIES)
option(SKYRANK_MPI "Build skyrank_mpi, which answers queries with the ranks of an MPI job (needs MPI and the tools)" OFF)
option(SKYRANK_OPTIMISE_CUDA "Optimise the GPU kernels, for which nvcc takes twice the time" ON)
option(SKYRANK_EMULATE_CUDA "Build the tests of the CUDA kernels that run on the CPU, on an emulator" ON)
option(SKYRANK_PAPERS "Build the papers' algorithms (kernels/papers), which no plan needs" ON)
option(SKYRANK_BUILD_FUZZERS "Build the fuzz targets with libFuzzer, and no other tests (needs clang)" OFF)
option(SKYRANK_UNIT_TESTS "Among the tests build those of single files of the engine, the planner and the file formats, and the inputs of fuzz targets" ON)
option(SKYRANK_PRECOMPILE_TESTS "Precompile what tests include of GoogleTest and the C++ library" OFF)
option(SKYRANK_CCACHE "Compile through ccache where it is found" ${PROJECT_IS_TOP_LEVEL})
option(SKYRANK_WERROR "Treat warnings as errors, as tools/test.sh does" OFF)
option(SKYRANK_HARDENING "Compile and link with the hardening flags of a distribution" ${PROJECT_IS_TOP_LEVEL})
option(SKYRANK_LIBEDIT "Edit the lines of skyrank shell by libedit, where it is found" ON)
option(SKYRANK_INSTALL "Add install rules" ${PROJECT_IS_TOP_LEVEL})
# A subproject gets GPU kernels, which take minutes to compile, only where it asks for them.
if(PROJECT_IS_TOP_LEVEL)
  set(default_cuda AUTO)
else()
  set(default_cuda OFF)
endif()
set(SKYRANK_CUDA ${default_cuda} CACHE STRING "GPU kernels: AUTO (where nvcc is found), ON (an error without nvcc) or OFF")
set_property(CACHE SKYRANK_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SKYRANK_SANITIZE "" CACHE STRING "Sanitizers for everything that is built here, as -fsanitize= takes them")

option(SKYRANK_ONE_VECTOR_TARGET "Build vector code for AVX2 alone, which such a program then needs, or on ARM for NEON alone" OFF)

# These variables reach no further than this folder, so a project that includes this one keeps its own.
if(NOT DEFINED CMAKE_CXX_STANDARD OR CMAKE_CXX_STANDARD LESS 20)
  set(CMAKE_CXX_STANDARD 20)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

if(SKYRANK_CCACHE)
  find_program(SKYRANK_CCACHE_PROGRAM ccache)
  mark_as_advanced(SKYRANK_CCACHE_PROGRAM)
  foreach(language CXX CUDA)
    if(SKYRANK_CCACHE_PROGRAM AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${SKYRANK_CCACHE_PROGRAM}")
    endif()
  endforeach()
endif()

if(SKYRANK_SANITIZE)
  set(sanitize "-fsanitize=${SKYRANK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer")
  # What the address sanitizer sees anyhow, once such a pointer is used; kernels compile in a third of the time without.
  if(SKYRANK_SANITIZE MATCHES "address" AND SKYRANK_SANITIZE MATCHES "undefined")
    string(APPEND sanitize " -fno-sanitize=null,object-size,pointer-overflow")
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:${sanitize}>")
  add_link_options("-fsanitize=${SKYRANK_SANITIZE}")
endif()
if(SKYRANK_ONE_VECTOR_TARGET)
  # Where it is about the compiler's findings, once is enough.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_compile_options(-march=x86-64-v3 -maes -mpclmul)
  endif()
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
endif()

# Flags of every target of the project; no target outside gets them.
add_library(skyrank_build_flags INTERFACE)
target_include_directories(skyrank_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")
# Every product and sum of floats rounds, on every instruction set and however a user sets the flags: answers do not
# depend on the machine.
target_compile_options(skyrank_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
target_compile_options(skyrank_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-Wall,-Wextra,-Wshadow>")
if(SKYRANK_WERROR)
  target_compile_options(skyrank_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:--Werror=all-warnings -Xcompiler=-Werror>")
endif()
# GCC 12 warns of overlapping memory inside std::string's own operator+ (GCC bug 105651).
target_compile_options(skyrank_build_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# Later ones warn of memory that the optimiser thinks a vector might have; what they find differs with each version and each
# change of a file, so it is shown, but fails no build.
target_compile_options(skyrank_build_flags INTERFACE
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-error=stringop-overflow;-Wno-error=array-bounds;-Wno-error=maybe-uninitialized;-Wno-error=free-nonheap-object>")
# GCC takes a unity build for a header that others include, where anonymous namespaces in members are mistakes; and names
# of one file for those that another one shadows.
if(CMAKE_UNITY_BUILD)
  target_compile_options(skyrank_build_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-shadow>)
endif()
# The shared library exports what skyrank/export.hpp marks.
target_compile_options(skyrank_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility=hidden;-fvisibility-inlines-hidden>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=-fvisibility=hidden,-fvisibility-inlines-hidden>")
# Refuses the few parts of Eigen whose licence is not the MPL. Applications decide for themselves.
target_compile_definitions(skyrank_build_flags INTERFACE EIGEN_MPL2_ONLY)
include(SkyRankHardening)

# skyrank_report_coverage(REGEX SOURCE...): where fuzz targets may be built, what matches reports its coverage to the fuzzer.
# That is what reads texts and data of others. All builds with these sanitizers do so, though nobody listens in most, so
# that one compilation serves them all. A unity build, which would leave out files with options of their own, reports all
# of the folder.
function(skyrank_report_coverage regex)
  if(SKYRANK_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_UNITY_BUILD)
    add_compile_options(-fsanitize=fuzzer-no-link)
  elseif(SKYRANK_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(FILTER ARGN INCLUDE REGEX "${regex}")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# skyrank_optimize_for_size(REGEX SOURCE...): in a release, what matches takes half the space. That is for what runs once a
# query, not once a row.
function(skyrank_optimize_for_size regex)
  if(CMAKE_UNITY_BUILD)
    return()
  endif()
  list(FILTER ARGN INCLUDE REGEX "${regex}")
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
endfunction()
