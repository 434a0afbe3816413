"""Selection along an axis of arrays, against a stable sort by the definition."""

import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time

import capsules
import numpy
import pytest
import skyrank
from hypothesis import given
from hypothesis import strategies as st

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]


def expected(x, k, largest=False, nan="last", axis=-1):
    """Returns positions along an axis: by NaN, then by value, then by position."""

    def positions(row):
        def place(position):
            value = row[position].item()
            if math.isnan(value):
                return (-1 if nan == "first" else 1, 0)
            return (0, -value if largest else value)

        return sorted(range(len(row)), key=place)[:k]

    rows = numpy.moveaxis(x, axis, -1)
    flat = [positions(row) for row in rows.reshape(-1, rows.shape[-1])]
    found = numpy.array(flat, dtype="int64").reshape(*rows.shape[:-1], k)
    return numpy.moveaxis(found, -1, axis)


def bits(x):
    return numpy.ascontiguousarray(x).view(f"uint{8 * x.dtype.itemsize}")


def check(x, k, axis=-1, positions="int64", **words):
    right = expected(x, k, axis=axis, **words)
    values, found = skyrank.select_k(x, k, axis=axis, positions=positions, **words)
    assert found.dtype == positions and values.dtype == x.dtype.newbyteorder("=")
    numpy.testing.assert_array_equal(found, right)
    native = x.astype(x.dtype.newbyteorder("="))
    numpy.testing.assert_array_equal(bits(values), bits(numpy.take_along_axis(native, right, axis)))
    values, found = skyrank.select_k(x, k, axis=axis, sorted=False, **words)
    order = numpy.argsort(found, axis, kind="stable")
    numpy.testing.assert_array_equal(numpy.take_along_axis(found, order, axis), numpy.sort(right, axis))
    numpy.testing.assert_array_equal(bits(values), bits(numpy.take_along_axis(native, found, axis)))


@st.composite
def arrays(draw):
    """Arrays of every type, of up to three dimensions and in any layout: few values, special ones, or any bits."""
    dtype = draw(st.sampled_from(INTEGERS + FLOATS))
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    seed = draw(st.integers(0, 2**32 - 1))
    random = numpy.random.default_rng(seed)
    kind = draw(st.sampled_from(["few", "special", "any"]))
    words = random.integers(0, 256, (*shape, numpy.dtype(dtype).itemsize), dtype="uint8")
    if kind == "any":
        x = words.view(dtype).reshape(shape)
    elif kind == "special" and dtype in FLOATS:
        x = random.choice(numpy.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, -math.nan], dtype), shape)
    else:
        x = random.integers(0, 3, shape).astype(dtype)
    layout = draw(st.sampled_from(["contiguous", "fortran", "reversed", "steps", "broadcast", "swapped"]))
    if layout == "fortran":
        x = numpy.asfortranarray(x)
    elif layout == "reversed":
        x = x[::-1]
    elif layout == "steps":
        x = numpy.repeat(x, 2, axis=-1)[..., ::2]
    elif layout == "broadcast":
        x = numpy.broadcast_to(x, (2, *x.shape))
    elif layout == "swapped":
        x = x.astype(x.dtype.newbyteorder())
    return x


@given(arrays(), st.data())
def test_a_selection_is_the_beginning_of_a_stable_sort(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(0, x.shape[axis]))
    largest = data.draw(st.booleans())
    nan = data.draw(st.sampled_from(["last", "first"]))
    check(x, k, axis, data.draw(st.sampled_from(["int64", "int32"])), largest=largest, nan=nan)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 255, 256, 257, 320, 8191, 8193, 32767, 32769]))
def test_long_rows(seed, size):
    random = numpy.random.default_rng(seed)
    x = random.integers(0, size, (2, size)).astype(random.choice(["uint16", "int32", "float32", "float64"]))
    k = int(random.integers(0, min(size, 300) + 1))
    for largest in (False, True):
        order = numpy.argsort(-x.astype("float64") if largest else x, axis=-1, kind="stable")[:, :k]
        numpy.testing.assert_array_equal(skyrank.select_k(x, k, largest=largest).positions, order)


def test_the_order_of_floats():
    row = numpy.array([math.nan, 0.0, -0.0, math.inf, -math.inf, -math.nan, 1.0], "float32")
    assert skyrank.select_k(row, 7).positions.tolist() == [4, 1, 2, 6, 3, 0, 5]
    assert skyrank.select_k(row, 7, largest=True).positions.tolist() == [3, 6, 1, 2, 4, 0, 5]
    assert skyrank.select_k(row, 7, nan="first").positions.tolist() == [0, 5, 4, 1, 2, 6, 3]
    assert skyrank.select_k(row, 7, largest=True, nan="first").positions.tolist() == [0, 5, 3, 6, 1, 2, 4]


