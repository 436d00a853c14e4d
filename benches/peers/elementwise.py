"""Operators of two and three sparse matrices, beside PyData/Sparse."""

import numpy as np
import sparse

import inputs
from common import Peer, Statement

TARGET = 10.0


def typed(matrix, data):
    """The same entries with other values."""
    out = matrix.copy()
    out.data = data
    return out


def measure(group):
    n = 3_162 if group.options.quick else 10_000
    count = group.size(1_000_000)
    a = inputs.uniform(1, n, count)
    b, c = inputs.overlapping(2, a), inputs.overlapping(3, a)
    compare(group, "uniform", a, b, c, everything=True)
    for name, matrix in group.real(at_least=80_000):
        pattern = np.abs(matrix) > 0
        compare(group, name, matrix, matrix.T.tocsr(), typed(matrix, np.cos(matrix.data)), pattern=pattern)


def compare(group, name, a, b, c, everything=False, pattern=None):
    """Rows of three matrices; of a real one only those that any values make sense for."""
    files, arrays = {}, {}

    def operand(letter, kind, matrix, fill=0):
        key = letter + kind
        files[key] = f"{group.file(f'{name}-{key}', matrix)}:csr"
        listed = matrix.tocoo()
        arrays[key] = sparse.COO(np.array(listed.coords), listed.data, shape=matrix.shape, fill_value=fill)

    def row(measurement, text, kinds, call, options=()):
        tensors = {letter: files[letter + kind] for letter, kind in zip("ABC", kinds)}
        operands = [arrays[letter + kind] for letter, kind in zip("ABC", kinds)]
        group.measure(f"{measurement}, {name}", Statement(text, tensors, "csr", options),
                      [Peer("PyData/Sparse", lambda: call(*operands), TARGET)])

    for letter, matrix in zip("ABC", (a, b, c)):
        operand(letter, "f64", matrix)
        operand(letter, "bool", typed(matrix, np.ones(matrix.nnz, bool)))
    truth = ("--type", "bool")
    row("xor, bool", "D[i,j] = xor(A[i,j], B[i,j])", ["bool"] * 2, np.logical_xor, truth)
    row("xor(and), bool", "D[i,j] = xor(and(A[i,j], B[i,j]), C[i,j])", ["bool"] * 3,
        lambda a, b, c: np.logical_xor(np.logical_and(a, b), c), truth)
    row("xor(xor), bool", "D[i,j] = xor(xor(A[i,j], B[i,j]), C[i,j])", ["bool"] * 3,
        lambda a, b, c: np.logical_xor(np.logical_xor(a, b), c), truth)
    row("A*B*C, f64", "D[i,j] = A[i,j] * B[i,j] * C[i,j]", ["f64"] * 3, lambda a, b, c: a * b * c)
    row("(A+B)*C, f64", "D[i,j] = (A[i,j] + B[i,j]) * C[i,j]", ["f64"] * 3, lambda a, b, c: (a + b) * c)
    if not everything:
        return
    random = np.random.default_rng(4)
    operand("A", "i64", typed(a, random.integers(1, 1 << 40, a.nnz)))
    operand("B", "i64", typed(b, random.integers(1, 1 << 40, b.nnz)))
    operand("C", "i64", typed(c, random.integers(1, 1 << 40, c.nnz)))
    whole = ("--type", "i64")
    row("bxor(bxor), i64", "D[i,j] = bxor(bxor(A[i,j], B[i,j]), C[i,j])", ["i64"] * 3,
        lambda a, b, c: (a ^ b) ^ c, whole)
    operand("B", "shift", typed(b, random.integers(1, 30, b.nnz)))
    row("right shift, i64", "D[i,j] = shr(A[i,j], B[i,j])", ["i64", "shift"], np.right_shift, whole)
    operand("B", "i32", typed(b, random.integers(1, 40, b.nnz).astype(np.int32)))
    row("ldexp, f64 and i32", "D[i,j] = ldexp(A[i,j], B[i,j])", ["f64", "i32"], np.ldexp, ("--type", "B=i32"))
    # An exponent that is not stored is 1: what A does not store stays 0.
    operand("B", "exponent", typed(b, 2.0 + random.random(b.nnz)), fill=1)
    row("power, f64", "D[i,j] = pow(A[i,j], B[i,j])", ["f64", "exponent"], np.power, ("--fill", "B=1"))
    operand("A", "base", typed(a, random.integers(1, 9, a.nnz)))
    operand("B", "wholeexponent", typed(b, random.integers(2, 9, b.nnz)), fill=1)
    row("power, i64", "D[i,j] = pow(A[i,j], B[i,j])", ["base", "wholeexponent"], np.power,
        ("--type", "i64", "--fill", "B=1"))
    row("power of 3, f64", "D[i,j] = pow(A[i,j], 3)", ["f64"], lambda a: a ** 3)
