"""k nearest neighbours of a descriptor of an image (Gaihre et al., SC 2021, table 1).

The paper has ANN_SIFT1B. Here the 128-dimensional SIFT descriptors are those of photographs that come with scikit-image, and
the query is a descriptor of another photograph of the same place.
"""

import numpy

WANTED = 32
PHOTOGRAPHS = ("astronaut", "brick", "camera", "cat", "chelsea", "clock", "coffee", "coins", "eagle", "grass", "gravel",
               "hubble_deep_field", "immunohistochemistry", "moon", "page", "retina", "rocket", "text")


def photographs():
    """Returns the grey photographs that the package has on this machine, by name."""
    from skimage import color, data, img_as_ubyte

    found = {}
    for name in PHOTOGRAPHS:
        try:
            picture = getattr(data, name)()
        except (AttributeError, OSError, ValueError, ImportError):
            continue  # not in the package, and not to be downloaded
        found[name] = img_as_ubyte(color.rgb2gray(picture[..., :3])) if picture.ndim == 3 else picture
    return found


def descriptors(picture):
    """Returns the places (x, y) of SIFT's key points and their descriptors, 128 bytes each."""
    import cv2

    points, values = cv2.SIFT_create().detectAndCompute(picture, None)
    if values is None:
        return numpy.empty((0, 2)), numpy.empty((0, 128), numpy.uint8)
    return numpy.array([point.pt for point in points]), values.astype(numpy.uint8)


def distances(values, query):
    """Returns the squared Euclidean distance of each descriptor to the query, exactly."""
    return ((values.astype(numpy.int32) - query.astype(numpy.int32)) ** 2).sum(axis=1).astype(numpy.uint32)


def nearest(values, query, wanted=WANTED):
    import skyrank  # the data can be had without

    return skyrank.top_k({"distance": distances(values, query)}, wanted, skyrank.low("distance")).rows


def draw(picture):
    pictures = photographs()
    name = "astronaut" if "astronaut" in pictures else next(iter(pictures))
    turned = numpy.ascontiguousarray(numpy.rot90(pictures[name]))
    places, values, owners = [], [], []
    for other, image in pictures.items():
        where, found = descriptors(image)
        places.append(where)
        values.append(found)
        owners += [other] * len(found)
    places, values = numpy.concatenate(places), numpy.concatenate(values)
    query_places, queries = descriptors(turned)
    chosen = nearest(values, queries[len(queries) // 2])
    panels = picture.subplots(1, 2)
    panels[0].imshow(turned, cmap="gray")
    panels[0].plot(*query_places[len(queries) // 2], "o", color="#d1495b", fillstyle="none", markersize=12)
    panels[0].set(title="the query, in a turned photograph", xticks=[], yticks=[])
    panels[1].plot(numpy.arange(1, WANTED + 1), numpy.sqrt(distances(values, queries[len(queries) // 2])[chosen]), "o-",
                   color="#1b6ca8", markersize=3)
    panels[1].set(title=f"nearest of {len(values):,} descriptors", xlabel="rank", ylabel="distance")
    right = owners[chosen[0]] == name
    return (f"neighbours: {len(values):,} descriptors of {len(pictures)} photographs; the nearest one is of {owners[chosen[0]]}"
            f"{', as it should be' if right else ''}")
