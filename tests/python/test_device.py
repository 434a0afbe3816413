"""Tensors of DLPack and Arrow data that may lie on a GPU: the protocols, what is refused, and that all is let go of once."""

import gc
import re
import types

import capsules
import numpy
import pytest
import skyrank
from capsules import CPU, CUDA, CUDA_HOST, METAL, ROCM, ArrowData, OldTensor, Tensor

POINTS = numpy.arange(12, dtype="float32").reshape(4, 3)


def has_gpu():
    try:
        skyrank.Engine(device="cuda")
    except skyrank.DeviceError:
        return False
    return True


def expect(error, message, make):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        make()


def not_there():
    """What is said of memory of the CPU that pretends to be of a GPU: the exception and a pattern."""
    if has_gpu():
        return skyrank.DataError, "has its values in memory of the host, not of GPU 0, on which it is said to be"
    return skyrank.DeviceError, "lies on a GPU, and this process has none: .*; copy it to the CPU"


# ------------------------------------------------------------------------------------------------------------- DLPack


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1)])
def test_a_tensor_on_a_gpu_is_asked_for_with_a_stream(version):
    tensor = Tensor(POINTS, version=version)
    error, message = not_there()
    with pytest.raises(error, match=f"^DLPack (tensor|column 'c0') {message}$"):
        skyrank.skyline(tensor)
    assert tensor.asked == [{"stream": 1, "max_version": (1, 1)}]
    assert tensor.deleted == 1


def test_a_library_before_versions_is_asked_again():
    tensor = OldTensor(POINTS)
    with pytest.raises(skyrank.Error, match="GPU"):
        skyrank.Table(tensor, columns=["a", "b", "c"])
    assert tensor.asked == [{"stream": 1}]
    assert tensor.deleted == 1


def test_a_column_on_a_gpu_is_named_in_errors():
    tensor = Tensor(POINTS[:, 0].copy())
    error, message = not_there()
    with pytest.raises(error, match=f"^(DLPack )?column 'price' .*{message}$"):
        skyrank.skyline({"price": tensor, "rating": POINTS[:, 1]}, low="price")
    assert tensor.deleted == 1
    flat = Tensor(POINTS)
    expect(skyrank.DataError, "column 'price' has 2 dimensions; a column has 1", lambda: skyrank.Table({"price": flat}))
    assert flat.asked == []


@pytest.mark.parametrize(
    ("exported", "message"),
    [
        ({"dtype": (4, 16, 1)}, "has values of the type bfloat16, which cannot be read; what can: bool, int8..64, uint8..64 and float16..64"),
        ({"dtype": (5, 64, 1)}, "has values of the type complex64, which cannot be read; what can: bool, int8..64, uint8..64 and float16..64"),
        ({"dtype": (2, 32, 4)}, "has values of the type float32 in vectors of 4, which cannot be read; what can: bool, int8..64, uint8..64 and float16..64"),
        ({"shape": (2, 3, 2)}, "has 3 dimensions; a table needs one (a column) or two (rows, columns)"),
        ({"shape": ()}, "has 0 dimensions; a table needs one (a column) or two (rows, columns)"),
        ({"shape": (-4, 3)}, "has the negative size -4"),
        ({"shape": (1 << 62, 3)}, "has a shape or strides beyond 64 bits"),
        ({"strides": (1 << 62, 1)}, "has a shape or strides beyond 64 bits"),
        ({"data": 0}, "has values at a null pointer"),
        ({"place": (METAL, 0)}, "lies on a device of type 8, which cannot be read; what can: the CPU (1) and CUDA (2, 3 and 13)"),
    ],
)
def test_what_is_wrong_with_a_tensor(exported, message):
    for version in (None, (1, 1)):
        tensor = Tensor(POINTS, version=version, **exported)
        expect(skyrank.DataError, f"DLPack tensor {message}", lambda: skyrank.Table(tensor))
        assert tensor.deleted == 1
        column = Tensor(POINTS[:, 0].copy(), version=version, **exported)
        with pytest.raises(skyrank.DataError, match="^column 'a' has |^column 'a' lies "):
            skyrank.Table({"a": column})
        assert column.deleted == 1


