//! The `[index.NAME]` tables of a declaration.
//!
//! In: a table. Out: its domain and range, and the arguments in order. An array with `outer = true`
//! is declared by an outer level; only its range is read here.

use super::assemble::ArrayParts;
use super::declaration::{Reader, starts_upper_case};
use super::source::Text;
use super::toml_schema::Index;
use crate::diagnostic::{Code, Result};
use crate::formula::parse;
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Name};

impl Reader<'_> {
    /// An index array with its arguments; its names are checked later.
    pub fn array(&mut self, key: &Text, index: &Index) -> Result<ArrayParts> {
        let name = key.get_ref();
        let wrong = match (&index.domain, index.outer) {
            (None, false) => Some("has no `domain`"),
            (Some(_), true) => Some("has the `domain` of the outer level that declares it"),
            _ if index.outer && (index.shape.is_some() || index.fill.is_some()) => {
                Some("has the shape and padding of the outer level that declares it")
            }
            _ if index.outer && index.base.is_some() => {
                Some("has the base of the outer level that declares it")
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(self
                .source
                .error(
                    Code::LayoutSchema,
                    format!("index array `{name}` {wrong}"),
                    key.span(),
                    "this array",
                )
                .help("give `domain`, or `outer = true` with at most `range` and `args`"));
        }
        let domain = index.domain.as_ref().map_or(Ok(Vec::new()), |text| self.conjunction(text))?;
        let range = index.range.as_ref().map_or(Ok(Vec::new()), |text| self.conjunction(text))?;
        let args = self.formal_arguments(key, index, &domain, &range)?;
        let mut shape = None;
        if let Some(texts) = &index.shape {
            let extents: Result<Vec<Arith>> = texts.iter().map(|t| self.arith(t, &[])).collect();
            shape = Some(extents?);
        }
        if let Some(fill) = index.fill
            && let Some(broken) = range.iter().find(|c| filled(c, name, fill) == Some(false))
        {
            let message = format!("the fill of `{name}` is {fill}, which is not in its range");
            let place = index.range.as_ref().unwrap_or(key).span();
            return Err(self
                .source
                .error(Code::LayoutSchema, message, place, "this range")
                .note(format!("`{broken}` does not hold"))
                .help(
                    "what pads an array is read as its elements are: take a number in the range",
                ));
        }
        let origin = self.source.origin(index.domain.as_ref().unwrap_or(key).span());
        Ok(ArrayParts {
            args,
            domain,
            range,
            shape,
            fill: index.fill,
            base: index.base.unwrap_or(0),
            origin,
        })
    }

    /// The arguments in order: `args`, or those of the call in the range, or the variables of the
    /// domain.
    fn formal_arguments(
        &self,
        key: &Text,
        index: &Index,
        domain: &[Constraint],
        range: &[Constraint],
    ) -> Result<Vec<Name>> {
        let name = key.get_ref().as_str();
        let place = index.domain.as_ref().unwrap_or(key).span();
        if let Some(args) = &index.args {
            // What is read as a variable in formulas, as positions are, is one.
            let is_variable =
                |a: &Text| parse::affine(a.get_ref()).is_ok_and(|e| e.as_var().is_some());
            args.iter().filter(|a| !is_variable(a)).try_for_each(|a| self.identifier(a))?;
            return Ok(args.iter().map(|a| Name::from(a.get_ref().as_str())).collect());
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut note = |call: &Call| {
            if &*call.array == name {
                calls.push(call.clone());
            }
        };
        range.iter().for_each(|c| c.visit_calls(&mut note));
        if let Some(call) = calls.first() {
            let vars: Option<Vec<Name>> = call.args.iter().map(|a| a.as_var().cloned()).collect();
            return match vars {
                Some(vars) if (1..vars.len()).all(|k| !vars[..k].contains(&vars[k])) => Ok(vars),
                _ => Err(self
                    .source
                    .error(
                        Code::LayoutSchema,
                        format!(
                            "the range of `{name}` calls it with something else than variables"
                        ),
                        index.range.as_ref().map_or(place, |t| self.source.word(t, name)),
                        "not the array applied to its argument names",
                    )
                    .help(format!("write `{name}(p)`, with distinct variables as arguments"))),
            };
        }
        let mut vars: Vec<Name> = Vec::new();
        for c in domain {
            c.affine.visit_vars(&mut |n| {
                let is_size =
                    self.sizes.contains(n) || self.params.contains_key(n) || starts_upper_case(n);
                if !is_size && !vars.contains(n) {
                    vars.push(n.clone());
                }
            });
        }
        match vars.len() {
            1 => Ok(vars),
            _ => Err(self
                .source
                .error(
                    Code::LayoutSchema,
                    format!("the arguments of `{name}` are not clear from its domain"),
                    place,
                    "which variables, in which order?",
                )
                .help(format!("give a range, or `args = [\"…\"]`, in [index.{name}]"))),
        }
    }
}

/// Whether a constraint on the elements of an array holds of a number, if it is on nothing else.
fn filled(range: &Constraint, array: &str, fill: i64) -> Option<bool> {
    let mut affine = Affine::constant(range.affine.offset());
    for (atom, k) in range.affine.terms() {
        match atom {
            Atom::Call(call) if *call.array == *array => {
                affine = affine + Affine::constant(k.checked_mul(fill)?);
            }
            _ => return None,
        }
    }
    Constraint { affine, relop: range.relop }.as_bool()
}
