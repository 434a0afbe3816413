"""Indicators of fronts, and what optimisers ask of arrays of points."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._errors import DataError, QueryError
from .._functions import skyline
from .gpu_points import READ, gpu_points

if TYPE_CHECKING:
    import numpy

# Values up to which the skyline of an array takes less time than the plan of a query.
_SMALL = 1 << 14


def hypervolume(points: Any, reference: Any, *, maximise: bool | Sequence[bool] = False) -> float:
    """Returns the hypervolume of points: the volume that they dominate, up to a reference point.

    >>> hypervolume([[5, 5], [4, 6], [2, 7], [7, 4]], [10, 10])
    38.0

    It is exact up to rounding, and found on all cores, or on the GPU that the points lie on (see `Notes`). Points that are
    not better than the reference in every objective count for nothing.

    Args:
        points: An array or lists of shape (points, objectives), 1 to 64 objectives, without NaN or infinite values. Arrays
            of torch, CuPy or JAX, and others with ``__dlpack__``, may lie on a GPU.
        reference: The reference point, one value for each objective, or one for all.
        maximise: Larger values are better: of all objectives, or one value for each.

    Raises:
        DataError: The points, the reference or `maximise` are not as above.
        DeviceError: The points are on a GPU, and SkyRank was built without GPU kernels.
        ResourceError: There is not enough memory, or the points are on a GPU, of neither torch nor CuPy, and torch is
            missing.

    Notes:
        Of five objectives and more the volume is the sum, over the points by their last objective, of the slice that each
        adds: its box without the volume of its limit set (While et al., IEEE TEVC 16(1), 2012). On a GPU slices of limit
        sets are found in parallel. Fewer objectives take less time on the CPU, to which a copy goes.
    """
    there = gpu_points(points)
    if there is not None:
        given = (there.layout, there.type, there.stream)
        return _core.hypervolume_on_gpu(*given, reference_of(reference), _flags(maximise))
    return _core.hypervolume(points_of(points), reference_of(reference), _flags(maximise))


def hypervolume_contributions(
    points: Any, reference: Any, *, maximise: bool | Sequence[bool] = False, ignore_dominated: bool = True
) -> Any:
    """Returns, for each point, the hypervolume that all points have more than all without it.

    >>> hypervolume_contributions([[5, 1], [1, 5], [4, 2], [4, 4], [5, 1]], 6)
    array([0., 3., 3., 0., 0.])

    It is 0 for points that others dominate, that occur more than once, and that are not better than the reference in
    every objective.

    Args:
        points, reference, maximise: As for `hypervolume`.
        ignore_dominated: Points that others dominate change no contribution. Otherwise they reduce that of a point which
            alone dominates them, and three objectives or fewer take longer.

    Returns:
        float64 of shape (points,), of NumPy, or of the points' library on the GPU that they lie on.

    Raises:
        DataError, DeviceError, ResourceError: As for `hypervolume`.
    """
    words = (reference_of(reference), _flags(maximise), bool(ignore_dominated))
    there = gpu_points(points)
    if there is not None:
        return there.copied(_core.hypervolume_contributions_on_gpu(there.layout, there.type, there.stream, *words))
    return _core.hypervolume_contributions(points_of(points), *words)


def igd(points: Any, reference_set: Any, *, maximise: bool | Sequence[bool] = False) -> float:
    """Returns the inverted generational distance: the mean distance from reference points to the nearest point.

    >>> igd([[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]], [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]])
    1.0627908666722465

    Args:
        points: As for `hypervolume`. The distance from no points is infinite.
        reference_set: One or more points with the same objectives.
        maximise: As for `hypervolume`.

    Raises:
        DataError, ResourceError: As for `hypervolume`.
    """
    return _of_sets("igd", points, reference_set, maximise)


def igd_plus(points: Any, reference_set: Any, *, maximise: bool | Sequence[bool] = False) -> float:
    """Returns IGD+, the same as `igd` of distances in the objectives in which a point is worse than the reference.

    It never calls a set better that another one dominates.

    >>> igd_plus([[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]], [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]])
    0.9855036468106652

    Args:
        points, reference_set, maximise: As for `igd`.

    Raises:
        DataError, ResourceError: As for `hypervolume`.
    """
    return _of_sets("igd_plus", points, reference_set, maximise)


def epsilon_additive(points: Any, reference_set: Any, *, maximise: bool | Sequence[bool] = False) -> float:
    """Returns by how much all points have to improve in all objectives to be no worse than each reference point.

    >>> epsilon_additive([[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]], [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]])
    2.5

    Args:
        points, reference_set, maximise: As for `igd`.

    Raises:
        DataError, ResourceError: As for `hypervolume`.
    """
    return _of_sets("epsilon_additive", points, reference_set, maximise)


def epsilon_multiplicative(points: Any, reference_set: Any, *, maximise: bool | Sequence[bool] = False) -> float:
    """Returns by which factor all points have to improve in all objectives to be no worse than each reference point.

    >>> epsilon_multiplicative([[3.5, 5.5], [3.6, 4.1], [5.5, 1.5]], [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]])
    3.5

    Args:
        points, reference_set, maximise: As for `igd`. All values are above 0.

    Raises:
        DataError, ResourceError: As for `hypervolume`, and for values that are not above 0.
    """
    return _of_sets("epsilon_multiplicative", points, reference_set, maximise)


def is_nondominated(
    points: Any, *, maximise: bool | Sequence[bool] = False, keep_weakly: bool = False
) -> numpy.ndarray[Any, Any]:
    """Returns which points no other one dominates.

    >>> is_nondominated([[1, 1], [0, 1], [1, 0], [1, 0]])
    array([False,  True,  True, False])

    Args:
        points: An array or lists of shape (points, objectives). NaN is the worst value.
        maximise: As for `hypervolume`.
        keep_weakly: Keeps all of several equal points, instead of the first.

    Returns:
        bool of shape (points,).

    Raises:
        DataError: The points or `maximise` are not as above.
        ResourceError: There is not enough memory.
    """
    import numpy

    array = _minimised(points_of(points), maximise)
    if not 1 <= array.shape[1] <= 64:
        raise DataError(f"points have 1 to 64 columns, not {array.shape[1]}")
    if array.size <= _SMALL:
        rows = _core.nondominated_rows(array)
    else:
        rows = skyline(array).rows
    if not keep_weakly:
        rows = rows[_core.distinct_rows(array[rows])]
    mask = numpy.zeros(len(array), bool)
    mask[rows] = True
    return mask


def crowding(points: Any, *, maximise: bool | Sequence[bool] = False) -> numpy.ndarray[Any, Any]:
    """Returns how far each point is from its neighbours of the same Pareto rank (the crowding distance of NSGA-II).

    >>> crowding([[0, 4], [1, 2], [4, 0], [5, 5]])
    array([inf,  2., inf,  0.])

    It is the sum, over the objectives, of the difference between the next and the previous value, divided by that between
    the greatest and the least of the rank (Deb et al., IEEE TEVC 6(2), 2002). Points that are equal in an objective follow
    each other in the order of rows. The first and the last point of an objective are infinitely far; an objective of which
    all values are equal adds 0. The difference of equal infinities is 0, and the greatest and the least value are finite
    ones.

    Args:
        points, maximise: As for `hypervolume`, but values may be infinite.

    Returns:
        float64 of shape (points,).

    Raises:
        DataError, ResourceError: As for `hypervolume`.
    """
    found: numpy.ndarray[Any, Any] = _core.crowding_distances(_minimised(points_of(points), maximise))
    return found


def nsga2_survival(
    F: Any,  # noqa: N803  the names of optimisers
    n: int,
    G: Any = None,  # noqa: N803
    *,
    maximise: bool | Sequence[bool] = False,
) -> numpy.ndarray[Any, Any]:
    """Returns the positions of the n points that survive in NSGA-II, the best first.

    >>> nsga2_survival([[0, 4], [1, 2], [4, 0], [5, 5]], 3)
    array([0, 2, 1])
    >>> nsga2_survival([[0, 4], [1, 2], [4, 0], [5, 5]], 2, G=[[1], [0], [2], [-1]])
    array([1, 3])

    Points of lower Pareto rank come first, then those with a larger crowding distance (see `crowding`), then those of
    lower positions.

    Args:
        F: Values of the objectives, of shape (points, objectives), as for `crowding`.
        n: Number of survivors, 0 to the number of points.
        G: Values of constraints, of shape (points, constraints), which are met where they are 0 or less. Points that meet
            all of them come before all others, which compete by the sum of their values above 0 (constraint domination).
        maximise: As for `hypervolume`.

    Returns:
        int64 of shape (n,).

    Raises:
        DataError: The arguments are not as above.
        QueryError: `n` is no whole number.
        ResourceError: There is not enough memory.
    """
    array = _minimised(points_of(F), maximise)
    try:
        count = operator.index(n)
    except TypeError as error:
        raise QueryError(f"`n` is a whole number, not {n!r}") from error
    violations = None
    if G is not None:
        import numpy

        constraints = points_of(G)
        if len(constraints) != len(array):
            raise DataError(f"there are constraints of {len(constraints)} points, and objectives of {len(array)}")
        violations = numpy.maximum(constraints, 0.0).sum(axis=1, dtype="float64")
    found: numpy.ndarray[Any, Any] = _core.nsga2_survivors(array, count, violations).view("int64")
    return found


def normalise(
    points: Any,
    to_range: Any = (0.0, 1.0),
    *,
    lower: Any = float("nan"),
    upper: Any = float("nan"),
    maximise: bool | Sequence[bool] = False,
) -> numpy.ndarray[Any, Any]:
    """Returns points whose objectives are scaled from their bounds to a range.

    >>> normalise([[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]])
    array([[0.   , 1.   ],
           [0.05 , 0.65 ],
           [0.3  , 0.425],
           [1.   , 0.   ]])

    Args:
        points: As for `hypervolume`.
        to_range: Two values: what the lower bound becomes, and the upper one.
        lower, upper: The bounds, one value for each objective or one for all. NaN stands for the least and the greatest
            value of the points.
        maximise: Objectives of which larger values are better, as for `hypervolume`. Their lower bound becomes the second
            value of the range, so that smaller values are better of all objectives.

    Returns:
        float64 of the shape of the points. The first value of the range stands in place of an objective whose bounds are
        equal, with what a value differs from them.

    Raises:
        DataError: The arguments are not as above.
    """
    import numpy

    array = points_of(points).astype("float64")
    count = array.shape[1]
    ends = values_of(to_range, "the range")
    if ends.shape != (2,):
        raise DataError(f"the range is two values, not {ends.size}")
    bounds = []
    for given, name, extreme in [(lower, "`lower`", numpy.min), (upper, "`upper`", numpy.max)]:
        bound = values_of(given, name)
        if bound.ndim > 1 or bound.size not in (1, count):
            raise DataError(f"{name} is one value for all objectives or {count}, one for each, not {bound.size}")
        bound = numpy.broadcast_to(bound, (count,))
        missing = numpy.isnan(bound)
        if missing.any():
            if len(array) == 0:
                raise DataError(f"{name} is given where there are no points to take it from")
            bound = numpy.where(missing, extreme(array, axis=0), bound)
        bounds.append(bound)
    least, greatest = bounds
    width = numpy.where(greatest == least, 1.0, greatest - least)
    flags = numpy.array(_flags_of_each(maximise, count))
    first, last = numpy.where(flags, ends[1], ends[0]), numpy.where(flags, ends[0], ends[1])
    scaled: numpy.ndarray[Any, Any] = first + (array - least) / width * (last - first)
    return scaled


def _of_sets(name: str, points: Any, reference_set: Any, maximise: Any) -> float:
    """Returns an indicator of two sets, on a GPU if one of them lies there."""
    there = [gpu_points(points), gpu_points(reference_set)]
    device = there[0] or there[1]
    if device is None:
        found: float = getattr(_core, name)(points_of(points), points_of(reference_set), _flags(maximise))
        return found
    first, second = (
        own or gpu_points(device.copied(points_of(given))) for own, given in zip(there, (points, reference_set))
    )
    assert first is not None and second is not None
    for own in (first, second):  # they may have streams of their own
        own.wait()
    return _core.indicator_on_gpu(name, first.layout, first.type, second.layout, second.type, _flags(maximise))


# --------------------------------------------------------------------------------------------------------- arguments


def points_of(points: Any) -> Any:
    """Returns points as a matrix that the core reads where it lies, or a copy of them."""
    import numpy

    if type(points) is not numpy.ndarray:
        if isinstance(points, numpy.ma.MaskedArray):
            raise DataError("a masked array has points without a value; points.filled(...) gives them one")
        points = values_of(points, "points")
        if points.shape == (0,):
            raise DataError("there are neither points nor objectives; an array of shape (0, objectives) has no points")
    if points.ndim != 2:
        raise DataError(f"points are a matrix of shape (points, objectives), not of {points.ndim} dimensions")
    dtype = points.dtype
    if dtype.name in READ and dtype.isnative:
        return points
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise DataError(f"points are numbers of at most 64 bits, not of the type {dtype.name}")
    return points.astype(dtype.newbyteorder("=") if dtype.name in READ else "float64")


def values_of(values: Any, name: str) -> Any:
    """Returns numbers as an array of NumPy."""
    import numpy

    try:
        array = numpy.asarray(values)
        if array.dtype.kind not in "biuf":
            array = numpy.asarray(values, dtype="float64")
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} cannot be read as an array of numbers: {error}") from error
    return array


def reference_of(reference: Any) -> list[float]:
    array = values_of(reference, "the reference")
    if array.ndim > 1:
        raise DataError(f"the reference is one point, not an array of {array.ndim} dimensions")
    return [float(value) for value in array.reshape(-1)]


def _flags(maximise: Any) -> list[bool]:
    """Returns one value for all objectives, or one for each."""
    if maximise is False:
        return []
    if maximise is True:
        return [True]
    flags = values_of(maximise, "`maximise`")
    if flags.ndim > 1 or not ((flags == 0) | (flags == 1)).all():
        raise DataError("`maximise` is True or False, or one of both for each objective")
    if flags.size == 0:
        raise DataError("`maximise` has no values; it is True or False, or one of both for each objective")
    return [bool(flag) for flag in flags.reshape(-1)]


def _flags_of_each(maximise: Any, count: int) -> list[bool]:
    flags = _flags(maximise) or [False]
    if len(flags) not in (1, count):
        raise DataError(f"`maximise` has one value for all objectives or {count}, one for each, not {len(flags)}")
    return flags * count if len(flags) == 1 else flags


def _minimised(array: Any, maximise: Any) -> Any:
    """Returns points whose objectives are all minimised, in the same order otherwise."""
    if maximise is False:
        return array
    flags = _flags_of_each(maximise, array.shape[1])
    if not any(flags):
        return array
    array = array.copy()
    # The complement of an integer orders the other way round, and has no overflow.
    array[:, flags] = -array[:, flags] if array.dtype.kind == "f" else ~array[:, flags]
    return array
