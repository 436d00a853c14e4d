//! The hand-written kernels of `kernels.rs`, loaded.

use std::path::Path;

use libloading::Symbol;

use super::dylib::load;
use super::matrix::{Matrix, Vector};

/// The types that cross the boundary, as the compiled file declares them.
#[path = "kernels.rs"]
mod kernels;
use kernels::{Rows, Scratch, Sparse};

type Spmv = unsafe extern "C" fn(Rows, *const f64, *mut f64);
type SpmvSafe = unsafe extern "C" fn(Rows, *const f64, usize, *mut f64);
type Spmspv = unsafe extern "C" fn(Rows, Sparse, *mut f64);
type Searching = unsafe extern "C" fn(Rows, Sparse, Scratch, *mut f64);

/// The kernels that look for entries of the vector.
pub const SEARCHES: [&str; 4] = ["expand", "bits", "places", "gallop"];

/// All of them.
pub struct Handwritten {
    four: Symbol<'static, Spmv>,
    safe: Symbol<'static, SpmvSafe>,
    merge: Symbol<'static, Spmspv>,
    merge_branches: Symbol<'static, Spmspv>,
    searches: [Symbol<'static, Searching>; SEARCHES.len()],
}

/// Memory of searches for each coordinate of a vector.
pub struct Memory {
    values: Vec<f64>,
    bits: Vec<u64>,
    places: Vec<u32>,
}

impl Memory {
    pub fn new(extent: usize) -> Memory {
        Memory {
            values: vec![0.0; extent],
            bits: vec![0; extent.div_ceil(64)],
            places: vec![0; extent],
        }
    }
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
                searches: SEARCHES.map(|search| {
                    let name = format!("spmspv_{search}");
                    library.get(name.as_bytes()).expect("in kernels.rs")
                }),
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

    /// One of [`SEARCHES`].
    pub fn search(&self, which: usize, a: &Matrix, x: &Vector, memory: &mut Memory, y: &mut [f64]) {
        assert!(x.extent == a.columns && y.len() == a.rows && memory.values.len() == x.extent);
        let scratch = Scratch {
            values: memory.values.as_mut_ptr(),
            bits: memory.bits.as_mut_ptr(),
            places: memory.places.as_mut_ptr(),
        };
        unsafe { (self.searches[which])(rows(a), sparse(x), scratch, y.as_mut_ptr()) }
    }
}
