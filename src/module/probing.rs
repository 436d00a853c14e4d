//! Open addressing in generated code: the functions of [`crate::layout::probing`], word for word.

/// The text of both functions, for a module that uses either.
pub(super) fn items() -> String {
    let text = include_str!("../layout/probing.rs");
    // After the module's own documentation.
    let items = text.find("\n/// The slot").map_or(text, |at| &text[at + 1..]);
    let items = items.split("\n#[cfg(test)]").next().unwrap_or(items);
    items.replace("pub fn ", "fn ").lines().map(|line| format!("{}\n", line.trim_start())).collect()
}
