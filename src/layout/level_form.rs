//! The level form: one level of a tensor, written for a parent position `u`.
//!
//! In: a level's declaration, its use (`compressed(j, unique=false)`), its number and the parent's
//! tuple. Out: [`Level`], in which every name is the whole layout's (`specialise.rs`).

use std::sync::Arc;

use indexmap::IndexMap;

use super::declaration::{Arguments, Reader, constants, unknown};
use super::level::{Level, Place};
use super::level_use::{LevelUse, Setting};
use super::source::{Source, Text};
use super::specialise::{Family, Specialise, tuple_names};
use super::toml_schema::Declaration;
use super::{Layout, Relation};
use crate::diagnostic::{Code, Result};
use crate::formula::Name;

/// The condition of a property that the outer levels are dense arrays, or that there are none.
const WHOLE_PARENTS: &str = "dense parents";

pub(super) fn level(
    source: &Arc<Source>,
    declaration: &Declaration,
    level_use: &LevelUse,
    place: &Place<'_>,
) -> Result<Level> {
    let leaf = |key: &str| key == "value" && declaration.is_leaf();
    if let Some((key, span)) = declaration.tensor_only_key().filter(|(key, _)| !leaf(key)) {
        return Err(source
            .error(
                Code::LayoutSchema,
                format!("`{key}` belongs to layouts"),
                span,
                "not of a level",
            )
            .help("a level has a `relation` from `[u, p]` to its coordinates"));
    }
    let Some(relation_text) = &declaration.relation else {
        return Err(source
            .error(
                Code::LayoutSchema,
                "the level has no `relation`",
                declaration.name.span(),
                "in this level",
            )
            .help("give `relation = \"{ [u, p] -> [i] : … }\"`"));
    };
    let options = options(declaration, level_use, place)?;
    let arguments = Arguments {
        positional: Vec::new(),
        named: level_use
            .settings
            .iter()
            .filter_map(|(n, s, span)| match s {
                Setting::Integer(value) => Some((n.clone(), *value, span.clone())),
                _ => None,
            })
            .collect(),
        origin: place.use_source.origin(level_use.span.clone()),
    };
    let constants = constants(source, declaration, Some(&arguments))?;
    let relation =
        source.parse(relation_text, |t| Relation::parse_with(t, &|n| constants.get(n).copied()))?;
    if relation.positions.is_empty() {
        return Err(source
            .error(
                Code::LayoutSchema,
                "the level's relation has no parent position",
                relation_text.span(),
                "no position",
            )
            .help("the first position is the parent's: `{ [u, p] -> [i] : … }`"));
    }
    let parent = parent_names(source, declaration, relation_text, &relation)?;
    let own = &relation.positions[parent.len()..];
    let (head, components) = match place.parent.split(parent.len() - 1) {
        Some(parts) => parts,
        None => {
            return Err(place
                .use_source
                .error(
                    Code::LayoutSchema,
                    format!(
                        "level `{}` needs {} component(s) of its parent's position, which has {}",
                        declaration.name.get_ref(),
                        parent.len() - 1,
                        place.parent.components.len()
                    ),
                    level_use.span.clone(),
                    "in this level",
                )
                .help("put it below levels that hand on more positions, such as `dense(i)`"));
        }
    };
    if relation.coordinates.len() != place.dims.len() {
        return Err(place
            .use_source
            .error(
                Code::LayoutSchema,
                format!(
                    "level `{}` stores {} dimension(s), but {} given",
                    declaration.name.get_ref(),
                    relation.coordinates.len(),
                    place.dims.len()
                ),
                level_use.span.clone(),
                "wrong number of dimensions",
            )
            .help("name every dimension that the level stores, e.g. `NAME(i)`"));
    }
    if declaration.root_only.as_ref().is_some_and(|r| *r.get_ref()) && place.number > 0 {
        return Err(place
            .use_source
            .error(
                Code::LayoutSchema,
                format!("level `{}` must come first", declaration.name.get_ref()),
                level_use.span.clone(),
                "this level has a parent",
            )
            .help("its positions belong to one parent only; use a level with segments"));
    }

    // Extents of coordinates, counts of positions.
    let sizes: Vec<Name> = relation
        .coordinates
        .iter()
        .chain(&relation.positions[..1])
        .chain(own)
        .map(|n| Layout::extent_name(n))
        .collect();
    let mut reader = Reader::new(source, declaration, &constants, &relation, relation_text, sizes);
    reader.read()?;
    let size = declaration.size.as_ref().map(|text| reader.arith(text, &[])).transpose()?;
    let properties = reader.properties()?;
    let uses_count = |n: &Name| own.iter().any(|p| Layout::extent_name(p) == *n);
    let mut counted = false;
    for array in reader.arrays.values() {
        for c in array.domain.iter().chain(&array.range) {
            c.affine.visit_vars(&mut |n| counted |= uses_count(n));
        }
    }
    relation.constraints().for_each(|c| c.affine.visit_vars(&mut |n| counted |= uses_count(n)));

    let family = Family { parent, head: &head, components: &components };
    let specialise = Specialise::new(source, place, &relation, family, &reader)?;
    let child = specialise.child(declaration, &relation, own, size.as_ref(), counted)?;
    // What properties may depend on beside options; no option has a name of two words.
    let mut conditions = options;
    conditions.insert(WHOLE_PARENTS.to_string(), place.is_whole);
    specialise.level(relation_text, &relation, reader, properties, &conditions, child)
}

/// The positions of the relation that are the parent's: the first, or those that `parent` names.
fn parent_names<'r>(
    source: &Source,
    declaration: &Declaration,
    relation_text: &Text,
    relation: &'r Relation,
) -> Result<&'r [Name]> {
    let Some(text) = &declaration.parent else { return Ok(&relation.positions[..1]) };
    let names = tuple_names(source, text, "parent")?;
    if names.is_empty() || !relation.positions.starts_with(&names) {
        return Err(source
            .error(
                Code::LayoutSchema,
                "the positions of the relation do not begin with those of `parent`",
                relation_text.span(),
                format!("positions [{}]", relation.positions.join(", ")),
            )
            .help(format!("begin with `[{}`", names.join(", "))));
    }
    Ok(&relation.positions[..names.len()])
}

/// Values of the level's options in this use.
fn options(
    declaration: &Declaration,
    level_use: &LevelUse,
    place: &Place<'_>,
) -> Result<IndexMap<String, bool>> {
    let mut out: IndexMap<String, bool> =
        declaration.options().into_iter().map(|(k, v)| (k.get_ref().clone(), *v)).collect();
    for (name, setting, span) in &level_use.settings {
        let value = match setting {
            Setting::Flag(value) => *value,
            Setting::Last => place.number + 1 == place.count,
            Setting::Integer(_) => continue,
        };
        let Some(slot) = out.get_mut(name) else {
            let known = out.keys().map(String::as_str);
            return Err(unknown(place.use_source, "option", name, span.clone(), known));
        };
        *slot = value;
    }
    Ok(out)
}
