//! Products of two matrices the way TACO computes them (Kjolstad et al. 2017): coordinates of a
//! common index are met by walking both lists from their beginnings, the smaller one first; a dense
//! level is indexed; runs of equal coordinates of a list of entries are found by walking them.
//! Compiled by `dylib.rs`.

/// A matrix by rows (or columns) in one of three forms; what a form lacks is null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fibers {
    /// Number of rows, of stored rows, or of entries.
    pub len: usize,
    /// Rows of the stored rows, or of the entries.
    pub outer: *const u32,
    pub pos: *const u32,
    pub crd: *const u32,
    pub val: *const f64,
}

/// Every row is stored.
struct Dense(Fibers);
/// Rows that hold an entry are stored.
struct Compressed(Fibers);
/// Entries are stored, each with its row.
struct Entries(Fibers);

trait Rows {
    fn fibers(&self) -> &Fibers;
    /// Calls with each row and its positions.
    unsafe fn rows(&self, f: impl FnMut(usize, usize, usize));
    /// Calls with each position of `a` in `lo..hi` whose coordinate is a row, and the row's positions.
    unsafe fn meet(&self, a: &Fibers, lo: usize, hi: usize, f: impl FnMut(usize, usize, usize));
}

unsafe fn at(array: *const u32, k: usize) -> usize {
    unsafe { *array.add(k) as usize }
}

impl Rows for Dense {
    fn fibers(&self) -> &Fibers {
        &self.0
    }
    unsafe fn rows(&self, mut f: impl FnMut(usize, usize, usize)) {
        for i in 0..self.0.len {
            unsafe { f(i, at(self.0.pos, i), at(self.0.pos, i + 1)) }
        }
    }
    unsafe fn meet(
        &self,
        a: &Fibers,
        lo: usize,
        hi: usize,
        mut f: impl FnMut(usize, usize, usize),
    ) {
        for p in lo..hi {
            unsafe {
                let k = at(a.crd, p);
                f(p, at(self.0.pos, k), at(self.0.pos, k + 1));
            }
        }
    }
}

impl Rows for Compressed {
    fn fibers(&self) -> &Fibers {
        &self.0
    }
    unsafe fn rows(&self, mut f: impl FnMut(usize, usize, usize)) {
        for p in 0..self.0.len {
            unsafe { f(at(self.0.outer, p), at(self.0.pos, p), at(self.0.pos, p + 1)) }
        }
    }
    unsafe fn meet(
        &self,
        a: &Fibers,
        lo: usize,
        hi: usize,
        mut f: impl FnMut(usize, usize, usize),
    ) {
        let (mut p, mut q) = (lo, 0);
        while p < hi && q < self.0.len {
            unsafe {
                let (ka, kb) = (at(a.crd, p), at(self.0.outer, q));
                let k = ka.min(kb);
                if ka == k && kb == k {
                    f(p, at(self.0.pos, q), at(self.0.pos, q + 1));
                }
                p += usize::from(ka == k);
                q += usize::from(kb == k);
            }
        }
    }
}

impl Entries {
    unsafe fn end(&self, start: usize) -> usize {
        let mut end = start + 1;
        unsafe {
            while end < self.0.len && at(self.0.outer, end) == at(self.0.outer, start) {
                end += 1;
            }
        }
        end
    }
}

impl Rows for Entries {
    fn fibers(&self) -> &Fibers {
        &self.0
    }
    unsafe fn rows(&self, mut f: impl FnMut(usize, usize, usize)) {
        let mut p = 0;
        while p < self.0.len {
            unsafe {
                let end = self.end(p);
                f(at(self.0.outer, p), p, end);
                p = end;
            }
        }
    }
    unsafe fn meet(
        &self,
        a: &Fibers,
        lo: usize,
        hi: usize,
        mut f: impl FnMut(usize, usize, usize),
    ) {
        let (mut p, mut q) = (lo, 0);
        while p < hi && q < self.0.len {
            unsafe {
                let end = self.end(q);
                let (ka, kb) = (at(a.crd, p), at(self.0.outer, q));
                let k = ka.min(kb);
                if ka == k && kb == k {
                    f(p, q, end);
                }
                p += usize::from(ka == k);
                if kb == k {
                    q = end;
                }
            }
        }
    }
}

/// C += A B with rows of A and rows of B: loops i, k, j.
unsafe fn by_rows(a: &impl Rows, b: &impl Rows, columns: usize, c: *mut f64) {
    let (fa, fb) = (a.fibers(), b.fibers());
    unsafe {
        a.rows(|i, lo, hi| {
            b.meet(fa, lo, hi, |pa, from, to| {
                let v = *fa.val.add(pa);
                for pb in from..to {
                    *c.add(i * columns + at(fb.crd, pb)) += v * *fb.val.add(pb);
                }
            });
        });
    }
}

/// C += A B with rows of A and columns of B: loops i, j, k, the last a merge.
unsafe fn by_columns(a: &impl Rows, b: &Dense, columns: usize, c: *mut f64) {
    let (fa, fb) = (a.fibers(), b.fibers());
    unsafe {
        a.rows(|i, lo, hi| {
            b.rows(|j, from, to| {
                let (mut p, mut q, mut sum) = (lo, from, 0.0);
                while p < hi && q < to {
                    let (ka, kb) = (at(fa.crd, p), at(fb.crd, q));
                    let k = ka.min(kb);
                    if ka == k && kb == k {
                        sum += *fa.val.add(p) * *fb.val.add(q);
                    }
                    p += usize::from(ka == k);
                    q += usize::from(kb == k);
                }
                *c.add(i * columns + j) += sum;
            });
        });
    }
}

/// The form of each operand: 0 every row, 1 stored rows, 2 entries; of B also 3, every column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn product(
    form_a: u32,
    form_b: u32,
    a: Fibers,
    b: Fibers,
    columns: usize,
    c: *mut f64,
) {
    unsafe {
        match [form_a, form_b] {
            [0, 0] => by_rows(&Dense(a), &Dense(b), columns, c),
            [0, 1] => by_rows(&Dense(a), &Compressed(b), columns, c),
            [0, 2] => by_rows(&Dense(a), &Entries(b), columns, c),
            [0, _] => by_columns(&Dense(a), &Dense(b), columns, c),
            [1, 0] => by_rows(&Compressed(a), &Dense(b), columns, c),
            [1, 1] => by_rows(&Compressed(a), &Compressed(b), columns, c),
            [1, 2] => by_rows(&Compressed(a), &Entries(b), columns, c),
            [1, _] => by_columns(&Compressed(a), &Dense(b), columns, c),
            [_, 0] => by_rows(&Entries(a), &Dense(b), columns, c),
            [_, 1] => by_rows(&Entries(a), &Compressed(b), columns, c),
            [_, 2] => by_rows(&Entries(a), &Entries(b), columns, c),
            [_, _] => by_columns(&Entries(a), &Dense(b), columns, c),
        }
    }
}
