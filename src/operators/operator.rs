//! Operators as stages see them: types, expressions, and the algebra that is claimed of them.

use std::fmt;
use std::sync::Arc;

use super::absent::Absent;
use super::eval::eval;
use super::expr::OpExpr;
use super::schema::{Number, Source};
use super::value::{Value, promote};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::prover::arithmetic::{Sort, Term};
use crate::tensor::ValueType;

/// A function of scalars, as its file declares it.
#[derive(Clone)]
pub struct Operator {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) symbol: Option<String>,
    pub(super) arguments: Vec<Argument>,
    pub(super) variadic: bool,
    pub(super) result: ResultRule,
    /// For each type that it has, in the order of [`ValueType::ALL`]: the text and the tree.
    pub(super) bodies: Vec<Body>,
    pub(super) properties: Vec<(Property, std::ops::Range<usize>)>,
    pub(super) inverse: Option<(String, std::ops::Range<usize>)>,
    pub(super) parameters: usize,
    pub(super) missing: Absent,
    pub(super) nothing: Absent,
    pub(super) by: Option<(String, std::ops::Range<usize>)>,
    pub(super) cases: Vec<Case>,
    pub(super) morphisms: Vec<Morphism>,
    pub(super) iteration: Option<Iteration>,
    pub(super) definitions: Vec<Definition>,
    pub(super) source: Arc<Source>,
}

/// What an argument is called, and what it is converted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name in expressions and claims.
    pub name: String,
    /// `None`: to the type in which all such arguments meet.
    pub exact: Option<ValueType>,
}

/// The type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultRule {
    /// That in which the arguments meet.
    Same,
    /// As `Same`, but integers and `bool` become `f64` before anything is computed.
    Float,
    /// `bool`
    Bool,
}

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub generic: ValueType,
    pub text: String,
    pub tree: OpExpr,
}

#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub sort: Sort,
    pub text: String,
    pub term: Term,
}

/// What holds for all arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// `f(a, b) = f(b, a)`
    Commutative,
    /// `f(f(a, b), c) = f(a, f(b, c))`, but for the rounding of floats.
    Associative,
    /// `f(a, a) = a`
    Idempotent,
    /// `f(a + c, b) = f(a, b) + f(c, b)`, for this argument, but for the rounding of floats.
    Additive(usize),
}

impl Property {
    /// The key of the declaration.
    pub fn as_str(self) -> &'static str {
        match self {
            Property::Commutative => "commutative",
            Property::Associative => "associative",
            Property::Idempotent => "idempotent",
            Property::Additive(_) => "additive",
        }
    }
}

/// What an operator makes of what is combined: `f(g(a, c), b) = h(f(a, b), f(c, b))`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Morphism {
    pub argument: usize,
    /// The name of `g`.
    pub of: (String, std::ops::Range<usize>),
    /// The name of `h`.
    pub to: (String, std::ops::Range<usize>),
    pub place: std::ops::Range<usize>,
}

/// Why a special case is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseKind {
    /// The value leaves the other argument as it is.
    Identity,
    /// The value makes the result that value.
    Annihilator,
    /// Any other case of `[[fill]]`.
    Fill,
}

/// What the operator is when one argument has a certain value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub kind: CaseKind,
    pub argument: usize,
    pub value: Number,
    pub gives: Gives,
    /// Holds for NaN and infinities, too.
    pub ieee: bool,
    pub place: std::ops::Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gives {
    Argument(usize),
    Value(Number),
}

/// A special case, for one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Special {
    /// Why.
    pub kind: CaseKind,
    /// The argument that has the value.
    pub argument: usize,
    /// The value, of the argument's type.
    pub value: Value,
    /// What the operator is then.
    pub result: SpecialResult,
    /// Whether it holds for floats whatever the other arguments are, NaN and infinities included.
    /// Always true for other types.
    pub ieee: bool,
}

/// What a special case gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpecialResult {
    /// The argument with this number.
    Argument(usize),
    /// A value, of the result's type.
    Value(Value),
}

/// Where the operator must be evaluated, if its arguments have these fills.
#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub region: Points,
    pub text: String,
    pub fills: Vec<Number>,
    pub place: std::ops::Range<usize>,
}

/// Points of a declared iteration algebra: where arguments hold other values than their fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Points {
    /// Where this argument does.
    Argument(usize),
    /// Where the inner one does not.
    Not(Box<Points>),
    /// Where both do.
    And(Box<Points>, Box<Points>),
    /// Where one does.
    Or(Box<Points>, Box<Points>),
}

