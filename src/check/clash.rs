//! Properties that contradict each other, and what is said of a layout that has them.

use serde::Serialize;

use crate::diagnostic::{Code, Diagnostic};

/// A smallest set of properties that cannot hold together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clash {
    /// Each as `kind of arrays: formula`.
    pub properties: Vec<String>,
    /// Their numbers among the properties of the layout.
    #[serde(skip)]
    pub numbers: Vec<usize>,
    /// How many entries a tensor must store for them to clash: 1 or 2.
    pub entries: usize,
}

impl Clash {
    /// The refusal of a layout for this reason.
    pub(super) fn refusal(&self, layout: &str) -> Box<Diagnostic> {
        let entries = self.stored();
        let message = match self.properties.len() {
            0 => {
                return Diagnostic::new(
                    Code::Contradiction,
                    format!("the relation of layout `{layout}` holds no position"),
                )
                .note("whatever the extents, its conditions exclude each other")
                .help("correct the relation; `siskin check` shows the rest");
            }
            1 => format!(
                "a property of layout `{layout}` excludes every tensor that stores {entries}"
            ),
            _ => format!("the properties of layout `{layout}` contradict each other"),
        };
        let mut out = Diagnostic::new(Code::Contradiction, message);
        if self.properties.len() > 1 {
            out = out.note(format!("these cannot all hold of a tensor that stores {entries}:"));
        }
        for property in &self.properties {
            out = out.note(property);
        }
        out.help("remove or correct one of them")
    }

    /// What a tensor must store for the properties to clash.
    pub(super) fn stored(&self) -> &'static str {
        if self.entries == 1 { "an entry" } else { "two entries" }
    }
}
