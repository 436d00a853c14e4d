"""Sums and products of csr matrices with a csr result, beside SciPy and MKL."""

import sparse_dot_mkl

import inputs
from common import Peer, Statement

# Rows whose columns are in any order.
ANY_ORDER = "dense(i), compressed(j, ordered=false)"


def measure(group):
    n = group.size(100_000)
    made = {
        "uniform": (inputs.uniform(1, n, 10 * n), inputs.uniform(2, n, 10 * n)),
        "banded": (inputs.banded(3, n, 10), inputs.banded(4, n, 10)),
        "power law": (inputs.power_law(5, n, 10 * n), inputs.power_law(5, n, 10 * n)),
    }
    for name, (a, b) in made.items():
        sums(group, name, a, b if name != "power law" else b.T.tocsr())
    for name, a in group.real():
        sums(group, f"{name} + transpose", a, a.T.tocsr())
    for name, (a, b) in made.items():
        products(group, name, a, b)
    for name, a in group.real():
        products(group, name, a, a)


def places(group, name, a, b):
    stem = name.replace(" ", "-")
    return {"A": f"{group.file(f'{stem}-A', a)}:csr", "B": f"{group.file(f'{stem}-B', b)}:csr"}


def sums(group, name, a, b):
    statement = Statement("C[i,j] = A[i,j] + B[i,j]", places(group, name, a, b), "csr")
    group.measure(f"sum, {name}", statement, [Peer("SciPy", lambda: a + b, 1.5)])


def products(group, name, a, b):
    """Products with the columns of a row in order, and in any order, as SciPy and MKL list them."""
    if group.too_large(f"product, {name}", inputs.multiplications(a, b)):
        return

    def in_order():
        out = a @ b
        out.sort_indices()
        return out

    # Nothing is left to sort where the result comes out in order.
    ordered = (a @ b).has_sorted_indices
    scipy = Peer("SciPy", lambda: a @ b, None if ordered else 1.9)
    mkl = Peer("MKL", lambda: sparse_dot_mkl.dot_product_mkl(a, b), 1.0)
    text, tensors = "C[i,j] += A[i,k] * B[k,j]", places(group, name, a, b)
    group.measure(f"product, {name}", Statement(text, tensors, ANY_ORDER), [scipy, mkl])
    group.measure(f"sorted product, {name}", Statement(text, tensors, "csr"), [
        Peer("SciPy", scipy.call),
        Peer("SciPy, sorted", in_order),
        Peer("MKL", mkl.call),
        Peer("MKL, sorted", lambda: sparse_dot_mkl.dot_product_mkl(a, b, reorder_output=True)),
    ])
