#!/usr/bin/env python3
"""The k best of each row of a matrix: SkyRank beside torch, CUB, FlashInfer, RAFT and NumPy, on one GPU or on the CPU.

A cell is a shape, k, a type of elements and a distribution. Each side selects the k largest with positions of 64 bits
from the same tensor where it lies. On a GPU a call is timed by two events around it, in turns with the others, after a
read of 384 MB that empties the cache; so the time is that of the device, as long as the host puts work on the stream
faster than the device does it. On the CPU it is the time of the call. Medians of --rounds, after three that do not
count. SkyRank's answers are always in order, of equal elements the first; others promise less, which their names say.
Each answer of SkyRank is compared with a stable sort, those of others by their values.

Needs the Python package, built with GPU kernels for a GPU, and torch. flashinfer, pylibraft and numpy are measured where
they are installed and take the cell's type; cub::DeviceTopK, for one row, with the sources of CCCL 3.6 or later:
  PYTHONPATH=build/release/python python3 tools/bench/peers/selections.py --device cuda --out selections.csv
  git clone https://github.com/NVIDIA/cccl build/cccl    # then with: --cccl build/cccl
"""

import argparse
import csv
import ctypes
import functools
import importlib.metadata
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import skyrank
import torch

# Rows, columns and numbers of wanted elements.
SHAPES = [
    (1, 2**20, (1, 32, 1024, 65_536)),
    (1, 2**23, (1, 32, 1024, 65_536)),
    (1, 2**26, (1, 32, 1024, 65_536)),
    (1, 2**29, (1, 32, 1024)),
    (64, 2**20, (64,)),
    (100, 1_000_000, (10,)),
    (4096, 65_536, (32,)),
    (1024, 16_384, (64, 512)),
    (16_384, 16_384, (100,)),
    (128, 131_072, (2048,)),
    (1024, 4096, (128,)),
    (100_000, 1024, (10,)),
    (16, 128_256, (50,)),
    (1, 1000, (10,)),
]
DISTRIBUTIONS = {
    "normal": lambda size: torch.randn(size, generator=size.generator, device=size.device),
    "uniform": lambda size: torch.rand(size, generator=size.generator, device=size.device),
    "ascending": lambda size: torch.arange(size[0] * size[1], device=size.device, dtype=torch.float32).reshape(size),
    "descending": lambda size: -torch.arange(size[0] * size[1], device=size.device, dtype=torch.float32).reshape(size),
    "all-equal": lambda size: torch.zeros(size, device=size.device),
    "few-distinct": lambda size: torch.randint(0, 5, size, generator=size.generator, device=size.device).float(),
    "one-sided": lambda size: torch.exp(8 * torch.randn(size, generator=size.generator, device=size.device)),
}
FLUSHED = 96 * 2**20  # words that are read before each call: more than the cache of any GPU holds


class Size(tuple):
    """The shape of a matrix, and where its random numbers come from."""

    def __new__(cls, rows, columns, device):
        size = super().__new__(cls, (rows, columns))
        size.device = device
        size.generator = torch.Generator(device=device).manual_seed(rows * 31 + columns)
        return size


def skyrank_of(x, k):
    return lambda: skyrank.select_k(x, k, largest=True)


def torch_of(x, k):
    return lambda: torch.topk(x, k)


def flashinfer_of(x, k):
    import flashinfer

    if x.device.type != "cuda" or x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return None
    return lambda: flashinfer.top_k(x, k)


def raft_of(x, k):
    from pylibraft.common import DeviceResources
    from pylibraft.matrix import select_k

    if x.device.type != "cuda" or x.dtype != torch.float32:
        return None
    resources = DeviceResources(torch.cuda.current_stream().cuda_stream)
    values = torch.empty((x.shape[0], k), device=x.device)
    positions = torch.empty((x.shape[0], k), dtype=torch.int64, device=x.device)

    def call():
        select_k(x, distances=values, indices=positions, select_min=False, handle=resources)
        return values, positions

    return call


@functools.cache
def device_topk(cccl):
    """Compiles device_topk.cu for the current GPU; returns its function."""
    library = pathlib.Path(tempfile.mkdtemp()) / "device_topk.so"
    includes = [f"-I{cccl}/{folder}" for folder in ("cub", "thrust", "libcudacxx/include")]
    architecture = "sm_" + "".join(map(str, torch.cuda.get_device_capability()))
    source = pathlib.Path(__file__).with_name("device_topk.cu")
    options = ["-O3", "-std=c++17", "-shared", "-Xcompiler=-fPIC", f"-arch={architecture}"]
    subprocess.run(["nvcc", *options, *includes, source, "-o", library], check=True)
    function = ctypes.CDLL(library).device_topk
    size, pointer = ctypes.c_int64, ctypes.c_void_p
    function.argtypes = [pointer, size, size, pointer, pointer, pointer, ctypes.POINTER(ctypes.c_size_t), pointer]
    return function


