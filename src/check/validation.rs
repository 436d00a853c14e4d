//! What the validation of a tensor does: one list of passes, which the library interprets and which
//! generated modules print.
//!
//! ```text
//! validation := size* test*
//! size       := 'size' n '=' ('dimension' k | 'field' | 'length of' a | int)
//! test       := property ':' pass
//! pass       := 'length of' a '=' int                  fails at the length that is found
//!             | formula                                fails at 0
//!             | 'no' p 'of' span 'with' wrong          fails at the first such p
//!             | 'for all' step* ':' formula            fails at the first variable's value
//!             | 'each value is' literal                fails at the first other one
//!             | 'never'                                fails at 0
//! span       := a | 'each segment' s 'of' a            segment u is a[s[u]], …, a[s[u + 1] - 1]
//! wrong      := 'outside' [int] '..=' [int]
//!             | 'no position of a'
//!             | '(' a[p + k], … ')' ('<' | '<=' | '>' | '>=') '(' a[p + k], … ')'
//!             | 'reaching beyond' a                    p and p + 1 bound a segment that is not in a
//!             | 'again'                                a number that occurs twice
//!             | 'misplaced in tables of' int           a search would not find it
//! step       := x '=' affine | x 'in' max(bound, …) '..=' min(bound, …) | constraint
//! ```
//! Integers are `i64`, and checked: an expression that overflows or reads outside an array has no
//! value, and a test without a value has failed (`for all` at the first variable's value so far, which
//! starts as 0; others at 0). Sizes come in an order in which each uses only those before it; there are
//! no others than those that tests use. Tests come in an order in which each may rely on those before
//! it: arrays have their lengths when elements are read, and segments are within their arrays when they
//! are walked.
//!
//! ```text
//! crd strictly increasing within segments of pos
//! ```
//! becomes
//! ```text
//! crd is strictly increasing within each segment of pos:
//!   no p of each segment pos of crd with (crd[p]) >= (crd[p + 1])
//! ```

use crate::formula::{Affine, Arith, Constraint, Formula, Name, Relop};
use crate::layout::checks::Check;
use crate::layout::visit::Step;
use crate::layout::{Layout, Literal, SizeSource};

/// The passes over a tensor of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    pub sizes: Vec<Size>,
    pub tests: Vec<Test>,
}

/// A size that tests use.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    pub name: Name,
    pub source: SizeSource,
}

/// A property that is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The property, in words or as a formula.
    pub property: String,
    /// That it does not hold, in words.
    pub broken: String,
    pub help: &'static str,
    pub pass: Pass,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Pass {
    /// The array (or the values) has that many elements.
    Length { array: Name, len: Arith },
    /// A formula over sizes and single elements.
    Holds(Formula),
    /// No position of the span is wrong.
    None { span: Span, wrong: Wrong },
    /// The formula holds at all points that the steps visit.
    ForAll { formula: Formula, steps: Vec<Step>, conclusion: Formula },
    /// All values of the array are this one.
    Constant { values: Name, constant: Literal },
    /// The formula cannot be looked at: nothing bounds a variable.
    Never { formula: Formula, variable: Name },
}

/// All positions of an array, or those of each of its segments that is not empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub array: Name,
    pub segments: Option<Name>,
}

/// What no position `p` of a span may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// Its element is outside the inclusive bounds, which are over sizes.
    Outside { least: Option<Arith>, most: Option<Arith> },
    /// Its element is no position of the span's array.
    NoPosition,
    /// Tuples of elements compare like this. The last position of a span is not asked where a side
    /// is `ahead`.
    Compared { left: Side, relation: Relation, right: Side },
    /// The segment between its element and the next is not empty, and not within the array.
    Beyond { array: Name },
    /// Its number occurs again in the span. The first place of the least such number is found.
    Repeated,
    /// In tables of so many slots, a search would not find its coordinate.
    Misplaced { slots: Arith },
}

/// Elements of arrays at `p`, or at `p + 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub arrays: Vec<Name>,
    pub ahead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Lt,
    Le,
    Gt,
    Ge,
}

impl Relation {
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Relation::Lt => order.is_lt(),
            Relation::Le => order.is_le(),
            Relation::Gt => order.is_gt(),
            Relation::Ge => order.is_ge(),
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Lt => "<",
            Relation::Le => "<=",
            Relation::Gt => ">",
            Relation::Ge => ">=",
        }
    }
}

impl Validation {
    /// The passes over tensors of `layout`.
    pub fn of(layout: &Layout) -> Validation {
        let mut tests = Vec::new();
        for check in super::data_checks(layout) {
            lower(layout, check, &mut tests);
        }
        if let Some(constant) = layout.value.constant {
            let values = &layout.value.name;
            tests.push(Test {
                property: format!("every element of {values} is {constant}"),
                broken: format!("an element of {values} is not {constant}"),
                help: "store what has this value alone, or choose a layout with values",
                pass: Pass::Constant { values: values.clone(), constant },
            });
        }
        let sizes = sizes(layout, &tests);
        Validation { sizes, tests }
    }
}

