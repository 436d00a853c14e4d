//! Kernels for structured layouts and dense factors, written by hand: plain loops, and the best we know. All have
//! the entry of generated kernels: for each tensor, the result first, `sizes` has its dimensions and counted sizes,
//! `arrays` its index arrays and its values. Compiled by `dylib.rs`.

/// An array of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawArray {
    pub data: *mut u8,
    pub len: usize,
}

unsafe fn read<'a, T>(array: *const RawArray, at: usize) -> &'a [T] {
    unsafe {
        let raw = *array.add(at);
        std::slice::from_raw_parts(raw.data.cast(), raw.len)
    }
}

unsafe fn write<'a>(array: *const RawArray) -> &'a mut [f64] {
    unsafe { std::slice::from_raw_parts_mut((*array).data.cast(), (*array).len) }
}

#[inline(always)]
unsafe fn at<T: Copy>(array: &[T], k: usize) -> T {
    unsafe { *array.get_unchecked(k) }
}

/// Elements `k..k + N`.
#[inline(always)]
unsafe fn lanes<const N: usize>(array: &[f64], k: usize) -> &[f64; N] {
    unsafe { &*array.as_ptr().add(k).cast() }
}

#[inline(always)]
unsafe fn lanes_mut<const N: usize>(array: &mut [f64], k: usize) -> &mut [f64; N] {
    unsafe { &mut *array.as_mut_ptr().add(k).cast() }
}

/// A sum in `N` chains.
#[inline(always)]
unsafe fn sum<const N: usize>(lo: usize, hi: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut chains = [0.0; N];
    let mut p = lo;
    while p + N <= hi {
        for (k, chain) in chains.iter_mut().enumerate() {
            *chain += term(p + k);
        }
        p += N;
    }
    let mut width = N;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            chains[k] += chains[k + width];
        }
    }
    while p < hi {
        chains[0] += term(p);
        p += 1;
    }
    chains[0]
}

/// A matrix by rows, of which the values are the last array.
#[inline(always)]
unsafe fn csr<const N: usize>(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x) = (read(arrays, 3), read(arrays, 4));
        for i in 0..*sizes {
            let (lo, hi) = (at(pos, i) as usize, at(pos, i + 1) as usize);
            y[i] = sum::<N>(lo, hi, |p| at::<f64>(val, p) * at::<f64>(x, at(crd, p) as usize));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_csr_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe { csr::<1>(sizes, arrays) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_csr_four(sizes: *const usize, arrays: *const RawArray) {
    unsafe { csr::<4>(sizes, arrays) }
}

/// Blocks of 4 × 4, of which the last ones may stand out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_bcsr_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (rows, columns) = (*sizes, *sizes.add(3));
        let (y, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        y.fill(0.0);
        for block_row in 0..rows.div_ceil(4) {
            for p in at(pos, block_row) as usize..at(pos, block_row + 1) as usize {
                let j = 4 * at(crd, p) as usize;
                for r in 0..4.min(rows - 4 * block_row) {
                    let mut sum = 0.0;
                    for c in 0..4.min(columns - j) {
                        sum += at(val, 16 * p + 4 * r + c) * at(x, j + c);
                    }
                    y[4 * block_row + r] += sum;
                }
            }
        }
    }
}

/// A vector of sums for each row of a block, added up behind the blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_bcsr_lanes(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (rows, columns) = (*sizes, *sizes.add(3));
        let (y, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        for block_row in 0..rows.div_ceil(4) {
            let mut sums = [[0.0; 4]; 4];
            for p in at(pos, block_row) as usize..at(pos, block_row + 1) as usize {
                let j = 4 * at(crd, p) as usize;
                let block: &[f64; 16] = lanes(val, 16 * p);
                let mut beside = [0.0; 4];
                let of_x: &[f64; 4] = match j + 4 <= columns {
                    true => lanes(x, j),
                    false => {
                        beside[..columns - j].copy_from_slice(&x[j..columns]);
                        &beside
                    }
                };
                for r in 0..4 {
                    for c in 0..4 {
                        sums[r][c] += block[4 * r + c] * of_x[c];
                    }
                }
            }
            for r in 0..4.min(rows - 4 * block_row) {
                let [a, b, c, d] = sums[r];
                y[4 * block_row + r] = (a + c) + (b + d);
            }
        }
    }
}