def test_a_version_that_cannot_be_read():
    tensor = Tensor(POINTS, version=(2, 0))
    message = "DLPack tensor is of DLPack version 2.0; what can be read: 1"
    expect(skyrank.DataError, message, lambda: skyrank.Table(tensor))
    assert tensor.deleted == 1


def test_names_of_columns():
    tensor = Tensor(POINTS)
    message = "DLPack tensor has 3 columns, for which there are 2 names"
    expect(skyrank.DataError, message, lambda: skyrank.Table(tensor, columns=["a", "b"]))
    assert tensor.deleted == 1


@pytest.mark.parametrize("device", [(ROCM, 0), (METAL, 0)])
def test_other_devices(device):
    for data, what in ((Tensor(POINTS, device), "the tensor"), ({"a": Tensor(POINTS[:, 0].copy(), device)}, "column 'a'")):
        with pytest.raises(skyrank.DataError, match=f"^{what} cannot be read through DLPack: .*; move it to the CPU$"):
            skyrank.Table(data)


class Broken(Tensor):
    """A tensor whose library cannot export it."""

    def __init__(self, error, device=(CUDA, 0)):
        super().__init__(POINTS[:, 0].copy(), device)
        self.error = error

    def __dlpack__(self, **asked):
        raise self.error


@pytest.mark.parametrize("error", [BufferError, RuntimeError, TypeError, ValueError, NotImplementedError])
@pytest.mark.parametrize("device", [CUDA, CPU])
def test_a_library_that_refuses(error, device):
    refusal = error("use tensor.detach()")
    for data, what in ((Broken(refusal, (device, 0)), "the tensor"), ({"a": Broken(refusal, (device, 0))}, "column 'a'")):
        message = f"{what} cannot be read through DLPack: use tensor.detach()"
        expect(skyrank.DataError, message, lambda: skyrank.Table(data))


def test_other_exceptions_of_a_library_pass():
    with pytest.raises(MemoryError):
        skyrank.Table(Broken(MemoryError()))
    with pytest.raises(KeyboardInterrupt):
        skyrank.Table({"a": Broken(KeyboardInterrupt())})


def test_a_tensor_without_a_device():
    tensor = types.SimpleNamespace(__dlpack__=lambda **asked: POINTS.__dlpack__())
    message = " has __dlpack__ but no __dlpack_device__, which tells where its values lie"
    expect(skyrank.DataError, f"the tensor{message}", lambda: skyrank.Table(tensor))
    expect(skyrank.DataError, f"column 'a'{message}", lambda: skyrank.Table({"a": tensor}))
    for device in (None, (), ("cuda", 0)):
        with pytest.raises(skyrank.DataError, match="^the tensor does not tell its device by __dlpack_device__: "):
            skyrank.Table(Tensor(POINTS, device))


def test_what_is_no_capsule_of_a_tensor():
    class Given(Tensor):
        def __dlpack__(self, **asked):
            return self.given

    tensor = Given(POINTS)
    tensor.given = 7
    expect(skyrank.DataError, "__dlpack__ gave a int, not a capsule", lambda: skyrank.Table(tensor))
    producer = Tensor(POINTS, name=b"tensor")
    tensor.given = producer.__dlpack__()
    message = "__dlpack__ gave a capsule named 'tensor', not 'dltensor'"
    expect(skyrank.DataError, message, lambda: skyrank.Table(tensor))
    assert producer.deleted == 0  # that is left to its producer, as nobody took it
    assert capsules.name_of(tensor.given) == b"tensor"


