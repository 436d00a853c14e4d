"""Products of sparse matrices by the three programs of examples/finch; beside SciPy."""

import scipy.sparse

import inputs
from common import Peer, Program

LIST = "Dense(SparseList(Element(0.0)))"
# Inner products look at every pair of a row and a column.
INNER = 2_000


def measure(group):
    n = group.size(50_000)
    for name, a in (("uniform", inputs.uniform(1, n, 6 * n)), ("banded", inputs.banded(2, n, 9))):
        products(group, name, a, a)
    small = group.size(15_000)
    products(group, "small", inputs.uniform(3, small // 10, small), inputs.uniform(4, small // 10, small))
    for name, a in group.real():
        products(group, name, a, a)


def products(group, name, a, b):
    if group.too_large(f"product, {name}", inputs.multiplications(a, b)):
        return

    def place(stem, matrix):
        return f"{group.file(stem, scipy.sparse.csr_array(matrix))}:{LIST}"

    peers = [Peer("SciPy", lambda: a @ b, 1.25, lambda c: {"C": c})]
    given = {"A": place("A", a), "B": place("B", b)}
    ways = {
        "gustavson": given,
        "inner": {"AT": place("AT", a.T), "B": given["B"]},
        "outer": {"A": given["A"], "BT": place("BT", b.T)},
    }
    for way, tensors in ways.items():
        if way != "inner" or a.shape[0] <= INNER:
            what = Program(f"spgemm_{way}", tensors, {"C": LIST})
            group.program(f"{way}, {name}", what, ["C"], peers, sparse=True)
