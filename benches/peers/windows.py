"""Windows and strides of csr matrices, with a csr result, beside SciPy."""

import inputs
from common import Peer, Statement


def measure(group):
    n = 3_162 if group.options.quick else 10_000
    compare(group, "uniform", inputs.uniform(1, n, group.size(1_000_000)))
    compare(group, "banded", inputs.banded(2, group.size(100_000), 10))
    for name, matrix in group.real(at_least=80_000):
        compare(group, name, matrix)


def compare(group, name, a):
    """Rows of one matrix; ends are quarters of its extent."""
    place = f"{group.file(name, a)}:csr"
    n = a.shape[0]
    low, high = n // 4, n - n // 4

    def row(measurement, window, call, target):
        group.measure(f"{measurement}, {name}", Statement(f"B[i,j] = A[{window}]", {"A": place}, "csr"),
                      [Peer("SciPy", call, target)])

    row("window of rows", f"({low}:{high})(i), j", lambda: a[low:high], 2.5)
    row("window of columns", f"i, ({low}:{high})(j)", lambda: a[:, low:high], 2.5)
    row("window", f"({low}:{high})(i), ({low}:{high})(j)", lambda: a[low:high, low:high], 2.5)
    row("every 2nd row", f"(0:{n}:2)(i), j", lambda: a[::2], 1.7)
    row("every 2nd column", f"i, (0:{n}:2)(j)", lambda: a[:, ::2], 1.7)
    row("every 3rd of both", f"(1:{n}:3)(i), (1:{n}:3)(j)", lambda: a[1::3, 1::3], 1.7)
