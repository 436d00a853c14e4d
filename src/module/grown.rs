//! Arrays that grow, in a module: what a caller gives, and what the core writes to.

/// The types, and what makes room.
pub(super) const ITEMS: &str = "
/// An array that grows: what `Vec` is, for callers in any language.
#[derive(Debug)]
#[repr(C)]
pub struct Grown<T> {
    data: *mut T,
    len: usize,
    capacity: usize,
    /// Makes room for so many elements behind the first `len`.
    reserve: unsafe extern \"C\" fn(array: *mut Grown<T>, more: usize),
}

impl<T: Copy> Grown<T> {
    /// No elements.
    pub fn new() -> Self {
        let mut empty = std::mem::ManuallyDrop::new(Vec::new());
        Grown {
            data: empty.as_mut_ptr(),
            len: 0,
            capacity: 0,
            reserve: reserve::<T>,
        }
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl<T: Copy> Default for Grown<T> {
    fn default() -> Self {
        Grown::new()
    }
}

impl<T> std::ops::Deref for Grown<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many elements were written.
        unsafe { std::slice::from_raw_parts(self.place(), self.len) }
    }
}

impl<T> std::ops::DerefMut for Grown<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many elements were written.
        unsafe { std::slice::from_raw_parts_mut(self.place(), self.len) }
    }
}

impl<T> Grown<T> {
    /// Where its elements are, or none: before anything is written, a caller may say nowhere.
    #[inline(always)]
    fn place(&self) -> *mut T {
        match self.data.is_null() {
            true => std::ptr::NonNull::dangling().as_ptr(),
            false => self.data,
        }
    }
}

impl<T: Copy> From<Grown<T>> for Vec<T> {
    fn from(array: Grown<T>) -> Vec<T> {
        let array = std::mem::ManuallyDrop::new(array);
        // SAFETY: what is owned here was allocated as a `Vec`.
        unsafe { Vec::from_raw_parts(array.data, array.len, array.capacity) }
    }
}

impl<T> Drop for Grown<T> {
    fn drop(&mut self) {
        // SAFETY: as above; arrays of other callers are only borrowed.
        drop(unsafe { Vec::from_raw_parts(self.data, self.len, self.capacity) });
    }
}

/// # Safety
/// The array was made by [`Grown::new`].
unsafe extern \"C\" fn reserve<T>(array: *mut Grown<T>, more: usize) {
    // SAFETY: the caller says so.
    unsafe {
        let array = &mut *array;
        let vec = Vec::from_raw_parts(array.data, array.len, array.capacity);
        let mut vec = std::mem::ManuallyDrop::new(vec);
        vec.reserve(more);
        array.data = vec.as_mut_ptr();
        array.capacity = vec.capacity();
    }
}

/// Writes behind the elements of an array. What it needs for that is its own, so that the compiler
/// can keep it in registers.
struct Appender<'a, T: Copy> {
    array: &'a mut Grown<T>,
    data: *mut T,
    len: usize,
    capacity: usize,
}

impl<'a, T: Copy> Appender<'a, T> {
    #[inline(always)]
    fn new(array: &'a mut Grown<T>) -> Self {
        let (data, len, capacity) = (array.place(), array.len, array.capacity);
        Appender {
            array,
            data,
            len,
            capacity,
        }
    }

    #[allow(dead_code)]
    #[inline(always)]
    fn push(&mut self, element: T) {
        if self.len == self.capacity {
            (self.data, self.capacity) = more(self.array, self.len, 1);
        }
        // SAFETY: there is room behind the elements.
        unsafe { self.data.add(self.len).write(element) };
        self.len += 1;
    }

    /// A push without a branch.
    #[allow(dead_code)]
    #[inline(always)]
    fn push_if(&mut self, kept: bool, element: T) {
        let len = self.len;
        self.push(element);
        self.len = len + usize::from(kept);
    }

    /// All elements of a range, for which room is made once.
    #[allow(dead_code)]
    #[inline(always)]
    fn extend<F: FnMut(usize) -> T>(
        &mut self,
        elements: std::iter::Map<std::ops::Range<usize>, F>,
    ) {
        let count = elements.len();
        if self.capacity - self.len < count {
            (self.data, self.capacity) = more(self.array, self.len, count);
        }
        for (k, element) in elements.enumerate() {
            // SAFETY: there is room for all of them behind the others.
            unsafe { self.data.add(self.len + k).write(element) };
        }
        self.len += count;
    }

    /// So many elements; new ones are copies of `element`.
    #[allow(dead_code)]
    fn resize(&mut self, len: usize, element: T) {
        self.len = self.len.min(len);
        while self.len < len {
            self.push(element);
        }
    }
}

/// Makes room for so many elements behind the first `len`: where they are, and the room for all.
#[cold]
#[inline(never)]
fn more<T>(array: &mut Grown<T>, len: usize, count: usize) -> (*mut T, usize) {
    array.len = len;
    // SAFETY: the array is one that `reserve` was given with, and so many elements were written.
    unsafe { (array.reserve)(array, count) };
    (array.data, array.capacity)
}

impl<T: Copy> Drop for Appender<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.array.len = self.len;
    }
}

impl<T: Copy> std::ops::Deref for Appender<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many elements were written.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl<T: Copy> std::ops::DerefMut for Appender<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many elements were written.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}
";
