"""BoTorch's test for non-dominated points, by SkyRank. Needs torch, and no BoTorch.

>>> import skyrank.botorch                                                                       # doctest: +SKIP
>>> skyrank.botorch.is_non_dominated(torch.tensor([[1.0, 2.0], [2.0, 1.0], [0.0, 2.0]]))         # doctest: +SKIP
tensor([ True,  True, False])
"""

from __future__ import annotations

from typing import Any

from ._errors import DataError, required
from ._arrays.indicators import is_nondominated

_torch = required("torch", "torch", "skyrank.botorch")


def is_non_dominated(
    Y: Any,  # noqa: N803  BoTorch's name
    maximize: bool = True,
    deduplicate: bool = True,
) -> Any:
    """Returns which points no other one dominates, as `botorch.utils.multi_objective.pareto.is_non_dominated` does.

    Points with NaN are not in the front and dominate none. So infeasible points are left out, if they are made NaN:
    ``Y.masked_fill(~feasible.unsqueeze(-1), torch.nan)``. BoTorch says the same of points with NaN, and does it for up to
    1,000 points of which the first has none, with `deduplicate`. All answers for other points are the same.

    Args:
        Y: A tensor of outcomes, of shape (..., points, outcomes), 1 to 64 outcomes. Each batch has a front of its own. Points
            on a GPU are compared on the CPU.
        maximize: Larger values are better.
        deduplicate: Of several equal points, keeps the first; otherwise all.

    Returns:
        A tensor of bool of shape (..., points) on the device of `Y`.

    Raises:
        DataError: `Y` is no tensor of real numbers of 2 or more dimensions, or has more than 64 outcomes.
        ResourceError: There is not enough memory.
    """
    import numpy

    if not isinstance(Y, _torch.Tensor) or Y.dim() < 2 or Y.is_complex():
        found = f"one of the type {Y.dtype} and {Y.dim()} dimensions" if isinstance(Y, _torch.Tensor) else type(Y).__name__
        raise DataError(f"Y is a tensor of real numbers of shape (..., points, outcomes), not {found}")
    count, outcomes = Y.shape[-2:]
    if Y.numel() == 0:
        return _torch.zeros(Y.shape[:-1], dtype=_torch.bool, device=Y.device)
    values = Y.detach().cpu()
    if values.dtype == _torch.bool:
        values = values.to(_torch.uint8)
    elif values.is_floating_point() and values.dtype not in (_torch.float32, _torch.float64):
        values = values.to(_torch.float32)  # which has all values of the smaller types, as NumPy lacks some of them
    batches = values.numpy().reshape(-1, count, outcomes)
    masks = numpy.zeros(batches.shape[:-1], bool)
    for points, mask in zip(batches, masks):
        rows = ~numpy.isnan(points).any(axis=1)
        mask[rows] = is_nondominated(points[rows], maximise=bool(maximize), keep_weakly=not deduplicate)
    return _torch.from_numpy(masks.reshape(Y.shape[:-1])).to(Y.device)
