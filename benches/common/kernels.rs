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

/// The same merge with a branch for each of the three cases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn spmspv_merge_branches(a: Rows, x: Sparse, y: *mut f64) {
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (*a.pos.add(i) as usize, *a.pos.add(i + 1) as usize);
            let mut q = 0;
            let mut sum = 0.0;
            while p < end && q < x.stored {
                let (ja, jx) = (*a.crd.add(p), *x.crd.add(q));
                if ja < jx {
                    p += 1;
                } else if jx < ja {
                    q += 1;
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
