"""Checks the vcpkg port: its manifest, and that its portfile configures this clone (vcpkg's own functions stand in)."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SKYRANK_SOURCE"])
CMAKE = os.environ["SKYRANK_CMAKE"]
PORT = SOURCE / "tools/packages/vcpkg/skyrank"
# Package of find_package -> port of vcpkg.
PORTS = {"Eigen3": "eigen3", "yaml-cpp": "yaml-cpp", "TBB": "tbb", "hwy": "highway"}
TOOL_PORTS = {"fmt": "fmt", "CLI11": "cli11", "nlohmann_json": "nlohmann-json", "simdjson": "simdjson",
              "SkyRankArrow": "arrow"}
# The functions of vcpkg that the portfile calls, as far as a build without installing needs them.
VCPKG = """cmake_minimum_required(VERSION 3.25)
set(FEATURES papers)
set(PORT skyrank)
set(CURRENT_PACKAGES_DIR "${folder}/packages")
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature variable)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    list(APPEND options "-D${variable}=${value}")
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S "${arg_SOURCE_PATH}" -B "${folder}/build" ${arg_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(file IN LISTS arg_FILE_LIST)
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "there is no ${file}")
    endif()
  endforeach()
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(READ "${folder}/build/cmake_install.cmake" script)
  if(NOT script MATCHES "/${arg_CONFIG_PATH}")
    message(FATAL_ERROR "nothing is installed into ${arg_CONFIG_PATH}")
  endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
"""


class Port(unittest.TestCase):
    def setUp(self):
        self.manifest = json.loads((PORT / "vcpkg.json").read_text())

    @staticmethod
    def names(dependencies):
        return {entry if isinstance(entry, str) else entry["name"] for entry in dependencies}

    def test_has_the_version_of_the_header(self):
        header = (SOURCE / "engine/include/skyrank/version.hpp").read_text()
        numbers = re.findall(r"^#define SKYRANK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
        self.assertEqual(self.manifest["version-semver"], ".".join(numbers))

    def test_has_the_dependencies_of_the_build(self):
        text = (SOURCE / "tools/cmake/SkyRankDependencies.cmake").read_text()
        text = text.split("if(SKYRANK_MPI)")[0]  # the rest is for no port
        parts = re.split(r"^if\(SKYRANK_BUILD_TOOLS\)$(.*?)^endif\(\)$", text, flags=re.M | re.S)
        packages = [set(re.findall(r"^ *(?:find_package|skyrank_find)\(([\w-]+)", "".join(parts[kind::2]), re.M)) for kind in (0, 1)]
        self.assertEqual(packages, [set(PORTS), set(TOOL_PORTS)])
        own = self.names(self.manifest["dependencies"])
        self.assertEqual(own, {*PORTS.values(), "pegtl", "vcpkg-cmake", "vcpkg-cmake-config"})
        self.assertEqual(self.names(self.manifest["features"]["tools"]["dependencies"]), set(TOOL_PORTS.values()))

    def test_configures_this_clone(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "vcpkg.cmake"
            script.write_text(f'set(folder "{folder}")\n{VCPKG}include("{PORT}/portfile.cmake")\n')
            result = subprocess.run([CMAKE, "-P", script], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertNotIn("not used by the project", result.stdout + result.stderr)
            cache = (Path(folder) / "build/CMakeCache.txt").read_text()
            self.assertIn("SKYRANK_BUILD_TOOLS:BOOL=OFF", cache)
            self.assertIn("SKYRANK_PAPERS:BOOL=ON", cache)
            self.assertTrue((Path(folder) / "packages/share/skyrank/usage").exists())


if __name__ == "__main__":
    unittest.main()
