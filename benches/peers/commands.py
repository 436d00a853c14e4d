"""Whole commands beside a script of SciPy, both as processes: from a text file to a file of the result."""

import gzip
import subprocess
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse

import inputs
from common import ENVIRONMENT, Failed, Peer, Statement

SCRIPT = """
import sys
import numpy
import scipy.io
import scipy.sparse
a = scipy.io.mmread(sys.argv[1]).tocsr()
numpy.save(sys.argv[2], a @ numpy.ones(a.shape[1]))
"""


def measure(group):
    for name, count, extension, target in [
        ("1 M entries, .mtx.gz", 1_000_000, "mtx.gz", 2.0),
        ("1 M entries, .mtx", 1_000_000, "mtx", None),
        ("10 M entries, .mtx", 10_000_000, "mtx", 1.3),
    ]:
        count = group.size(count)
        path = group.folder / f"{count}.{extension}"
        write(path, inputs.uniform(17, count // 10, count))
        command(group, name, path, target)
        path.unlink()


def write(path, matrix):
    """A matrix as Matrix Market text, its entries in no order."""
    matrix = matrix.tocoo()
    order = np.random.default_rng(18).permutation(matrix.nnz)
    rows, columns = matrix.coords
    matrix = scipy.sparse.coo_array((matrix.data[order], (rows[order], columns[order])), shape=matrix.shape)
    opened = gzip.open(path, "wb") if path.suffix == ".gz" else open(path, "wb")
    with opened as file:
        scipy.io.mmwrite(file, matrix, symmetry="general")


def command(group, name, path, target):
    statement = Statement("y[i] += A[i,j] * x[j]", {"A": f"{path}:csr", "x": "ones"})
    ours, theirs = group.folder / "result-ours.npy", group.folder / "result-theirs.npy"
    words = [sys.executable, "-c", SCRIPT, str(path), str(theirs)]

    def script():
        try:
            done = subprocess.run(words, env=ENVIRONMENT, timeout=group.options.limit, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            raise Failed(f"more than {group.options.limit:g} s") from None
        if done.returncode != 0:
            raise Failed(done.stderr.strip().splitlines()[-1])

    def timed(call):
        start = time.perf_counter()
        call()
        return [1e3 * (time.perf_counter() - start)]

    def run():
        group.siskin.write(statement, ours)

    def result():
        # Also puts the kernel into the cache, and the file into memory.
        run()
        return {"y": np.load(ours)}

    peer = Peer("SciPy", script, target, result=lambda _: {"y": np.load(theirs)}, times=lambda: timed(script))
    group.race(name, statement, result, lambda: timed(run), [peer])
