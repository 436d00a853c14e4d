//! Answers about layouts that are asked for again and again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Layout;

/// Layouts whose answer is remembered.
const MOST: usize = 256;

/// Answers to one question, by layout.
pub struct Memory<T>(Mutex<Option<HashMap<String, (Layout, T)>>>);

impl<T: Clone> Default for Memory<T> {
    fn default() -> Self {
        Memory::new()
    }
}

impl<T: Clone> Memory<T> {
    /// No answers yet.
    pub const fn new() -> Self {
        Memory(Mutex::new(None))
    }

    /// The remembered answer about `layout`, or a new one.
    pub fn answer(&self, layout: &Layout, find: impl FnOnce() -> T) -> T {
        let key = layout.describe();
        match self.lock().get_or_insert_default().get(&key) {
            Some((known, answer)) if known == layout => return answer.clone(),
            _ => {}
        }
        // Not under the lock: answers take time, and one may need another.
        let found = find();
        let mut all = self.lock();
        let all = all.get_or_insert_default();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, (layout.clone(), found.clone()));
        found
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<String, (Layout, T)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
