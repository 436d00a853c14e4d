//! The parts that both forms of a declaration share: index arrays, parameters, properties.
//!
//! In: the TOML schema with its relation, and integer parameters. Out: a [`Reader`] whose
//! arrays and parameters are parsed, every name known, every call of the arity of its array.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use toml::Spanned;

use super::assemble::ArrayParts;
use super::probing::HOME;
use super::property::{self, Statement};
use super::relation::no_predicates;
use super::source::{Origin, Source, Text};
use super::suggest::nearest;
use super::toml_schema::{Declaration, Param, PropertyEntry};
use super::{PropertyKind, Relation};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Formula, Name, parse};

/// Integer parameters and their values.
pub(super) type Constants = IndexMap<String, i64>;

/// The integers given in a use of a layout, such as `bcsr(4,4)` or `bcsr(R=4, C=4)`.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    pub positional: Vec<i64>,
    pub named: Vec<(String, i64, Range<usize>)>,
    /// The text of the use.
    pub origin: Origin,
}

/// Larger constants have no use and would risk overflow.
const MAX_CONSTANT: i64 = 1 << 31;

/// Integer parameters: the declared defaults, replaced by the arguments of the use.
pub(super) fn constants(
    source: &Source,
    declaration: &Declaration,
    arguments: Option<&Arguments>,
) -> Result<Constants> {
    let mut out = Constants::new();
    for (key, param) in declaration.params() {
        if let Param::Integer(value) = param.get_ref() {
            if value.abs() > MAX_CONSTANT {
                return Err(source
                    .error(
                        Code::LayoutSchema,
                        format!("integer parameter `{}` is too large", key.get_ref()),
                        param.span(),
                        "at most 2147483648",
                    )
                    .help("give a smaller constant"));
            }
            out.insert(key.get_ref().clone(), *value);
        }
    }
    let Some(arguments) = arguments else { return Ok(out) };
    if !arguments.positional.is_empty() && arguments.positional.len() != out.len() {
        let names: Vec<&str> = out.keys().map(String::as_str).collect();
        let name = declaration.name.get_ref();
        return Err(arguments
            .origin
            .error(
                Code::LayoutSchema,
                format!(
                    "`{name}` takes {} integer parameter(s), but {} given",
                    out.len(),
                    arguments.positional.len()
                ),
                "wrong number of parameters",
            )
            .help(match names.as_slice() {
                [] => format!("write `{name}` alone"),
                _ => format!("write `{name}({})`", names.join(", ")),
            }));
    }
    for (slot, value) in out.values_mut().zip(&arguments.positional) {
        *slot = *value;
    }
    for (name, value, span) in &arguments.named {
        match out.get_mut(name) {
            Some(slot) => *slot = *value,
            None => {
                return Err(unknown(
                    &arguments.origin.source,
                    "integer parameter",
                    name,
                    span.clone(),
                    out.keys().map(String::as_str),
                ));
            }
        }
    }
    if let Some((name, _)) = out.iter().find(|(_, v)| v.abs() > MAX_CONSTANT) {
        return Err(arguments
            .origin
            .error(
                Code::LayoutSchema,
                format!("integer parameter `{name}` is too large"),
                "at most 2147483648",
            )
            .help("give a smaller constant"));
    }
    Ok(out)
}

/// The error for a name that is not among `known`.
pub(super) fn unknown<'a>(
    source: &Source,
    what: &str,
    name: &str,
    span: Range<usize>,
    known: impl Iterator<Item = &'a str>,
) -> Box<Diagnostic> {
    let known: Vec<&str> = known.collect();
    let error =
        source.error(Code::LayoutSchema, format!("unknown {what} `{name}`"), span, "not known");
    match nearest(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => error.help(format!("there is no {what} here")),
        None => error.help(format!("known: {}", known.join(", "))),
    }
}

/// Keys of a property that only levels use.
pub(super) struct PropertyEntryKeys {
    pub when: Option<(Vec<String>, Range<usize>)>,
    pub extends_order: bool,
}