def cub_of(x, k, cccl):
    if x.device.type != "cuda" or x.dtype != torch.float32 or x.shape[0] != 1:
        return None
    function = device_topk(cccl)
    values = torch.empty((1, k), device=x.device)
    positions = torch.empty((1, k), dtype=torch.int64, device=x.device)
    size = ctypes.c_size_t()

    def select(temporary):
        addresses = (x.data_ptr(), x.shape[1], k, values.data_ptr(), positions.data_ptr(), temporary)
        if function(*addresses, ctypes.byref(size), torch.cuda.current_stream().cuda_stream) != 0:
            raise RuntimeError("cub::DeviceTopK failed")
        return values, positions

    select(None)
    memory = torch.empty(max(size.value, 1), dtype=torch.uint8, device=x.device)
    return lambda: select(memory.data_ptr())


def version_of_cccl(cccl):
    header = pathlib.Path(cccl, "libcudacxx/include/cuda/std/__cccl/version.h").read_text()
    version = int(re.search(r"define CCCL_VERSION (\d+)", header)[1])
    return f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"


def numpy_of(x, k):
    import numpy

    if x.device.type != "cpu" or x.dtype == torch.bfloat16:
        return None
    rows = x.numpy()

    def call():
        places = numpy.argpartition(rows, -k, axis=1)[:, -k:]
        return numpy.take_along_axis(rows, places, 1), places

    return call


# Name, package and maker of a call; a maker returns None for cells that the library has no call for.
SIDES = [
    ("skyrank", "skyrank", skyrank_of),
    ("torch-sorted", "torch", torch_of),
    ("flashinfer-unsorted", "flashinfer-python", flashinfer_of),
    ("raft-unsorted", "pylibraft-cu13", raft_of),
    ("numpy-unsorted", "numpy", numpy_of),
]


def sides_of(x, k, cccl):
    """Returns the sides that can be measured, by name."""
    found = {}
    if cccl is not None and (call := cub_of(x, k, cccl)) is not None:
        found[f"cub-unsorted-{version_of_cccl(cccl)}"] = call
    for name, package, make in SIDES:
        try:
            call = make(x, k)
            version = importlib.metadata.version(package)
        except (ImportError, importlib.metadata.PackageNotFoundError):
            if name != "skyrank":
                continue
            version = skyrank.__version__
        if call is not None:
            found[f"{name}-{version}"] = call
    return found


def is_right(x, k, name, answer):
    values, positions = (torch.as_tensor(part) for part in answer)
    expected, places = torch.sort(x, dim=1, descending=True, stable=True)
    if name.startswith("skyrank"):
        return torch.equal(positions, places[:, :k]) and torch.equal(values, expected[:, :k])
    return torch.equal(torch.sort(values, dim=1, descending=True)[0], expected[:, :k])


def seconds_of(call, flush):
    if flush is None:
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun
    torch.sum(flush)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3


def measure(x, k, cccl, rounds, flush):
    """Returns the median seconds of each side, and what was wrong; None where an answer was."""
    sides = sides_of(x, k, cccl)
    times = {name: [] for name in sides}
    for turn in range(rounds + 3):
        for name, call in sides.items():
            seconds = seconds_of(call, flush)
            if turn >= 3:
                times[name].append(seconds)
    right = {name: is_right(x, k, name, call()) for name, call in sides.items()}
    return {name: statistics.median(taken) if right[name] else None for name, taken in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--types", default="float32", help="types of torch, with commas between them")
    parser.add_argument("--distributions", default="normal", help=f"of {', '.join(DISTRIBUTIONS)}; all: each")
    parser.add_argument("--max-elements", type=int, default=2**29, help="larger cells are left out")
    parser.add_argument("--cccl", metavar="FOLDER", help="sources of CCCL, with which cub::DeviceTopK is measured")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", required=True, help="CSV file")
    arguments = parser.parse_args()
    names = list(DISTRIBUTIONS) if arguments.distributions == "all" else arguments.distributions.split(",")
    flush = torch.ones(FLUSHED, dtype=torch.int32, device="cuda") if arguments.device == "cuda" else None
    machine = torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu"
    wrong = 0
    with open(arguments.out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["machine", "type", "distribution", "rows", "columns", "k", "algorithm", "ms"])
        for rows, columns, wanted in SHAPES:
            if rows * columns > arguments.max_elements:
                continue
            for name in names:
                for type_name in arguments.types.split(","):
                    x = DISTRIBUTIONS[name](Size(rows, columns, arguments.device)).to(getattr(torch, type_name))
                    for k in wanted:
                        medians = measure(x, k, arguments.cccl, arguments.rounds, flush)
                        for side, seconds in medians.items():
                            ms = "wrong" if seconds is None else f"{seconds * 1e3:.4f}"
                            wrong += seconds is None
                            writer.writerow([machine, type_name, name, rows, columns, k, side, ms])
                            print(f"{rows:7} x {columns:9}, {k:5}  {type_name} {name:12}  {side:26} {ms:>10} ms", flush=True)
                    del x
    if wrong > 0:
        raise SystemExit(f"{wrong} answers were wrong")


if __name__ == "__main__":
    main()
