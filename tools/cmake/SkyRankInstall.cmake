# `cmake --install`: the engine as a package, so that find_package(skyrank) gives skyrank::skyrank, and the command line.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/skyrank")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/engine/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS skyrank EXPORT skyrank_targets)
install(EXPORT skyrank_targets NAMESPACE skyrank:: FILE skyrankTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file(tools/cmake/skyrankConfig.cmake.in skyrankConfig.cmake INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(skyrankConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/skyrankConfig.cmake" "${PROJECT_BINARY_DIR}/skyrankConfigVersion.cmake"
  DESTINATION "${package_dir}")
if(SKYRANK_BUILD_TOOLS)
  # Arrow may lie outside the system's library path.
  set_target_properties(skyrank_cli PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS skyrank_cli)
endif()
