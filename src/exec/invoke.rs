//! What a kernel's entry takes: sizes and arrays, in the order in which
//! [`crate::module::Signature`] lists them.
//!
//! For each tensor (the output first, then the inputs by first occurrence): its dimensions and
//! counted sizes go to `sizes`, its index arrays in order of declaration and its values to `arrays`.

use crate::tensor::{IndexData, Values};

/// A borrowed array across the C boundary; the twin of the struct in every generated module.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawArray {
    pub data: *mut u8,
    /// Number of elements.
    pub len: usize,
}

/// The arguments of one call. They point into tensors, which must outlive the call.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub(super) sizes: Vec<usize>,
    pub(super) arrays: Vec<RawArray>,
}

impl Arguments {
    pub fn size(&mut self, n: usize) {
        self.sizes.push(n);
    }

    pub fn array(&mut self, array: RawArray) {
        self.arrays.push(array);
    }

    /// The largest size and length.
    pub fn largest(&self) -> usize {
        let lengths = self.arrays.iter().map(|a| a.len);
        self.sizes.iter().copied().chain(lengths).max().unwrap_or(0)
    }

    /// Numbers of sizes and of arrays.
    pub fn arity(&self) -> (usize, usize) {
        (self.sizes.len(), self.arrays.len())
    }

    /// An index array, which the kernel only reads.
    pub fn index(&mut self, data: &IndexData) {
        let (data, len) = data.raw();
        self.array(RawArray { data: data.cast_mut(), len });
    }

    /// Values that the kernel only reads.
    pub fn values(&mut self, values: &Values) {
        let (data, len) = values.raw();
        self.array(RawArray { data: data.cast_mut(), len });
    }

    /// Values that the kernel writes.
    pub fn values_mut(&mut self, values: &mut Values) {
        let (data, len) = values.raw_mut();
        self.array(RawArray { data, len });
    }
}