impl Points {
    /// Whether a point is among them, given the arguments that differ from their fills there.
    pub fn contains(&self, differs: &[bool]) -> bool {
        match self {
            Points::Argument(k) => differs.get(*k).copied().unwrap_or(true),
            Points::Not(x) => !x.contains(differs),
            Points::And(a, b) => a.contains(differs) && b.contains(differs),
            Points::Or(a, b) => a.contains(differs) || b.contains(differs),
        }
    }
}

/// The types of one use of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What each argument is converted to.
    pub arguments: Vec<ValueType>,
    /// The type whose expression is used: `T`.
    pub generic: ValueType,
    /// The type of the result.
    pub result: ValueType,
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.name)
    }
}

/// By their declarations.
impl PartialEq for Operator {
    fn eq(&self, other: &Operator) -> bool {
        self.name == other.name && self.source.text == other.source.text
    }
}

impl Operator {
    /// The name, by which it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line about it.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Its spelling between two operands, or in front of one.
    pub fn symbol(&self) -> Option<&str> {
        self.symbol.as_deref()
    }

    /// The number of arguments; the least, if it is variadic.
    pub fn arity(&self) -> usize {
        self.arguments.len()
    }

    /// Whether it takes more arguments than [`Operator::arity`]: `f(a, b, c)` is `f(f(a, b), c)`.
    pub fn is_variadic(&self) -> bool {
        self.variadic
    }

    /// The arguments, in order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// The type rule of the result.
    pub fn result_rule(&self) -> ResultRule {
        self.result
    }

    /// The file, as it is.
    pub fn toml(&self) -> &str {
        &self.source.text
    }

    /// The types that it exists for.
    pub fn types(&self) -> impl Iterator<Item = ValueType> {
        self.bodies.iter().map(|b| b.generic)
    }

    /// Checks the number of arguments of a use.
    ///
    /// # Errors
    /// [`Code::Operator`] if it takes another.
    pub fn accepts(&self, arguments: usize) -> Result<()> {
        let n = self.arguments.len();
        if arguments == n || (arguments > n && self.variadic) {
            return Ok(());
        }
        let least = if self.variadic { "at least " } else { "" };
        let plural = if n == 1 { "" } else { "s" };
        Err(Diagnostic::new(
            Code::Operator,
            format!("`{}` has {least}{n} argument{plural}, not {arguments}", self.name),
        )
        .help(format!("write `{}({})`", self.name, self.argument_names().join(", "))))
    }

    fn argument_names(&self) -> Vec<&str> {
        self.arguments.iter().map(|a| a.name.as_str()).collect()
    }

    /// What arguments of these types are converted to, and the type of the result.
    ///
    /// `min` of `i32` and `f32` has two arguments of type `f64` and such a result.
    ///
    /// # Errors
    /// [`Code::Operator`] if the number of arguments is another, or it does not exist for the types.
    pub fn signature(&self, types: &[ValueType]) -> Result<Signature> {
        self.accepts(types.len())?;
        let mut generic = None;
        for (t, argument) in types.iter().zip(self.each_argument()) {
            match argument.exact {
                None => generic = Some(generic.map_or(*t, |g| promote(g, *t))),
                Some(ValueType::Bool) => {}
                Some(exact) if promote(*t, exact) == exact => {}
                Some(exact) => {
                    return Err(Diagnostic::new(
                        Code::Operator,
                        format!(
                            "argument `{}` of `{}` is {exact}, not {t}",
                            argument.name, self.name
                        ),
                    )
                    .help(format!("use a tensor of type {exact}, or of one that it holds")));
                }
            }
        }
        let mut generic = generic.unwrap_or(ValueType::Bool);
        if self.result == ResultRule::Float && !generic.is_float() {
            generic = ValueType::F64;
        }
        if self.body(generic).is_none() {
            let has: Vec<&str> = self.types().map(ValueType::as_str).collect();
            return Err(Diagnostic::new(
                Code::Operator,
                format!("`{}` does not exist for {generic}", self.name),
            )
            .help(format!("it exists for {}", has.join(", "))));
        }
        let arguments = self.each_argument().take(types.len());
        Ok(Signature {
            arguments: arguments.map(|a| a.exact.unwrap_or(generic)).collect(),
            generic,
            result: match self.result {
                ResultRule::Bool => ValueType::Bool,
                ResultRule::Same | ResultRule::Float => generic,
            },
        })
    }

