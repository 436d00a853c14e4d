"""Products and sums of sparse 3-tensors, beside PyData/Sparse and NumPy."""

import numpy as np
import sparse

import inputs
from common import Peer, Statement

RANK = 16


def measure(group):
    extent = 186 if group.options.quick else 400
    dims = (extent,) * 3
    count = group.size(1_000_000)
    t = inputs.tensor(1, dims, count)
    # Half of the entries of the others lie where the first has some.
    others = [shared(t, inputs.tensor(k, dims, count)) for k in (2, 3)]
    dense = [x.todense() for x in (t, *others)]
    names = dict(zip("ABC", (group.file(letter, x) for letter, x in zip("ABC", (t, *others)))))
    random = np.random.default_rng(4)
    v = random.random(extent)
    b, c = random.random((extent, RANK)), random.random((extent, RANK))
    vector, factor_b, factor_c = group.file("v", v), group.file("factorB", b), group.file("factorC", c)
    a2, a3 = others
    for layout in ("coo", "csf"):
        place = {letter: f"{file}:{layout}" for letter, file in names.items()}
        t_place = {"T": place["A"]}
        group.measure(f"TTV, {layout}",
                      Statement("y[i,j] += T[i,j,k] * v[k]", t_place | {"v": vector}), [
                          Peer("PyData/Sparse, COO", lambda: sparse.tensordot(t, v, axes=1)),
                          Peer("NumPy, dense", lambda: dense[0] @ v),
                      ])
        group.measure(f"PLUS, {layout}",
                      Statement("D[i,j,k] = A[i,j,k] + B[i,j,k] + C[i,j,k]", place, layout), [
                          Peer("PyData/Sparse, COO", lambda: t + a2 + a3),
                          Peer("NumPy, dense", lambda: dense[0] + dense[1] + dense[2]),
                      ])
        group.measure(f"INNERPROD, {layout}",
                      Statement("s[] += A[i,j,k] * B[i,j,k]", {n: place[n] for n in "AB"}), [
                          Peer("PyData/Sparse, COO", lambda: (t * a2).sum(), None, lambda y: y.todense()),
                          Peer("NumPy, dense", lambda: np.vdot(dense[0], dense[1])),
                      ])
        group.measure(f"MTTKRP of rank {RANK}, {layout}",
                      Statement("D[i,r] += T[i,j,k] * B[j,r] * C[k,r]", t_place | {"B": factor_b, "C": factor_c}), [
                          Peer("PyData/Sparse, COO", lambda: sparse.einsum("ijk,jr,kr->ir", t, b, c)),
                          Peer("NumPy, dense", lambda: np.einsum("ijk,jr,kr->ir", dense[0], b, c, optimize=True)),
                      ])


def shared(first, second):
    """The second tensor with about half of its entries moved to places of the first."""
    moved = first.nnz // 2
    linear = [np.ravel_multi_index(tuple(x.coords), x.shape) for x in (first, second)]
    random = np.random.default_rng(5)
    places = np.union1d(random.permutation(linear[0])[:moved], random.permutation(linear[1])[moved:])
    coords = np.array(np.unravel_index(places, first.shape))
    return sparse.COO(coords, inputs.values(6, places.size), shape=first.shape, has_duplicates=False, sorted=True)
