//! Answers about layouts that every user of a layout asks for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::layout::Layout;

/// Layouts whose answer is remembered.
const MOST: usize = 256;

/// Answers to one question, by layout.
pub(super) struct Memory<T>(Mutex<Option<HashMap<String, T>>>);

impl<T: Clone> Memory<T> {
    pub const fn new() -> Self {
        Memory(Mutex::new(None))
    }

    /// The remembered answer about `layout`, or a new one.
    pub fn answer(&self, layout: &Layout, find: impl FnOnce() -> T) -> T {
        // The description is complete: two layouts that share it have the same relation and
        // properties.
        let key = layout.describe();
        if let Some(known) = self.lock().get_or_insert_default().get(&key) {
            return known.clone();
        }
        // Not under the lock: answers take time, and one may need another.
        let found = find();
        let mut all = self.lock();
        let all = all.get_or_insert_default();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, found.clone());
        found
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<HashMap<String, T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