    /// The types of a use whose arguments meet in a type.
    ///
    /// # Errors
    /// [`Code::Operator`] if it does not exist for the type.
    pub fn signature_of(&self, generic: ValueType) -> Result<Signature> {
        let types: Vec<ValueType> =
            self.arguments.iter().map(|a| a.exact.unwrap_or(generic)).collect();
        self.signature(&types)
    }

    /// The arguments; the last one again and again.
    fn each_argument(&self) -> impl Iterator<Item = &Argument> {
        let last = self.arguments.last();
        self.arguments.iter().chain(std::iter::repeat_with(move || last).flatten())
    }

    fn body(&self, generic: ValueType) -> Option<&Body> {
        self.bodies.iter().find(|b| b.generic == generic)
    }

    /// The expression for arguments that meet in a type ([`Signature::generic`]).
    pub fn rust(&self, generic: ValueType) -> Option<&OpExpr> {
        self.body(generic).map(|b| &b.tree)
    }

    /// The text that [`Operator::rust`] was read from.
    pub fn rust_text(&self, generic: ValueType) -> Option<&str> {
        self.body(generic).map(|b| b.text.as_str())
    }

    /// The value for these arguments, which are converted first. `None` if it does not exist for
    /// their types, or its loops do not end.
    pub fn eval(&self, arguments: &[Value]) -> Option<Value> {
        let types: Vec<ValueType> = arguments.iter().map(|v| v.value_type()).collect();
        let signature = self.signature(&types).ok()?;
        let values: Vec<Value> =
            arguments.iter().zip(&signature.arguments).map(|(v, t)| v.cast(*t)).collect();
        self.apply(signature.generic, &values)
    }

    /// The value for arguments that have the types of a [`Signature`]. `None` if they do not, or the
    /// operator's loops do not end.
    pub fn apply(&self, generic: ValueType, arguments: &[Value]) -> Option<Value> {
        let tree = self.rust(generic)?;
        let (first, rest) = arguments.split_at_checked(self.arguments.len())?;
        rest.iter().try_fold(eval(tree, first)?, |value, next| eval(tree, &[value, *next]))
    }

    /// Whether a sum in this argument may be taken apart: `f(a + c, b) = f(a, b) + f(c, b)`, but for the
    /// rounding of floats.
    pub fn is_additive_in(&self, argument: usize) -> bool {
        self.has(Property::Additive(argument.min(self.arguments.len() - 1)))
    }

    /// Whether the order in which values are combined by it does not matter.
    pub fn is_reduction(&self) -> bool {
        self.arity() == 2 && self.is_commutative() && self.is_associative()
    }

    /// Whether it is the sum: written `+`.
    pub fn is_sum(&self) -> bool {
        self.arity() == 2 && self.symbol() == Some("+")
    }

    /// What it means in mathematics, over the integers, reals or truth values; if that is declared.
    pub fn definition(&self, sort: Sort) -> Option<&str> {
        self.definitions.iter().find(|d| d.sort == sort).map(|d| d.text.as_str())
    }

    /// The declared iteration algebra, as text: arguments stand for the points at which they differ
    /// from their fills.
    pub fn iteration_text(&self) -> Option<&str> {
        self.iteration.as_ref().map(|i| i.text.as_str())
    }

    /// Whether it is claimed to have the property.
    pub fn has(&self, property: Property) -> bool {
        self.properties.iter().any(|(p, _)| *p == property)
    }

    /// `f(a, b) = f(b, a)`.
    pub fn is_commutative(&self) -> bool {
        self.has(Property::Commutative)
    }

    /// `f(f(a, b), c) = f(a, f(b, c))`, but for the rounding of floats.
    pub fn is_associative(&self) -> bool {
        self.has(Property::Associative)
    }

    /// Whether `f(g(a, c), b) = h(f(a, b), f(c, b))`, for an argument: of values that are combined by `g`, the operator
    /// may be taken before, if its results are combined by `h`, or behind.
    pub fn is_morphism_in(&self, argument: usize, of: &Operator, to: &Operator) -> bool {
        let is = |m: &Morphism| m.argument == argument && m.of.0 == of.name && m.to.0 == to.name;
        self.morphisms.iter().any(is)
    }