def test_a_capsule_is_taken_once():
    for version, used in ((None, b"used_dltensor"), ((1, 1), b"used_dltensor_versioned")):
        tensor = Tensor(numpy.arange(4.0), (CPU, 0), version)
        capsule = tensor.__dlpack__()
        table = skyrank._core.table_of_tensor(capsule, ["a"], None)
        assert capsules.name_of(capsule) == used
        message = "the tensor of __dlpack__ was taken by another consumer before"
        expect(skyrank.DataError, message, lambda: skyrank._core.table_of_tensor(capsule, ["a"], None))
        assert table.column(0).memory()[1] == tensor.array.ctypes.data
        del capsule
        assert tensor.deleted == 0
        del table
        assert tensor.deleted == 1


def test_a_table_and_its_columns_outlive_the_tensor():
    tensor = Tensor(POINTS, (CPU, 0))
    table = skyrank._core.table_of_tensor(tensor.__dlpack__(), [], None)
    assert table.names() == ["c0", "c1", "c2"]
    column = table.column("c1")
    del table
    gc.collect()
    assert tensor.deleted == 0
    assert column.memory()[1:4] == (POINTS.ctypes.data + 4, 4, 12)
    assert column.texts() == ["1", "4", "7", "10"]
    del column
    assert tensor.deleted == 1


def test_a_failed_query_lets_go_too():
    tensor = Tensor(POINTS, (CPU, 0))
    with pytest.raises(skyrank.BindError, match="price"):
        skyrank._core.table_of_tensor(tensor.__dlpack__(), [], None).column("price")
    gc.collect()
    assert tensor.deleted == 1


def test_pinned_memory_is_the_cpus():
    result = skyrank.skyline(Tensor(POINTS, (CUDA_HOST, 0)))
    assert result.rows.tolist() == [0]


# -------------------------------------------------------------------------------------------------------------- Arrow


def batch():
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.record_batch({"a": [3.0, None, 2.0, 1.0], "s": ["x", "y", None, "a text of more than twelve"]})


def released(make, data):
    """Runs what fails, and returns whether nobody has the memory of the data any more."""
    import pyarrow

    before = pyarrow.total_allocated_bytes()
    with pytest.raises(skyrank.Error) as raised:
        make(data())
    del make
    raised.value.__traceback__ = None
    gc.collect()
    return str(raised.value), pyarrow.total_allocated_bytes() == before


def test_arrow_data_of_the_device_interface_on_the_cpu():
    data = ArrowData(batch())
    assert skyrank.top_k(data, 4, skyrank.low("a")).rows.tolist() == [3, 2, 0, 1]
    table = skyrank.Table(data)._core_data
    assert table.names() == ["a", "s"]
    assert table.column(0).memory()[1] == data.data["a"].buffers()[1].address
    assert skyrank.query(ArrowData(batch().slice(1)), skyrank.Query().rank_by("a"))["a"].tolist() == [2.0, 1.0, None]
    assert skyrank.top_k({"x": ArrowData(batch()["s"])}, 1, skyrank.low("x"))["x"].tolist() == ["a text of more than twelve"]
    assert skyrank.Table(ArrowData(batch()["a"])).columns == ["c0"]


def test_arrow_data_of_a_gpu_that_is_not_there():
    data = batch()
    for shape in (data, data["a"]):
        text, let_go = released(skyrank.Table, lambda: ArrowData(shape, (CUDA, 1000)))
        assert text.startswith("Arrow device array lies on ") and let_go
    text, let_go = released(skyrank.Table, lambda: {"x": ArrowData(data["a"], (CUDA, 1000))})
    assert text.startswith("Arrow device array lies on ") and let_go


def test_arrow_data_of_other_devices():
    message = "lies on a device of type 8, which cannot be read; what can: the CPU (1) and CUDA (2, 3 and 13)"
    assert released(skyrank.Table, lambda: ArrowData(batch(), (METAL, 0))) == (f"Arrow device array {message}", True)
    event = numpy.zeros(1, "int64").ctypes.data
    message = "Arrow device array is the CPU's and has an event of a GPU"
    assert released(skyrank.Table, lambda: ArrowData(batch(), (CPU, -1), event)) == (message, True)


