//! The declarations that ship: layouts, and the levels that they and others are made of.

use super::defaults;
use super::source::Source;
use super::toml_schema::Declaration;
use crate::embedded;

/// The folder of the shipped levels.
const LEVELS: &str = "layouts/levels";

/// The file of a shipped level, in whatever folder of levels it is.
pub(super) fn shipped_level_file(level: &str) -> Option<(&'static str, &'static str)> {
    embedded::files(LEVELS).find(|(path, _)| file_stem(path) == Some(level))
}

/// The names of the shipped levels, sorted.
pub(super) fn level_names() -> Vec<String> {
    let mut out: Vec<String> = embedded::files(LEVELS)
        .filter_map(|(path, _)| file_stem(path).map(str::to_string))
        .collect();
    out.sort();
    out
}

/// `dense` of `layouts/levels/dense.toml`
fn file_stem(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.strip_suffix(".toml")
}

/// The shipped layouts as (name, summary), sorted by name.
pub fn shipped() -> Vec<(String, String)> {
    let with_summary = |stem: String| {
        let path = format!("layouts/{stem}.toml");
        let text = embedded::text(&path).unwrap_or_default();
        (stem, summary(&path, text))
    };
    stems("layouts").into_iter().map(with_summary).collect()
}

/// The shipped levels as (name, summary), those of each folder together.
pub fn shipped_levels() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (path, text) in embedded::files(LEVELS) {
        let Some(stem) = file_stem(path) else { continue };
        let depth = path.matches('/').count();
        out.push((depth, stem.to_string(), summary(path, text)));
    }
    out.sort();
    out.into_iter().map(|(_, stem, summary)| (stem, summary)).collect()
}

fn summary(path: &str, text: &'static str) -> String {
    let source = Source { name: path.into(), text: text.into(), folder: None };
    Declaration::read(&source).map(|d| d.summary).unwrap_or_default()
}

/// The declaration of a shipped level.
pub fn shipped_level(name: &str) -> Option<&'static str> {
    // A layout of the same name comes first, as everywhere.
    let taken = stems("layouts").iter().any(|stem| stem == name);
    shipped_level_file(name).filter(|_| !taken).map(|(_, text)| text)
}

/// Names of the declarations directly in a shipped folder.
pub(super) fn stems(folder: &str) -> Vec<String> {
    let mut out: Vec<String> = embedded::files(folder)
        .filter_map(|(path, _)| path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".toml"))
        .filter(|stem| !stem.contains('/') && *stem != defaults::STEM)
        .map(str::to_string)
        .collect();
    out.sort();
    out
}