    /// `f(a, a) = a`.
    pub fn is_idempotent(&self) -> bool {
        self.has(Property::Idempotent)
    }

    /// The operator `g` with `g(f(a, b), b) = a`, or `g(f(a)) = a`; by its name.
    pub fn inverse(&self) -> Option<&str> {
        self.inverse.as_ref().map(|(name, _)| name.as_str())
    }

    /// All special cases for arguments that meet in a type, in the order of the file.
    pub fn specials(&self, generic: ValueType) -> Vec<Special> {
        let exists = self.body(generic).is_some();
        let argument_type = |k: usize| self.arguments[k].exact.unwrap_or(generic);
        let result = match self.result {
            ResultRule::Bool => ValueType::Bool,
            ResultRule::Same | ResultRule::Float => generic,
        };
        let of = |case: &Case| {
            // A table without the type says nothing of it.
            case.value.said(generic)?;
            Some(Special {
                kind: case.kind,
                argument: case.argument,
                value: case.value.value(argument_type(case.argument))?,
                result: match &case.gives {
                    Gives::Argument(m) => SpecialResult::Argument(*m),
                    Gives::Value(number) => SpecialResult::Value(number.value(result)?),
                },
                ieee: case.ieee || !generic.is_float(),
            })
        };
        if exists { self.cases.iter().filter_map(of).collect() } else { Vec::new() }
    }

    /// The value that leaves the other argument as it is, when it is argument number `position`.
    pub fn identity(&self, generic: ValueType, position: usize) -> Option<Value> {
        self.identity_case(generic, position).map(|s| s.value)
    }

    fn identity_case(&self, generic: ValueType, position: usize) -> Option<Special> {
        let mut all = self.specials(generic).into_iter();
        all.find(|s| s.kind == CaseKind::Identity && s.argument == position)
    }

    /// What elements begin with, if the first value that is combined into one may give another: it leaves finite numbers
    /// as they are, but not infinities and NaN.
    pub fn finite_beginning(&self, ty: ValueType) -> Option<Value> {
        self.identity_case(ty, 0).filter(|s| !s.ieee).map(|s| s.value)
    }

    /// What elements hold before anything is combined into them by it.
    ///
    /// # Errors
    /// [`Code::Operator`] if it has no identity of that type.
    pub fn beginning(&self, ty: ValueType) -> Result<Value> {
        self.identity(ty, 0).ok_or_else(|| {
            let what = format!("`{}` has nothing to begin with in type {ty}", self.name());
            Diagnostic::new(Code::Operator, what)
        })
    }

    /// The value that is the result when argument number `position` has it, and whether IEEE
    /// arithmetic grants that for floats.
    pub fn annihilator(&self, generic: ValueType, position: usize) -> Option<(Value, bool)> {
        let mut all = self.specials(generic).into_iter();
        let found = all.find(|s| s.kind == CaseKind::Annihilator && s.argument == position);
        found.map(|s| (s.value, s.ieee))
    }

    /// The declared iteration algebra for arguments with these fills: where an evaluation may give
    /// anything but what it gives for the fills. `None` if there is none for them.
    pub fn iteration(&self, fills: &[Value]) -> Option<&Points> {
        let iteration = self.iteration.as_ref()?;
        let fits = iteration.fills.len() == fills.len()
            && iteration
                .fills
                .iter()
                .zip(fills)
                .all(|(n, v)| n.value(v.value_type()).is_some_and(|n| n.same(*v)));
        fits.then_some(&iteration.region)
    }

    /// How a use looks: `a + b`, `-a`, `min(a, b)`.
    pub fn call_form(&self) -> String {
        let names: Vec<String> = self.arguments.iter().map(|a| a.name.clone()).collect();
        self.applied(&names)
    }

    /// The operator between or in front of texts.
    pub(super) fn applied(&self, parts: &[String]) -> String {
        let word = |s: &str| s.starts_with(|c: char| c.is_alphanumeric());
        match (self.symbol.as_deref(), parts) {
            (Some(s), [a, b]) => format!("{a} {s} {b}"),
            (Some(s), [a]) if word(s) => format!("{s} {a}"),
            (Some(s), [a]) => format!("{s}{a}"),
            _ => format!("{}({})", self.name, parts.join(", ")),
        }
    }
}

impl fmt::Display for ResultRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ResultRule::Same => "same",
            ResultRule::Float => "float",
            ResultRule::Bool => "bool",
        })
    }
}
