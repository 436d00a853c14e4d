//! Kernels with the entry that is generated: generated from a statement, or written by hand, and the arguments of
//! a call of them.

use std::path::Path;

use libloading::{Library, Symbol};
use siskin::Kernel;
use siskin::Tensor;
use siskin::exec::RawArray;
use siskin::module::Module;
use siskin::tensor::IndexData;

use super::compare::Competitor;
use super::dylib::load;

type Entry = Symbol<'static, unsafe extern "C" fn(*const usize, *const RawArray)>;

/// The kernels of `structured_kernels.rs`.
pub struct ByHand {
    library: &'static Library,
}

impl ByHand {
    pub fn compile(folder: &Path) -> ByHand {
        let source = include_str!("structured_kernels.rs");
        ByHand { library: load(source, "structured_kernels", folder) }
    }

    fn entry(&self, name: &str) -> Entry {
        // All of them have this type.
        unsafe { self.library.get(name.as_bytes()) }.expect("in structured_kernels.rs")
    }
}

/// A kernel to compare, and the tensors that it is given.
pub struct Case<'t> {
    module: Module,
    generated: Entry,
    tensors: &'t [(&'t str, Tensor)],
    /// Elements of the result.
    pub len: usize,
    dims: Vec<usize>,
    threads: usize,
}

impl<'t> Case<'t> {
    /// A statement of tensors, of which the result has `dims`; `layout` is that of the result, if it is not dense.
    pub fn new(
        statement: &str,
        layout: Option<&str>,
        dims: &[usize],
        tensors: &'t [(&'t str, Tensor)],
        threads: usize,
        folder: &Path,
    ) -> Case<'t> {
        let mut kernel = Kernel::new(statement).threads(threads);
        for (name, tensor) in tensors {
            kernel = kernel.declared(name, tensor.layout());
        }
        if let Some(layout) = layout {
            let (result, _) = statement.split_once('[').expect("a result");
            kernel = kernel.layout(result, layout);
        }
        let module = kernel.plan().and_then(|p| p.render()).expect("a kernel");
        let library = load(module.text(), module.entry(), folder);
        // The entry's type is the one the module declares.
        let generated = unsafe { library.get(module.entry().as_bytes()) }.expect("its entry");
        let len = match layout {
            Some(_) => tensors[0].1.values().len(),
            None => dims.iter().product(),
        };
        Case { module, generated, tensors, len, dims: dims.to_vec(), threads }
    }

    pub fn generated(&self) -> Competitor<'_> {
        let name = if self.threads > 1 { "generated, on threads" } else { "generated" };
        self.competitor(name, self.generated.clone())
    }

    pub fn by_hand(&self, kernels: &ByHand, name: &'static str) -> Competitor<'_> {
        self.competitor(name, kernels.entry(name))
    }

    fn competitor(&self, name: &'static str, entry: Entry) -> Competitor<'_> {
        let mut sizes = Vec::new();
        let mut arrays = Vec::new();
        for t in &self.module.signature().tensors {
            match self.tensors.iter().find(|(name, _)| **name == *t.tensor) {
                Some((_, tensor)) => {
                    sizes.extend(tensor.dims());
                    sizes.extend(t.counts.iter().map(|(n, ..)| tensor.params()[n] as usize));
                    for (array, data) in tensor.arrays() {
                        let narrow = matches!(data, IndexData::U32(_) | IndexData::I32(_));
                        assert!(narrow, "{name}: {array} has wide elements");
                        let (data, len) = data.raw();
                        arrays.push(RawArray { data: data.cast_mut(), len });
                    }
                    let (data, len) = tensor.values().raw();
                    arrays.push(RawArray { data: data.cast_mut(), len });
                }
                None => {
                    sizes.extend(&self.dims);
                    arrays.push(RawArray { data: std::ptr::null_mut(), len: self.len });
                }
            }
        }
        if self.module.signature().threads {
            sizes.push(self.threads);
        }
        Competitor::new(name, move |out| {
            arrays[0].data = out.as_mut_ptr().cast();
            // Tensors are valid as they are packed, and outlive the case; the result has its length.
            unsafe { entry(sizes.as_ptr(), arrays.as_ptr()) }
        })
    }
}
