"""Greatest and least values of sparse tensors of 3, 5 and 7 dimensions, beside PyData/Sparse and NumPy."""

import numpy as np
import sparse

import inputs
from common import Peer, Statement

TARGET = 6.0
NAMES = "ijklmnp"


def measure(group):
    for rank, extent, small in ((3, 400, 186), (5, 36, 23), (7, 13, 9)):
        dims = (small if group.options.quick else extent,) * rank
        count = group.size(1_000_000)
        for layout in ("coo", "csf"):
            greatest(group, dims, count, layout, -np.inf)
            greatest(group, dims, count, layout, 0.0)
            game(group, dims, count, layout)


def subscripts(rank):
    return ",".join(NAMES[:rank])


def greatest(group, dims, count, layout, fill):
    """The greatest value in each slice of the first dimension; a fill of 0 takes part, -inf does not matter."""
    rank = len(dims)
    tensor = inputs.tensor(rank, dims, count, fill=fill, signed=True)
    compressed = sparse.GCXS.from_coo(tensor, compressed_axes=[0])
    array = tensor.todense()
    rest = tuple(range(1, rank))
    place = f"{group.file(f'rank{rank}-fill{fill:g}', tensor)}:{layout}"
    options = () if fill == 0 else ("--fill", f"T={fill}")
    dense = {"result": lambda y: y.todense()}
    group.measure(f"max of {rank} dims, fill {fill:g}, {layout}",
                  Statement(f"s[i] max= T[{subscripts(rank)}]", {"T": place}, None, options), [
                      Peer("PyData/Sparse, COO", lambda: tensor.max(axis=rest), TARGET, **dense),
                      Peer("PyData/Sparse, GCXS", lambda: compressed.max(axis=rest), None, **dense),
                      Peer("NumPy, dense", lambda: array.max(axis=rest)),
                  ], -np.inf)


def game(group, dims, count, layout):
    """The value of a game: the last dimension is reduced by min or max, then the one before, in turn."""
    rank = len(dims)
    tensor = inputs.tensor(rank, dims, count, signed=True)
    array = tensor.todense()
    place = f"{group.file(f'game{rank}', tensor)}:{layout}"
    steps = ["max" if (rank - k) % 2 else "min" for k in range(rank - 1)]
    held = "T"
    statements, temporaries = [], []
    for k, operator in enumerate(steps):
        left = rank - 1 - k
        name = "s" if left == 1 else f"U{left}"
        statements.append(f"{name}[{subscripts(left)}] {operator}= {held}[{subscripts(left + 1)}]")
        temporaries.append(name)
        held = name

    def reduced(y):
        for operator in steps:
            y = getattr(y, operator)(axis=y.ndim - 1)
        return y

    group.measure(f"min and max of {rank} dims, {layout}",
                  Statement("; ".join(statements), {"T": place}, None, (), tuple(temporaries[:-1])), [
                      Peer("PyData/Sparse, COO", lambda: reduced(tensor), TARGET, lambda y: y.todense()),
                      Peer("NumPy, dense", lambda: reduced(array)),
                  ])
