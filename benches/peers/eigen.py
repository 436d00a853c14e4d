"""Products of Eigen, which a C++ compiler makes on first use."""

import ctypes
import os
import subprocess
import sysconfig
from pathlib import Path

import numpy as np

SOURCE = r"""
#include <Eigen/SparseCore>
using Rows = Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor, int>>;
using Columns = Eigen::Map<const Eigen::SparseMatrix<double, Eigen::ColMajor, int>>;
using Many = Eigen::Map<const Eigen::VectorXd>;

extern "C" void product(int m, int n, int stored, const int *pos, const int *crd, const double *val,
                        const double *x, double *y) {
    Eigen::Map<Eigen::VectorXd>(y, m).noalias() = Rows(m, n, stored, pos, crd, val) * Many(x, n);
}

// Vectors of Eigen own what they store.
extern "C" void *vector(int n, int few, const int *crd, const double *val) {
    auto *x = new Eigen::SparseVector<double>(n);
    for (int k = 0; k < few; k++) x->insertBack(crd[k]) = val[k];
    return x;
}

// Results are sparse, as Eigen makes them; how many elements they store is returned.
static Eigen::SparseVector<double> result;

extern "C" int by_rows(int m, int n, int stored, const int *pos, const int *crd, const double *val, const void *x) {
    result = Rows(m, n, stored, pos, crd, val) * *static_cast<const Eigen::SparseVector<double> *>(x);
    return result.nonZeros();
}

extern "C" int by_columns(int m, int n, int stored, const int *pos, const int *crd, const double *val, const void *x) {
    result = Columns(m, n, stored, pos, crd, val) * *static_cast<const Eigen::SparseVector<double> *>(x);
    return result.nonZeros();
}

extern "C" void last(int *crd, double *val) {
    for (int k = 0; k < result.nonZeros(); k++) {
        crd[k] = result.innerIndexPtr()[k];
        val[k] = result.valuePtr()[k];
    }
}
"""


def library():
    """The compiled products; made again when their source changes."""
    folder = Path(os.environ["PEERS_DATA"]) / "eigen"
    folder.mkdir(parents=True, exist_ok=True)
    source, made = folder / "products.cpp", folder / "products.so"
    if not made.exists() or not source.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        headers = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/include/eigen3"
        subprocess.run([os.environ.get("CXX", "c++"), "-O3", "-march=native", "-DNDEBUG", "-shared", "-fPIC",
                        f"-I{headers}", str(source), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made))


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


class Product:
    """`A x` with a csr matrix of SciPy and a dense vector."""

    def __init__(self, a, x):
        self.call = library().product
        self.y = np.zeros(a.shape[0])
        self.kept = (a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data, x, self.y)
        self.given = (*a.shape, a.nnz, *map(pointer, self.kept))

    def __call__(self):
        self.call(*self.given)
        return self.y


class SparseProduct:
    """`A x` with a csr or csc matrix of SciPy and the coordinates and values of a sparse vector."""

    def __init__(self, a, coordinates, values):
        self.library = library()
        self.call = self.library.by_rows if a.format == "csr" else self.library.by_columns
        self.rows = a.shape[0]
        self.kept = (a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data)
        coordinates = coordinates.astype(np.int32)
        self.library.vector.restype = ctypes.c_void_p
        vector = self.library.vector(a.shape[1], values.size, pointer(coordinates), pointer(values))
        self.given = (*a.shape, a.nnz, *map(pointer, self.kept), ctypes.c_void_p(vector))

    def __call__(self):
        return self.call(*self.given)

    def dense(self, stored):
        """The result of the last call as an array."""
        places, values = np.zeros(stored, np.int32), np.zeros(stored)
        self.library.last(pointer(places), pointer(values))
        out = np.zeros(self.rows)
        out[places] = values
        return out