/// The lower half by rows: each entry below the diagonal counts twice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_symmetric_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        y.fill(0.0);
        for i in 0..*sizes {
            let mut sum = 0.0;
            for p in at(pos, i) as usize..at(pos, i + 1) as usize {
                let j = at(crd, p) as usize;
                sum += at(val, p) * at(x, j);
                if j != i {
                    *y.get_unchecked_mut(j) += at(val, p) * at(x, i);
                }
            }
            y[i] += sum;
        }
    }
}

/// The diagonal is the last entry of its row, if it is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_symmetric_apart(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        y.fill(0.0);
        for i in 0..*sizes {
            let (lo, mut hi) = (at(pos, i) as usize, at(pos, i + 1) as usize);
            let of_row = at(x, i);
            let mut sum = 0.0;
            if lo < hi && at(crd, hi - 1) as usize == i {
                hi -= 1;
                sum = at(val, hi) * of_row;
            }
            for p in lo..hi {
                let j = at(crd, p) as usize;
                let value = at(val, p);
                sum += value * at(x, j);
                *y.get_unchecked_mut(j) += value * of_row;
            }
            y[i] += sum;
        }
    }
}

/// A list of entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_coo_plain(_: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, rows, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        y.fill(0.0);
        for p in 0..val.len() {
            *y.get_unchecked_mut(at(rows, p) as usize) += at(val, p) * at(x, at(crd, p) as usize);
        }
    }
}

/// A sum is kept while the row is the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_coo_segments(_: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, rows, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        y.fill(0.0);
        let mut p = 0;
        while p < val.len() {
            let row = at(rows, p);
            let mut sum = 0.0;
            while p < val.len() && at(rows, p) == row {
                sum += at(val, p) * at(x, at(crd, p) as usize);
                p += 1;
            }
            *y.get_unchecked_mut(row as usize) += sum;
        }
    }
}

