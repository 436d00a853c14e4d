"""Edges of a black-and-white image: it differs from itself moved or eroded; beside NumPy and OpenCV."""

import cv2
import numpy as np
import scipy.sparse

import inputs
from common import Peer, Statement


def measure(group):
    cv2.setNumThreads(1)
    n = 632 if group.options.quick else 2_000
    truth = inputs.image(1, n)
    bytes_ = truth.astype(np.uint8) * 255
    moved(group, truth, bytes_)
    eroded(group, truth, bytes_)


def compare(group, measurement, truth, bytes_, boolean, bitwise, numpy_call, opencv_call):
    """Rows of one operation: truth values dense and sparse, and bytes."""
    shape = numpy_call(truth, None).shape
    out = np.empty(shape, bool)
    out8, out8cv = np.empty(shape, np.uint8), np.empty(shape, np.uint8)
    dense = group.file("bool", truth)
    sparse = group.file("bool-csr", scipy.sparse.csr_array(truth))
    numpy_peer = Peer("NumPy, bool", lambda: numpy_call(truth, out))
    group.measure(f"{measurement}, bool, dense", Statement(boolean, {"A": dense}, None, ("--type", "bool")),
                  [numpy_peer])
    group.measure(f"{measurement}, bool, csr", Statement(boolean, {"A": f"{sparse}:csr"}, "csr", ("--type", "bool")),
                  [numpy_peer])
    group.measure(f"{measurement}, u8, dense",
                  Statement(bitwise, {"A": group.file("u8", bytes_)}, None, ("--type", "u8")),
                  [Peer("NumPy, u8", lambda: numpy_call(bytes_, out8)),
                   Peer("OpenCV, u8", lambda: opencv_call(bytes_, out8cv))])


def moved(group, truth, bytes_):
    """An element differs from its neighbour above and to the left."""
    n = truth.shape[0]
    here, there = f"A[(1:{n})(i), (1:{n})(j)]", f"A[(0:{n - 1})(i), (0:{n - 1})(j)]"
    compare(group, "moved", truth, bytes_,
            f"E[i,j] = xor({here}, {there})", f"E[i,j] = bxor({here}, {there})",
            lambda a, out: np.bitwise_xor(a[1:, 1:], a[:-1, :-1], out=out),
            lambda a, out: cv2.bitwise_xor(a[1:, 1:], a[:-1, :-1], dst=out))


def eroded(group, truth, bytes_):
    """An element is set, and one of its four neighbours is not."""
    n = truth.shape[0]

    def window(down, right):
        return f"A[({1 + down}:{n - 1 + down})(i), ({1 + right}:{n - 1 + right})(j)]"

    cross = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
    around = ", ".join(window(*step) for step in cross)
    parts = np.empty((n - 2, n - 2), bool), np.empty((n - 2, n - 2), np.uint8)

    def numpy_call(a, out):
        part = parts[0] if a.dtype == bool else parts[1]
        here = a[1:-1, 1:-1]
        np.bitwise_and(a[:-2, 1:-1], a[2:, 1:-1], out=part)
        np.bitwise_and(part, a[1:-1, :-2], out=part)
        np.bitwise_and(part, a[1:-1, 2:], out=part)
        np.bitwise_and(part, here, out=part)
        return np.bitwise_xor(here, part, out=out)

    shape = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
    smaller = np.empty_like(bytes_)

    def opencv_call(a, out):
        cv2.erode(a, shape, dst=smaller)
        return cv2.bitwise_xor(a[1:-1, 1:-1], smaller[1:-1, 1:-1], dst=out)

    compare(group, "eroded", truth, bytes_,
            f"E[i,j] = xor({window(0, 0)}, and({around}))", f"E[i,j] = bxor({window(0, 0)}, band({around}))",
            numpy_call, opencv_call)
