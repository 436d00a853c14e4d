//! Names of a space: indices, extents, positions, index arrays and sizes share one space of names,
//! so that none captures another.

use rustc_hash::FxHashSet;

use crate::formula::Name;

/// The names that are taken.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: FxHashSet<Name>,
}

impl Names {
    /// Keeps a name as it is: what the user wrote.
    pub fn take(&mut self, name: &Name) {
        self.taken.insert(name.clone());
    }

    /// `wish`, or with underscores appended until nothing else has it.
    pub fn fresh(&mut self, wish: &str) -> Name {
        let mut name = wish.to_string();
        while self.taken.contains(name.as_str()) {
            name.push('_');
        }
        let name = Name::from(name);
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_gets_underscores() {
        let mut names = Names::default();
        names.take(&Name::from("px"));
        assert_eq!(&*names.fresh("px"), "px_");
        assert_eq!(&*names.fresh("px"), "px__");
        assert_eq!(&*names.fresh("py"), "py");
    }
}