/// Reads the parts of a declaration, one kind after the other.
pub(super) struct Reader<'a> {
    pub source: &'a Arc<Source>,
    pub declaration: &'a Declaration,
    pub constants: &'a Constants,
    pub relation: &'a Relation,
    pub relation_text: &'a Text,
    /// Names of extents and counts that exist without being declared.
    pub sizes: Vec<Name>,
    pub arrays: IndexMap<Name, ArrayParts>,
    pub params: IndexMap<Name, Option<Arith>>,
    /// What the designer may not have meant.
    pub remarks: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub fn new(
        source: &'a Arc<Source>,
        declaration: &'a Declaration,
        constants: &'a Constants,
        relation: &'a Relation,
        relation_text: &'a Text,
        sizes: Vec<Name>,
    ) -> Self {
        Reader {
            source,
            declaration,
            constants,
            relation,
            relation_text,
            sizes,
            arrays: IndexMap::new(),
            params: IndexMap::new(),
            remarks: Vec::new(),
        }
    }

    pub fn constant(&self, name: &str) -> Option<i64> {
        self.constants.get(name).copied()
    }

    /// Reads arrays and parameters, then checks every name and call.
    pub fn read(&mut self) -> Result<()> {
        let declaration = self.declaration;
        for (key, param) in declaration.params() {
            self.identifier(key)?;
            let name = Name::from(key.get_ref().as_str());
            match param.get_ref() {
                Param::Expression(_) => drop(self.params.insert(name, None)),
                // It would be meant wherever the extent is written.
                Param::Integer(_) if self.sizes.contains(&name) => {
                    let message = format!("`{name}` is the extent of a dimension");
                    let (code, span) = (Code::LayoutSchema, key.span());
                    return Err(self
                        .source
                        .error(code, message, span, "and a parameter here")
                        .help("give the parameter another name"));
                }
                Param::Integer(_) => {}
            }
        }
        for (key, index) in declaration.index() {
            self.identifier(key)?;
            let array = self.array(key, index)?;
            self.arrays.insert(Name::from(key.get_ref().as_str()), array);
        }
        for (key, param) in declaration.params() {
            let Param::Expression(text) = param.get_ref() else { continue };
            if text.trim() == "count" {
                continue;
            }
            let text = Spanned::new(param.span(), text.clone());
            let value = self.arith(&text, &[])?;
            self.params.insert(Name::from(key.get_ref().as_str()), Some(value));
        }
        self.params_are_acyclic()?;

        let bound: Vec<Name> =
            self.relation.positions.iter().chain(&self.relation.coordinates).cloned().collect();
        let (relation, text) = (self.relation, self.relation_text);
        for c in relation.constraints() {
            self.check_affine(&c.affine, text, &bound)?;
        }
        for (key, index) in declaration.index() {
            let array = self.arrays[key.get_ref().as_str()].clone();
            if let Some(text) = &index.domain {
                for c in &array.domain {
                    self.check_affine(&c.affine, text, &array.args)?;
                }
            }
            if let Some(text) = &index.range {
                for c in &array.range {
                    self.check_affine(&c.affine, text, &array.args)?;
                }
            }
        }
        Ok(())
    }

    /// The properties; the arrays must have been read.
    pub fn properties(&mut self) -> Result<Vec<(Statement, PropertyEntryKeys)>> {
        self.declaration.property.iter().map(|entry| self.property(entry)).collect()
    }

    pub fn identifier(&self, key: &Text) -> Result<()> {
        identifier(self.source, key.get_ref(), key.span())
    }

    pub fn conjunction(&self, text: &Text) -> Result<Vec<Constraint>> {
        self.source.parse(text, |t| {
            let formula = parse::formula_with(t, &|n| self.constant(n))?;
            no_predicates(&formula)?;
            formula.as_conjunction().ok_or_else(|| {
                Diagnostic::new(Code::LayoutSchema, "domains and ranges are plain conjunctions")
                    .help("use only `and`; say the rest with a `formula` property")
            })
        })
    }

    /// A size expression; `extra` are the variables it may use besides sizes.
    pub fn arith(&mut self, text: &Text, extra: &[Name]) -> Result<Arith> {
        let value = self.source.parse(text, |t| parse::arith_with(t, &|n| self.constant(n)))?;
        self.check_arith(&value, text, extra)?;
        // The linear form prints shorter: `(I + 3)/4`, not `(I + (4 - 1))/4`.
        let affine = self.source.parse(text, |t| value.to_affine_at(0..t.len()));
        Ok(affine.map_or(value, |a| Arith::from_affine(&a)))
    }

    /// Every variable is `bound` or a size, every call fits a declared array. A capitalised name
    /// that nobody declares is a size to be counted when a tensor is packed.
    fn check_affine(&mut self, affine: &Affine, text: &Text, bound: &[Name]) -> Result<()> {
        if !is_moderate(affine) {
            return Err(self
                .source
                .error(
                    Code::NotAffine,
                    "numbers are too large",
                    text.span(),
                    "a number here exceeds 2^48",
                )
                .help("use smaller constants"));
        }
        let mut calls: Vec<Call> = Vec::new();
        affine.visit_calls(&mut |call| calls.push(call.clone()));
        calls.iter().try_for_each(|call| self.check_call(&call.array, call.args.len(), text))?;
        let mut vars: Vec<Name> = Vec::new();
        affine.visit_vars(&mut |n| vars.push(n.clone()));
        vars.iter().try_for_each(|n| self.check_name(n, text, bound))
    }

    pub fn check_arith(&mut self, arith: &Arith, text: &Text, bound: &[Name]) -> Result<()> {
        let mut calls = Vec::new();
        visit_calls(arith, &mut |name, arity| calls.push((name.clone(), arity)));
        calls.iter().try_for_each(|(name, arity)| self.check_call(name, *arity, text))?;
        let mut vars: Vec<Name> = Vec::new();
        arith.visit_vars(&mut |n| vars.push(n.clone()));
        vars.iter().try_for_each(|n| self.check_name(n, text, bound))
    }

    /// Remarks on sizes that nothing uses.
    pub fn remark_unused(&mut self) {
        for (key, _) in self.declaration.params() {
            let name = key.get_ref();
            if self.source.mentions(name) < 2 {
                let message = format!("the size `{name}` is never used");
                let code = Code::LayoutSchema;
                let remark = self.source.error(code, message, key.span(), "declared here");
                self.remarks.push(*remark.help("remove it, or use it"));
            }
        }
    }

    fn check_name(&mut self, name: &Name, text: &Text, bound: &[Name]) -> Result<()> {
        if bound.contains(name) || self.sizes.contains(name) || self.params.contains_key(name) {
            return Ok(());
        }
        if starts_upper_case(name) && !self.arrays.contains_key(name) {
            self.params.insert(name.clone(), None);
            let message = format!("the size `{name}` is counted, but [params] does not declare it");
            let place = self.source.word(text, name);
            let remark = self.source.error(Code::LayoutSchema, message, place, "its first use");
            self.remarks.push(*remark.help(format!("write `{name} = \"count\"` in [params]")));
            return Ok(());
        }
        let known: Vec<Name> =
            bound.iter().chain(&self.sizes).chain(self.params.keys()).cloned().collect();
        Err(unknown(
            self.source,
            "name",
            name,
            self.source.word(text, name),
            known.iter().map(|n| &**n),
        ))
    }

    pub fn check_call(&self, array: &str, arity: usize, text: &Text) -> Result<()> {
        let Some(declared) = self.arrays.get(array) else {
            let known = self.arrays.keys().map(|n| &**n);
            let span = self.source.word(text, array);
            let error = unknown(self.source, "index array", array, span, known);
            let table = format!("declare it in a table `[index.{array}]`");
            let help = match &error.help {
                Some(help) if help.starts_with("did") => format!("{help} Otherwise {table}"),
                _ => table,
            };
            return Err(error.help(help));
        };
        if declared.args.len() == arity {
            return Ok(());
        }
        Err(self
            .source
            .error(
                Code::LayoutSchema,
                format!("`{array}` takes {} argument(s), but {arity} given", declared.args.len()),
                self.source.word(text, array),
                "wrong number of arguments",
            )
            .help(format!("it is declared as `{array}({})`", declared.args.join(", "))))
    }

    fn params_are_acyclic(&self) -> Result<()> {
        for (key, _) in self.declaration.params() {
            let start = Name::from(key.get_ref().as_str());
            let (mut reached, mut next) = (vec![start.clone()], 0);
            while next < reached.len() {
                let mut cyclic = false;
                if let Some(Some(value)) = self.params.get(&reached[next]) {
                    value.visit_vars(&mut |n| {
                        cyclic |= *n == start;
                        if !reached.contains(n) {
                            reached.push(n.clone());
                        }
                    });
                }
                if cyclic {
                    return Err(self
                        .source
                        .error(
                            Code::LayoutSchema,
                            format!("parameter `{start}` is defined by itself"),
                            key.span(),
                            "cyclic definition",
                        )
                        .help("define it by index arrays and extents, or as \"count\""));
                }
                next += 1;
            }
        }
        Ok(())
    }

    fn property(
        &mut self,
        entry: &Spanned<PropertyEntry>,
    ) -> Result<(Statement, PropertyEntryKeys)> {
        let place = entry.span();
        let entry = entry.get_ref();
        let kind = match (&entry.kind, &entry.formula) {
            (Some(kind), _) => PropertyKind::named(kind.get_ref()).ok_or_else(|| {
                let known = PropertyKind::ALL.iter().map(|k| k.as_str());
                unknown(self.source, "property kind", kind.get_ref(), kind.span(), known)
            })?,
            (None, Some(_)) => PropertyKind::Formula,
            (None, None) => {
                return Err(self
                    .source
                    .error(Code::LayoutSchema, "property has no kind", place, "no `kind`")
                    .help("give `kind = \"…\"`, or `formula = \"…\"`"));
            }
        };
        let mut arrays = Vec::new();
        for text in entry.array.iter().chain(entry.arrays.iter().flatten()) {
            arrays.push(self.array_name(text)?);
        }
        let segments = entry.segments.as_ref().map(|text| self.array_name(text)).transpose()?;
        let decreasing = match entry.direction.as_ref().map(|d| d.get_ref().as_str()) {
            None | Some("increasing") => false,
            Some("decreasing") => true,
            Some(other) => {
                let span = entry.direction.as_ref().map_or(place, Spanned::span);
                let known = ["increasing", "decreasing"].into_iter();
                return Err(unknown(self.source, "direction", other, span, known));
            }
        };
        let formula = match &entry.formula {
            None => None,
            Some(text) if matches!(kind, PropertyKind::Formula) => {
                let formula = self.closed_formula(text)?;
                for name in property::arrays_of(&formula) {
                    if !arrays.contains(&name) {
                        arrays.push(name);
                    }
                }
                Some(formula)
            }
            Some(text) => {
                return Err(self
                    .source
                    .error(
                        Code::LayoutSchema,
                        format!("a property of kind `{}` has a formula of its own", kind.as_str()),
                        text.span(),
                        "second formula",
                    )
                    .help("remove `formula`, or `kind`"));
            }
        };
        // Errors about the statement as a whole point at its most telling key.
        let place = entry.kind.as_ref().or(entry.formula.as_ref()).map_or(place, Spanned::span);
        let statement = Statement {
            kind,
            arrays,
            segments,
            strict: entry.strict,
            decreasing,
            formula,
            origin: self.source.origin(place),
        };
        let when = entry.when.as_ref().map(|w| (w.get_ref().0.clone(), w.span()));
        Ok((statement, PropertyEntryKeys { when, extends_order: entry.extends_order }))
    }

    fn array_name(&self, text: &Text) -> Result<Name> {
        match self.arrays.get_key_value(text.get_ref().as_str()) {
            Some((name, _)) => Ok(name.clone()),
            None => {
                let known = self.arrays.keys().map(|n| &**n);
                Err(unknown(self.source, "index array", text.get_ref(), text.span(), known))
            }
        }
    }

    /// A formula whose calls fit the arrays; its other names are universally quantified.
    fn closed_formula(&mut self, text: &Text) -> Result<Formula> {
        let formula = self.source.parse(text, |t| {
            let formula = parse::formula_with(t, &|n| self.constant(n))?;
            no_predicates(&formula)?;
            Ok(formula)
        })?;
        let bound: Vec<Name> =
            formula.free_vars().into_iter().filter(|n| !starts_upper_case(n)).collect();
        let mut forms = Vec::new();
        formula.visit_affine(&mut |a| forms.push(a.clone()));
        for form in &forms {
            self.check_affine(form, text, &bound)?;
        }
        Ok(formula)
    }
}

