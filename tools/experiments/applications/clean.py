"""CLEAN of a radio image, whose every iteration asks for the brightest pixels (Monroe et al., HPG 2011, section 2).

The image is simulated: point sources with fluxes of a power law and noise, seen by a Y-shaped array of 27 antennas like the
VLA's for eight hours. 512 x 512 pixels are the 2^18 of the paper's image, which is not public.
"""

import numpy

SIZE = 512
SOURCES = 60
NOISE = 0.002          # of the brightest source, in the image
GAIN = 0.1             # share of a pixel that one iteration removes
PIXELS = 100           # brightest pixels of an iteration
ITERATIONS = 120
DECLINATION = numpy.radians(45)


def antennas():
    """Returns the positions of 27 antennas on three arms, in the plane of the ground, at most 1 from the centre."""
    distances = (numpy.arange(1, 10) / 9) ** 1.716
    angles = numpy.radians([5, 125, 245])
    return numpy.concatenate([numpy.outer(distances, [numpy.sin(a), numpy.cos(a)]) for a in angles])


def sampled_frequencies(size=SIZE):
    """Returns a mask of the spatial frequencies that some pair of antennas sees while the earth turns."""
    east, north = antennas().T
    hours = numpy.radians(15 * numpy.linspace(-4, 4, 240))
    baselines = numpy.array([(east[i] - east[j], north[i] - north[j]) for i in range(27) for j in range(27) if i != j])
    u = numpy.outer(baselines[:, 0], numpy.cos(hours)) - numpy.outer(baselines[:, 1], numpy.sin(hours))
    v = numpy.sin(DECLINATION) * (numpy.outer(baselines[:, 0], numpy.sin(hours))
                                  + numpy.outer(baselines[:, 1], numpy.cos(hours)))
    scale = 0.22 * size  # the longest baseline reaches to 0.44 of the image's highest frequency
    mask = numpy.zeros((size, size))
    mask[numpy.rint(v * scale).astype(int) % size, numpy.rint(u * scale).astype(int) % size] = 1
    return mask


def simulate(seed=1, size=SIZE):
    """Returns the sky, the dirty image that the array makes of it, and its point-spread function at pixel (0, 0)."""
    random = numpy.random.default_rng(seed)
    sky = numpy.zeros((size, size))
    places = random.integers(size // 8, size - size // 8, (2, SOURCES))
    sky[places[0], places[1]] = (1 - random.random(SOURCES)) ** 0.8 / numpy.arange(1, SOURCES + 1) ** 0.5
    mask = sampled_frequencies(size)
    point_spread = numpy.fft.ifft2(mask).real
    peak = point_spread[0, 0]
    noise = numpy.fft.ifft2(mask * numpy.fft.fft2(random.normal(0, 1, (size, size)))).real
    dirty = numpy.fft.ifft2(mask * numpy.fft.fft2(sky)).real / peak + NOISE * sky.max() * noise / noise.std()
    return sky, dirty, point_spread / peak


def clean(dirty, point_spread, pixels=PIXELS, iterations=ITERATIONS):
    """Returns the model of the sky, and what of the dirty image it does not explain."""
    import skyrank  # which the image alone does not need

    transfer = numpy.fft.fft2(point_spread)
    model = numpy.zeros_like(dirty)
    residual = dirty.copy()
    for _ in range(iterations):
        values = residual.ravel()
        brightest = skyrank.top_k({"brightness": values}, pixels, skyrank.high("brightness")).rows
        model.ravel()[brightest] += GAIN * values[brightest]
        residual = dirty - numpy.fft.ifft2(transfer * numpy.fft.fft2(model)).real
    return model, residual


def restored(model, residual, width=1.5):
    """Returns the model as a smooth beam of that width in pixels would show it, with the residual."""
    frequencies = numpy.fft.fftfreq(len(model))
    beam = numpy.exp(-2 * (numpy.pi * width) ** 2 * (frequencies[:, None] ** 2 + frequencies[None, :] ** 2))
    return numpy.fft.ifft2(beam * numpy.fft.fft2(model)).real * 2 * numpy.pi * width**2 + residual


def draw(picture):
    """Draws the image before and after on a matplotlib figure; returns a line about it."""
    _, dirty, point_spread = simulate()
    model, residual = clean(dirty, point_spread)
    panels = picture.subplots(1, 2)
    for panel, image, title in zip(panels, (dirty, restored(model, residual)), ("dirty image", "after CLEAN")):
        panel.imshow(image, cmap="inferno", vmin=-0.02, vmax=0.25 * dirty.max(), origin="lower")
        panel.set(title=title, xticks=[], yticks=[])
    return (f"CLEAN: {ITERATIONS} iterations with {PIXELS} pixels each of {SIZE} x {SIZE}; what is left of the image "
            f"falls from {dirty.std():.4f} to {residual.std():.4f} (standard deviation)")
