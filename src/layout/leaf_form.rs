//! What a declaration states of the values: the fill, and whether they are all the same.
//!
//! In: `fill` and `constant` of a declaration, and the argument of a leaf, `Element(0.0)`. Out: a
//! [`Leaf`].

use super::declaration::identifier;
use super::leaf::Leaf;
use super::literal::Literal;
use super::nested::Nested;
use super::source::{Source, Text};
use super::specialise::tuple_names;
use super::toml_schema::Declaration;
use crate::diagnostic::{Code, Result};
use crate::formula::{Arith, Name, parse};

impl Leaf {
    /// What a declaration itself states.
    pub fn declared(source: &Source, declaration: &Declaration) -> Result<Leaf> {
        let literal = |text: &Option<Text>| -> Result<Option<Literal>> {
            let Some(text) = text else { return Ok(None) };
            let found = Literal::parse(text.get_ref());
            found.map(Some).ok_or_else(|| {
                source
                    .error(
                        Code::LayoutSchema,
                        format!("`{}` is not a number", text.get_ref()),
                        text.span(),
                        "no literal",
                    )
                    .help("write e.g. \"0.0\", \"0\", \"false\", \"Inf\" or \"0.0f0\"")
            })
        };
        Ok(Leaf {
            fill: literal(&declaration.fill)?,
            constant: literal(&declaration.constant)?,
            short_circuit: declaration.short_circuit.as_ref().is_some_and(|s| *s.get_ref()),
        })
    }

    /// What the leaf of a nested name states, with its argument.
    pub fn of(
        source: &Source,
        declaration: &Declaration,
        nested: &Nested,
        text: &Source,
    ) -> Result<Leaf> {
        let leaf = Leaf::declared(source, declaration)?;
        let name = declaration.name.get_ref();
        let error = |message: String, label: &str| {
            let place = match (&nested.argument, nested.levels.last()) {
                (Some((_, place)), _) => place.clone(),
                (None, Some(level)) => level.name_span.clone(),
                (None, None) => 0..0,
            };
            text.error(Code::LayoutSchema, message, place, label)
        };
        let fill = match (leaf.fill, &nested.argument) {
            (Some(fill), None) => fill,
            (Some(fill), Some(_)) => {
                let message = format!("leaf `{name}` takes no fill");
                return Err(error(message, "it is declared")
                    .help(format!("write `{name}()`: what is not stored is {fill}")));
            }
            (None, None) => {
                return Err(error(format!("leaf `{name}` needs a fill"), "no argument")
                    .help(format!("write what is not stored, e.g. `{name}(0.0)`")));
            }
            (None, Some((argument, _))) => nested.literal().ok_or_else(|| {
                error(format!("`{argument}` is no value to fill with"), "not a number").help(
                    "write 0.0 (f64), 0.0f0 (f32), 0 (i64), Int32(0), UInt8(0), false, Inf, -Inf or NaN",
                )
            })?,
        };
        Ok(Leaf { fill: Some(fill), ..leaf })
    }
}

/// The value array of a leaf, `val(u)`, whose subscript is the position that it is handed.
pub(super) fn value_name(source: &Source, declaration: &Declaration, text: &Text) -> Result<Name> {
    let refused = |label: &str| {
        let message = "the value of a leaf is not at its parent's position";
        source
            .error(Code::LayoutSchema, message, text.span(), label)
            .help("write `value = \"val(u)\"` and `child = \"[u]\"`")
    };
    let Arith::Call(name, index) = source.parse(text, parse::arith)? else {
        return Err(refused("not `NAME(u)`"));
    };
    identifier(source, &name, source.word(text, &name))?;
    let position = match index.as_slice() {
        [Arith::Var(position)] => position,
        _ => return Err(refused("not `NAME(u)`")),
    };
    let child = declaration.child.as_ref().map(|child| tuple_names(source, child, "child"));
    match child.transpose()?.as_deref() {
        Some([only]) if only == position => Ok(name),
        _ => Err(refused("not what `child` hands on")),
    }
}
