//! Generated kernels, compiled and called on plain arrays through their C entry: the time measured
//! is the kernel's alone, without validation or allocation of outputs.

use std::path::Path;

use libloading::Symbol;
use siskin::Kernel;

use super::dylib::load;
use super::matrix::{Matrix, Vector, packed};

const STATEMENT: &str = "y[i] += A[i,j] * x[j]";

/// `RawArray` of the generated module.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawArray {
    data: *mut u8,
    len: usize,
}

type Entry = unsafe extern "C" fn(*const usize, *const RawArray);

/// A generated kernel for `y[i] += A[i,j] * x[j]`.
pub struct Generated {
    entry: Symbol<'static, Entry>,
    /// It reads A by columns.
    pub reads_columns: bool,
}

fn raw<T>(array: &[T]) -> RawArray {
    RawArray { data: array.as_ptr().cast_mut().cast(), len: array.len() }
}

impl Generated {
    /// A by rows; x dense, or sparse with a forced find template.
    pub fn compile(find: Option<&str>, folder: &Path) -> Generated {
        let mut kernel = Kernel::new(STATEMENT).layout("A", "csr");
        if let Some(find) = find {
            kernel = kernel.layout("x", "sparse").find(Some("px"), find);
        }
        Generated::of(&kernel, find.unwrap_or("spmv"), folder)
    }

    /// What is chosen for these tensors, A at hand in some layouts and x sparse. `name` is that of no other kernel.
    pub fn chosen(
        (a, layouts): (&Matrix, &[&str]),
        x: &Vector,
        name: &str,
        folder: &Path,
    ) -> Generated {
        let entries = a.entries();
        let copies = layouts.iter().map(|layout| ("A", packed(layout, &entries)));
        let tensors: Vec<_> = copies.chain([("x", packed("sparse", &x.entries()))]).collect();
        let tensors = tensors.iter().map(|(name, tensor)| (*name, tensor));
        let kernel = Kernel::new(STATEMENT).measured(tensors, &Default::default());
        Generated::of(&kernel.expect("tensors that fit"), name, folder)
    }

    fn of(kernel: &Kernel, name: &str, folder: &Path) -> Generated {
        let planned = kernel.plan().expect("a kernel");
        let module = planned.render().expect("a kernel");
        let library = load(module.text(), &format!("generated_{name}"), folder);
        // The entry's type is the one the module declares.
        let entry = unsafe { library.get(module.entry().as_bytes()) }.expect("the module's entry");
        Generated { entry, reads_columns: planned.layouts()["A"].name == "csc" }
    }

    pub fn spmv(&self, a: &Matrix, x: &[f64], y: &mut [f64]) {
        assert!(x.len() == a.columns && y.len() == a.rows);
        let sizes = [a.rows, a.rows, a.columns, x.len()];
        let arrays = [raw(y), raw(&a.pos), raw(&a.crd), raw(&a.val), raw(x)];
        // Valid by construction (`Matrix::from_entries`); y is not borrowed elsewhere.
        unsafe { (self.entry)(sizes.as_ptr(), arrays.as_ptr()) }
    }

    /// `a` has its rows as they are, or in their place its columns, if these are read.
    pub fn spmspv(&self, a: &Matrix, x: &Vector, y: &mut [f64]) {
        let (rows, columns) = match self.reads_columns {
            true => (a.columns, a.rows),
            false => (a.rows, a.columns),
        };
        assert!(x.extent == columns && y.len() == rows);
        let sizes = [rows, rows, columns, x.extent];
        let arrays = [raw(y), raw(&a.pos), raw(&a.crd), raw(&a.val), raw(&x.crd), raw(&x.val)];
        // Valid by construction (`Vector::random`); y is not borrowed elsewhere.
        unsafe { (self.entry)(sizes.as_ptr(), arrays.as_ptr()) }
    }
}
