"""torch.topk by SkyRank. Needs torch 2.4 or later, with any version of which the package can be imported.

>>> import skyrank.torch                                              # doctest: +SKIP
>>> skyrank.torch.topk(torch.tensor([1.0, 5.0, 3.0]), 2).indices      # doctest: +SKIP
tensor([1, 2])
"""

from __future__ import annotations

from typing import Any

from ._arrays import select as _select
from ._errors import ResourceError, required

_torch = required("torch", "torch", "skyrank.torch")
if not hasattr(_torch.library, "register_autograd"):
    raise ResourceError(f"skyrank.torch needs torch 2.4 or later, not {_torch.__version__}")

_TYPES = frozenset(getattr(_torch, name) for name in _select.TYPES if hasattr(_torch, name))
# Looked up once, as a small selection takes a GPU no longer than the host takes to ask for it.
_strided = _torch.strided
_answer_type = _torch.return_types.topk
_Tensor = _torch.Tensor
_WHOLE = (int, _torch.SymInt)
_is_compiling = _torch.compiler.is_compiling
_is_grad_enabled = _torch.is_grad_enabled
try:
    _dispatch_modes: Any = _torch._C._len_torch_dispatch_stack
    _transforms = _torch._C._functorch.peek_interpreter_stack
except AttributeError:
    _dispatch_modes = None


def topk(
    input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: tuple[Any, Any] | None = None
) -> Any:
    """Returns the k largest elements of a tensor along a dimension, or the k smallest, and their indices.

    Does what `torch.topk` does, with the same errors, and always gives the same answer: of equal elements those of lower
    indices come first, on the CPU and on GPUs. As for torch, NaN is greater than all numbers. The function can be compiled
    (`torch.compile(fullgraph=True)`), differentiated backwards, any number of times, and mapped (`torch.vmap`). Tensors
    that SkyRank does not read, such as sparse ones, and arguments of other types are left to torch.

    Args:
        input: A tensor.
        k: Number of elements, 0 to the size of the dimension.
        dim: The dimension along which to select.
        largest: Selects the largest elements; otherwise the smallest.
        sorted: Orders them best first; otherwise they come in any order.
        out: Tensors that receive the values and the indices.

    Returns:
        `torch.return_types.topk`: values of the type of `input`, and indices of int64.
    """
    if not _is_ours(input) or not isinstance(k, _WHOLE) or not isinstance(dim, int):
        return _torch.topk(input, k, dim, largest, sorted, out=out)
    select = _run if _runs_at_once(input) else _torch.ops.skyrank.topk
    answer = select(input, k, dim, largest, sorted)
    if out is not None:
        if _torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (input, *out)):
            return _torch.topk(input, k, dim, largest, sorted, out=out)  # which says that this cannot be
        for target, result in zip(out, answer):
            target.resize_(result.shape).copy_(result)
        answer = out
    return _answer_type(answer)


def _is_ours(input: Any) -> bool:
    return (
        isinstance(input, _Tensor)
        and input.dtype in _TYPES
        and (input.is_cuda or input.is_cpu or input.is_meta)
        and input.layout is _strided
    )


def _dimension(input: Any, k: Any, dim: int) -> int:
    """Returns the index of a dimension from 0 on; the errors of torch.topk where it or k is out of range."""
    sizes = input.shape
    dimensions = len(sizes) or 1
    if not -dimensions <= dim < dimensions:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-dimensions}, {dimensions - 1}], but got {dim})"
        )
    dim %= dimensions
    size = sizes[dim] if sizes else 1
    if type(k) is not int or type(size) is not int or not 0 <= k <= size:  # else it takes long for nothing
        _torch._check(k >= 0 and k <= size, lambda: "selected index k out of range")
    return dim


def _shape(input: Any, k: Any, dim: int) -> list[Any]:
    """Returns the shape of an answer; that of a scalar is a scalar for every k, as torch has it."""
    shape = list(input.shape)
    if shape:
        shape[dim] = k
    return shape


def _run(input: Any, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    dim = _dimension(input, k, dim)
    if input.dim() == 0:
        return input.clone(), _torch.zeros((), dtype=_torch.int64, device=input.device)
    values, indices = _select.select_tensor(_torch, input, dim, k, (True, largest, sorted, largest))
    if dim == input.dim() - 1:
        return values, indices
    # Not by contiguous(), which leaves the strides of empty tensors as they are.
    moved_values, moved_indices = _run_fake(input, k, dim, largest, sorted)
    return moved_values.copy_(values.movedim(-1, dim)), moved_indices.copy_(indices.movedim(-1, dim))


def _run_fake(input: Any, k: Any, dim: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    shape = _shape(input, k, _dimension(input, k, dim))
    return _torch.empty(shape, dtype=input.dtype, device=input.device), _torch.empty(
        shape, dtype=_torch.int64, device=input.device
    )


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
    input, _, dim, _, _ = inputs
    ctx.shape = input.shape
    ctx.dim = dim
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1])


def _backward(ctx: Any, grad: Any, _: Any) -> tuple[Any, ...]:
    (indices,) = ctx.saved_tensors
    if len(ctx.shape) == 0:
        return grad, None, None, None, None
    # A gradient of zeros, as autograd needs a tensor of the input's shape where the indices put those of the values.
    zeros = grad.new_zeros(ctx.shape)
    return zeros.scatter(ctx.dim, indices, grad), None, None, None, None


def _run_mapped(
    info: Any, in_dims: tuple[int | None, ...], input: Any, k: int, dim: int, largest: bool, sorted: bool
) -> tuple[tuple[Any, Any], tuple[int, int]]:
    """Runs over a batch of tensors at once; `input` has the batch's dimension where `in_dims` says."""
    batch = in_dims[0]
    assert batch is not None
    tensors = input.movedim(batch, 0)
    if tensors.dim() == 1:  # of scalars
        values, indices = _torch.ops.skyrank.topk(tensors.unsqueeze(1), k, 1, largest, sorted)
        return (values.squeeze(1), indices.squeeze(1)), (0, 0)
    return _torch.ops.skyrank.topk(tensors, k, dim + 1 if dim >= 0 else dim, largest, sorted), (0, 0)


def _runs_at_once(input: Any) -> bool:
    """Returns true if nothing listens to what the operator does, so that it can be called without torch's dispatcher.

    That takes several times as long as a small selection. Its words are not public, so a torch without them dispatches.
    """
    if type(input) is not _Tensor or _is_compiling() or input.is_meta:
        return False
    if input.requires_grad and _is_grad_enabled():
        return False
    return _dispatch_modes is not None and not _dispatch_modes() and _transforms() is None


_library = _torch.library.Library("skyrank", "DEF")
_library.define(
    "topk(Tensor input, SymInt k, int dim, bool largest, bool sorted) -> (Tensor, Tensor)",
    tags=(_torch.Tag.pt2_compliant_tag,),
)
for _key in ("CPU", "CUDA"):
    _library.impl("topk", _run, _key)
_torch.library.register_fake("skyrank::topk", _run_fake, lib=_library)
_torch.library.register_autograd("skyrank::topk", _backward, setup_context=_keep_for_backward, lib=_library)
if hasattr(_torch.library, "register_vmap"):
    _torch.library.register_vmap("skyrank::topk", _run_mapped, lib=_library)
