# Configures the project `parent`, which checks what it got, and installs it unbuilt: there must be nothing to install.
set(source "${CMAKE_CURRENT_LIST_DIR}/parent")
unset(ENV{CMAKE_CXX_COMPILER_LAUNCHER})
unset(ENV{CMAKE_CUDA_COMPILER_LAUNCHER})
file(REMOVE_RECURSE "${BUILD}")
execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${source}" -B "${BUILD}"
  "-DSKYRANK_SOURCE_DIR=${SKYRANK_SOURCE_DIR}" "-DCMAKE_CXX_COMPILER=${COMPILER}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${BUILD}/prefix" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed "${BUILD}/prefix/*")
if(installed)
  message(FATAL_ERROR "The subproject installs ${installed}.")
endif()
