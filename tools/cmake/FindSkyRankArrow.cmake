# Arrow and Parquet C++: a system installation first, else the libraries and headers of the pyarrow wheel that
# tools/setup.sh unpacks into .deps/, or, where pip builds the released sources, of the pyarrow that it has got for that.
# Defines SkyRank::Arrow and SkyRank::Parquet, and SKYRANK_ARROW_IS_BUNDLED where they are the wheel's, which have to be
# installed with the programs.
find_package(Arrow CONFIG QUIET)
find_package(Parquet CONFIG QUIET)
set(SKYRANK_ARROW_IS_BUNDLED FALSE)
if(Arrow_FOUND AND Parquet_FOUND)
  # An Arrow that was built for wheels has static libraries alone.
  if(TARGET Arrow::arrow_shared)
    set(kind shared)
  else()
    set(kind static)
  endif()
  add_library(SkyRank::Arrow ALIAS Arrow::arrow_${kind})
  add_library(SkyRank::Parquet ALIAS Parquet::parquet_${kind})
  set(SkyRankArrow_FOUND TRUE)
  return()
endif()

set(arrow_root "${PROJECT_SOURCE_DIR}/.deps/pyarrow")
if(SKBUILD AND NOT EXISTS "${arrow_root}")
  execute_process(COMMAND "${Python_EXECUTABLE}" -c "import os, pyarrow; print(os.path.dirname(pyarrow.__file__))"
    OUTPUT_VARIABLE arrow_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(SKYRANK_ARROW_ROOT "${arrow_root}" CACHE PATH "Folder of an unpacked pyarrow wheel")
function(skyrank_wheel_library target name)
  file(GLOB libraries "${SKYRANK_ARROW_ROOT}/${name}.so.[0-9]*")
  list(FILTER libraries EXCLUDE REGEX "\\.so\\.[0-9]+\\.[0-9]")
  if(NOT libraries)
    message(FATAL_ERROR "Arrow C++ was not found: no Arrow package and no ${name} in ${SKYRANK_ARROW_ROOT}. "
                        "Run tools/setup.sh, or set SKYRANK_BUILD_TOOLS=OFF to build the engine alone.")
  endif()
  list(GET libraries 0 library)
  skyrank_stage_library("${library}" staged)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${staged}"
    INTERFACE_INCLUDE_DIRECTORIES "${SKYRANK_ARROW_ROOT}/include")
endfunction()
skyrank_wheel_library(SkyRank::Arrow libarrow)
skyrank_wheel_library(SkyRank::ArrowCompute libarrow_compute)
skyrank_wheel_library(SkyRank::Parquet libparquet)
set_property(TARGET SkyRank::Parquet PROPERTY INTERFACE_LINK_LIBRARIES SkyRank::Arrow)
set_property(TARGET SkyRank::ArrowCompute PROPERTY INTERFACE_LINK_LIBRARIES SkyRank::Arrow)
set(SKYRANK_ARROW_IS_BUNDLED TRUE)
set(SkyRankArrow_FOUND TRUE)