const WRONG_ARRAYS: &str = "check how the index arrays were made";
const NO_ORDER: &str = "sort the entries, or choose a layout that does not declare an order";
const DUPLICATES: &str = "add up duplicates, or choose a layout that allows them";

fn lower(layout: &Layout, check: Check, tests: &mut Vec<Test>) {
    let test = |property: String, broken: String, help: &'static str, pass: Pass| Test {
        property,
        broken,
        help,
        pass,
    };
    let span = |array: &Name, segments: &Option<Name>| Span {
        array: array.clone(),
        segments: segments.clone(),
    };
    let side = |arrays: &[&Name], ahead| Side {
        arrays: arrays.iter().map(|a| (*a).clone()).collect(),
        ahead,
    };
    let within_each = |segments: &Option<Name>| match segments {
        Some(s) => format!(" within each segment of {s}"),
        None => String::new(),
    };
    let within_a = |segments: &Option<Name>| match segments {
        Some(s) => format!(" within a segment of {s}"),
        None => String::new(),
    };
    match check {
        Check::Length { array, len } => tests.push(test(
            format!("{array} has {len} elements"),
            format!("{array} does not have {len} elements"),
            "check that the arrays belong to the same tensor and that none is cut off",
            Pass::Length { array, len },
        )),
        Check::Range { array, lower, upper } => {
            let bounds = match (&lower, &upper) {
                (Some(lower), Some(upper)) => format!("in {lower} ..= {upper}"),
                (Some(lower), None) => format!("at least {lower}"),
                (None, Some(upper)) => format!("at most {upper}"),
                (None, None) => return,
            };
            let bound = |e: Option<Affine>| e.map(|e| Arith::from_affine(&e));
            tests.push(test(
                format!("every element of {array} is {bounds}"),
                format!("an element of {array} is out of range"),
                WRONG_ARRAYS,
                Pass::None {
                    span: span(&array, &None),
                    wrong: Wrong::Outside { least: bound(lower), most: bound(upper) },
                },
            ));
        }
        Check::Ordered { arrays, segments, strict, decreasing } => {
            let Some(first) = arrays.first() else { return };
            within(layout, &segments, first, tests);
            let strictly = if strict { "strictly " } else { "" };
            let way = if decreasing { "decreasing" } else { "increasing" };
            let subject = match arrays.as_slice() {
                [array] => format!("{array} is"),
                arrays => format!("({}) are", arrays.join(", ")),
            };
            let relation = match (strict, decreasing) {
                (true, false) => Relation::Ge,
                (false, false) => Relation::Gt,
                (true, true) => Relation::Le,
                (false, true) => Relation::Lt,
            };
            let all: Vec<&Name> = arrays.iter().collect();
            let wrong =
                Wrong::Compared { left: side(&all, false), relation, right: side(&all, true) };
            tests.push(test(
                format!("{subject} {strictly}{way}{}", within_each(&segments)),
                format!("{subject} not {strictly}{way}{}", within_a(&segments)),
                NO_ORDER,
                Pass::None { span: span(first, &segments), wrong },
            ));
        }
        Check::Injective { array, segments } => {
            within(layout, &segments, &array, tests);
            tests.push(test(
                format!("{array} holds no number twice{}", within_each(&segments)),
                format!("{array} holds a number twice{}", within_a(&segments)),
                DUPLICATES,
                Pass::None { span: span(&array, &segments), wrong: Wrong::Repeated },
            ));
        }
        Check::Permutation { array } => {
            let property = format!("{array} is a permutation");
            tests.push(test(
                property.clone(),
                format!("{array} is not a permutation"),
                "every number below the length must occur once",
                Pass::None { span: span(&array, &None), wrong: Wrong::NoPosition },
            ));
            tests.push(test(
                property,
                format!("{array} holds a number twice"),
                DUPLICATES,
                Pass::None { span: span(&array, &None), wrong: Wrong::Repeated },
            ));
        }
        Check::Disjoint { left, right, segments, strict, decreasing } => {
            let (relation, kind, adjective) = match strict {
                true => (Relation::Ge, "empty", "not empty"),
                false => (Relation::Gt, "reversed", "not reversed"),
            };
            tests.push(test(
                format!("each interval {left} .. {right} is {adjective}"),
                format!("the interval {left} .. {right} is {kind}"),
                WRONG_ARRAYS,
                Pass::None {
                    span: span(&left, &None),
                    wrong: Wrong::Compared {
                        left: side(&[&left], false),
                        relation,
                        right: side(&[&right], false),
                    },
                },
            ));
            within(layout, &segments, &left, tests);
            // The later interval starts before the earlier one ends.
            tests.push(test(
                format!("the intervals {left} .. {right} do not overlap{}", within_each(&segments)),
                format!("the intervals {left} .. {right} overlap{}", within_a(&segments)),
                WRONG_ARRAYS,
                Pass::None {
                    span: span(&left, &segments),
                    wrong: Wrong::Compared {
                        left: side(&[&left], !decreasing),
                        relation: Relation::Lt,
                        right: side(&[&right], decreasing),
                    },
                },
            ));
        }
        Check::Probing { array, slots } => tests.push(test(
            format!("{array} holds every coordinate once, with no empty slot from its home on"),
            format!("a search of {array} would not find its element"),
            "build the table by inserting coordinates one by one, without wrapping around",
            Pass::None { span: span(&array, &None), wrong: Wrong::Misplaced { slots } },
        )),
        // Sizes that are read from unsigned numbers.
        Check::Ground { formula } if is_evident(layout, &formula) => {}
        Check::Ground { formula } => {
            tests.push(test(
                formula.to_string(),
                format!("the property `{formula}` does not hold"),
                WRONG_ARRAYS,
                Pass::Holds(formula),
            ));
        }
        Check::ForAll { formula, steps, conclusion } => tests.push(test(
            formula.to_string(),
            format!("the property `{formula}` does not hold"),
            WRONG_ARRAYS,
            Pass::ForAll { formula, steps, conclusion },
        )),
        Check::Unbounded { formula, variable } => tests.push(test(
            formula.to_string(),
            format!("the property `{formula}` cannot be checked: nothing bounds `{variable}`"),
            "bound the variable in the premise of the property",
            Pass::Never { formula, variable },
        )),
    }
}

