//! Where the parts of a layout are written.

use indexmap::IndexMap;

use crate::formula::Name;

/// The lines of a declaration, each as `csr.toml:4`; nothing for what no file declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Of the relation, or of the list of levels.
    pub relation: Option<String>,
    /// Of the value.
    pub value: Option<String>,
    /// Of index arrays.
    pub arrays: IndexMap<Name, String>,
    /// Of properties, in the order of those of the layout.
    pub properties: Vec<Option<String>>,
}
