"""skyrank.botorch beside its definition, and beside BoTorch where it is installed. Skipped, with the reason, without torch."""

import math
import os
import pathlib
import subprocess
import sys

import pytest
import skyrank


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def ours(torch):
    import skyrank.botorch

    return skyrank.botorch.is_non_dominated


def definition(torch, points, maximize, deduplicate):
    """Returns the mask of one batch: no NaN, not dominated by a point without NaN, and the first of equal points."""
    rows = [row for row in range(len(points)) if not points[row].isnan().any()]
    mask = torch.zeros(len(points), dtype=torch.bool)
    for row in rows:
        better, worse = (points[rows], points[row]) if maximize else (points[row], points[rows])
        dominated = ((better >= worse).all(dim=1) & (better > worse).any(dim=1)).any()
        earlier = [other for other in rows if other < row and points[other].equal(points[row])]
        mask[row] = not dominated and not (deduplicate and earlier)
    return mask


def batches(torch):
    """Tensors of several types, shapes and strides, with ties, duplicates and infinite values."""
    generator = torch.Generator().manual_seed(3)

    def whole(*shape, limit=6):
        return torch.randint(-limit, limit, shape, generator=generator)

    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8):
        yield whole(40, 3).to(dtype)
    yield whole(40, 3) > 0
    yield whole(40, 3).to(torch.uint8)
    yield torch.rand(2, 3, 50, 4, generator=generator)
    yield torch.rand(4, 50, 2, generator=generator).transpose(0, 1)[:, ::2]
    yield torch.rand(30, 1, generator=generator)
    yield torch.tensor([[0.0, -0.0], [-0.0, 0.0], [math.inf, -math.inf], [math.inf, -math.inf], [-math.inf, math.inf]])
    yield torch.tensor([[2**53 + 1, 0], [2**53, 0], [2**53 + 1, 0]])
    yield torch.rand(30, 3, generator=generator, requires_grad=True)


@pytest.mark.parametrize("deduplicate", [True, False])
@pytest.mark.parametrize("maximize", [True, False])
def test_is_the_definition(torch, ours, maximize, deduplicate):
    for points in batches(torch):
        mask = ours(points, maximize, deduplicate)
        assert mask.dtype == torch.bool and mask.device == points.device and mask.shape == points.shape[:-1]
        flat = points.detach().reshape(-1, *points.shape[-2:])
        expected = torch.stack([definition(torch, batch, maximize, deduplicate) for batch in flat])
        assert mask.reshape(-1, points.shape[-2]).equal(expected)


@pytest.mark.parametrize("deduplicate", [True, False])
@pytest.mark.parametrize("maximize", [True, False])
def test_is_what_botorch_does(torch, ours, maximize, deduplicate):
    pareto = pytest.importorskip("botorch.utils.multi_objective.pareto", reason="BoTorch is not installed")
    many = torch.rand(1200, 4)  # which BoTorch compares one by one
    for points in [*batches(torch), many]:
        assert ours(points, maximize, deduplicate).equal(pareto.is_non_dominated(points, maximize, deduplicate))


@pytest.mark.parametrize("deduplicate", [True, False])
def test_points_with_nan_count_for_nothing(torch, ours, deduplicate):
    points = torch.tensor([[1.0, 5.0], [math.nan, 9.0], [9.0, math.nan], [math.nan, math.nan], [1.0, 5.0], [0.0, 0.0]])
    assert ours(points, deduplicate=deduplicate).tolist() == [True, False, False, False, not deduplicate, False]
    assert not ours(torch.full((2, 3, 2), math.nan), deduplicate=deduplicate).any()
    generator = torch.Generator().manual_seed(5)
    outcomes = torch.rand(3, 60, 2, generator=generator)
    feasible = torch.rand(3, 60, generator=generator) < 0.6
    mask = ours(outcomes.masked_fill(~feasible.unsqueeze(-1), math.nan), deduplicate=deduplicate)
    for batch in range(3):
        assert mask[batch, feasible[batch]].equal(ours(outcomes[batch, feasible[batch]], deduplicate=deduplicate))
    assert not mask[~feasible].any()


def test_points_with_nan_are_those_that_botorch_leaves_out(torch, ours):
    pareto = pytest.importorskip("botorch.utils.multi_objective.pareto", reason="BoTorch is not installed")
    generator = torch.Generator().manual_seed(6)
    points = torch.randint(0, 9, (5, 200, 3), generator=generator).to(torch.float32)
    points[:, 1:][torch.rand(5, 199, 3, generator=generator) < 0.1] = math.nan
    assert ours(points).equal(pareto.is_non_dominated(points))


def test_empty(torch, ours):
    for shape in ((0, 3), (4, 0), (0, 5, 2), (2, 0, 3)):
        mask = ours(torch.empty(shape))
        assert mask.shape == shape[:-1] and mask.dtype == torch.bool and not mask.any()


def test_errors(torch, ours):
    for wrong in ([[1, 2]], torch.ones(3), torch.ones(3, 2, dtype=torch.complex64)):
        with pytest.raises(skyrank.DataError, match=r"^Y is a tensor of real numbers of shape \(\.\.\., points, outcomes\)"):
            ours(wrong)
    with pytest.raises(skyrank.DataError, match="1 to 64 columns, not 65"):
        ours(torch.ones(3, 65))


def test_without_torch():
    code = "import sys; sys.modules['torch'] = None; import skyrank.botorch"
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(skyrank.__file__).parents[1]))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert "ResourceError: skyrank.botorch needs torch: pip install 'skyrank[torch]'" in done.stderr
