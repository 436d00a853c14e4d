//! The whole-tensor form: one relation for all dimensions.
//!
//! In: a declaration with `dims`, `relation` and `value`. Out: the layout.

use std::sync::Arc;

use indexmap::IndexMap;
use toml::Spanned;

use super::assemble::{Parts, assemble};
use super::declaration::{Arguments, Reader, constants, identifier};
use super::leaf::Leaf;
use super::source::{Source, Text};
use super::toml_schema::{Declaration, Dims};
use super::{Layout, Relation};
use crate::diagnostic::{Code, Result};
use crate::formula::{Arith, Name, parse};

/// Builds the layout that `declaration` states; `name` is how the user wrote it.
pub(super) fn layout(
    name: &str,
    source: &Arc<Source>,
    declaration: &Declaration,
    arguments: Option<&Arguments>,
) -> Result<Layout> {
    let (Some(relation_text), Some(value_text)) = (&declaration.relation, &declaration.value)
    else {
        let missing = if declaration.relation.is_none() { "relation" } else { "value" };
        return Err(source
            .error(
                Code::LayoutSchema,
                format!("the layout has no `{missing}`"),
                declaration.name.span(),
                "in this layout",
            )
            .help("a layout has `dims`, `relation` and `value`, or `dims` and `levels`"));
    };
    if let Some((key, span)) = declaration.level_only_key() {
        return Err(source
            .error(
                Code::LayoutSchema,
                format!("`{key}` belongs to levels"),
                span,
                "not of a layout",
            )
            .help("remove it, or remove `dims` and `value` to declare a level"));
    }
    let dims = dim_names(source, declaration)?;
    let constants = constants(source, declaration, arguments)?;
    let relation =
        source.parse(relation_text, |t| Relation::parse_with(t, &|n| constants.get(n).copied()))?;
    if relation.coordinates != dims {
        let (given, wanted) = (relation.coordinates.len(), dims.len());
        let message = match given.cmp(&wanted) {
            std::cmp::Ordering::Equal => format!(
                "the relation gives coordinates [{}], but `dims` are [{}]",
                relation.coordinates.join(", "),
                dims.join(", ")
            ),
            _ => format!("the relation gives {given} coordinate(s), but `dims` has {wanted}"),
        };
        let arrow = relation_text.get_ref().find("->").or(relation_text.get_ref().find('→'));
        let end = arrow.and_then(|a| Some(a + relation_text.get_ref()[a..].find(']')? + 1));
        let span = match (arrow, end) {
            (Some(start), Some(end)) => source.place(relation_text, start..end),
            _ => relation_text.span(),
        };
        return Err(source
            .error(Code::LayoutSchema, message, span, "coordinates of the relation")
            .help(format!("write `-> [{}]`", dims.join(", "))));
    }

    let extents = dims.iter().map(|d| Layout::extent_name(d)).collect();
    let mut reader =
        Reader::new(source, declaration, &constants, &relation, relation_text, extents);
    reader.read()?;
    let (value, value_index) = value_call(&mut reader, value_text)?;
    let value_shape = match &declaration.value_shape {
        None => None,
        Some(texts) => {
            let shape: Result<Vec<Arith>> =
                texts.get_ref().iter().map(|t| reader.arith(t, &[])).collect();
            Some(shape?)
        }
    };
    let mut properties = Vec::new();
    for (statement, keys) in reader.properties()? {
        if keys.when.is_some() || keys.extends_order {
            return Err(statement
                .origin
                .error(
                    Code::LayoutSchema,
                    "`when` and `extends_order` belong to levels",
                    "of this property",
                )
                .help("remove them: the properties of a layout always hold"));
        }
        properties.push(statement);
    }
    reader.remark_unused();
    let (arrays, params, remarks) = (reader.arrays, reader.params, reader.remarks);
    assemble(Parts {
        name: name.to_string(),
        summary: declaration.summary.clone(),
        dims,
        relation,
        value,
        value_index,
        value_shape,
        leaf: Leaf::declared(source, declaration)?,
        origin: source.origin(relation_text.span()),
        value_origin: source.origin(value_text.span()),
        arrays,
        params,
        properties,
        remarks,
        stages: Vec::new(),
    })
}

/// `val(p1, p2)`: the value array and its subscripts.
fn value_call(reader: &mut Reader<'_>, text: &Text) -> Result<(Name, Vec<Arith>)> {
    let source = reader.source;
    let value = source.parse(text, |t| parse::arith_with(t, &|n| reader.constant(n)))?;
    let Arith::Call(name, index) = value else {
        return Err(source
            .error(Code::LayoutSchema, "the value is not a call", text.span(), "not `NAME(…)`")
            .help("write the value array with its subscripts, e.g. `val(p1)`"));
    };
    identifier(source, &name, source.word(text, &name))?;
    let positions = reader.relation.positions.clone();
    for subscript in &index {
        reader.check_arith(subscript, text, &positions)?;
    }
    Ok((name, index))
}

/// The dimensions of a layout of fixed rank.
pub(super) fn dim_names(source: &Source, declaration: &Declaration) -> Result<Vec<Name>> {
    match declaration.dims.as_ref().map(Spanned::get_ref) {
        Some(Dims::Names(names)) => {
            let names = names.iter().map(|t| (t.get_ref().clone(), t.span()));
            checked_dims(source, names.collect())
        }
        Some(Dims::Any) => Err(source
            .error(
                Code::LayoutSchema,
                "a layout for any rank is declared by levels",
                declaration.dims.as_ref().map_or(0..0, Spanned::span),
                "any rank",
            )
            .help("give `levels` instead of `relation`, or list the dimensions")),
        None => Err(source
            .error(
                Code::LayoutSchema,
                "the layout has no `dims`",
                declaration.name.span(),
                "in this layout",
            )
            .help("give `dims = [\"i\", …]`, the logical dimensions in subscript order")),
    }
}

/// Names of dimensions: identifiers, distinct, and distinct from their extents.
pub(super) fn checked_dims(
    source: &Source,
    names: Vec<(String, std::ops::Range<usize>)>,
) -> Result<Vec<Name>> {
    let mut seen: IndexMap<Name, Name> = IndexMap::new();
    for (name, span) in names {
        identifier(source, &name, span.clone())?;
        let extent = Layout::extent_name(&name);
        if *extent == *name {
            return Err(source
                .error(
                    Code::LayoutSchema,
                    format!("dimension `{name}` has the name of its extent"),
                    span,
                    "capital letters name extents",
                )
                .help(format!("write `{}`", name.to_lowercase())));
        }
        if seen.values().any(|e| *e == extent) {
            return Err(source
                .error(
                    Code::LayoutSchema,
                    format!("dimension `{name}` occurs twice"),
                    span,
                    "second occurrence",
                )
                .help("give every dimension its own name"));
        }
        seen.insert(Name::from(name), extent);
    }
    Ok(seen.into_keys().collect())
}
