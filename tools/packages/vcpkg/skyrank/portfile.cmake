# An overlay port: it builds the clone that it lies in.
#   vcpkg install skyrank --overlay-ports=tools/packages/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    papers SKYRANK_PAPERS
    tools SKYRANK_BUILD_TOOLS)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DSKYRANK_BUILD_TESTS=OFF
    -DSKYRANK_CCACHE=OFF
    -DSKYRANK_CUDA=OFF
    -DSKYRANK_HARDENING=OFF
    -DSKYRANK_INSTALL=ON
    -DSKYRANK_LIBEDIT=OFF
    -DSKYRANK_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/skyrank)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES skyrank AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/tools/THIRD-PARTY.txt")
