"""skyrank.torch.topk beside torch.topk. Skipped, with the reason, where torch is not installed."""

import contextlib
import math
import types

import pytest
import skyrank
import skyrank._arrays.select


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def topk(torch):
    import skyrank.torch

    return skyrank.torch.topk


def tensors(torch):
    """Tensors of every type and of several shapes and strides, without ties."""
    torch.manual_seed(7)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        yield torch.randperm(36).view(4, 9).to(dtype)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        values = torch.randperm(120).sub(60).view(2, 60).to(dtype)
        yield values
        yield values.view(2, 3, 4, 5)
        yield values.t()
        yield values[:, ::7]
    yield torch.randn(()) + 1
    yield torch.empty(3, 0, 2)


def same(a, b):
    assert type(a) is type(b)
    for x, y in zip(a, b):
        assert x.shape == y.shape and x.dtype == y.dtype and x.stride() == y.stride() and x.equal(y)


def test_does_what_torch_does(torch, topk):
    for tensor in tensors(torch):
        for dim in range(-tensor.dim(), tensor.dim()):
            for k in {0, 1, tensor.shape[dim] // 2, tensor.shape[dim]} - {1 if tensor.shape[dim] == 0 else None}:
                for largest in (True, False):
                    same(topk(tensor, k, dim, largest), torch.topk(tensor, k, dim, largest))
                    unsorted = topk(tensor, k, dim, largest, sorted=False)
                    assert unsorted.values.equal(tensor.gather(dim, unsorted.indices))
                    assert unsorted.indices.sort(dim).values.equal(torch.topk(tensor, k, dim, largest).indices.sort(dim).values)


def test_scalars(torch, topk):
    for k in (0, 1):
        same(topk(torch.tensor(3.0), k), torch.topk(torch.tensor(3.0), k))


def test_nan_is_greatest(torch, topk):
    tensor = torch.tensor([1.0, math.nan, 2.0, -math.inf])
    for largest in (True, False):
        assert topk(tensor, 4, largest=largest).indices.tolist() == torch.topk(tensor, 4, largest=largest).indices.tolist()


def test_ties_go_to_lower_indices(torch, topk):
    assert topk(torch.zeros(1000), 5).indices.tolist() == [0, 1, 2, 3, 4]
    assert topk(torch.tensor([0.0, -0.0, 0.0, -1.0]), 2).indices.tolist() == [0, 1]


def test_errors_are_those_of_torch(torch, topk):
    x = torch.randn(3, 4)
    calls = [(x, 5), (x, -1), (x, 1, 2), (x, 1, -3), (x, 1.5), (x, "1"), (x, 1, None), ([1, 2], 1)]
    calls += [(torch.tensor(1.0), 2), (x > 0, 1), (x.to(torch.complex64), 1), (x.to_sparse(), 1)]
    for call in calls:
        with pytest.raises(Exception) as right:  # noqa: PT011
            torch.topk(*call)
        with pytest.raises(type(right.value)) as found:
            topk(*call)
        assert str(found.value) == str(right.value)


def test_out(torch, topk):
    x = torch.randn(3, 4)
    out = (torch.empty(0), torch.empty(0, dtype=torch.int64))
    result = topk(x, 2, out=out)
    assert result.values is out[0] and result.indices is out[1]
    same(result, torch.topk(x, 2))
    with pytest.raises(RuntimeError, match="out="):
        topk(x.requires_grad_(), 2, out=out)


def test_operator_is_sound(torch, topk):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for x in (torch.randn(4, 6).to(dtype), torch.randn(4, 6).to(dtype).requires_grad_(), torch.randn(()).to(dtype)):
            for dim in (-1, 0):
                found = torch.library.opcheck(torch.ops.skyrank.topk.default, (x, 1, dim, True, True))
                assert set(found.values()) == {"SUCCESS"}
    assert set(torch.library.opcheck(torch.ops.skyrank.topk.default, (torch.arange(9), 2, 0, False, False)).values()) == {"SUCCESS"}


def test_gradients(torch, topk):
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    for dim in (0, 1):
        assert torch.autograd.gradcheck(lambda x, dim=dim: topk(x, 2, dim).values, (x,))
        assert torch.autograd.gradgradcheck(lambda x, dim=dim: topk(x, 2, dim).values ** 2, (x,))
    scalar = torch.tensor(2.0, requires_grad=True)
    topk(scalar, 1).values.backward()
    assert scalar.grad == 1
    assert not topk(x, 2).indices.requires_grad


def test_vmap(torch, topk):
    x = torch.randn(3, 5, 7)
    for in_dims in (0, 1, 2):
        same_tensor = torch.vmap(lambda t: topk(t, 2, 0).values, in_dims=in_dims)(x)
        assert same_tensor.equal(torch.vmap(lambda t: torch.topk(t, 2, 0).values, in_dims=in_dims)(x))
    assert torch.vmap(lambda t: topk(t, 1).values)(torch.arange(3.0)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles(torch, topk, dynamic):
    compiled = torch.compile(lambda x: topk(x * 2, 3, largest=False), fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for shape in ((4, 6), (5, 9)):
        x = torch.randn(shape, requires_grad=True)
        result = compiled(x)
        assert result.indices.equal(torch.topk(x, 3, largest=False).indices)
        result.values.sum().backward()
        assert x.grad.sum() == 2 * 3 * shape[0]


def test_select_k_of_tensors(torch):
    x = torch.tensor([[3, 1, 2], [5, 5, 4]], dtype=torch.bfloat16)
    values, positions = skyrank.select_k(x, 2, positions="int32")
    assert values.dtype == torch.bfloat16 and values.tolist() == [[1, 2], [4, 5]]
    assert positions.dtype == torch.int32 and positions.tolist() == [[1, 2], [2, 0]]
    values, positions = skyrank.select_k(x.t(), 1, axis=0, largest=True)
    assert values.tolist() == [[3, 5]] and positions.tolist() == [[0, 0]]
    weights = torch.randn(9, requires_grad=True)
    with pytest.raises(skyrank.DataError, match="^a tensor with gradients goes to skyrank.torch.topk"):
        skyrank.select_k(weights, 1)
    with torch.no_grad():
        assert skyrank.select_k(weights, 9).values.equal(weights.sort().values)
    with pytest.raises(skyrank.DataError, match="^elements of the type bool cannot be selected"):
        skyrank.select_k(x > 0, 1)
    with pytest.raises(skyrank.DataError, match="^a tensor of layout torch.sparse_coo on cpu is not read"):
        skyrank.select_k(x.to_sparse(), 1)
    with pytest.raises(skyrank.DataError, match="which is 3; it is 4"):
        skyrank.select_k(x, 4)


class OnCpu:
    """The core, with the functions for GPUs over the memory of the CPU."""

    def __init__(self, core):
        self.core = core
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.core, name)

    def select_k_on_device(self, *given):
        *same, stream, allocate = given
        workspace, address = allocate(256)
        assert workspace.data_ptr() == address != 0 and workspace.nbytes == 256 and stream == 7
        self.asked.append(len(given[2]))
        self.core.select_k_at(*same)


def test_tensors_on_a_gpu_are_passed_on_as_matrices(torch, monkeypatch):
    class Tensor(torch.Tensor):
        is_cpu = property(lambda self: False)
        is_cuda = property(lambda self: True)

    core = OnCpu(skyrank._core)
    monkeypatch.setattr(skyrank._arrays.select, "_core", core)
    monkeypatch.setattr(skyrank._arrays.select, "_gpus", {})
    # The tensors have the index -1, so the second GPU is another one until it is made current.
    current, entered = [-1], []

    @contextlib.contextmanager
    def device(index):
        entered.append(index)
        current.append(index)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(skyrank._arrays.select, "_words", [lambda: current[-1], lambda index: 7])
    check_tensors_on_a_gpu(torch, Tensor, core)
    assert entered == []
    current[0] = 0
    check_tensors_on_a_gpu(torch, Tensor, core)
    assert set(entered) == {-1} and current == [0]


def check_tensors_on_a_gpu(torch, Tensor, core):
    core.asked.clear()
    for shape in ((7,), (5, 6), (3, 4, 5)):
        for dtype in (torch.float32, torch.bfloat16):
            rows = torch.randperm(math.prod(shape)).to(dtype).view(shape)
            for x in (rows, rows.permute(*reversed(range(rows.dim())))):
                for axis in range(-x.dim(), x.dim()):
                    right = torch.topk(x, 2, axis)
                    values, positions = skyrank.select_k(x.as_subclass(Tensor), 2, axis=axis, largest=True, positions="int32")
                    assert values.as_subclass(torch.Tensor).equal(right.values)
                    assert positions.as_subclass(torch.Tensor).equal(right.indices.int())
    assert len(core.asked) == 2 * 2 * (2 + 4 + 6) and set(core.asked) == {1, 2}
