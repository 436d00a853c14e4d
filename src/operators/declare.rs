//! From a file to an [`Operator`].
//!
//! In: a text of the schema. Out: the operator, each of its expressions read and typed for every
//! type that it is for. What it claims is checked by `claims.rs`.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use super::absent::Absent;
use super::choosing::{absent, fits};
use super::definition;
use super::operator::{
    Argument, Body, Case, CaseKind, Definition, Gives, Iteration, Morphism, Operator, Points,
    Property, ResultRule,
};
use super::read::read;
use super::schema::{
    Declaration, Element, Number, OneOrTable, Source, Text, check_types, narrowness,
};
use super::value::is_integer;
use crate::diagnostic::{Diagnostic, Result};
use crate::layout::nearest;
use crate::prover::arithmetic::Sort;
use crate::tensor::ValueType;

/// Words that the notation of programs, or TOML, has for itself.
const RESERVED: [&str; 11] =
    ["if", "then", "else", "let", "for", "forall", "while", "true", "false", "inf", "nan"];

/// Reads an operator; `name` is shown in diagnostics.
///
/// # Errors
/// [`Code::Operator`](crate::diagnostic::Code::Operator) with the place, a reason and a remedy.
pub(super) fn operator(name: &str, text: &str) -> Result<Operator> {
    let source = Arc::new(Source { name: name.into(), text: text.into() });
    let declaration = Declaration::read(&source)?;
    let reader = Reader { source: &source };
    reader.name(&declaration.name)?;
    if let Some(symbol) = &declaration.symbol {
        reader.symbol(symbol)?;
    }
    let arguments = reader.arguments(&declaration)?;
    let result = reader.result(declaration.result.as_ref())?;
    let bodies = reader.bodies(&declaration, &arguments, result)?;
    let definitions = reader.definitions(&declaration, &arguments, result, &bodies)?;
    let iteration = reader.iteration(&declaration, &arguments, &bodies)?;
    let flag =
        |key: &Option<Spanned<bool>>| key.as_ref().filter(|k| *k.get_ref()).map(Spanned::span);
    let properties: Vec<(Property, Range<usize>)> = [
        (Property::Commutative, flag(&declaration.commutative)),
        (Property::Associative, flag(&declaration.associative)),
        (Property::Idempotent, flag(&declaration.idempotent)),
    ]
    .into_iter()
    .filter_map(|(p, place)| Some((p, place?)))
    .collect();
    let mut out = Operator {
        name: declaration.name.get_ref().clone(),
        summary: declaration.summary.clone(),
        symbol: declaration.symbol.as_ref().map(|s| s.get_ref().clone()),
        variadic: flag(&declaration.variadic).is_some(),
        arguments,
        result,
        bodies,
        properties,
        inverse: declaration.inverse.as_ref().map(|t| (t.get_ref().clone(), t.span())),
        parameters: declaration.parameters.as_ref().map_or(0, |n| *n.get_ref() as usize),
        missing: absent(&source, declaration.missing.as_ref(), Absent::Result)?,
        nothing: absent(&source, declaration.nothing.as_ref(), Absent::Refused)?,
        by: declaration.by.as_ref().map(|t| (t.get_ref().clone(), t.span())),
        cases: Vec::new(),
        morphisms: Vec::new(),
        iteration,
        definitions,
        source: source.clone(),
    };
    for text in declaration.additive.iter().flatten() {
        out.properties.push((Property::Additive(reader.argument(&out, text)?), text.span()));
    }
    for morphism in &declaration.morphism {
        let through = morphism.get_ref();
        let named = |text: &Text| (text.get_ref().clone(), text.span());
        out.morphisms.push(Morphism {
            argument: reader.argument(&out, &through.argument)?,
            of: named(&through.of),
            to: named(&through.to),
            place: morphism.span(),
        });
    }
    fits(&out, &declaration)?;
    reader.shape(&out, &declaration)?;
    out.cases = reader.cases(&declaration, &out)?;
    Ok(out)
}

struct Reader<'a> {
    source: &'a Source,
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 40
}

