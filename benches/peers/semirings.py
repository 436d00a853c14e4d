"""Products over the boolean and the tropical semiring, beside SuiteSparse:GraphBLAS."""

import graphblas
import numpy as np
from graphblas import Vector, semiring

import inputs
from common import Peer, Statement
from matrices import ANY_ORDER

INFINITE = ("--fill", "A=inf")


def measure(group):
    graphblas.ss.config["nthreads"] = 1
    n = group.size(100_000)
    made = {
        "uniform": inputs.uniform(1, n, 10 * n),
        "power law": inputs.power_law(2, n, 10 * n),
    }
    for name, a in made.items():
        for share in (0.1, 0.5):
            vectors(group, name, a, share)
    made["banded"] = inputs.banded(3, n, 10)
    for name, a in made.items():
        products(group, name, a)
    for name, a in group.real(at_least=80_000):
        products(group, name, abs(a))


def both(group, name, a):
    """A boolean and a real matrix with the same entries: their places and GraphBLAS's objects."""
    truth = a.astype(bool)
    truth.data[:] = True
    stem = name.replace(" ", "-")
    return (f"{group.file(f'{stem}-bool', truth)}:csr", f"{group.file(f'{stem}-f64', a)}:csr",
            graphblas.io.from_scipy_sparse(truth), graphblas.io.from_scipy_sparse(a))


def vectors(group, name, a, share):
    """Matrix-vector products of which only masked elements are computed; `share` of them are."""
    n = a.shape[0]
    random = np.random.default_rng(7)
    truth_file, real_file, truth, real = both(group, name, a)
    chosen = np.sort(random.permutation(n)[: int(share * n)])
    present = np.sort(random.permutation(n)[: n // 10])
    weights = 1.0 - random.random(n)
    mask = Vector.from_coo(chosen, True, size=n)

    def scattered(places, stored, fill):
        out = np.full(n, fill)
        out[places] = stored
        return out

    # The mask of the tropical product: 0 where an element is computed, infinity where it is not.
    files = {
        "mask": group.file("mask", scattered(chosen, True, False)),
        "wall": group.file("wall", scattered(chosen, 0.0, np.inf)),
        "set": group.file("set", scattered(present, True, False)),
        "weights": group.file("weights", weights),
        "far": group.file("far", scattered(present, weights[present], np.inf)),
    }

    def row(measurement, statement, product, matrix, x, fill):
        def call():
            y = Vector(matrix.dtype, n)
            y(mask.S) << product(matrix @ x)
            y.wait()
            return y

        def result(y):
            places, stored = y.to_coo()
            return scattered(places.astype(np.int64), stored, fill)

        group.measure(f"{measurement}, mask {share:.0%}, {name}", statement,
                      [Peer("GraphBLAS", call, 1.5, result)], fill)

    full = Vector.from_dense(scattered(present, True, False))
    few = Vector.from_coo(present, True, size=n)
    text = "y[i] or= and(M[i], A[i,j], x[j])"
    given = {"A": truth_file, "M": f"{files['mask']}:sparse"}
    kind = ("--type", "bool")
    row("or-and, x full", Statement(text, given | {"x": files["set"]}, None, kind),
        semiring.lor_land, truth, full, False)
    row("or-and, x sparse", Statement(text, given | {"x": f"{files['set']}:sparse"}, None, kind),
        semiring.lor_land, truth, few, False)

    text = "y[i] min= M[i] + A[i,j] + x[j]"
    given = {"A": real_file, "M": f"{files['wall']}:sparse"}
    walls = (*INFINITE, "--fill", "M=inf")
    row("min-plus, x full", Statement(text, given | {"x": files["weights"]}, None, walls),
        semiring.min_plus, real, Vector.from_dense(weights), np.inf)
    walls = (*walls, "--fill", "x=inf")
    row("min-plus, x sparse", Statement(text, given | {"x": f"{files['far']}:sparse"}, None, walls),
        semiring.min_plus, real, Vector.from_coo(present, weights[present], size=n), np.inf)
    text = "y[i] min= select(M[i], A[i,j] + x[j], inf)"
    given = {"A": real_file, "M": f"{files['mask']}:sparse", "x": files["weights"]}
    row("min-plus, select", Statement(text, given, None, (*INFINITE, "--type", "M=bool")),
        semiring.min_plus, real, Vector.from_dense(weights), np.inf)


def products(group, name, a):
    """Matrices multiplied by themselves, with the columns of a row in any order, as GraphBLAS leaves them until
    somebody asks, and in order."""
    if group.too_large(f"products, {name}", inputs.multiplications(a, a)):
        return
    truth_file, real_file, truth, real = both(group, name, a)

    def rows(measurement, text, tensors, options, product, matrix, fill):
        def lazy():
            return product(matrix @ matrix).new()

        def sorted_by_columns():
            out = lazy()
            out.wait()
            return out

        def peer(name, call, target=None):
            return Peer(name, call, target, graphblas.io.to_scipy_sparse)

        group.measure(f"{measurement}, {name}", Statement(text, tensors, ANY_ORDER, options),
                      [peer("GraphBLAS", lazy, 1.1)], fill)
        group.measure(f"sorted {measurement}, {name}", Statement(text, tensors, "csr", options),
                      [peer("GraphBLAS", lazy), peer("GraphBLAS, sorted", sorted_by_columns)], fill)

    rows("or-and product", "C[i,j] or= and(A[i,k], B[k,j])", {"A": truth_file, "B": truth_file},
         ("--type", "bool"), semiring.lor_land, truth, False)
    rows("min-plus product", "C[i,j] min= A[i,k] + B[k,j]", {"A": real_file, "B": real_file},
         (*INFINITE, "--fill", "B=inf"), semiring.min_plus, real, np.inf)
