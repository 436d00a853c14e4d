//! Hand-written kernels that generated ones are measured against. Compiled by `dylib.rs`.

/// Compressed rows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Rows {
    pub rows: usize,
    pub pos: *const u32,
    pub crd: *const u32,
    pub val: *const f64,
}

/// y += A x, unchecked, four accumulators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_four(a: Rows, x: *const f64, y: *mut f64) {
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (*a.pos.add(i) as usize, *a.pos.add(i + 1) as usize);
            let mut s = [0.0; 4];
            while p + 4 <= end {
                for (k, s) in s.iter_mut().enumerate() {
                    *s += *a.val.add(p + k) * *x.add(*a.crd.add(p + k) as usize);
                }
                p += 4;
            }
            while p < end {
                s[0] += *a.val.add(p) * *x.add(*a.crd.add(p) as usize);
                p += 1;
            }
            *y.add(i) += (s[0] + s[1]) + (s[2] + s[3]);
        }
    }
}

/// y += A x as one writes it first: safe, one accumulator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmv_safe(a: Rows, x: *const f64, columns: usize, y: *mut f64) {
    let (pos, crd, val, x, y) = unsafe {
        use std::slice::{from_raw_parts, from_raw_parts_mut};
        let pos = from_raw_parts(a.pos, a.rows + 1);
        let stored = pos[a.rows] as usize;
        let (crd, val) = (from_raw_parts(a.crd, stored), from_raw_parts(a.val, stored));
        (pos, crd, val, from_raw_parts(x, columns), from_raw_parts_mut(y, a.rows))
    };
    for (y, ends) in y.iter_mut().zip(pos.windows(2)) {
        let segment = ends[0] as usize..ends[1] as usize;
        let mut sum = 0.0;
        for (&j, &v) in crd[segment.clone()].iter().zip(&val[segment]) {
            sum += v * x[j as usize];
        }
        *y += sum;
    }
}

/// A sparse vector.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sparse {
    pub stored: usize,
    pub crd: *const u32,
    pub val: *const f64,
}

/// y += A x by merging each row with x, in the way of TACO's generated code: the next coordinate
/// is the smaller one, and each side that has it advances.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_merge(a: Rows, x: Sparse, y: *mut f64) {
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (*a.pos.add(i) as usize, *a.pos.add(i + 1) as usize);
            let mut q = 0;
            let mut sum = 0.0;
            while p < end && q < x.stored {
                let (ja, jx) = (*a.crd.add(p), *x.crd.add(q));
                let j = ja.min(jx);
                if ja == j && jx == j {
                    sum += *a.val.add(p) * *x.val.add(q);
                }
                p += usize::from(ja == j);
                q += usize::from(jx == j);
            }
            *y.add(i) += sum;
        }
    }
}

/// y += A x with a branch for each of the three cases of a merge: what is behind goes `ahead`, from a place in its
/// coordinates, to the first one before the end that may be as great as a coordinate.
#[inline(always)]
unsafe fn merge_ahead(
    a: Rows,
    x: Sparse,
    y: *mut f64,
    ahead: impl Fn(*const u32, usize, usize, u32) -> usize,
) {
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (*a.pos.add(i) as usize, *a.pos.add(i + 1) as usize);
            let mut q = 0;
            let mut sum = 0.0;
            while p < end && q < x.stored {
                let (ja, jx) = (*a.crd.add(p), *x.crd.add(q));
                if ja < jx {
                    p = ahead(a.crd, p, end, jx);
                } else if jx < ja {
                    q = ahead(x.crd, q, x.stored, ja);
                } else {
                    sum += *a.val.add(p) * *x.val.add(q);
                    p += 1;
                    q += 1;
                }
            }
            *y.add(i) += sum;
        }
    }
}

/// The same merge with a branch for each of the three cases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_merge_branches(a: Rows, x: Sparse, y: *mut f64) {
    unsafe { merge_ahead(a, x, y, |_, from, _, _| from + 1) }
}

/// Memory for every coordinate of x; zero before a call and after it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Scratch {
    pub values: *mut f64,
    pub bits: *mut u64,
    /// One more than a position.
    pub places: *mut u32,
}

/// y += A x with the values of x spread, four accumulators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_expand(a: Rows, x: Sparse, scratch: Scratch, y: *mut f64) {
    unsafe {
        for q in 0..x.stored {
            *scratch.values.add(*x.crd.add(q) as usize) = *x.val.add(q);
        }
        spmv_four(a, scratch.values, y);
        for q in 0..x.stored {
            *scratch.values.add(*x.crd.add(q) as usize) = 0.0;
        }
    }
}

/// y += A x with a bit for each coordinate of x, and its values spread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_bits(a: Rows, x: Sparse, scratch: Scratch, y: *mut f64) {
    unsafe {
        for q in 0..x.stored {
            let j = *x.crd.add(q) as usize;
            *scratch.bits.add(j / 64) |= 1 << (j % 64);
            *scratch.values.add(j) = *x.val.add(q);
        }
        for i in 0..a.rows {
            let mut sum = 0.0;
            for p in *a.pos.add(i) as usize..*a.pos.add(i + 1) as usize {
                let j = *a.crd.add(p) as usize;
                if *scratch.bits.add(j / 64) >> (j % 64) & 1 == 1 {
                    sum += *a.val.add(p) * *scratch.values.add(j);
                }
            }
            *y.add(i) += sum;
        }
        for q in 0..x.stored {
            let j = *x.crd.add(q) as usize;
            *scratch.bits.add(j / 64) = 0;
            *scratch.values.add(j) = 0.0;
        }
    }
}

/// y += A x with the positions of x by coordinate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_places(a: Rows, x: Sparse, scratch: Scratch, y: *mut f64) {
    unsafe {
        for q in 0..x.stored {
            *scratch.places.add(*x.crd.add(q) as usize) = q as u32 + 1;
        }
        for i in 0..a.rows {
            let mut sum = 0.0;
            for p in *a.pos.add(i) as usize..*a.pos.add(i + 1) as usize {
                let place = *scratch.places.add(*a.crd.add(p) as usize) as usize;
                if place != 0 {
                    sum += *a.val.add(p) * *x.val.add(place - 1);
                }
            }
            *y.add(i) += sum;
        }
        for q in 0..x.stored {
            *scratch.places.add(*x.crd.add(q) as usize) = 0;
        }
    }
}

/// The first place from `from` on, below `end`, whose coordinate is not below `wanted`: in steps that double, then by
/// halves.
#[inline(always)]
unsafe fn gallop(crd: *const u32, from: usize, end: usize, wanted: u32) -> usize {
    unsafe {
        let (mut low, mut step) = (from, 1);
        while low + step < end && *crd.add(low + step) < wanted {
            low += step;
            step *= 2;
        }
        let mut high = end.min(low + step + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if *crd.add(middle) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// y += A x, each side leaping to the coordinate of the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_gallop(a: Rows, x: Sparse, _: Scratch, y: *mut f64) {
    unsafe { merge_ahead(a, x, y, |crd, from, end, wanted| gallop(crd, from, end, wanted)) }
}
