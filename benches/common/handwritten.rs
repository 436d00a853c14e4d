//! The hand-written kernels of `kernels.rs`, loaded.

use std::path::Path;

use libloading::Symbol;

use super::dylib::load;
use super::matrix::{Matrix, Vector};

/// The types that cross the boundary, as the compiled file declares them.
#[path = "kernels.rs"]
mod kernels;
use kernels::{Rows, Sparse};

type Spmv = unsafe extern "C" fn(Rows, *const f64, *mut f64);
type SpmvSafe = unsafe extern "C" fn(Rows, *const f64, usize, *mut f64);
type Spmspv = unsafe extern "C" fn(Rows, Sparse, *mut f64);

/// All of them.
pub struct Handwritten {
    four: Symbol<'static, Spmv>,
    safe: Symbol<'static, SpmvSafe>,
    merge: Symbol<'static, Spmspv>,
    merge_branches: Symbol<'static, Spmspv>,
}

fn rows(a: &Matrix) -> Rows {
    Rows { rows: a.rows, pos: a.pos.as_ptr(), crd: a.crd.as_ptr(), val: a.val.as_ptr() }
}

fn sparse(x: &Vector) -> Sparse {
    Sparse { stored: x.crd.len(), crd: x.crd.as_ptr(), val: x.val.as_ptr() }
}

impl Handwritten {
    pub fn compile(folder: &Path) -> Handwritten {
        let library = load(include_str!("kernels.rs"), "handwritten", folder);
        // The names and types are those of kernels.rs.
        unsafe {
            Handwritten {
                four: library.get(b"spmv_four").expect("in kernels.rs"),
                safe: library.get(b"spmv_safe").expect("in kernels.rs"),
                merge: library.get(b"spmspv_merge").expect("in kernels.rs"),
                merge_branches: library.get(b"spmspv_merge_branches").expect("in kernels.rs"),
            }
        }
    }

    // Matrices are valid by construction (`Matrix::from_entries`); lengths are asserted.

    pub fn spmv_four(&self, a: &Matrix, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == a.columns && y.len() == a.rows);
        unsafe { (self.four)(rows(a), x.as_ptr(), y.as_mut_ptr()) }
    }

    pub fn spmv_safe(&self, a: &Matrix, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == a.columns && y.len() == a.rows);
        unsafe { (self.safe)(rows(a), x.as_ptr(), x.len(), y.as_mut_ptr()) }
    }

    pub fn merge(&self, a: &Matrix, x: &Vector, y: &mut [f64]) {
        assert!(x.extent == a.columns && y.len() == a.rows);
        unsafe { (self.merge)(rows(a), sparse(x), y.as_mut_ptr()) }
    }

    pub fn merge_branches(&self, a: &Matrix, x: &Vector, y: &mut [f64]) {
        assert!(x.extent == a.columns && y.len() == a.rows);
        unsafe { (self.merge_branches)(rows(a), sparse(x), y.as_mut_ptr()) }
    }
}
