//! Arrays that a kernel fills: it pushes, and asks for more room when there is none.
//!
//! The memory is that of a `Vec` of this program; the kernel, which may have another allocator, only
//! writes to it.

use std::mem::ManuallyDrop;

use super::invoke::RawArray;
use crate::tensor::{IndexData, IndexType, ValueType, Values};

/// The twin of `Grown` in every generated module that assembles its result.
#[repr(C)]
#[derive(Debug)]
struct RawGrown {
    data: *mut u8,
    len: usize,
    capacity: usize,
    reserve: unsafe extern "C" fn(array: *mut RawGrown, more: usize),
}

/// An array of elements of one type that a kernel fills.
#[derive(Debug)]
pub struct GrownArray {
    /// Of a box; no `Box`, because the kernel has its address too.
    raw: *mut RawGrown,
    holds: Holds,
}

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Indices(IndexType),
    Values(ValueType),
}

/// # Safety
/// The array was made by [`raw`] for elements of type `T`.
unsafe extern "C" fn reserve<T>(array: *mut RawGrown, more: usize) {
    // SAFETY: the caller says so; nobody else has the array while it is called.
    unsafe {
        let array = &mut *array;
        let vec = Vec::from_raw_parts(array.data.cast::<T>(), array.len, array.capacity);
        let mut vec = ManuallyDrop::new(vec);
        vec.reserve(more);
        array.data = vec.as_mut_ptr().cast();
        array.capacity = vec.capacity();
    }
}

fn raw<T>() -> RawGrown {
    let mut empty = ManuallyDrop::new(Vec::<T>::new());
    let data = empty.as_mut_ptr().cast();
    RawGrown { data, len: 0, capacity: 0, reserve: reserve::<T> }
}

impl GrownArray {
    /// An empty array of indices.
    pub fn indices(ty: IndexType) -> GrownArray {
        let raw = match ty {
            IndexType::U32 => raw::<u32>(),
            IndexType::U64 => raw::<u64>(),
            IndexType::I32 => raw::<i32>(),
            IndexType::I64 => raw::<i64>(),
        };
        GrownArray { raw: Box::into_raw(Box::new(raw)), holds: Holds::Indices(ty) }
    }

    /// An empty array of values.
    pub fn values(ty: ValueType) -> GrownArray {
        let raw = match ty {
            ValueType::F64 => raw::<f64>(),
            ValueType::F32 => raw::<f32>(),
            ValueType::I64 => raw::<i64>(),
            ValueType::I32 => raw::<i32>(),
            ValueType::U8 => raw::<u8>(),
            ValueType::Bool => raw::<bool>(),
        };
        GrownArray { raw: Box::into_raw(Box::new(raw)), holds: Holds::Values(ty) }
    }

    /// What the kernel is given; the array must outlive the call.
    pub fn argument(&mut self) -> RawArray {
        RawArray { data: self.raw.cast(), len: 0 }
    }

    pub fn len(&self) -> usize {
        // SAFETY: it is ours until we are dropped, and no kernel runs now.
        unsafe { (*self.raw).len }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements; the array is empty afterwards.
    fn take<T>(&mut self) -> Vec<T> {
        // SAFETY: it is ours, and no kernel runs now; `holds` says that it was made for elements of this
        // type, and as many were written.
        unsafe {
            let taken = std::mem::replace(&mut *self.raw, raw::<T>());
            Vec::from_raw_parts(taken.data.cast(), taken.len, taken.capacity)
        }
    }

    /// The indices; `None` if it holds values.
    pub fn take_indices(&mut self) -> Option<IndexData> {
        Some(match self.holds {
            Holds::Indices(IndexType::U32) => IndexData::U32(self.take()),
            Holds::Indices(IndexType::U64) => IndexData::U64(self.take()),
            Holds::Indices(IndexType::I32) => IndexData::I32(self.take()),
            Holds::Indices(IndexType::I64) => IndexData::I64(self.take()),
            Holds::Values(_) => return None,
        })
    }

    /// The values; `None` if it holds indices.
    pub fn take_values(&mut self) -> Option<Values> {
        Some(match self.holds {
            Holds::Values(ValueType::F64) => Values::F64(self.take()),
            Holds::Values(ValueType::F32) => Values::F32(self.take()),
            Holds::Values(ValueType::I64) => Values::I64(self.take()),
            Holds::Values(ValueType::I32) => Values::I32(self.take()),
            Holds::Values(ValueType::U8) => Values::U8(self.take()),
            Holds::Values(ValueType::Bool) => Values::Bool(self.take()),
            Holds::Indices(_) => return None,
        })
    }
}

impl Drop for GrownArray {
    fn drop(&mut self) {
        // Taking is freeing the elements.
        let _ = (self.take_indices(), self.take_values());
        // SAFETY: it was a box, and nobody calls the kernel any more.
        drop(unsafe { Box::from_raw(self.raw) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_through_the_pointer_is_taken() {
        let mut array = GrownArray::indices(IndexType::U32);
        let raw: *mut RawGrown = array.argument().data.cast();
        for n in 0..1000u32 {
            // SAFETY: as a kernel does.
            unsafe {
                if (*raw).len == (*raw).capacity {
                    ((*raw).reserve)(raw, 1);
                }
                (*raw).data.cast::<u32>().add((*raw).len).write(n);
                (*raw).len += 1;
            }
        }
        assert_eq!(array.len(), 1000);
        assert!(array.take_values().is_none());
        let Some(IndexData::U32(taken)) = array.take_indices() else { panic!("indices") };
        assert!(taken.into_iter().eq(0..1000));
        assert!(array.is_empty());
    }
}
