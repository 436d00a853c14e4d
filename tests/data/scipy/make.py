# Writes the files beside it, with NumPy 2.4 and SciPy 1.17: `python make.py`.
import os

import numpy as np
import scipy.sparse as sp

d = os.path.dirname(os.path.abspath(__file__)) + "/"

# The same 4x6 matrix in every format.
r = np.array([0, 0, 1, 3, 3, 3])
c = np.array([1, 4, 0, 2, 3, 5])
v = np.array([1.5, -2, 3, 0.1, 1e300, -7.25])
A = sp.coo_matrix((v, (r, c)), shape=(4, 6))
for f in ["csr", "csc", "coo", "dia"]:
    sp.save_npz(d + f + ".npz", A.asformat(f))
sp.save_npz(d + "bsr.npz", A.tobsr(blocksize=(2, 3)))
sp.save_npz(d + "csr_stored.npz", A.tocsr(), compressed=False)
B = A.tocsr()
B.indices = B.indices.astype("i8")
B.indptr = B.indptr.astype("i8")
sp.save_npz(d + "csr_i8.npz", B)
sp.save_npz(
    d + "csr_i4_values.npz",
    sp.csr_matrix(np.array([[0, 5, 0], [7, 0, -9]], dtype="i4")),
)
sp.save_npz(d + "coo_bool.npz", sp.coo_matrix(np.array([[False, True], [True, False]])))
sp.save_npz(d + "coo_f4.npz", sp.coo_matrix(np.array([[0, 0.1], [2.5, 0]], dtype="f4")))
sp.save_npz(d + "csr_array_1d.npz", sp.csr_array(np.array([0, 0, 3.0, 0, 4.0])))
sp.save_npz(
    d + "coo_array_3d.npz", sp.coo_array(np.arange(8).reshape(2, 2, 2) % 3 * 1.0)
)
sp.save_npz(d + "csr_complex.npz", sp.csr_matrix(np.array([[0, 1j]])))
np.savez(d + "not_sparse.npz", a=np.zeros(3))
np.save(d + "fortran_f8.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
np.save(d + "big_endian_i2.npy", np.arange(6, dtype=">i2").reshape(3, 2))
np.save(d + "scalar_u8.npy", np.uint64(2**63))
np.save(d + "bool_3d.npy", np.array([[[True, False], [False, True]]]))
np.save(d + "complex.npy", np.array([1j]))
