//! Large arrays on huge pages.
//!
//! A fresh array of 80 MB takes 20,000 page faults with pages of 4 KiB; where the system gives huge
//! pages only to those who ask (`madvise`, the default of many distributions), asking makes packing
//! and kernels that allocate their output considerably faster. The `siskin` command asks; a program
//! that uses the library may too:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: siskin::tensor::HugePages = siskin::tensor::HugePages;
//! # fn main() { assert_eq!(vec![1u8; 8 << 20].len(), 8 << 20) }
//! ```

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, which asks for huge pages for large allocations. Only Linux has them to
/// ask for; elsewhere it is the system's allocator and nothing more.
pub struct HugePages;

/// Two huge pages: a smaller allocation need not contain a whole one.
const LARGE: usize = 4 << 20;

// SAFETY: every request goes to `System` unchanged; advice does not change the memory's contents.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of `System.alloc`.
        let memory = unsafe { System.alloc(layout) };
        advise(memory, layout.size());
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of `System.alloc_zeroed`.
        let memory = unsafe { System.alloc_zeroed(layout) };
        advise(memory, layout.size());
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract is that of `System.realloc`.
        let memory = unsafe { System.realloc(memory, layout, size) };
        advise(memory, size);
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is that of `System.dealloc`.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[cfg(target_os = "linux")]
fn advise(memory: *mut u8, size: usize) {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    /// A multiple of every page size in use.
    const PAGE: usize = 1 << 16;

    if size < LARGE || memory.is_null() {
        return;
    }
    // Whole pages inside the allocation; nothing is known of its neighbours.
    let skip = memory.align_offset(PAGE);
    let length = size.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: the range lies inside one live allocation, and the advice concerns only its paging.
    // That it is refused is of no consequence.
    unsafe { madvise(memory.wrapping_add(skip).cast(), length, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, size: usize) {
    let _ = size < LARGE;
}

/// While this lives, memory that is freed stays with the process, and is used again: steps that make
/// large arrays one after the other, as packing does, would get each from the system, which has to
/// clear its pages. Only glibc can be told; elsewhere nothing changes.
///
/// It is for commands: the setting is that of the whole process, and afterwards the one that glibc comes to by itself
/// once something large was freed. Kernels that make tables of the same size on each call then get the same memory
/// again, whose pages are there.
#[must_use = "memory is kept only while this lives"]
pub struct FreedMemoryIsKept(());

impl FreedMemoryIsKept {
    /// Begins to keep memory.
    pub fn begin() -> FreedMemoryIsKept {
        keep(true);
        FreedMemoryIsKept(())
    }
}

impl Drop for FreedMemoryIsKept {
    /// Gives back what is free.
    fn drop(&mut self) {
        keep(false);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep(kept: bool) {
    use std::ffi::c_int;
    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
        fn malloc_trim(pad: usize) -> c_int;
    }
    // Mapped memory goes back when it is freed, and the top of the heap beyond this many bytes. That glibc adapts
    // what is mapped to what was freed, ends with the first call: so it is said, too, and is the most it may become.
    const M_TRIM_THRESHOLD: c_int = -1;
    const M_MMAP_THRESHOLD: c_int = -3;
    const M_MMAP_MAX: c_int = -4;
    const LARGEST_IN_HEAP: c_int = 32 << 20;
    let (trim, mapped) = if kept { (c_int::MAX, 0) } else { (2 * LARGEST_IN_HEAP, 1 << 16) };
    // SAFETY: both may be called at any time, from any thread; what is allocated stays as it is.
    unsafe {
        mallopt(M_TRIM_THRESHOLD, trim);
        mallopt(M_MMAP_MAX, mapped);
        mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP);
        if !kept {
            malloc_trim(0);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep(_: bool) {}