impl Reader<'_> {
    fn name(&self, name: &Text) -> Result<()> {
        let text = name.get_ref();
        if !is_name(text) || text.starts_with('_') {
            return Err(self
                .source
                .error(format!("`{text}` is no name of an operator"), name.span())
                .help("a name is a letter, then letters, digits and `_`, 40 at most"));
        }
        if RESERVED.contains(&text.as_str()) {
            return Err(self
                .source
                .error(format!("`{text}` is a word of the notation"), name.span())
                .help("choose another name"));
        }
        Ok(())
    }

    fn symbol(&self, symbol: &Text) -> Result<()> {
        let text = symbol.get_ref();
        let marks = (1..=3).contains(&text.len())
            && text.chars().all(|c| "+-*/%&|^~<>=!@$?".contains(c))
            && !matches!(text.as_str(), "=" | "+=");
        match marks || (is_name(text) && !RESERVED.contains(&text.as_str())) {
            true => Ok(()),
            false => Err(self
                .source
                .error(format!("`{text}` is no symbol of an operator"), symbol.span())
                .help("a symbol is one to three of + - * / % & | ^ ~ < > = ! @ $ ?, or a name")),
        }
    }

    fn arguments(&self, d: &Declaration) -> Result<Vec<Argument>> {
        let defaults = ["a", "b", "c"];
        let arity = d.arity.as_ref().map(|a| (*a.get_ref(), a.span()));
        let Some(list) = &d.arguments else {
            let (n, place) = arity.unwrap_or((2, d.name.span()));
            let n = usize::try_from(n).ok().filter(|n| (1..=3).contains(n));
            let Some(n) = n else {
                return Err(self
                    .source
                    .error("an operator has one, two or three arguments", place)
                    .help("give `arity = 2`; more are for `variadic = true`"));
            };
            let named = |a: &&str| Argument { name: a.to_string(), exact: None };
            return Ok(defaults.iter().take(n).map(named).collect());
        };
        let mut out: Vec<Argument> = Vec::new();
        for text in list.get_ref() {
            let (name, ty) = match text.get_ref().split_once(':') {
                Some((name, ty)) => (name.trim(), Some(ty.trim())),
                None => (text.get_ref().trim(), None),
            };
            let exact = match ty {
                None => None,
                Some(ty) => Some(
                    ValueType::ALL.into_iter().find(|t| t.as_str() == ty).ok_or_else(|| {
                        self.source.error(format!("`{ty}` is no type"), text.span()).help(format!(
                            "the types are {}; without one, the arguments meet in a type",
                            ValueType::ALL.map(ValueType::as_str).join(", ")
                        ))
                    })?,
                ),
            };
            // The name stands in expressions of Rust and in definitions.
            let taken = RESERVED.contains(&name)
                || ["T", "and", "or", "not", "floor", "greatest", "least"].contains(&name);
            let keyword = syn::parse_str::<syn::Ident>(name).is_err();
            if !is_name(name)
                || keyword
                || taken
                || ValueType::ALL.iter().any(|t| t.as_str() == name)
            {
                return Err(self
                    .source
                    .error(format!("`{name}` is no name of an argument"), text.span())
                    .help("use names that are words neither of Rust nor of definitions: `a`, `b`, `x`"));
            }
            if out.iter().any(|a| a.name == name) {
                return Err(self
                    .source
                    .error(format!("two arguments are called `{name}`"), text.span())
                    .help("rename one of them"));
            }
            out.push(Argument { name: name.to_string(), exact });
        }
        let agrees = arity.as_ref().is_none_or(|(n, _)| *n == out.len() as i64);
        if !(1..=3).contains(&out.len()) || !agrees {
            return Err(self
                .source
                .error(format!("these are {} arguments", out.len()), list.span())
                .help(
                    "an operator has one, two or three; `arity` may be left out beside `arguments`",
                ));
        }
        Ok(out)
    }

    fn result(&self, result: Option<&Text>) -> Result<ResultRule> {
        let Some(text) = result else { return Ok(ResultRule::Same) };
        let all = [ResultRule::Same, ResultRule::Float, ResultRule::Bool];
        all.into_iter().find(|r| r.to_string() == *text.get_ref()).ok_or_else(|| {
            self.source
                .error(format!("`{}` is no rule for the type of a result", text.get_ref()), text.span())
                .help("the rules are \"same\" (as the arguments), \"float\" (integers become f64 first) and \"bool\"")
        })
    }

    fn bodies(
        &self,
        d: &Declaration,
        arguments: &[Argument],
        result: ResultRule,
    ) -> Result<Vec<Body>> {
        let table = d.rust.get_ref();
        check_types(self.source, table.keys().map(|k| (k.get_ref().as_str(), k.span())))?;
        let mut out = Vec::new();
        let no_generic = arguments.iter().all(|a| a.exact.is_some());
        for t in ValueType::ALL {
            if (result == ResultRule::Float && !t.is_float())
                || (no_generic && t != ValueType::Bool)
            {
                continue;
            }
            let narrowest = table
                .iter()
                .filter_map(|(k, v)| Some((narrowness(k.get_ref(), t)?, v)))
                .min_by_key(|(n, _)| *n);
            let Some((_, text)) = narrowest else { continue };
            let typed: Vec<(&str, ValueType)> =
                arguments.iter().map(|a| (a.name.as_str(), a.exact.unwrap_or(t))).collect();
            let wanted = if result == ResultRule::Bool { ValueType::Bool } else { t };
            let tree = read(text.get_ref(), &typed, t, wanted).map_err(|e| {
                self.source.lift(text.get_ref(), text.span(), e.note(format!("for T = {t}")))
            })?;
            out.push(Body { generic: t, text: text.get_ref().clone(), tree });
        }
        match out.is_empty() {
            false => Ok(out),
            true => Err(self.source.error("the operator exists for no type", d.rust.span()).help(
                match (result, no_generic) {
                    (ResultRule::Float, _) => "its result is a float: give `float = \"…\"`",
                    (_, true) => "all its arguments have types of their own: give `all = \"…\"`",
                    _ => "give e.g. `float = \"a + b\"`, `integer = \"a.wrapping_add(b)\"`",
                },
            )),
        }
    }

    /// What must fit the number of arguments and their types.
    fn shape(&self, op: &Operator, d: &Declaration) -> Result<()> {
        // Parameters are the same on both sides.
        let operands = op.arity() - op.parameters;
        let same = op.arguments.windows(2).all(|w| w[0].exact == w[1].exact);
        let closed = same
            && match op.arguments[0].exact {
                None => op.result != ResultRule::Bool || op.types().all(|t| t == ValueType::Bool),
                Some(t) => op.types().all(|g| {
                    (if op.result == ResultRule::Bool { ValueType::Bool } else { g }) == t
                }),
            };
        for (property, place) in &op.properties {
            let (fits, help) = match property {
                Property::Commutative => {
                    (operands == 2 && same, "two arguments of one type can be exchanged")
                }
                Property::Associative => {
                    (operands == 2 && closed, "it needs two arguments, of the result's type")
                }
                Property::Idempotent => (closed, "the result must have the arguments' type"),
                Property::Additive(k) => (
                    op.arguments[*k].exact.is_none() && op.result != ResultRule::Bool,
                    "it needs an argument of the result's type",
                ),
            };
            if !fits {
                return Err(self
                    .source
                    .error(format!("`{}` cannot be {}", op.name, property.as_str()), place.clone())
                    .help(help));
            }
        }
        if let Some(variadic) = d.variadic.as_ref().filter(|v| *v.get_ref())
            && !(op.is_associative() && op.parameters == 0)
        {
            return Err(self
                .source
                .error("only associative operators take any number of arguments", variadic.span())
                .help(
                    "f(a, b, c) is f(f(a, b), c): add `associative = true`, or remove `variadic`",
                ));
        }
        Ok(())
    }

    fn argument(&self, op: &Operator, text: &Text) -> Result<usize> {
        let names = || op.arguments.iter().map(|a| a.name.as_str());
        names().position(|n| n == text.get_ref()).ok_or_else(|| {
            let near = nearest(text.get_ref(), names());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            self.source
                .error(format!("there is no argument `{}`", text.get_ref()), text.span())
                .help(format!("{near}the arguments are {}", names().collect::<Vec<_>>().join(", ")))
        })
    }

    fn cases(&self, d: &Declaration, op: &Operator) -> Result<Vec<Case>> {
        let mut out = Vec::new();
        for element in &d.identity {
            if op.arity() != 2 {
                return Err(self
                    .source
                    .error("only operators of two arguments have an identity", element.span())
                    .help(
                        "use `[[fill]]` to say what the operator is when an argument has a value",
                    ));
            }
            out.extend(self.elements(op, element, CaseKind::Identity)?);
        }
        for element in &d.annihilator {
            out.extend(self.elements(op, element, CaseKind::Annihilator)?);
        }
        for fill in &d.fill {
            let f = fill.get_ref();
            let gives = match f.result.get_ref() {
                toml::Value::String(s) if s != "greatest" && s != "least" => {
                    Gives::Argument(self.argument(op, &Spanned::new(f.result.span(), s.clone()))?)
                }
                _ => Gives::Value(Number::new(self.source, &f.result)?),
            };
            out.push(Case {
                kind: CaseKind::Fill,
                argument: self.argument(op, &f.argument)?,
                value: Number::new(self.source, &f.value)?,
                gives,
                ieee: f.ieee.unwrap_or(true),
                place: fill.span(),
            });
        }
        for case in &out {
            self.values_exist(op, case)?;
        }
        Ok(out)
    }

    /// The cases of an identity or annihilator: one for each argument that it is for.
    fn elements(
        &self,
        op: &Operator,
        element: &Spanned<Element>,
        kind: CaseKind,
    ) -> Result<Vec<Case>> {
        let e = element.get_ref();
        let value = Number::new(self.source, &e.value)?;
        let positions: Vec<usize> = match &e.arguments {
            None => (0..op.arity()).collect(),
            Some(names) => names.iter().map(|n| self.argument(op, n)).collect::<Result<_>>()?,
        };
        let case = |argument: usize| Case {
            kind,
            argument,
            value: value.clone(),
            gives: match kind {
                CaseKind::Identity => Gives::Argument(1 - argument),
                _ => Gives::Value(value.clone()),
            },
            ieee: e.ieee.unwrap_or(true),
            place: element.span(),
        };
        Ok(positions.into_iter().map(case).collect())
    }

    /// Every type that a value is said for has it, and what a case gives is of the result's type.
    fn values_exist(&self, op: &Operator, case: &Case) -> Result<()> {
        let missing = |number: &Number, generic: ValueType, t: ValueType| {
            let said = number.said(generic).is_some() || number.said(t).is_some();
            said && number.value(t).is_none()
        };
        for generic in op.types() {
            let argument = op.arguments[case.argument].exact.unwrap_or(generic);
            let result = match op.result {
                ResultRule::Bool => ValueType::Bool,
                ResultRule::Same | ResultRule::Float => generic,
            };
            let mut wrong = missing(&case.value, generic, argument).then_some(argument);
            match &case.gives {
                Gives::Value(number) if missing(number, generic, result) => wrong = Some(result),
                Gives::Argument(m) if op.arguments[*m].exact.unwrap_or(generic) != result => {
                    let name = &op.arguments[*m].name;
                    return Err(self
                        .source
                        .error(
                            format!("argument `{name}` is not of the result's type"),
                            case.place.clone(),
                        )
                        .help("give a value as the result"));
                }
                _ => {}
            }
            if let Some(t) = wrong {
                return Err(self
                    .source
                    .error(format!("this value does not exist in {t}"), case.place.clone())
                    .help(
                        "give values by type, and none for types without the property: \
                         value = { float = inf, integer = \"greatest\" }",
                    ));
            }
        }
        Ok(())
    }

    fn definitions(
        &self,
        d: &Declaration,
        arguments: &[Argument],
        result: ResultRule,
        bodies: &[Body],
    ) -> Result<Vec<Definition>> {
        let Some(declared) = &d.definition else { return Ok(Vec::new()) };
        let table: Vec<(&str, &str)> = match declared.get_ref() {
            OneOrTable::One(text) => vec![("all", text.as_str())],
            OneOrTable::Table(table) => {
                table.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect()
            }
        };
        check_types(self.source, table.iter().map(|(k, _)| (*k, declared.span())))?;
        let mut out: Vec<Definition> = Vec::new();
        for body in bodies {
            let sort = sort_of(body.generic);
            let narrowest = table
                .iter()
                .filter_map(|(k, v)| Some((narrowness(k, body.generic)?, *v)))
                .min_by_key(|(n, _)| *n);
            let Some((_, text)) = narrowest else { continue };
            if out.iter().any(|d| d.sort == sort) {
                continue;
            }
            let variables: Vec<(&str, Sort)> = arguments
                .iter()
                .map(|a| (a.name.as_str(), sort_of(a.exact.unwrap_or(body.generic))))
                .collect();
            let wanted = if result == ResultRule::Bool { Sort::Truth } else { sort };
            let term = definition::parse(text, &variables, wanted)
                .map_err(|e| self.in_string(declared.span(), text, e))?;
            out.push(Definition { sort, text: text.to_string(), term });
        }
        Ok(out)
    }

    /// Points into the first occurrence of `text` within `place`.
    fn in_string(
        &self,
        place: Range<usize>,
        text: &str,
        mut e: Box<Diagnostic>,
    ) -> Box<Diagnostic> {
        let raw = self.source.text.get(place.clone()).unwrap_or_default();
        let (inner, label) = e.span.take().unwrap_or((0..text.len(), "here".into()));
        let at = match raw.find(text).filter(|_| !text.is_empty()) {
            Some(start) => place.start + start + inner.start..place.start + start + inner.end,
            None => place,
        };
        e.at(at, label).within(&self.source.name, &self.source.text)
    }

    fn iteration(
        &self,
        d: &Declaration,
        arguments: &[Argument],
        bodies: &[Body],
    ) -> Result<Option<Iteration>> {
        let Some(declared) = &d.iteration else { return Ok(None) };
        let i = declared.get_ref();
        let variables: Vec<(&str, Sort)> =
            arguments.iter().map(|a| (a.name.as_str(), Sort::Truth)).collect();
        let term = definition::parse(i.region.get_ref(), &variables, Sort::Truth)
            .map_err(|e| self.source.lift(i.region.get_ref(), i.region.span(), e))?;
        let region = points(&term, arguments).ok_or_else(|| {
            self.source
                .error("an iteration algebra has names of arguments, and, or, not", i.region.span())
                .help("e.g. `region = \"a and not b\"`: where a has another value than its fill, and b has not")
        })?;
        let values: Vec<Spanned<toml::Value>> = match i.fill.get_ref() {
            toml::Value::Array(v) => {
                v.iter().map(|x| Spanned::new(i.fill.span(), x.clone())).collect()
            }
            one => vec![Spanned::new(i.fill.span(), one.clone()); arguments.len()],
        };
        if values.len() != arguments.len() {
            return Err(self
                .source
                .error(
                    format!("these are {} fills, of {} arguments", values.len(), arguments.len()),
                    i.fill.span(),
                )
                .help("give one for each argument, or one for all: `fill = 0`"));
        }
        let fills: Vec<Number> =
            values.iter().map(|v| Number::new(self.source, v)).collect::<Result<_>>()?;
        for body in bodies {
            for (number, argument) in fills.iter().zip(arguments) {
                let t = argument.exact.unwrap_or(body.generic);
                if number.said(t).is_some() && number.value(t).is_none() {
                    return Err(self
                        .source
                        .error(format!("this fill does not exist in {t}"), i.fill.span())
                        .help(
                            "give fills by type: fill = { float = inf, integer = \"greatest\" }",
                        ));
                }
            }
        }
        Ok(Some(Iteration {
            region,
            text: i.region.get_ref().clone(),
            fills,
            place: declared.span(),
        }))
    }
}

/// The numbers that a definition speaks of for a type.
pub(super) fn sort_of(t: ValueType) -> Sort {
    match t {
        t if t.is_float() => Sort::Real,
        t if is_integer(t) => Sort::Integer,
        _ => Sort::Truth,
    }
}

fn points(term: &crate::prover::arithmetic::Term, arguments: &[Argument]) -> Option<Points> {
    use crate::prover::arithmetic::Term;
    let inner = |t: &Term| Some(Box::new(points(t, arguments)?));
    Some(match term {
        Term::Variable(name, _) => {
            Points::Argument(arguments.iter().position(|a| a.name == **name)?)
        }
        Term::Not(x) => Points::Not(inner(x)?),
        Term::And(a, b) => Points::And(inner(a)?, inner(b)?),
        Term::Or(a, b) => Points::Or(inner(a)?, inner(b)?),
        _ => return None,
    })
}
