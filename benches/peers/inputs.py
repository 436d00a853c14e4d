"""Inputs made from fixed seeds; the same on every machine."""

import numpy as np
import scipy.ndimage
import scipy.sparse


def places(seed, extent, count):
    """`count` different numbers below `extent`, in increasing order."""
    random = np.random.default_rng(seed)
    found = np.empty(0, np.int64)
    while found.size < count:
        found = np.unique(np.concatenate([found, random.integers(0, extent, count + count // 20 + 10)]))
    return np.sort(random.permutation(found)[:count])


def values(seed, count):
    """`count` numbers between 0 (excluded) and 1."""
    return 1.0 - np.random.default_rng(seed + 1_000_000).random(count)


def matrix(linear, n, data):
    """The n × n csr matrix with entries at linear positions."""
    rows, columns = np.divmod(linear, n)
    out = scipy.sparse.coo_array((data, (rows.astype(np.int32), columns.astype(np.int32))), shape=(n, n)).tocsr()
    out.sort_indices()
    return out


def uniform(seed, n, count):
    """Entries at random places."""
    return matrix(places(seed, n * n, count), n, values(seed, count))


def overlapping(seed, other):
    """As many entries as another matrix has, about half of them at its places."""
    n, count = other.shape[0], other.nnz
    other = other.tocoo()
    theirs = other.coords[0].astype(np.int64) * n + other.coords[1]
    half = np.random.default_rng(seed).permutation(theirs)[:count // 2]
    linear = np.union1d(half, places(seed + 1, n * n, count - count // 2))
    return matrix(linear, n, values(seed, linear.size))


def banded(seed, n, width):
    """`width` neighbouring diagonals around the main one."""
    first = -(width // 2)
    diagonals = [values(seed + k, n) for k in range(width)]
    out = scipy.sparse.dia_array((np.array(diagonals), range(first, first + width)), shape=(n, n)).tocsr()
    out.sort_indices()
    return out


def power_law(seed, n, count):
    """Entries in rows and columns of weight (rank + 1)^-0.5: degrees with a power law of exponent 3."""
    random = np.random.default_rng(seed)
    ends = np.cumsum((np.arange(n) + 1.0) ** -0.5)
    node = random.permutation(n)

    def draw(number):
        return node[np.minimum(np.searchsorted(ends, random.random(number) * ends[-1]), n - 1)]

    linear = np.empty(0, np.int64)
    while linear.size < count:
        linear = np.unique(np.concatenate([linear, draw(count) * n + draw(count)]))
    linear = np.sort(random.permutation(linear)[:count])
    return matrix(linear, n, values(seed, count))


def families(n):
    """An n × n matrix of each family, with ten entries a row."""
    return {
        "uniform": uniform(1, n, 10 * n),
        "banded": banded(3, n, 10),
        "power law": power_law(5, n, 10 * n),
    }


def multiplications(a, b):
    """How many products of two stored values are summed in the product of two csr matrices."""
    columns = np.bincount(a.indices, minlength=a.shape[1]).astype(np.int64)
    return int(columns @ np.diff(b.indptr).astype(np.int64))


def tensor(seed, dims, count, fill=0.0, signed=False):
    """A PyData array of any rank with entries at random places; values up to 1, from -1 on where signed."""
    import sparse

    linear = places(seed, int(np.prod(dims, dtype=np.int64)), count)
    data = values(seed, count)
    if signed:
        data = 2.0 * data - 1.0
    coords = np.array(np.unravel_index(linear, dims))
    return sparse.COO(coords, data, shape=dims, fill_value=fill, has_duplicates=False, sorted=True)


def image(seed, n):
    """An n × n truth-valued image of blobs, a quarter of it set."""
    noise = scipy.ndimage.gaussian_filter(np.random.default_rng(seed).random((n, n)), 6.0, mode="wrap")
    return noise > np.quantile(noise, 0.75)


def strokes(seed, n, width=None):
    """An n × n truth-valued image of lines on an empty ground; without a width they are thick."""
    random = np.random.default_rng(seed)
    out = np.zeros((n, n), bool)
    steps = np.linspace(0.0, 1.0, 4 * n)
    width = width or max(2, n // 60)
    for _ in range(12):
        # A quadratic Bézier curve.
        (x0, y0), (x1, y1), (x2, y2) = random.random((3, 2)) * (n - width)
        x = (1 - steps) ** 2 * x0 + 2 * steps * (1 - steps) * x1 + steps**2 * x2
        y = (1 - steps) ** 2 * y0 + 2 * steps * (1 - steps) * y1 + steps**2 * y2
        for k in range(width):
            for l in range(width):
                out[y.astype(int) + k, x.astype(int) + l] = True
    return out


def magnified(image, times):
    """Each pixel as a square of pixels."""
    return np.repeat(np.repeat(image, times, 0), times, 1)


def blocks(seed, n, size, count):
    """`count` dense blocks of `size` × `size` at random places."""
    wide = n // size
    rows, columns = np.divmod(places(seed, wide * wide, count), wide)
    inner = np.arange(size)
    linear = ((rows[:, None, None] * size + inner[:, None]) * n + columns[:, None, None] * size + inner).ravel()
    linear.sort()
    return matrix(linear, n, values(seed, linear.size))


def repeated(seed, n, runs, length):
    """A matrix whose rows hold `runs` runs of one value each, `length` long on average."""
    random = np.random.default_rng(seed)
    out = np.zeros((n, n))
    for row in out:
        for start, long in zip(random.integers(0, n, runs), random.integers(1, 2 * length, runs)):
            row[start:start + long] = random.integers(1, 9)
    return scipy.sparse.csr_array(out)


def steps(seed, n, runs):
    """A matrix without zeros, whose rows are runs of one value each."""
    random = np.random.default_rng(seed)
    out = np.empty((n, n))
    for row in out:
        ends = np.sort(random.choice(np.arange(1, n), runs - 1, replace=False))
        row[:] = np.repeat(random.integers(1, 9, runs), np.diff(np.concatenate([[0], ends, [n]])))
    return scipy.sparse.csr_array(out)

