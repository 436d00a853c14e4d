//! Levels that are lists of levels: `SparseCOO{2}` is a level of segments with one coordinate for each entry
//! below it.
//!
//! ```text
//! levels = ["compressed(0, unique=last)", "singleton(1.., unique=last)"]
//! ```
//! Such a level may be used over any number of dimensions, which its own list names by number. `last` is
//! the last level of that list.

use std::sync::Arc;

use super::level_use::{LevelUse, Setting, parse_list};
use super::resolve::one_use_per_level;
use super::source::Source;
use super::toml_schema::Declaration;
use crate::diagnostic::{Code, Result};
use crate::formula::Name;

/// Levels of levels of levels are a slip beyond this depth.
const DEEPEST: usize = 8;

/// Finds the declaration of a level by its name or path, as it is used in that text.
pub(super) type FindLevel<'a> =
    &'a dyn Fn(&LevelUse, &Source) -> Result<(Arc<Source>, Declaration)>;

/// A use of a level with its dimensions, and its declaration.
pub(super) struct Used {
    pub level_use: LevelUse,
    pub dims: Vec<Name>,
    pub source: Arc<Source>,
    pub declaration: Declaration,
}

/// The uses with lists of levels taken apart; places are those of the uses in `use_source`.
pub(super) fn taken_apart(
    uses: Vec<(LevelUse, Vec<Name>)>,
    use_source: &Arc<Source>,
    find: FindLevel<'_>,
) -> Result<Vec<Used>> {
    let mut out = Vec::new();
    for (level_use, dims) in uses {
        let (source, declaration) = find(&level_use, use_source)?;
        add(Used { level_use, dims, source, declaration }, use_source, find, 0, &mut out)?;
    }
    Ok(out)
}

fn add(
    used: Used,
    use_source: &Arc<Source>,
    find: FindLevel<'_>,
    depth: usize,
    out: &mut Vec<Used>,
) -> Result<()> {
    let Used { level_use, dims, source, declaration } = &used;
    let Some(levels) = declaration.levels.as_ref().filter(|_| declaration.dims.is_none()) else {
        out.push(used);
        return Ok(());
    };
    let refused = |message: String, label: &str| {
        use_source.error(Code::LayoutSchema, message, level_use.span.clone(), label)
    };
    let name = declaration.name.get_ref();
    if depth == DEEPEST {
        let message = format!("level `{name}` is made of levels that are made of levels …");
        return Err(refused(message, "too deep").help("let no level be a part of itself"));
    }
    if let Some((setting, ..)) = level_use.settings.first() {
        let message = format!("level `{name}` has no option `{setting}`");
        return Err(refused(message, "a list of levels")
            .help("set options in the list of levels, in its own file"));
    }
    if dims.is_empty() {
        return Err(refused(format!("level `{name}` is given no dimension"), "no dimension")
            .help(format!("name at least one, e.g. `{name}(i, j)`")));
    }
    let mut uses: Vec<LevelUse> = Vec::new();
    for text in levels.get_ref() {
        let list = source.parse(text, parse_list)?;
        let moved = |mut inner: LevelUse| {
            // The user's text is what a diagnostic shows.
            inner.span = level_use.span.clone();
            inner.level_span = level_use.level_span.clone();
            inner.dims.iter_mut().for_each(|(_, span)| *span = level_use.span.clone());
            inner.settings.iter_mut().for_each(|(_, _, span)| *span = level_use.span.clone());
            inner
        };
        uses.extend(list.uses.into_iter().map(moved));
    }
    let uses = one_use_per_level(dims, &uses, use_source)?;
    let last = uses.len().saturating_sub(1);
    for (k, (mut level_use, dims)) in uses.into_iter().enumerate() {
        for (_, setting, _) in &mut level_use.settings {
            if *setting == Setting::Last {
                *setting = Setting::Flag(k == last);
            }
        }
        let (source, declaration) = find(&level_use, source)?;
        let used = Used { level_use, dims, source, declaration };
        add(used, use_source, find, depth + 1, out)?;
    }
    Ok(())
}
