"""Matrix-vector products by the programs of examples/finch, in the formats that suit a matrix; beside csr."""

import numpy as np
import scipy.sparse

import inputs
from common import Peer, Program, Statement

LIST, RUNS = "Dense(SparseList(Element(0.0)))", "Dense(SparseRunList(Element(0.0)))"
ALL_RUNS = "Dense(RunList(Element(0.0)))"
BLOCKS, BAND = "Dense(SparseBlockList(Element(0.0)))", "Dense(SparseBand(Element(0.0)))"
PATTERN = "Dense(SparseList(Pattern()))"


def measure(group):
    n = group.size(60_000)
    products(group, "uniform", inputs.uniform(1, n, 15 * n), {"list": LIST})
    products(group, "band", inputs.banded(3, n, 15), {"list": LIST, "band": BAND})
    products(group, "wide band", inputs.banded(4, n // 4, 61), {"band": BAND})
    products(group, "blocks", inputs.blocks(5, n, 8, n // 5), {"list": LIST, "blocks": BLOCKS})
    wide = 1_000 if group.options.quick else 3_000
    products(group, "runs", inputs.repeated(6, wide, 4, wide // 10), {"runs": RUNS})
    products(group, "steps", inputs.steps(6, wide, 20), {"all runs": ALL_RUNS})
    a = inputs.power_law(7, n, 15 * n)
    a.data[:] = 1.0
    products(group, "pattern", a, {"pattern": PATTERN})
    a = inputs.uniform(8, n, 8 * n)
    symmetric(group, "symmetric", (a + a.T).tocsr())
    for name, a in group.real(at_least=20_000):
        if abs(a - a.T).nnz == 0:
            symmetric(group, name, a)
        else:
            products(group, name, a, {"list": LIST, "blocks": BLOCKS})


def csr(group, a, x):
    """Siskin's own kernel for csr."""
    own = Statement("y[i] += A[i,j] * x[j]", {"A": f"{group.file('own', a)}:csr", "x": group.file("x", x)})
    return Peer("Siskin, csr", lambda: a @ x, 1, lambda y: {"y": y}, lambda: group.siskin.warm(own))


def products(group, name, a, formats):
    """The matrix by its rows, and its transpose by its columns: what is next to each other is so in both."""
    x = inputs.values(9, a.shape[0])
    vector = f"{group.file('vector', x)}:dense"
    for program, tensor, b in (("spmv_row", "AT", a), ("spmv_column", "A", scipy.sparse.csr_array(a.T))):
        peers = [csr(group, b, x)]
        for kind, layout in formats.items():
            stored = b.astype(bool) if layout == PATTERN else b
            # The program's first index is the one along which entries are stored.
            stored = scipy.sparse.csr_array(stored.T) if tensor == "AT" else stored
            place = f"{group.file('matrix', stored)}:{layout}"
            what = Program(program, {tensor: place, "x": vector})
            group.program(f"{program}, {kind}, {name}", what, ["y"], peers, repeat=20)


def symmetric(group, name, a):
    """The upper triangle of a symmetric matrix."""
    x = inputs.values(10, a.shape[0])
    place = f"{group.file('matrix', scipy.sparse.csr_array(scipy.sparse.triu(a)))}:{LIST}"
    what = Program("spmv_symmetric", {"A": place, "x": f"{group.file('vector', x)}:dense"})
    group.program(f"spmv_symmetric, list, {name}", what, ["y"], [csr(group, a, x)], repeat=20)
