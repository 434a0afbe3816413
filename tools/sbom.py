#!/usr/bin/env python3
"""Prints a software bill of materials of a built or installed program, as CycloneDX 1.5 JSON.

Lists what the loader links (readelf and ldd say what) and the header-only libraries that are compiled in, each with
version, licence and package; bundled files also get a hash. Fails on a linked library that LIBRARIES does not know, so
that a new dependency cannot go unlisted. The same build gives the same text.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Library:
    """A third-party library, under the name that tools/THIRD-PARTY.txt gives it."""

    name: str
    licence: str  # SPDX expression
    url: str
    stems: tuple[str, ...] = ()  # sonames without ".so" and what follows
    cmake: str = ""  # package of find_package, which knows the version
    header: str = ""  # header-only libraries: a file that defines the version, for those without a package
    system: bool = False  # part of every Linux system


LIBRARIES = [
    Library("Apache Arrow", "Apache-2.0", "https://arrow.apache.org", ("libarrow", "libarrow_compute", "libparquet")),
    Library("fmt", "MIT", "https://fmt.dev", ("libfmt",), cmake="fmt"),
    Library("yaml-cpp", "MIT", "https://github.com/jbeder/yaml-cpp", ("libyaml-cpp",), cmake="yaml-cpp"),
    Library("oneTBB", "Apache-2.0", "https://github.com/uxlfoundation/oneTBB", ("libtbb", "libtbbmalloc"), cmake="TBB"),
    Library("Highway", "Apache-2.0 OR BSD-3-Clause", "https://github.com/google/highway", ("libhwy", "libhwy_contrib"),
            cmake="hwy"),
    Library("CLI11", "BSD-3-Clause", "https://github.com/CLIUtils/CLI11", cmake="CLI11"),
    Library("nlohmann-json", "MIT", "https://json.nlohmann.me", cmake="nlohmann_json"),
    Library("simdjson", "Apache-2.0", "https://simdjson.org", ("libsimdjson",), cmake="simdjson"),
    Library("libedit", "BSD-3-Clause", "https://www.thrysoee.dk/editline/", ("libedit",)),
    Library("ncurses", "X11-distribute-modifications-variant", "https://invisible-island.net/ncurses/", ("libtinfo", "libncursesw")),
    Library("libbsd", "BSD-3-Clause", "https://libbsd.freedesktop.org", ("libbsd", "libmd")),
    Library("Eigen", "MPL-2.0", "https://eigen.tuxfamily.org", cmake="Eigen3"),
    Library("PEGTL", "MIT", "https://github.com/taocpp/PEGTL", header="tao/pegtl/version.hpp"),
    Library("GNU C Library", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/",
            ("libc", "libm", "libpthread", "libdl", "librt", "ld-linux-x86-64", "ld-linux-aarch64"), system=True),
    Library("GCC runtime", "GPL-3.0-or-later WITH GCC-exception-3.1", "https://gcc.gnu.org",
            ("libstdc++", "libgcc_s", "libatomic"), system=True),
]
CUDA_LIBRARIES = [
    Library("CUDA runtime", "LicenseRef-NVIDIA-CUDA-EULA", "https://docs.nvidia.com/cuda/eula/"),
    Library("CCCL", "Apache-2.0 WITH LLVM-exception AND BSD-3-Clause", "https://github.com/NVIDIA/cccl"),
]


class Mistake(Exception):
    """Ends the program with a message and exit status 2."""


def output_of(*command):
    """Returns what a command prints, or nothing where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              env={**os.environ, "LC_ALL": "C"}).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def needed(program):
    """Returns the sonames that a program names itself, in its order."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", output_of("readelf", "-d", str(program)))


def linked_files(program):
    """Maps the soname of every library that the loader brings in, directly or not, to its file."""
    files = {}
    for line in output_of("ldd", str(program)).splitlines():
        match = re.match(r"\s*(\S+) => (.+) \(", line) or re.match(r"\s*(/.*/(\S+)) \(", line)
        if match and " => " in line:
            files[match[1]] = Path(match[2])
        elif match:
            files[match[2]] = Path(match[1])
        elif "not found" in line:
            raise Mistake(f"{program}: {line.strip()}")
    if missing := [name for name in needed(program) if name not in files]:
        raise Mistake(f"{program}: ldd does not find {', '.join(missing)}")
    return files


def library_of(soname):
    stem = re.sub(r"\.so(\..*)?$", "", soname)
    for library in LIBRARIES:
        if stem in library.stems:
            return library
    raise Mistake(f"{soname} is linked, but LIBRARIES in tools/sbom.py has no entry for it; add one, and its licence to "
                  "tools/THIRD-PARTY.txt")


def debian_package(file):
    """Returns name, version and architecture of the Debian package of a file, or None."""
    for path in (file, Path(re.sub(r"^/usr", "", str(file))), file.resolve()):
        owners = output_of("dpkg-query", "-S", str(path)) or ""
        if owner := next((line for line in owners.splitlines() if not line.startswith("diversion by ")), None):
            name = owner.split(": ")[0].split(",")[0]
            fields = output_of("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", name).split()
            return fields if len(fields) == 3 else None
    return None


def cmake_cache(build):
    """Returns the entries of a build folder's cache; none without a build folder."""
    if not build:
        return {}
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        raise Mistake(f"{build} is no build folder: it has no CMakeCache.txt")
    return dict(re.findall(r"^([^#/\s][^:\n]*):[A-Z]+=(.*)$", cache.read_text(), re.M))


