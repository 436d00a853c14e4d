//! Open addressing in generated code: the functions of [`crate::layout::probing`], word for word.

/// The text of `home_slot`, and of `misplaced` where validation calls it.
pub(super) fn items(misplaced: bool) -> String {
    let text = include_str!("../layout/probing.rs");
    // Between the module's own documentation and its tests.
    let text = text.find("\n/// The slot").map_or(text, |at| &text[at..]);
    let text = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    let home = text.split("\n/// The first slot").next().unwrap_or(text);
    let text = if misplaced { text } else { home };
    text.replace("pub fn ", "fn ")
}
