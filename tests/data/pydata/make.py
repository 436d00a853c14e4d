"""Makes the archives in this folder, with PyData's `sparse` 0.19.3."""

import sparse

a = sparse.COO([[0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 0]], [2.0, 5.0, 1.0, 3.0], shape=(2, 3, 3))
v = sparse.COO([[1, 4]], [2.0, 3.0], shape=(6,))
sparse.save_npz("coo.npz", a)
sparse.save_npz("gcxs_0_2.npz", sparse.GCXS.from_coo(a, compressed_axes=(0, 2)))
sparse.save_npz("gcxs_1.npz", sparse.GCXS.from_coo(a, compressed_axes=(1,)), compressed=False)
sparse.save_npz("gcxs_vector.npz", sparse.GCXS.from_coo(v))
sparse.save_npz("filled.npz", sparse.COO([[1, 4]], [2.0, 3.0], shape=(6,), fill_value=1.0))
