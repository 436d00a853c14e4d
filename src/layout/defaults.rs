//! The layouts of tensors for which none is asked. `layouts/defaults.toml` names them.

use serde::Deserialize;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;

/// The file's name without its extension: it lies among the declarations, and is none.
pub(super) const STEM: &str = "defaults";

/// What needs a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultFor {
    /// The data of a dense file, or a tensor of which nothing is known.
    Array,
    /// The data of a file that lists entries.
    Entries,
    /// The result of a kernel.
    Output,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    array: String,
    entries: String,
    output: String,
}

impl DefaultFor {
    /// The name of the default layout, which fits any rank.
    ///
    /// # Errors
    /// [`Code::LayoutSchema`] if the shipped file is malformed.
    pub fn layout(self) -> Result<String> {
        let path = format!("layouts/{STEM}.toml");
        let text = embedded::text(&path).unwrap_or_default();
        let defaults: Defaults = toml::from_str(text).map_err(|e| {
            let d = Diagnostic::new(Code::LayoutSchema, e.message().to_string());
            let d = d.within(path.as_str(), text);
            match e.span() {
                Some(span) => d.at(span, "here"),
                None => d,
            }
        })?;
        Ok(match self {
            DefaultFor::Array => defaults.array,
            DefaultFor::Entries => defaults.entries,
            DefaultFor::Output => defaults.output,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, shipped};

    #[test]
    fn every_default_is_a_shipped_layout_of_any_rank_and_the_list_of_them_is_none() {
        for role in [DefaultFor::Array, DefaultFor::Entries, DefaultFor::Output] {
            let name = role.layout().unwrap();
            for rank in 1..4 {
                assert_eq!(Layout::named_for_rank(&name, rank).unwrap().rank(), rank);
            }
        }
        assert!(shipped().iter().all(|(name, _)| name != STEM));
        assert_eq!(Layout::named(STEM).unwrap_err().code, Code::UnknownLayout);
    }
}
