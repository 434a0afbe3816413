# Programs find the libraries that come with them relative to themselves ($ORIGIN), in the build tree as in the install
# tree, so that no folder of another user or of the build machine is searched.
#
# CMake makes paths relative only inside the build tree, so libraries from outside are linked through a folder in it. The
# path to that folder is longer than the path to the installed libraries, so that one can replace the other.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
file(RELATIVE_PATH SKYRANK_BUNDLE_FROM_BIN "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/skyrank")
string(REPLACE ".." "up" stage_folder "stage/${SKYRANK_BUNDLE_FROM_BIN}")
set(SKYRANK_STAGE_FOLDER "${PROJECT_BINARY_DIR}/${stage_folder}")

# skyrank_stage_library(FILE RESULT): links FILE into the build tree.
function(skyrank_stage_library file result)
  get_filename_component(name "${file}" NAME)
  file(MAKE_DIRECTORY "${SKYRANK_STAGE_FOLDER}")
  file(CREATE_LINK "${file}" "${SKYRANK_STAGE_FOLDER}/${name}" SYMBOLIC)
  set(${result} "${SKYRANK_STAGE_FOLDER}/${name}" PARENT_SCOPE)
endfunction()

# skyrank_install_program(TARGET): installs a program that uses staged libraries, and changes its path to where they are
# installed. CMake would do so too, but it appends an empty element to the path of such a program in the build tree, and
# the loader takes that as the current folder.
function(skyrank_install_program target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target})
  if(CMAKE_SKIP_RPATH OR CMAKE_SKIP_INSTALL_RPATH)
    return()
  endif()
  get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
  file(RELATIVE_PATH staged "${folder}" "${SKYRANK_STAGE_FOLDER}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${staged}")
  install(CODE "file(RPATH_CHANGE
    FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/$<TARGET_FILE_NAME:${target}>\"
    OLD_RPATH [[$ORIGIN/${staged}]] NEW_RPATH [[$ORIGIN/${SKYRANK_BUNDLE_FROM_BIN}]])")
endfunction()
