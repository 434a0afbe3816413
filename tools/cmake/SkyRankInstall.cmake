# `cmake --install`: the engine as a package for find_package(skyrank) and for pkg-config, and the command line with the
# Arrow libraries of the pyarrow wheel, which no system has. Everything else is linked from the system's packages.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/skyrank")
get_target_property(library_type skyrank TYPE)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/engine/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/tools/THIRD-PARTY.txt"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(TARGETS skyrank EXPORT skyrank_targets)
install(EXPORT skyrank_targets NAMESPACE skyrank:: FILE skyrankTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file(tools/cmake/skyrankConfig.cmake.in skyrankConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(skyrankConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/skyrankConfig.cmake" "${PROJECT_BINARY_DIR}/skyrankConfigVersion.cmake"
  DESTINATION "${package_dir}")

# A static library leaves its dependencies to whoever links it; a shared one has them.
set(pc_dependencies "yaml-cpp tbb libhwy-contrib libhwy")
set(pc_libraries "")
if(SKYRANK_HAS_CUDA)
  set(pc_libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt -lpthread")
endif()
if(library_type STREQUAL "SHARED_LIBRARY")
  set(pc_fields "Requires: eigen3\nLibs: -L\${libdir} -lskyrank")
else()
  set(pc_fields "Requires: eigen3 ${pc_dependencies}\nLibs: -L\${libdir} -lskyrank${pc_libraries}")
endif()
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(tools/cmake/skyrank.pc.in skyrank.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/skyrank.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

if(NOT SKYRANK_BUILD_TOOLS)
  return()
endif()
if(NOT SKYRANK_ARROW_IS_BUNDLED)
  # An Arrow of the user's own may lie outside the system's library path.
  set_target_properties(skyrank_cli PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS skyrank_cli)
  return()
endif()
skyrank_install_program(skyrank_cli)
get_target_property(linked skyrank_datasets LINK_LIBRARIES)
foreach(library Arrow ArrowCompute Parquet)
  if("SkyRank::${library}" IN_LIST linked)
    get_target_property(location "SkyRank::${library}" IMPORTED_LOCATION)
    file(REAL_PATH "${location}" location)
    install(PROGRAMS "${location}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/skyrank")
  endif()
endforeach()
# The libraries hold some thirty others, whose licences these files name.
if(EXISTS "${SKYRANK_ARROW_ROOT}/LICENSE.txt")
  install(FILES "${SKYRANK_ARROW_ROOT}/LICENSE.txt" "${SKYRANK_ARROW_ROOT}/NOTICE.txt"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}/arrow")
else()
  message(WARNING "SkyRank: ${SKYRANK_ARROW_ROOT} has no licence texts, so an installed tree must not be passed on. "
                  "tools/setup.sh adds them.")
endif()