/// The rows `lo..hi`, diagonal by diagonal.
#[inline(always)]
unsafe fn diagonals(sizes: *const usize, arrays: *const RawArray, lo: usize, hi: usize) {
    unsafe {
        let (rows, columns) = (*sizes, *sizes.add(3));
        let (y, offsets): (_, &[i32]) = (write(arrays), read(arrays, 1));
        let (val, x): (&[f64], &[f64]) = (read(arrays, 2), read(arrays, 3));
        for (d, &offset) in offsets.iter().enumerate() {
            let offset = offset as isize;
            let first = lo.max((-offset).max(0) as usize);
            let last = hi.min((columns as isize - offset).max(0) as usize);
            let x = x.as_ptr().wrapping_offset(offset);
            for i in first..last {
                *y.get_unchecked_mut(i) += at(val, d * rows + i) * *x.add(i);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_dia_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        write(arrays).fill(0.0);
        diagonals(sizes, arrays, 0, *sizes);
    }
}

/// Blocks of rows that stay in the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_dia_blocks(sizes: *const usize, arrays: *const RawArray) {
    const ROWS: usize = 1024;
    unsafe {
        for lo in (0..*sizes).step_by(ROWS) {
            let hi = (*sizes).min(lo + ROWS);
            write(arrays)[lo..hi].fill(0.0);
            diagonals(sizes, arrays, lo, hi);
        }
    }
}

#[inline(always)]
unsafe fn ell<const N: usize>(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (y, len, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, x) = (read(arrays, 3), read(arrays, 4));
        let width = *sizes.add(3);
        for i in 0..*sizes {
            let (lo, hi) = (i * width, i * width + at(len, i) as usize);
            y[i] = sum::<N>(lo, hi, |p| at::<f64>(val, p) * at::<f64>(x, at(crd, p) as usize));
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_ell_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe { ell::<1>(sizes, arrays) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_ell_four(sizes: *const usize, arrays: *const RawArray) {
    unsafe { ell::<4>(sizes, arrays) }
}

/// Inner products where a matrix by rows has an entry, in `N` chains, of which each term may be `SCALED`.
#[inline(always)]
unsafe fn sampled<const N: usize, const SCALED: bool>(
    sizes: *const usize,
    arrays: *const RawArray,
) {
    unsafe {
        let (rows, inner) = (*sizes, *sizes.add(5));
        let (out, pos, crd): (_, &[u32], &[u32]) =
            (write(arrays), read(arrays, 1), read(arrays, 2));
        let (sampled, a, b): (&[f64], &[f64], &[f64]) =
            (read(arrays, 3), read(arrays, 4), read(arrays, 5));
        for i in 0..rows {
            let a = a.get_unchecked(i * inner..(i + 1) * inner);
            for p in at(pos, i) as usize..at(pos, i + 1) as usize {
                let j = at(crd, p) as usize;
                let b = b.get_unchecked(j * inner..(j + 1) * inner);
                let value = at(sampled, p);
                *out.get_unchecked_mut(p) = match SCALED {
                    true => sum::<N>(0, inner, |k| value * at(a, k) * at(b, k)),
                    false => value * sum::<N>(0, inner, |k| at(a, k) * at(b, k)),
                };
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sddmm_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe { sampled::<4, true>(sizes, arrays) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sddmm_eight(sizes: *const usize, arrays: *const RawArray) {
    unsafe { sampled::<8, false>(sizes, arrays) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sddmm_sixteen(sizes: *const usize, arrays: *const RawArray) {
    unsafe { sampled::<16, false>(sizes, arrays) }
}

/// `row += value * other`
#[inline(always)]
fn add_row(row: &mut [f64], value: f64, other: &[f64]) {
    for (to, from) in row.iter_mut().zip(other) {
        *to += value * from;
    }
}

/// Columns `from..from + N` of a sum of rows of `b`, each times its value.
#[inline(always)]
unsafe fn sum_rows<const N: usize>(
    (crd, val): (&[u32], &[f64]),
    (lo, hi): (usize, usize),
    b: &[f64],
    width: usize,
    from: usize,
) -> [f64; N] {
    unsafe {
        let mut sums = [0.0; N];
        for p in lo..hi {
            let (value, row) = (at(val, p), lanes::<N>(b, at(crd, p) as usize * width + from));
            for lane in 0..N {
                sums[lane] += value * row[lane];
            }
        }
        sums
    }
}

/// The same for all columns, stored once.
#[inline(always)]
unsafe fn tiled_rows(
    entries: (&[u32], &[f64]),
    range: (usize, usize),
    b: &[f64],
    width: usize,
    out: &mut [f64],
) {
    unsafe {
        let mut from = 0;
        while from + 16 <= width {
            *lanes_mut(out, from) = sum_rows::<16>(entries, range, b, width, from);
            from += 16;
        }
        if from + 8 <= width {
            *lanes_mut(out, from) = sum_rows::<8>(entries, range, b, width, from);
            from += 8;
        }
        while from < width {
            *lanes_mut(out, from) = sum_rows::<1>(entries, range, b, width, from);
            from += 1;
        }
    }
}

/// A matrix by rows times a dense one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmm_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (rows, width) = (*sizes, *sizes.add(1));
        let (c, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, b): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        c.fill(0.0);
        for i in 0..rows {
            let row = c.get_unchecked_mut(i * width..(i + 1) * width);
            for p in at(pos, i) as usize..at(pos, i + 1) as usize {
                let j = at(crd, p) as usize;
                add_row(row, at(val, p), b.get_unchecked(j * width..(j + 1) * width));
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmm_tiles(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (rows, width) = (*sizes, *sizes.add(1));
        let (c, pos, crd): (_, &[u32], &[u32]) = (write(arrays), read(arrays, 1), read(arrays, 2));
        let (val, b): (&[f64], &[f64]) = (read(arrays, 3), read(arrays, 4));
        for i in 0..rows {
            let range = (at(pos, i) as usize, at(pos, i + 1) as usize);
            let row = c.get_unchecked_mut(i * width..(i + 1) * width);
            tiled_rows((crd, val), range, b, width, row);
        }
    }
}

/// A tensor by fibers.
struct Fibers<'a> {
    pos: [&'a [u32]; 3],
    crd: [&'a [u32]; 3],
    val: &'a [f64],
}

unsafe fn fibers<'a>(arrays: *const RawArray) -> Fibers<'a> {
    unsafe {
        let pos = [read(arrays, 1), read(arrays, 3), read(arrays, 5)];
        let crd = [read(arrays, 2), read(arrays, 4), read(arrays, 6)];
        Fibers { pos, crd, val: read(arrays, 7) }
    }
}

impl Fibers<'_> {
    #[inline(always)]
    unsafe fn range(&self, level: usize, p: usize) -> (usize, usize) {
        unsafe { (at(self.pos[level], p) as usize, at(self.pos[level], p + 1) as usize) }
    }
}

/// `C[i,j,r] = A[i,j,k] * B[k,r]`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ttm_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (extent, width) = (*sizes.add(1), *sizes.add(2));
        let (c, a, b): (_, _, &[f64]) = (write(arrays), fibers(arrays), read(arrays, 8));
        c.fill(0.0);
        for p0 in 0..a.crd[0].len() {
            let (lo, hi) = a.range(1, p0);
            for p1 in lo..hi {
                let fiber = at(a.crd[0], p0) as usize * extent + at(a.crd[1], p1) as usize;
                let row = c.get_unchecked_mut(fiber * width..(fiber + 1) * width);
                let (lo, hi) = a.range(2, p1);
                for p2 in lo..hi {
                    let k = at(a.crd[2], p2) as usize;
                    add_row(row, at(a.val, p2), b.get_unchecked(k * width..(k + 1) * width));
                }
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ttm_tiles(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let (extent, width) = (*sizes.add(1), *sizes.add(2));
        let (c, a, b): (_, _, &[f64]) = (write(arrays), fibers(arrays), read(arrays, 8));
        c.fill(0.0);
        for p0 in 0..a.crd[0].len() {
            let (lo, hi) = a.range(1, p0);
            for p1 in lo..hi {
                let fiber = at(a.crd[0], p0) as usize * extent + at(a.crd[1], p1) as usize;
                let row = c.get_unchecked_mut(fiber * width..(fiber + 1) * width);
                tiled_rows((a.crd[2], a.val), a.range(2, p1), b, width, row);
            }
        }
    }
}

/// `C[i,r] = A[i,j,k] * B[j,r] * D[k,r]`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mttkrp_plain(sizes: *const usize, arrays: *const RawArray) {
    unsafe {
        let width = *sizes.add(1);
        let (c, a) = (write(arrays), fibers(arrays));
        let (b, d): (&[f64], &[f64]) = (read(arrays, 8), read(arrays, 9));
        c.fill(0.0);
        for p0 in 0..a.crd[0].len() {
            let i = at(a.crd[0], p0) as usize;
            let row = c.get_unchecked_mut(i * width..(i + 1) * width);
            let (lo, hi) = a.range(1, p0);
            for p1 in lo..hi {
                let j = at(a.crd[1], p1) as usize;
                let of_b = b.get_unchecked(j * width..(j + 1) * width);
                let (lo, hi) = a.range(2, p1);
                for p2 in lo..hi {
                    let (k, value) = (at(a.crd[2], p2) as usize, at(a.val, p2));
                    let of_d = d.get_unchecked(k * width..(k + 1) * width);
                    for ((to, b), d) in row.iter_mut().zip(of_b).zip(of_d) {
                        *to += value * b * d;
                    }
                }
            }
        }
    }
}

/// A tile of columns outside all that is walked; the sum over a fiber is multiplied once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mttkrp_tiles(sizes: *const usize, arrays: *const RawArray) {
    const WIDTH: usize = 16;
    unsafe {
        let width = *sizes.add(1);
        let (c, a) = (write(arrays), fibers(arrays));
        let (b, d): (&[f64], &[f64]) = (read(arrays, 8), read(arrays, 9));
        assert!(width.is_multiple_of(WIDTH));
        c.fill(0.0);
        for p0 in 0..a.crd[0].len() {
            let i = at(a.crd[0], p0) as usize;
            for from in (0..width).step_by(WIDTH) {
                let mut sums = [0.0; WIDTH];
                let (lo, hi) = a.range(1, p0);
                for p1 in lo..hi {
                    let of_b: &[f64; WIDTH] = lanes(b, at(a.crd[1], p1) as usize * width + from);
                    let fiber: [f64; WIDTH] =
                        sum_rows((a.crd[2], a.val), a.range(2, p1), d, width, from);
                    for lane in 0..WIDTH {
                        sums[lane] += fiber[lane] * of_b[lane];
                    }
                }
                *lanes_mut(c, i * width + from) = sums;
            }
        }
    }
}
