"""One statement by find, by merge and by looplets: what several operands store is brought together."""

import numpy as np

import inputs
from common import Failed, Peer, Statement

LIST, RUNS, BAND = "SparseList(Element(0.0))", "SparseRunList(Element(0.0))", "SparseBand(Element(0.0))"
BLOCKS = "SparseBlockList(Element(0.0))"


def measure(group):
    n = group.size(100_000)
    a = inputs.uniform(1, n, 10 * n)
    for share in (1e-4, 1e-2, 0.1, 0.5):
        x = vector(2, n, share)
        given = {"A": f"{group.file('A', a)}:csr", "x": f"{group.file('x', x)}:sparse"}
        three(group, f"SpMSpV, {share:g} stored", "y[i] += A[i,j] * x[j]", given)
    n = 10 * n
    for name, layout, make in (("runs", RUNS, runs), ("blocks", BLOCKS, blocks), ("bands", BAND, band)):
        for many in (1_000, 50_000) if layout != BAND else (n // 2,):
            x, y = make(3, n, many), make(4, n, many // 10 if layout != BAND else many)
            for kind, other in ((name, layout), ("lists", LIST)):
                given = {"x": f"{group.file('x', x)}:{layout}", "y": f"{group.file('y', y)}:{other}"}
                three(group, f"{name} and {kind}, {many}", "r[] += x[i] * y[i]", given)


def three(group, measurement, text, given):
    def by(scheme):
        return Statement(text, given, None, ("--coiterate", scheme))

    def result(scheme):
        return np.atleast_1d(group.siskin.read(group.siskin.run(by(scheme))[1], None))

    def peer(scheme):
        return Peer(f"Siskin, {scheme}", lambda: result(scheme), None, lambda y: {"y": y},
                    lambda: group.siskin.warm(by(scheme)))

    try:
        result("merge")
        ours, theirs = ("find", "looplets"), "merge"
    except Failed:
        # Runs and blocks are not merged.
        ours, theirs = ("looplets",), "find"
    for scheme in ours:
        group.race(f"{measurement}: {scheme}", by(scheme), lambda scheme=scheme: {"y": result(scheme)},
                   lambda scheme=scheme: group.siskin.warm(by(scheme)), [peer(theirs)])


def vector(seed, n, share):
    out = np.zeros(n)
    out[inputs.places(seed, n, int(share * n))] = inputs.values(seed, int(share * n))
    return out


def runs(seed, n, many):
    """So many runs of one value each, with gaps of fill between some."""
    ends = inputs.places(seed, n, many)
    values = np.random.default_rng(seed).integers(0, 4, many).astype(float)
    return np.repeat(np.append(values, 0.0), np.diff(np.concatenate([[0], ends, [n]])))


def blocks(seed, n, many):
    """So many blocks of 16 neighbours."""
    out = np.zeros(n)
    starts = inputs.places(seed, n // 32, min(many, n // 64)) * 32
    for k in range(16):
        out[starts + k] = inputs.values(seed + k, starts.size)
    return out


def band(seed, n, many):
    """One block of neighbours."""
    out = np.zeros(n)
    start = seed * n // 16
    out[start:start + many] = inputs.values(seed, many)
    return out
