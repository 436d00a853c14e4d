//! The data files that ship inside the binary: layouts, find templates, operators.
//!
//! `build.rs` lists the folders, so no source file names a shipped format or template.

include!(concat!(env!("OUT_DIR"), "/embedded_files.rs"));

/// The text of a shipped file, e.g. `layouts/levels/dense.toml`.
pub fn text(path: &str) -> Option<&'static str> {
    FILES.binary_search_by(|(name, _)| (*name).cmp(path)).ok().map(|at| FILES[at].1)
}

/// Every shipped file under `folder` (at any depth) as (path, text), sorted by path.
pub fn files(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let prefix = format!("{}/", folder.trim_end_matches('/'));
    FILES.iter().copied().filter(move |(path, _)| path.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_file_is_found_by_its_path() {
        assert!(files("layouts").count() > 0, "the shipped layouts are in the table");
        for (path, content) in files("layouts/") {
            assert_eq!(text(path), Some(content));
        }
        assert_eq!(text("layouts/../Cargo.toml"), None);
    }
}
