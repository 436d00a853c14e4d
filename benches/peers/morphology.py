"""Erosion and histograms of black-and-white images, by the programs of examples/finch; beside OpenCV."""

import cv2
import numpy as np

import inputs
from common import Peer, Program

BITS, BYTES = "Dense(Dense(Element(0)))", "Dense(Dense(Element(false)))"
RUNS = "Dense(SparseRunList(Element(false)))"


def measure(group):
    cv2.setNumThreads(1)
    for name, image in images(group):
        eroded(group, name, image)
        counted(group, name, image)


def images(group):
    """Blobs, and strokes on an empty ground, as drawn and magnified, from half a million to four million pixels.

    The sketch has about the size of the line drawings of the paper on Finch, and lines as thin as a pen's.
    Sides are multiples of 64, for words of pixels.
    """
    n, drawn, zoomed, large = (256, 192, 64, 2) if group.options.quick else (1024, 704, 96, 20)
    yield "blobs", inputs.image(1, n)
    yield "strokes", inputs.strokes(2, drawn)
    yield "sketch", inputs.strokes(4, n if group.options.quick else 1152, 3)
    yield "strokes, doubled", inputs.magnified(inputs.strokes(2, n // 2), 2)
    yield "strokes, magnified", inputs.magnified(inputs.strokes(2, zoomed), large)


def eroded(group, name, image):
    bytes_ = np.where(image, np.uint8(255), np.uint8(0))
    square, out = np.ones((3, 3), np.uint8), np.empty_like(bytes_)

    stem = name.replace(", ", "-")
    # The first index of a program is the one that is stored next to each other.
    place = group.file(f"{stem}-image", image.T.copy())

    def transposed(out):
        return {"output": (out > 0).T}

    peers = [Peer("OpenCV, u8", lambda: cv2.erode(bytes_, square, dst=out), 25, transposed)]
    group.program(f"erosion, bytes, {name}", Program("erosion", {"input": f"{place}:{BYTES}"},
                                                     {"output": BYTES}), ["output"], peers, False)
    group.program(f"erosion, runs, {name}", Program("erosion", {"input": f"{place}:{RUNS}"},
                                                    {"output": RUNS, "tmp": "SparseRunList(Element(false))"}),
                  ["output"], peers, False)
    # Pixels in a word, the leftmost in the lowest bit.
    for program, long in (("erosion_bits", 8), ("erosion_words", 64)):
        def packed(bits):
            return np.packbits(bits, axis=1, bitorder="little").view(f"u{long // 8}").astype(np.int64).T.copy()

        words = packed(image)
        given = {"input": f"{group.file(f'{stem}-{long}', words)}:{BITS}"}
        if long == 8:
            everywhere = group.file(f"{stem}-everywhere", np.ones(words.shape, bool))
            given["mask"] = f"{everywhere}:{BYTES}"

        def result(out, packed=packed):
            return {"output": packed(out > 0)}

        bits = [Peer("OpenCV, u8", peers[0].call, 25, result)]
        group.program(f"erosion, {long} bits, {name}", Program(program, given, {"output": BITS}), ["output"], bits)


def counted(group, name, mask):
    """How many pixels have which brightness, of all and of those that a mask selects."""
    random = np.random.default_rng(3)
    picture = random.integers(0, 256, mask.shape, dtype=np.uint8)
    chosen = mask.astype(np.uint8)
    stem = name.replace(", ", "-")
    given = {"img": f"{group.file(f'{stem}-picture', picture)}:Dense(Dense(Element(UInt8(0))))"}
    options = ("--dims", "bins=16")

    def result(bins):
        return {"bins": bins.ravel().astype(np.int64)}

    def peer(chosen, target):
        return [Peer("OpenCV, u8", lambda: cv2.calcHist([picture], [0], chosen, [16], [0, 256]), target, result)]

    group.program(f"histogram, {name}", Program("histogram", given, {}, options), ["bins"], peer(None, None))
    place = group.file(f"{stem}-mask", mask)
    for kind, layout in (("bytes", BYTES), ("runs", RUNS)):
        masked = given | {"mask": f"{place}:{layout}"}
        group.program(f"masked histogram, {kind}, {name}", Program("histogram_masked", masked, {}, options), ["bins"],
                      peer(chosen, 25))