def test_more_axes_than_can_be_joined():
    x = numpy.arange(2 * 4 * 6 * 5 * 3).reshape(2, 4, 6, 5, 3)[:, ::2, ::-2, :, ::2] % 7
    for axis in range(5):
        check(x, x.shape[axis], axis)


def test_records_of_odd_width_are_copied():
    records = numpy.zeros((3, 4), dtype=[("flag", "i1"), ("value", "<f4")])
    records["value"] = numpy.array([[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 1, 1]])
    check(records["value"], 2)
    check(records["value"], 2, axis=0)


def test_read_only_arrays():
    x = numpy.array([3, 1, 2])
    x.flags.writeable = False
    assert skyrank.select_k(x, 2).positions.tolist() == [1, 2]


def test_nothing_to_select():
    for shape, k, axis in [((0,), 0, 0), ((3, 0), 0, 1), ((0, 3), 2, 1), ((4, 0, 2), 1, 0), ((2, 3), 0, 0)]:
        values, positions = skyrank.select_k(numpy.zeros(shape, "float32"), k, axis=axis)
        right = (*shape[:axis], k, *shape[axis + 1 :])
        assert values.shape == positions.shape == right and values.dtype == "float32"


class Interface:
    """An object that has nothing but the interface of NumPy's arrays."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Foreign(capsules.Tensor):
    """An array of a library that follows the array API standard."""

    def __init__(self, array, **exported):
        super().__init__(array, (capsules.CPU, 0), **exported)

    def __array_namespace__(self):
        return Namespace


class Namespace:
    @staticmethod
    def from_dlpack(tensor):
        return ("foreign", tensor)


def test_other_libraries():
    x = numpy.array([[3.0, 1.0, 2.0], [5.0, 5.0, 4.0]], "float32")
    values, positions = skyrank.select_k(Interface(x), 2)
    assert values.tolist() == [[1, 2], [4, 5]] and positions.tolist() == [[1, 2], [2, 0]]
    for version in (None, (1, 1)):
        tensor = capsules.Tensor(x, (capsules.CPU, 0), version=version)
        values, positions = skyrank.select_k(tensor, 2, axis=0)
        assert values.tolist() == [[3, 1, 2], [5, 5, 4]] and isinstance(values, numpy.ndarray)
        assert len(tensor.asked) == 1
        del values, positions
        assert tensor.deleted == 1
    values, positions = skyrank.select_k(Foreign(x), 1)
    assert values[0] == positions[0] == "foreign"
    assert values[1].tolist() == [[1], [4]] and positions[1].tolist() == [[1], [2]]


def test_bfloat16():
    words = numpy.array([[0x4040, 0xBF80, 0x7FC0, 0x8000, 0x0000]], "uint16")  # 3, -1, NaN, -0, 0
    values, positions = skyrank.select_k(Foreign(words, dtype=(4, 16, 1)), 4)
    assert positions[1].tolist() == [[1, 3, 4, 0]]
    # A tensor of bfloat16, which NumPy does not read.
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        numpy.from_dlpack(values[1])
    assert skyrank.select_k(values[1], 1, largest=True).positions.tolist() == [[3]]


def expect(error, message, make):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()


def test_what_is_wrong_with_arguments():
    x = numpy.zeros((2, 3))
    expect(
        skyrank.DataError,
        "k is 0 to the number of elements along the axis, which is 3; it is 4",
        lambda: skyrank.select_k(x, 4),
    )
    with pytest.raises(skyrank.DataError, match="which is 2; it is -1$"):
        skyrank.select_k(x, -1, axis=0)
    with pytest.raises(skyrank.DataError, match="it is 1180591620717411303424$"):
        skyrank.select_k(x, 2**70)
    expect(skyrank.QueryError, "`k` is a whole number, not 1.5", lambda: skyrank.select_k(x, 1.5))
    expect(skyrank.QueryError, "`k` is a whole number, not '1'", lambda: skyrank.select_k(x, "1"))
    expect(skyrank.QueryError, "`axis` is a whole number, not None", lambda: skyrank.select_k(x, 1, axis=None))
    expect(
        skyrank.QueryError, "there is no axis 2; the array has 2 dimensions", lambda: skyrank.select_k(x, 1, axis=2)
    )
    expect(
        skyrank.QueryError, "there is no axis -3; the array has 2 dimensions", lambda: skyrank.select_k(x, 1, axis=-3)
    )
    expect(skyrank.QueryError, "`nan` is 'last' or 'first', not 'best'", lambda: skyrank.select_k(x, 1, nan="best"))
    expect(
        skyrank.QueryError,
        "`positions` is 'int64' or 'int32', not 'int8'",
        lambda: skyrank.select_k(x, 1, positions="int8"),
    )


@pytest.mark.parametrize("dtype", ["bool", "complex64", "datetime64[s]", "U3", "object", "longdouble"])
def test_types_that_are_not_selected(dtype):
    with pytest.raises(skyrank.DataError, match="^elements of the type .* cannot be selected; what can: int8 to int64,"):
        skyrank.select_k(numpy.zeros(3, dtype), 1)


def test_what_is_no_array():
    for thing in ([3, 1, 2], "array", 7, None, {"a": 1}):
        with pytest.raises(skyrank.DataError, match=f"^a {type(thing).__name__} is no array; what is: "):
            skyrank.select_k(thing, 1)
    with pytest.raises(skyrank.DataError, match="^the array has no dimensions"):
        skyrank.select_k(numpy.array(3.0), 1)
    with pytest.raises(skyrank.DataError, match="^a masked array has elements without a value"):
        skyrank.select_k(numpy.ma.MaskedArray([1, 2], [False, True]), 1)
    metal = capsules.Tensor(numpy.zeros(3, "float32"), (capsules.METAL, 0))
    with pytest.raises(skyrank.DataError, match="^a Tensor on a device of type 8 is not read"):
        skyrank.select_k(metal, 1)
    assert metal.asked == []
    complex_tensor = capsules.Tensor(numpy.zeros(3, "complex64"), (capsules.CPU, 0))
    with pytest.raises(skyrank.DataError, match="^elements of the type .* cannot be selected"):
        skyrank.select_k(complex_tensor, 1)


def test_other_libraries_on_a_gpu_need_torch():
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed, and would read the memory of no GPU")
    tensor = capsules.Tensor(numpy.zeros(3, "float32"))
    with pytest.raises(skyrank.ResourceError, match=r"^selection in a Tensor on a GPU needs torch: pip install 'skyrank\[torch\]'"):
        skyrank.select_k(tensor, 1)
    assert tensor.asked == []


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    for dtype in ("int8", "float16", "bfloat16", "float32"):
        x = jax.numpy.array([[3, 1, 2], [5, 5, 4]], dtype)
        values, positions = skyrank.select_k(x, 2, positions="int32")
        assert isinstance(values, jax.Array) and values.dtype == dtype and values.tolist() == [[1, 2], [4, 5]]
        assert isinstance(positions, jax.Array) and positions.tolist() == [[1, 2], [2, 0]]
        assert skyrank.select_k(x, 1, axis=0, largest=True).values.tolist() == [[5, 5, 4]]


def test_bfloat16_of_numpy():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = numpy.array([[3, 1, 2], [5, 5, 4]], ml_dtypes.bfloat16)
    for layout in (x, numpy.asfortranarray(x)):
        values, positions = skyrank.select_k(layout, 2)
        assert values.dtype == x.dtype and values.tolist() == [[1, 2], [4, 5]]
        assert positions.tolist() == [[1, 2], [2, 0]]


def test_large_rows_on_any_thread():
    x = numpy.random.default_rng(5).permutation(1 << 19).astype("int32")
    right = numpy.argsort(x)[:1000]
    found = {}

    def select(name):
        found[name] = skyrank.select_k(x, 1000).positions

    threads = [threading.Thread(target=select, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    select("main")
    for thread in threads:
        thread.join()
    assert len(found) == 5
    for positions in found.values():
        numpy.testing.assert_array_equal(positions, right)


def test_a_signal_handler_that_raises_stops_it():
    x = numpy.broadcast_to(numpy.float32(1), (1 << 34,))  # takes seconds, and no memory
    started = time.monotonic()

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            skyrank.select_k(x, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 2


def test_other_threads_run_meanwhile():
    x = numpy.broadcast_to(numpy.float32(1), (1 << 28,))
    steps = 0
    done = threading.Event()

    def select():
        skyrank.select_k(x, 1)
        done.set()

    thread = threading.Thread(target=select)
    thread.start()
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 1000


def test_a_forked_child_selects():
    x = numpy.random.default_rng(6).permutation(1 << 19).astype("int32")
    right = skyrank.select_k(x, 10).positions.tolist()
    child = os.fork()
    if child == 0:
        same = skyrank.select_k(x, 10).positions.tolist() == right
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_package_imports_no_library_of_tensors():
    code = "import sys, skyrank; print([name for name in ('torch', 'cupy', 'jax') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
