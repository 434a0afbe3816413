# `cpack` in a build folder: a Debian package and a tarball of the install tree.
set(SKYRANK_PACKAGER "SkyRank developers <developers@skyrank.invalid>" CACHE STRING "Who answers for a Debian package: Name <address>")
mark_as_advanced(SKYRANK_PACKAGER)

set(CPACK_PACKAGE_NAME skyrank)
set(CPACK_PACKAGE_VENDOR SkyRank)
set(CPACK_PACKAGE_CONTACT "${SKYRANK_PACKAGER}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "skyrank-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_GENERATOR TGZ)
find_program(SKYRANK_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(SKYRANK_DPKG_SHLIBDEPS)
if(SKYRANK_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${SKYRANK_STAGE_FOLDER}")
# Whoever compiles against the static library links its dependencies.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libeigen3-dev, libyaml-cpp-dev, libtbb-dev, libhwy-dev")
include(CPack)
