"""Matrix times sparse vector, the matrix by rows and with its columns beside them: SciPy, Eigen and GraphBLAS.

Every peer gives what it gives: SciPy, Eigen and GraphBLAS a sparse vector, SciPy by way of a dense one and Siskin a
dense one. The best peer of each case is what counts.
"""

import graphblas
import numpy as np
import scipy.sparse
from graphblas import Vector

import eigen
import inputs
from common import Peer, Statement

TEXT = "y[i] += A[i,j] * x[j]"
SHARES = (1e-4, 1e-3, 1e-2, 0.1, 0.5)
# Nowhere more than a tenth behind.
TARGET = 1 / 1.1


def measure(group):
    graphblas.ss.config["nthreads"] = 1
    n = group.size(40_000)
    made = inputs.families(n) | {
        "long rows": inputs.uniform(6, n // 10, 25 * n),
        "blocks": inputs.blocks(7, n - n % 4, 4, n // 4),
    }
    for name, a in [*made.items(), *group.real(at_least=2_000)]:
        columns = a.tocsc()
        file = group.file("A", a)
        matrix = graphblas.io.from_scipy_sparse(a)
        for share in SHARES:
            vectors(group, name, file, a, columns, matrix, share)


def vectors(group, name, file, a, columns, matrix, share):
    n = a.shape[1]
    few = max(1, round(share * n))
    places, values = inputs.places(11, n, few), inputs.values(12, few)
    dense = np.zeros(n)
    dense[places] = values
    x = group.file("x", dense)
    # SciPy multiplies by a matrix of one column.
    scipys = scipy.sparse.csr_array((values, (places, np.zeros(few, np.int64))), shape=(n, 1))
    graphblass = Vector.from_coo(places, values, size=n)
    by_rows, by_columns = eigen.SparseProduct(a, places, values), eigen.SparseProduct(columns, places, values)

    def flat(y):
        return y.toarray().ravel()

    def densified():
        full = np.zeros(n)
        full[places] = values
        return a @ full

    def graphblas_by_rows():
        return (matrix @ graphblass).new().wait()

    best = [
        Peer("SciPy", lambda: a @ scipys, TARGET, flat),
        Peer("SciPy, densified", densified, TARGET),
        Peer("Eigen", by_rows, TARGET, by_rows.dense),
        Peer("GraphBLAS", graphblas_by_rows, TARGET, lambda y: y.to_dense(fill_value=0.0)),
    ]
    given = {"A": f"{file}:csr", "x": f"{x}:sparse"}
    group.measure(f"rows, {name}, {share:g}", Statement(TEXT, given), best)
    csc = graphblas.Matrix.from_csc(columns.indptr, columns.indices, columns.data, nrows=a.shape[0])

    def graphblas_by_columns():
        return (csc @ graphblass).new().wait()

    best = [
        Peer("SciPy", lambda: columns @ scipys, TARGET, flat),
        Peer("Eigen", by_columns, TARGET, by_columns.dense),
        Peer("GraphBLAS", graphblas_by_columns, TARGET, lambda y: y.to_dense(fill_value=0.0)),
    ]
    both = ("-t", f"A={file}:csr", "-t", f"A={file}:csc")
    group.measure(f"rows and columns, {name}, {share:g}", Statement(TEXT, {"x": given["x"]}, None, both), best)