def test_arrow_data_are_taken_once():
    data = ArrowData(batch())
    skyrank.Table(data)
    given = types.SimpleNamespace(__arrow_c_device_array__=lambda: data.given)
    message = "the data of __arrow_c_device_array__ were taken by another consumer before"
    expect(skyrank.DataError, message, lambda: skyrank.Table(given))


def test_what_is_no_arrow_data():
    given = types.SimpleNamespace(__arrow_c_device_array__=lambda: answer)
    answer = (7, 8)
    expect(skyrank.DataError, "__arrow_c_device_array__ gave a int, not a capsule", lambda: skyrank.Table(given))
    answer = batch().__arrow_c_array__()
    message = "__arrow_c_device_array__ gave a capsule named 'arrow_array', not 'arrow_device_array'"
    expect(skyrank.DataError, message, lambda: skyrank.Table(given))
    for answer in (None, (), (1, 2, 3)):
        with pytest.raises(skyrank.DataError, match="^the SimpleNamespace cannot be read through __arrow_c_device_array__: "):
            skyrank.Table(given)
        with pytest.raises(skyrank.DataError, match="^column 'x' cannot be read through __arrow_c_device_array__: "):
            skyrank.Table({"x": given})


def test_arrow_arrays_keep_what_tensors_lack():
    pyarrow = pytest.importorskip("pyarrow")
    values = pyarrow.array([3, None, 2])
    assert skyrank.top_k(values, 3, skyrank.low("c0")).rows.tolist() == [2, 0, 1]
    assert skyrank.top_k(pyarrow.array(["b", None, "a"]), 3, skyrank.low("c0")).rows.tolist() == [2, 0, 1]
    assert skyrank.Table(pyarrow.array([3, 1]), columns=["x"]).columns == ["x"]


# ------------------------------------------------------------------------------------------------------------- on GPUs


@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    if not module.cuda.is_available() or not has_gpu():
        pytest.skip("torch or SkyRank has no GPU here")
    return module


def test_torch_on_a_gpu(torch):
    host = numpy.random.default_rng(5).integers(0, 50, (3000, 3))
    expected = skyrank.skyline(host, low=[0, 1], high=[2])
    for dtype in ("uint8", "int32", "int64", "float16", "float32", "float64"):
        rows = torch.from_numpy(host).to("cuda").to(getattr(torch, dtype))
        for tensor in (rows, rows.T.contiguous().T, torch.cat([rows, rows], 1)[:, :3]):
            result = skyrank.skyline(tensor, low=[0, 1], high=[2])
            assert result.rows.tolist() == expected.rows.tolist()
            assert result["c1"].tolist() == expected["c1"].tolist()
        table = skyrank.Table({"a": rows[:, 0], "b": host[:, 1]})
        assert skyrank.top_k(table, 5, "a + b").rows.tolist() == skyrank.top_k(host, 5, "c0 + c1").rows.tolist()


def test_torch_streams_are_waited_for(torch):
    values = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        tensor = torch.full_like(values, 1e9)
        torch.cuda._sleep(200_000_000)
        tensor.copy_(values.flip(0))
        result = skyrank.top_k(tensor, 3, skyrank.low("c0"))
    assert result.rows.tolist() == [(1 << 20) - 1 - index for index in range(3)]


def test_torch_refusals_on_a_gpu(torch):
    with pytest.raises(skyrank.DataError, match=r"requires? grad|require gradient"):
        skyrank.Table(torch.ones(3, device="cuda", requires_grad=True))
    with pytest.raises(skyrank.DataError, match="bfloat16"):
        skyrank.Table(torch.ones(3, device="cuda", dtype=torch.bfloat16))
    table = skyrank.Table(torch.arange(3.0, device="cuda"))
    assert table._core_data.column(0).texts() == ["0", "1", "2"]
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(table).column(0).to_pylist() == [0.0, 1.0, 2.0]