def version_of(library, cache):
    """Returns the version that the build found, or nothing."""
    if folder := cache.get(f"{library.cmake}_DIR"):
        for file in Path(folder).glob("*[vV]ersion.cmake"):
            if match := re.search(r'set\s*\(PACKAGE_VERSION "([\d.]+)"\)', file.read_text(), re.I):
                return match[1]
    if library.header:
        for folder in ("/usr/include", "/usr/local/include"):
            file = Path(folder) / library.header
            numbers = dict(re.findall(r"VERSION_(MAJOR|MINOR|PATCH) (\d+)", file.read_text())) if file.exists() else {}
            if len(numbers) == 3:
                return "{MAJOR}.{MINOR}.{PATCH}".format(**numbers)
    return ""


def arrow_version():
    return re.search(r"^pyarrow==([\d.]+)", (ROOT / "tools/requirements/arrow.txt").read_text(), re.M)[1]


def component(library, name, version):
    entry = {"type": "library", "bom-ref": f"{library.name}/{name}", "name": name, "version": version,
             "licenses": [{"expression": library.licence}],
             "externalReferences": [{"type": "website", "url": library.url}]}
    return {key: value for key, value in entry.items() if value}


def linked_component(soname, file, is_bundled, cache):
    library = library_of(soname)
    if is_bundled(file):
        entry = component(library, soname, arrow_version() if library.name == "Apache Arrow" else "")
        entry["purl"] = f"pkg:pypi/pyarrow@{entry['version']}" if "version" in entry else ""
        entry["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}]
    elif package := debian_package(file):
        entry = component(library, soname, package[1])
        entry["purl"] = "pkg:deb/debian/{}@{}?arch={}".format(package[0], package[1].replace("+", "%2B"), package[2])
    else:
        entry = component(library, soname, version_of(library, cache))
    place = "bundled" if is_bundled(file) else "system"
    entry["properties"] = [{"name": "skyrank:place", "value": place}]
    return {key: value for key, value in entry.items() if value}


def compiled_components(cache):
    """Lists the libraries that leave no soname: headers, and the static CUDA runtime."""
    entries = [component(library, library.name, version_of(library, cache))
               for library in LIBRARIES if not library.stems]
    compiler = cache.get("CMAKE_CUDA_COMPILER", "")
    if cache.get("SKYRANK_CUDA") != "OFF" and Path(compiler).is_file():
        release = re.search(r"V(\d+\.\d+\.\d+)", output_of(compiler, "--version"))
        entries += [component(library, library.name, release[1] if release else "") for library in CUDA_LIBRARIES]
    return entries


def bill(program, build):
    """Returns the bill of materials as a CycloneDX document."""
    files, cache = linked_files(program), cmake_cache(build)
    homes = {program.resolve().parent.parent if not build else build.resolve(), (ROOT / ".deps").resolve()}

    def is_bundled(file):
        return any(home in file.absolute().parents or home in file.resolve().parents for home in homes
                   if home not in (Path("/"), Path("/usr")))

    entries = [linked_component(soname, file, is_bundled, cache) for soname, file in sorted(files.items())]
    entries += compiled_components(cache)
    version = re.search(r"^skyrank (\S+)", output_of(str(program), "--version"))
    root = {"type": "application", "bom-ref": "skyrank", "name": "skyrank", "version": version[1] if version else "",
            "licenses": [{"license": {"id": "Apache-2.0"}}]}
    references = [entry["bom-ref"] for entry in entries]
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "metadata": {"component": root}, "components": entries,
                "dependencies": [{"ref": "skyrank", "dependsOn": references}]}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help="a built or installed program, such as build/release/skyrank")
    parser.add_argument("--build", type=Path, help="its build folder, for the versions of header-only libraries")
    parser.add_argument("--out", type=Path, help="file to write; standard output by default")
    arguments = parser.parse_args()
    try:
        if not arguments.program.is_file():
            raise Mistake(f"there is no program {arguments.program}")
        text = json.dumps(bill(arguments.program, arguments.build), indent=2) + "\n"
    except Mistake as mistake:
        print(f"sbom: {mistake}", file=sys.stderr)
        return 2
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
