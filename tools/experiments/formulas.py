"""The papers' cost models, from the benchmark's row of a run: milliseconds, or MiB, that the paper's formula predicts.

The formulas count accesses to global memory. What one takes is measured: `floor_ms` is the time to read all keys once, so that
no formula needs a constant of the machine, but bitonic top-k, which also needs the bandwidth of shared memory.
"""

import math
import struct

SHARED_BANDWIDTH = 132 * 128 * 1.755e9  # bytes a second of an H100 or H200: processors, bytes a cycle, cycles
THREADS = 132 * 2048  # that it runs at a time
BYTES = {"float32": 4, "uint32": 4, "float64": 8, "uint64": 8, "uint8": 1, "uint16": 2}


class Run:
    """What formulas know of a run."""

    def __init__(self, row):
        self.n, self.k = int(row["n"]), int(row["k"])
        self.type = row["type"]
        self.bytes = BYTES.get(row["type"], 4)
        self.floor = float(row.get("floor_ms") or "nan")
        self.parameters = dict(it.split("=") for it in row.get("parameters", "").split())

    def reads(self, keys):
        """Returns the milliseconds to read, or to write, so many keys."""
        return keys / self.n * self.floor

    def parameter(self, name, otherwise):
        return float(self.parameters.get(name, otherwise))


def leading_share(run):
    """Returns the share of the keys whose first 8 bits are those of the k-th least, uniform values of the type."""
    if run.type not in ("float32", "float64"):
        return 1 / 256
    pattern, width = (">f", 4) if run.type == "float32" else (">d", 8)
    digit = struct.pack(pattern, min(run.k / run.n, 1 - 2**-24))[0]
    edge = [struct.unpack(pattern, bytes([it] + [0] * (width - 1)))[0] for it in (digit, digit + 1)]
    return min(edge[1], 1) - edge[0]


def radix_select(run):
    """Section 7.1 of Shanbhag et al.: passes over digits of 8 bits, each of which leaves a share of the keys."""
    histograms = run.reads(3 * 16 * 4 * THREADS / run.bytes)
    share, left, time = leading_share(run), run.n, 0
    for _ in range(run.bytes):
        time += run.reads(2 * left + share * left) + histograms
        left, share = share * left, 1 / 256
        if left <= run.k:
            break
    return time


def bitonic_steps(k):
    """Returns the steps of sorting runs of k by a bitonic network."""
    levels = math.log2(max(k, 2))
    return levels * (levels + 1) / 2


def bitonic(run):
    """Section 7.2 of Shanbhag et al.: the greater of the times in global and in shared memory, kernel after kernel.

    The paper states the time in shared memory for k = 32, 17.5 D / B_S; for others it is taken to grow with the steps.
    """
    per_thread = run.parameter("elements", 16)
    shared = 17.5 * bitonic_steps(run.k) / bitonic_steps(32) * run.n * run.bytes / SHARED_BANDWIDTH * 1e3
    first = max(run.reads(run.n * (1 + 1 / per_thread)), shared)
    return first / (1 - 1 / per_thread)


def delegates(run):
    """Equation 6 of Gaihre et al., with subranges by rule 4 and the paper's constant, 3."""
    constant = 3
    shuffle = 6 * (2**constant - 1) / 31  # over an access to global memory
    given = run.parameter("alpha", 0)
    alpha = given or max(1, math.floor((constant + math.log2(run.n) - math.log2(run.k)) / 2))
    return run.reads(31 * run.n / 2**alpha * shuffle + 6 * run.n / 2**alpha + 6 * run.k * 2**alpha + 2 * run.k + run.n)


def middle_bin(n, k, probability):
    """Returns the keys that the middle bin is expected to have: sections 5.3 and 7 of Monroe et al., equations 1 to 3."""
    splitters = int(8 * math.sqrt(n))
    share = min(max(k / n, 1 / n), 1 - 1 / n)

    def chance(bucket):
        return math.exp(math.lgamma(splitters + 1) - math.lgamma(bucket + 1) - math.lgamma(splitters - bucket + 1)
                        + bucket * math.log(share) + (splitters - bucket) * math.log(1 - share))

    low = high = min(splitters, int((splitters + 1) * share))
    total = chance(low)
    while total < probability and (low > 0 or high < splitters):
        low, high = max(0, low - 1), min(splitters, high + 1)
        total += chance(low) * (low < high) + chance(high)
    return n / splitters * (high - low + 1)


def randomized(run):
    """Sections 7 and 8 of Monroe et al.: reads and writes of each kernel, and guesses that fail.

    A guess counts keys (n reads, 2 n / keysPerThread writes); the partition reads n keys and writes k with their values; the
    splitters and the middle bin are sorted with their values by 8 digits of 4 bits.
    """
    keys_per_thread, digits = 8, 8
    probability = run.parameter("probability", 80) / 100
    guesses = 2 - probability
    sorted_keys = 8 * math.sqrt(run.n) + middle_bin(run.n, run.k, probability)
    return run.reads(guesses * run.n * (1 + 2 / keys_per_thread) + run.n + 2 * run.k + 4 * digits * sorted_keys)


def randomized_memory(run):
    """Section 8.3 of Monroe et al., without the list itself: keys and values of the answer, offsets of threads and blocks.

    The paper's c is 8, the splitters for each root of n; its blocks have 128 threads of 8 keys.
    """
    keys_per_thread = run.parameter("keys_per_thread", 8) or 8
    keys_per_block = keys_per_thread * run.parameter("block_threads", 128)
    integers = 2 * run.k + 2 * run.n / keys_per_thread + 4 * run.n / keys_per_block + 8 * math.sqrt(run.n) + 5
    return 4 * integers / 2**20


FORMULAS = {"radix-select": radix_select, "bitonic": bitonic, "delegates": delegates, "randomized": randomized}
MEMORY_FORMULAS = {"randomized-memory": randomized_memory}


def predicted(name, row):
    """Returns what a formula predicts for the run of a row, or None where the row lacks what it starts from."""
    if name in MEMORY_FORMULAS:
        return MEMORY_FORMULAS[name](Run(row))
    return FORMULAS[name](Run(row)) if row.get("floor_ms") else None