/// Whether no coefficient exceeds 2^48, so that instances of the formula stay within 64 bits.
fn is_moderate(affine: &Affine) -> bool {
    let moderate = |k: i64| k.unsigned_abs() <= 1 << 48;
    moderate(affine.offset())
        && affine.terms().iter().all(|(atom, k)| {
            moderate(*k)
                && match atom {
                    Atom::Var(_) => true,
                    Atom::Call(call) => call.args.iter().all(is_moderate),
                    Atom::Floor(inner, by) => moderate(*by) && is_moderate(inner),
                }
        })
}

/// Names of dimensions, arrays and parameters are ASCII, since they become Rust identifiers.
pub(super) fn identifier(source: &Source, name: &str, span: Range<usize>) -> Result<()> {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let reserved = ["and", "or", "not", "implies", "mod", "true", "false", "floor", "ceil"];
    let reserved = reserved.contains(&name) || matches!(name, "min" | "max" | "count" | HOME);
    if starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !reserved {
        return Ok(());
    }
    let why = if reserved { "a word of the relation language" } else { "not an identifier" };
    let what = match name {
        "" => "a name is missing".to_string(),
        _ => format!("`{name}` cannot be a name"),
    };
    Err(source
        .error(Code::LayoutSchema, what, span, why)
        .help("use letters from a to z, digits and `_`, starting with a letter"))
}

pub(super) fn starts_upper_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_uppercase())
}

/// Calls `f` on the name and arity of every call.
pub(super) fn visit_calls(arith: &Arith, f: &mut impl FnMut(&Name, usize)) {
    if let Arith::Call(name, args) = arith {
        args.iter().for_each(|a| visit_calls(a, f));
        f(name, args.len());
    }
    if let Some((a, b)) = arith.operands() {
        visit_calls(a, f);
        visit_calls(b, f);
    }
}
