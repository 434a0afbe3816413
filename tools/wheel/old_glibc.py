#!/usr/bin/env python3
"""Makes libraries to link with that have the symbols of an old C library, so that programs run where that one is.

The C library of the machine has old and new versions of many symbols. A linker takes the newest, which an older system
lacks. This program writes stand-ins for its libraries that have every symbol in its newest version up to the given one. They
hold no code: programs load the real library. Symbols that came later are missing, so that linking fails; what compilers
need of them is in later_symbols.c.
"""

import argparse
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

# Since glibc 2.34 libc.so.6 has what was in the others. They are linked all the same, for systems before that.
LIBRARIES = {"libc.so.6": "", "libm.so.6": "m", "libpthread.so.0": "pthread", "libdl.so.2": "dl", "librt.so.1": "rt"}


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A symbol of a library, in one of its versions."""

    name: str
    version: str
    kind: str
    size: int


def number(version):
    """Returns the parts of a version such as GLIBC_2.2.5, or nothing for a private one."""
    match = re.fullmatch(r"GLIBC_([\d.]+)", version)
    return tuple(int(part) for part in match[1].split(".")) if match else ()


def symbols_of(library):
    """Yields the symbols that a library defines, in all their versions."""
    listing = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    pattern = re.compile(r"\s*\d+: [0-9a-f]+\s+(\S+) (FUNC|IFUNC|OBJECT|TLS|NOTYPE)\s+(?:GLOBAL|WEAK|UNIQUE)\s+\S+\s+(?:\[.*\]\s+)?"
                         r"(\d+) ([^@\s]+)@@?(\S+)")
    for line in listing.splitlines():
        if match := pattern.match(line):
            yield Symbol(match[4], match[5], match[2], int(match[1], 0))


def old_symbols(library, newest):
    """Returns the newest version of each symbol up to a version."""
    found = {}
    for symbol in symbols_of(library):
        version = number(symbol.version)
        if version and version <= newest and (symbol.name not in found or number(found[symbol.name].version) < version):
            found[symbol.name] = symbol
    return sorted(found.values(), key=lambda symbol: symbol.name)


def assembly(symbols):
    """Returns the source of a library that defines the symbols, each at an address of its own."""
    lines = []
    for place, symbol in enumerate(symbols):
        is_data = symbol.kind in ("OBJECT", "TLS")
        size = max(symbol.size, 1)
        section = {"OBJECT": ".bss", "TLS": '.section .tbss,"awT",%nobits'}.get(symbol.kind, ".text")
        kind = {"OBJECT": "%object", "TLS": "%tls_object"}.get(symbol.kind, "%function")
        lines += [section, ".balign 16", f".globl stub_{place}", f".type stub_{place},{kind}",
                  f".size stub_{place},{symbol.size}", f"stub_{place}: .skip {size if is_data else 4}",
                  f".symver stub_{place},{symbol.name}@@{symbol.version}"]
    return "\n".join(lines) + '\n.section .note.GNU-stack,"",%progbits\n'


def make_library(compiler, original, soname, newest, folder):
    """Writes the stand-in of a library."""
    symbols = old_symbols(original, newest)
    source, versions = folder / f"{soname}.s", folder / f"{soname}.map"
    source.write_text(assembly(symbols))
    names = sorted({symbol.version for symbol in symbols}, key=number)
    versions.write_text("".join(f"{name} {{}};\n" for name in names) + "LOCAL { local: stub_*; };\n")
    subprocess.run([*compiler, "-shared", "-nostdlib", f"-Wl,-soname,{soname},--version-script,{versions}",
                    "-o", folder / soname, source], check=True)
    return symbols


def file_of(compiler, name):
    """Returns the path of a library of the compiler's system."""
    path = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(path).resolve() if "/" in path else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="2.28", help="of the C library; 2.28 by default")
    parser.add_argument("--out", type=Path, required=True, help="folder for the libraries")
    parser.add_argument("compiler", nargs="+", help="the compiler with its arguments, such as gcc")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    newest = tuple(int(part) for part in arguments.version.split("."))
    for soname, name in LIBRARIES.items():
        original = file_of(arguments.compiler, soname)
        if original is None:
            print(f"old_glibc: {arguments.compiler[0]} finds no {soname}", file=sys.stderr)
            return 1
        make_library(arguments.compiler, original, soname, newest, arguments.out)
        if name:
            (arguments.out / f"lib{name}.so").write_text(f"INPUT({arguments.out / soname})\n")
    later = arguments.out / "later_symbols.o"
    subprocess.run([*arguments.compiler, "-std=c11", "-D_DEFAULT_SOURCE", "-D_LARGEFILE64_SOURCE", "-O2", "-fPIC", "-Wall", "-Wextra",
                    "-c", Path(__file__).with_name("later_symbols.c"), "-o", later], check=True)
    archive = later.with_suffix(".a")
    archive.unlink(missing_ok=True)
    program = subprocess.run([*arguments.compiler, "-print-prog-name=ar"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([program, "rc", archive, later], check=True)
    rest = [file_of(arguments.compiler, name) for name in ("libc_nonshared.a", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")]
    static, *loaders = (path for path in rest if path)
    (arguments.out / "libc.so").write_text(
        f"GROUP({arguments.out / 'libc.so.6'} {archive} {static} {' '.join(f'AS_NEEDED({loader})' for loader in loaders)})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