/// The test that segments are within their array, unless their range says so.
fn within(layout: &Layout, segments: &Option<Name>, array: &Name, tests: &mut Vec<Test>) {
    let Some(segments) = segments else { return };
    let pass = Pass::None {
        span: Span { array: segments.clone(), segments: None },
        wrong: Wrong::Beyond { array: array.clone() },
    };
    if tests.iter().any(|t| t.pass == pass || is_within(layout, &t.pass, segments, array)) {
        return;
    }
    tests.push(Test {
        property: format!("the segments of {segments} lie within {array}"),
        broken: format!("a segment of {segments} does not lie within {array}"),
        help: WRONG_ARRAYS,
        pass,
    });
}

/// Whether a test says that the bounds of segments are positions of the array, or its length.
fn is_within(layout: &Layout, pass: &Pass, segments: &Name, array: &Name) -> bool {
    let Pass::None { span, wrong: Wrong::Outside { least: Some(least), most: Some(most) } } = pass
    else {
        return false;
    };
    let len = layout.arrays.get(array).and_then(|a| a.len.to_affine().ok());
    span.array == *segments
        && least.to_affine().is_ok_and(|e| e.as_constant().is_some_and(|c| c >= 0))
        && len.is_some_and(|len| most.to_affine().is_ok_and(|most| most == len))
}

/// `size >= 0` of a size that is an unsigned number.
fn is_evident(layout: &Layout, formula: &Formula) -> bool {
    let Formula::Constraint(Constraint { affine, relop: Relop::Ge }) = formula else {
        return false;
    };
    let source = affine.as_var().and_then(|n| layout.size_source(n));
    source.is_some_and(|source| !matches!(source, SizeSource::Value(_)))
}

/// The sizes that tests use, directly or through each other, each after those that it uses.
fn sizes(layout: &Layout, tests: &[Test]) -> Vec<Size> {
    let mut out = Vec::new();
    for test in tests {
        test.pass.visit(&mut |e| names_of(layout, e, &mut |name| define(layout, name, &mut out)));
    }
    out
}

fn define(layout: &Layout, name: &Name, out: &mut Vec<Size>) {
    if out.iter().any(|size| size.name == *name) {
        return;
    }
    let Some(source) = layout.size_source(name) else { return };
    if let SizeSource::Value(value) = &source {
        names_of(layout, value, &mut |name| define(layout, name, out));
    }
    out.push(Size { name: name.clone(), source });
}

/// Calls `f` on every variable of `e`, and on those that say where the elements are that it reads.
fn names_of(layout: &Layout, e: &Arith, f: &mut dyn FnMut(&Name)) {
    match e {
        Arith::Int(_) => {}
        Arith::Var(name) => f(name),
        Arith::Call(array, args) => {
            let shape = layout.arrays.get(array).map_or(&[][..], |a| &a.shape);
            args.iter().chain(shape.iter().skip(1)).for_each(|e| names_of(layout, e, f));
        }
        _ => {
            if let Some((a, b)) = e.operands() {
                names_of(layout, a, f);
                names_of(layout, b, f);
            }
        }
    }
}

impl Pass {
    /// Calls `f` on every expression.
    fn visit(&self, f: &mut dyn FnMut(&Arith)) {
        let mut affine = |e: &Affine| f(&Arith::from_affine(e));
        match self {
            Pass::Length { len, .. } => f(len),
            Pass::Holds(formula) => formula.visit_affine(&mut affine),
            Pass::None { wrong: Wrong::Outside { least, most }, .. } => {
                least.iter().chain(most).for_each(f);
            }
            Pass::None { wrong: Wrong::Misplaced { slots }, .. } => f(slots),
            Pass::None { .. } | Pass::Constant { .. } | Pass::Never { .. } => {}
            Pass::ForAll { steps, conclusion, .. } => {
                steps.iter().for_each(|step| step.visit_affine(&mut affine));
                conclusion.visit_affine(&mut affine);
            }
        }
    }
}
