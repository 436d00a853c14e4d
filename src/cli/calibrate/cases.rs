//! The statements by which constants are measured, as `templates/calibration.toml` has them.

use std::collections::BTreeMap;

use serde::Deserialize;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::embedded;

const FILE: &str = "templates/calibration.toml";

/// A statement, and data for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub statement: String,
    /// The layout of each tensor.
    pub layouts: BTreeMap<String, String>,
    pub data: Vec<Data>,
    /// Workspaces are compared, not finds.
    #[serde(default)]
    pub workspaces: bool,
    /// It is also measured in a hurry.
    #[serde(default)]
    pub quick: bool,
}

/// How large the tensors are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// By index.
    pub extents: BTreeMap<String, usize>,
    /// The part of its elements that each tensor stores.
    pub densities: BTreeMap<String, f64>,
    /// It is also measured in a hurry.
    #[serde(default)]
    pub quick: bool,
}

impl Data {
    /// `i = 400, j = 1000, A 0.25, x 0.5`
    pub fn describe(&self) -> String {
        let extents = self.extents.iter().map(|(index, extent)| format!("{index} = {extent}"));
        let densities =
            self.densities.iter().map(|(tensor, density)| format!("{tensor} {density}"));
        extents.chain(densities).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// The shipped cases.
///
/// # Errors
/// [`Code::Internal`] if the file is malformed.
pub fn cases() -> Result<Vec<Case>> {
    let text = embedded::text(FILE)
        .ok_or_else(|| Diagnostic::defect(format!("`{FILE}` is not shipped")))?;
    let file: File = toml::from_str(text).map_err(|e| {
        Diagnostic::new(Code::Internal, format!("cases: {}", e.message())).within(FILE, text)
    })?;
    Ok(file.case)
}
