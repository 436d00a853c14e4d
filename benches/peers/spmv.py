"""Matrix times dense vector: rows, and blocks of 4 × 4, beside MKL, SciPy, Eigen and GraphBLAS."""

import ctypes
import os

import graphblas
import numpy as np
import scipy.sparse
from graphblas import Vector
from sparse_dot_mkl import _mkl_interface as mkl

import eigen
import inputs
from common import Peer, Statement

TEXT = "y[i] = A[i,j] * x[j]"
# SPARSE_OPERATION_NON_TRANSPOSE.
NON_TRANSPOSED = 10


def measure(group):
    graphblas.ss.config["nthreads"] = 1
    n = group.size(100_000)
    for name, a in [*inputs.families(n).items(), *group.real(at_least=80_000)]:
        rows(group, name, a)
    size = n - n % 4
    for name, a in {
        "uniform": inputs.blocks(6, size, 4, size // 4),
        "dense": inputs.blocks(7, 4 * (n // 800), 4, (n // 800) ** 2),
        "banded": inputs.banded(8, size, 12),
    }.items():
        blocks(group, name, a)


def rows(group, name, a):
    x = inputs.values(9, a.shape[1])
    given = {"A": f"{group.file('A', a)}:csr", "x": group.file("x", x)}
    matrix, vector = graphblas.io.from_scipy_sparse(a), Vector.from_dense(x)

    def by_graphblas():
        return (matrix @ vector).new().wait()

    group.measure(f"csr, {name}", Statement(TEXT, given), [
        Peer("MKL", optimized(a, x), 1.0),
        Peer("SciPy", lambda: a @ x),
        Peer("Eigen", eigen.Product(a, x)),
        Peer("GraphBLAS", by_graphblas, None, lambda y: y.to_dense(fill_value=0.0)),
    ])


def blocks(group, name, a):
    """Also beside Siskin's own rows, which is what blocks must be faster than."""
    a = scipy.sparse.bsr_matrix(a, blocksize=(4, 4))
    x = inputs.values(10, a.shape[1])
    given = {"A": f"{group.file('blocks', a.tocsr())}:bcsr(4,4)", "x": group.file("x", x)}
    group.measure(f"bcsr(4,4), {name}", Statement(TEXT, given), [
        Peer("MKL", optimized(a, x), 1.0),
        Peer("SciPy", lambda: a @ x),
    ])


def optimized(a, x):
    """A call of MKL behind its inspector, which was told of many such calls."""
    # Its functions as C declares them: what sparse_dot_mkl checks in each call is no part of the time.
    library = ctypes.CDLL(os.environ["MKL_RT"])
    handle, _, _ = mkl._create_mkl_sparse(a)
    kind, once = mkl.matrix_descr(), ctypes.c_int(NON_TRANSPOSED)
    y = np.zeros(a.shape[0])
    told = (library.mkl_sparse_set_mv_hint(handle, once, kind, ctypes.c_int(1_000)),
            library.mkl_sparse_optimize(handle))
    given = (once, ctypes.c_double(1.0), handle, kind, ctypes.c_void_p(x.ctypes.data), ctypes.c_double(0.0),
             ctypes.c_void_p(y.ctypes.data))

    def call():
        if any(told) or library.mkl_sparse_d_mv(*given) != 0:
            raise RuntimeError("MKL refuses the product")
        return y

    # The handle points into it.
    call.kept = (a, x)
    return call
