//! The points of a conjunction over concrete arrays, one by one.
//!
//! In: the [`Step`]s by which the variables are found, and a [`Scope`] that gives sizes and arrays.
//! Out: every assignment of the variables. Decoding a tensor and checking a formula on data are
//! both this.

use std::ops::ControlFlow;

use indexmap::IndexMap;

use super::index_data::IndexData;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{
    Affine, Arith, Arrays, Condition, Fault, Formula, Linear, Name, Names, Relop, Unresolved,
};
use crate::layout::visit::{Bound, Step};

/// An index array with the extents that linearise its arguments.
#[derive(Clone, Debug)]
struct ArrayView<'a> {
    name: Name,
    data: &'a IndexData,
    /// Row-major extents of the arguments.
    shape: Vec<i64>,
}

impl ArrayView<'_> {
    fn offset(&self, args: impl Iterator<Item = Result<i64, Fault>>) -> Result<i64, Fault> {
        let mut at = 0i64;
        for (k, arg) in args.enumerate() {
            let extent = self.shape.get(k).copied().unwrap_or(1);
            let row = at.checked_mul(if k == 0 { 1 } else { extent });
            at = row.and_then(|row| row.checked_add(arg.ok()?)).ok_or(Fault::Overflow)?;
        }
        Ok(at)
    }
}

/// What names mean: sizes have values, index arrays have elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope<'a> {
    pub sizes: IndexMap<Name, i64>,
    arrays: Vec<ArrayView<'a>>,
}

impl<'a> Scope<'a> {
    pub fn new(sizes: IndexMap<Name, i64>) -> Self {
        Scope { sizes, arrays: Vec::new() }
    }

    pub fn add_array(&mut self, name: &Name, data: &'a IndexData, shape: Vec<i64>) {
        self.arrays.push(ArrayView { name: name.clone(), data, shape });
    }

    fn array(&self, name: &str) -> Option<usize> {
        self.arrays.iter().position(|a| &*a.name == name)
    }

    /// The value of an expression over sizes and arrays; `None` if it has none.
    pub fn value(&self, e: &Arith) -> Option<i64> {
        self.value_with(e, &|_| None)
    }

    /// [`Scope::value`] with variables.
    pub fn value_with(&self, e: &Arith, variable: &impl Fn(&str) -> Option<i64>) -> Option<i64> {
        let variable = |n: &str| variable(n).or_else(|| self.sizes.get(n).copied());
        let element =
            |f: &str, at: &[i64]| self.element_at(self.array(f)?, at.iter().map(|&a| Ok(a))).ok();
        e.value(&(variable, element))
    }

    /// Numbers the variables of `e`; a name that is neither variable nor size is refused.
    pub fn compile(&self, e: &Affine, variables: &[Name]) -> Result<Linear> {
        Linear::new(e, &InScope { scope: self, variables }).map_err(unresolved)
    }

    /// [`Scope::compile`] for a formula.
    pub fn condition(&self, formula: &Formula, variables: &[Name]) -> Result<Condition> {
        Condition::new(formula, &InScope { scope: self, variables }).map_err(unresolved)
    }

    /// The value of a compiled form at the given variables.
    pub fn eval(&self, e: &Linear, slots: &[i64]) -> Result<i64, Fault> {
        e.value(self, slots)
    }

    /// The number of the element of `array` at these arguments; `None` if there is no such number.
    pub fn offset(&self, array: &str, args: &[i64]) -> Option<i64> {
        let view = &self.arrays[self.array(array)?];
        view.offset(args.iter().map(|&arg| Ok(arg))).ok()
    }

    /// The fault in words.
    pub fn diagnose(&self, fault: Fault) -> Box<Diagnostic> {
        match fault {
            Fault::Outside { array, at } => {
                let view = &self.arrays[array];
                Diagnostic::new(
                    Code::Property,
                    format!(
                        "element {at} of index array `{}` is needed, but it has {} elements",
                        view.name,
                        view.data.len()
                    ),
                )
                .help("the index arrays contradict each other: check how they were made")
            }
            Fault::Overflow => {
                Diagnostic::new(Code::Property, "an index computed from the arrays exceeds 64 bits")
                    .help("the index arrays hold numbers that are no positions")
            }
        }
    }
}

impl Arrays for Scope<'_> {
    fn element(&self, array: usize, at: i64) -> Result<i64, Fault> {
        let data = self.arrays[array].data;
        match usize::try_from(at) {
            Ok(k) if k < data.len() => Ok(data.get(k)),
            _ => Err(Fault::Outside { array, at }),
        }
    }

    fn elements(&self, array: usize, at: &mut [i64]) -> Result<(), Fault> {
        fn all<T: Copy>(
            data: &[T],
            array: usize,
            at: &mut [i64],
            number: impl Fn(T) -> i64,
        ) -> Result<(), Fault> {
            at.iter_mut().try_for_each(|x| {
                let element = usize::try_from(*x).ok().and_then(|k| data.get(k));
                *x = number(*element.ok_or(Fault::Outside { array, at: *x })?);
                Ok(())
            })
        }
        match self.arrays[array].data {
            IndexData::U32(data) => all(data, array, at, i64::from),
            IndexData::U64(data) => all(data, array, at, |x| x as i64),
            IndexData::I32(data) => all(data, array, at, i64::from),
            IndexData::I64(data) => all(data, array, at, |x| x),
        }
    }

    fn element_at(
        &self,
        array: usize,
        args: impl Iterator<Item = Result<i64, Fault>>,
    ) -> Result<i64, Fault> {
        self.element(array, self.arrays[array].offset(args)?)
    }
}

/// The names of a scope with variables, which hide sizes.
struct InScope<'s, 'a> {
    scope: &'s Scope<'a>,
    variables: &'s [Name],
}

impl Names for InScope<'_, '_> {
    fn slot(&self, name: &Name) -> Option<usize> {
        self.variables.iter().position(|v| v == name)
    }

    fn size(&self, name: &Name) -> Option<i64> {
        self.scope.sizes.get(name).copied()
    }

    fn array(&self, name: &Name) -> Option<usize> {
        self.scope.array(name)
    }
}

fn unresolved(why: Unresolved) -> Box<Diagnostic> {
    match why {
        Unresolved::Name(name) => unknown(&name),
        Unresolved::Overflow => Diagnostic::new(Code::Shape, "a size exceeds 64 bits"),
    }
}

fn unknown(name: &Name) -> Box<Diagnostic> {
    Diagnostic::new(Code::LayoutSchema, format!("`{name}` has no value here"))
        .help("declare it as an index array or a parameter of the layout")
}

#[derive(Clone, Debug)]
pub(super) struct CompiledBound {
    pub rest: Linear,
    coefficient: i64,
}

impl CompiledBound {
    /// The least number that the bound allows, `rest` being so much: `k*x + rest >= 0`, `k > 0` says that
    /// `x >= ceil(-rest/k) = -floor(rest/k)`.
    pub fn least(&self, rest: i64) -> i64 {
        rest.div_euclid(self.coefficient).saturating_neg()
    }

    /// The greatest.
    pub fn greatest(&self, rest: i64) -> i64 {
        rest.div_euclid(self.coefficient.saturating_neg())
    }
}

#[derive(Clone, Debug)]
pub(super) enum CompiledStep {
    Solve { slot: usize, value: Linear },
    Loop { slot: usize, lower: Vec<CompiledBound>, upper: Vec<CompiledBound> },
    Check(Linear, Relop),
}

/// How to visit the points of a conjunction.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    pub(super) variables: usize,
    pub(super) steps: Vec<CompiledStep>,
    bisects: bool,
}

/// Ranges that are not longer are not bisected.
const SHORT: i64 = 32;
/// What is compared along a range is taken to be in order if it is at so many places.
const PROBES: i64 = 8;

/// Why a visit ended early.
pub(crate) enum Stop<B> {
    /// With the values of the variables so far.
    Fault(Fault, Vec<i64>),
    Asked(B),
    /// After as many rounds of loops as were allowed.
    Rounds,
}

impl<B> Stop<B> {
    pub(super) fn fault(fault: Fault) -> Self {
        Stop::Fault(fault, Vec::new())
    }
}

impl Points {
    /// Prepares a visit by `steps`.
    pub fn new(scope: &Scope<'_>, variables: &[Name], steps: &[Step]) -> Result<Points> {
        let slot = |x: &Name| variables.iter().position(|v| v == x).ok_or_else(|| unknown(x));
        let compile = |e: &Affine| scope.compile(e, variables);
        let bounds = |list: &[Bound]| -> Result<Vec<CompiledBound>> {
            let one = |b: &Bound| {
                Ok(CompiledBound { rest: compile(&b.rest)?, coefficient: b.coefficient })
            };
            list.iter().map(one).collect()
        };
        let steps: Result<Vec<CompiledStep>> = steps
            .iter()
            .map(|step| {
                Ok(match step {
                    Step::Solve { variable, value } => {
                        CompiledStep::Solve { slot: slot(variable)?, value: compile(value)? }
                    }
                    Step::Loop { variable, lower, upper } => CompiledStep::Loop {
                        slot: slot(variable)?,
                        lower: bounds(lower)?,
                        upper: bounds(upper)?,
                    },
                    Step::Check(c) => CompiledStep::Check(compile(&c.affine)?, c.relop),
                })
            })
            .collect();
        Ok(Points { variables: variables.len(), steps: steps?, bisects: false })
    }

    /// The same points, sooner: a loop whose variable is compared at once is bisected if what it is compared with seems
    /// to be in order along its range. Where that is in no order, points may be missed.
    pub fn bisecting(self) -> Points {
        Points { bisects: true, ..self }
    }

    /// Calls `visit` at every point, with the values of the variables.
    pub fn visit<B>(
        &self,
        scope: &Scope<'_>,
        visit: &mut impl FnMut(&[i64]) -> ControlFlow<B>,
    ) -> Result<(), Stop<B>> {
        self.visit_some(scope, u64::MAX, visit)
    }

    /// [`Points::visit`], for at most so many rounds of loops.
    pub fn visit_some<B>(
        &self,
        scope: &Scope<'_>,
        mut rounds: u64,
        visit: &mut impl FnMut(&[i64]) -> ControlFlow<B>,
    ) -> Result<(), Stop<B>> {
        let mut slots = vec![0; self.variables];
        match self.run(scope, &self.steps, &mut slots, &mut rounds, visit) {
            Err(Stop::Fault(fault, _)) => Err(Stop::Fault(fault, slots)),
            end => end,
        }
    }

    fn run<B>(
        &self,
        scope: &Scope<'_>,
        steps: &[CompiledStep],
        slots: &mut [i64],
        rounds: &mut u64,
        visit: &mut impl FnMut(&[i64]) -> ControlFlow<B>,
    ) -> Result<(), Stop<B>> {
        for (at, step) in steps.iter().enumerate() {
            match step {
                CompiledStep::Check(e, relop) => {
                    let value = scope.eval(e, slots).map_err(Stop::fault)?;
                    if !relop.holds(value) {
                        return Ok(());
                    }
                }
                CompiledStep::Solve { slot, value } => {
                    slots[*slot] = scope.eval(value, slots).map_err(Stop::fault)?;
                }
                CompiledStep::Loop { slot, lower, upper } => {
                    let (mut first, mut last) = (i64::MIN, i64::MAX);
                    for b in lower {
                        let rest = scope.eval(&b.rest, slots).map_err(Stop::fault)?;
                        first = first.max(b.least(rest));
                    }
                    for b in upper {
                        let rest = scope.eval(&b.rest, slots).map_err(Stop::fault)?;
                        last = last.min(b.greatest(rest));
                    }
                    if self.bisects
                        && let Some(CompiledStep::Check(e, Relop::Eq)) = steps.get(at + 1)
                    {
                        let value = |x: i64| {
                            slots[*slot] = x;
                            scope.eval(e, slots)
                        };
                        (first, last) = zeros(first, last, value).map_err(Stop::fault)?;
                    }
                    let mut x = first;
                    while x <= last {
                        slots[*slot] = x;
                        *rounds = rounds.checked_sub(1).ok_or(Stop::Rounds)?;
                        self.run(scope, &steps[at + 1..], slots, rounds, visit)?;
                        let Some(next) = x.checked_add(1) else { break };
                        x = next;
                    }
                    return Ok(());
                }
            }
        }
        match visit(slots) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(b) => Err(Stop::Asked(b)),
        }
    }
}

/// The part of `first..=last` where `value` may be 0: all of it if it is short, or not in order at some places.
fn zeros(
    first: i64,
    last: i64,
    mut value: impl FnMut(i64) -> Result<i64, Fault>,
) -> Result<(i64, i64), Fault> {
    let length = match last.checked_sub(first) {
        Some(length) if length > SHORT && last < i64::MAX => length,
        _ => return Ok((first, last)),
    };
    let places = (0..=PROBES).map(|k| value(first + length / PROBES * k));
    let places: Vec<i64> = places.collect::<Result<_, _>>()?;
    let falls = match (places.is_sorted(), places.is_sorted_by(|a, b| a >= b)) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return Ok((first, last)),
    };
    // The first place that something does not hold of any more.
    let mut end_of = |before: fn(i64) -> bool| {
        let (mut from, mut to) = (first, last + 1);
        while from < to {
            let middle = from + (to - from) / 2;
            let it = value(middle)?;
            match before(if falls { it.saturating_neg() } else { it }) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        Ok(from)
    };
    Ok((end_of(|it| it < 0)?, end_of(|it| it <= 0)? - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;
    use crate::layout::visit;

    fn points(scope: &Scope<'_>, variables: &[&str], text: &str) -> Result<Vec<Vec<i64>>, Name> {
        let variables: Vec<Name> = variables.iter().map(|&v| Name::from(v)).collect();
        let constraints = parse::formula(text).unwrap().as_conjunction().unwrap();
        let steps = visit::steps(&variables, &constraints)?;
        let plan = Points::new(scope, &variables, &steps).unwrap();
        let mut out = Vec::new();
        let end = plan.visit::<()>(scope, &mut |p| {
            out.push(p.to_vec());
            ControlFlow::Continue(())
        });
        assert!(end.is_ok());
        Ok(out)
    }

    #[test]
    fn compressed_rows_are_visited_in_storage_order() {
        let (pos, crd) = (IndexData::U32(vec![0, 2, 2, 3]), IndexData::U32(vec![1, 3, 0]));
        let mut scope = Scope::default();
        scope.sizes.insert("I".into(), 3);
        scope.add_array(&"pos".into(), &pos, vec![4]);
        scope.add_array(&"crd".into(), &crd, vec![3]);
        let text = "0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1)";
        let found = points(&scope, &["p0", "p1", "i", "j"], text).unwrap();
        assert_eq!(found, [[0, 0, 0, 1], [0, 1, 0, 3], [2, 2, 2, 0]]);
    }

    #[test]
    fn bounds_round_towards_the_points() {
        let scope = Scope::default();
        let of = |text| points(&scope, &["x"], text).unwrap().concat();
        assert_eq!(of("3*x >= -4 and 2*x <= 5"), [-1, 0, 1, 2]);
        assert_eq!(of("3*x = 6"), [2]);
        assert_eq!(of("3*x = 7"), [0; 0]);
        assert_eq!(of("0 <= x <= 4 and x != 2 and floor(x/2) = 1"), [3]);
        assert_eq!(points(&scope, &["x", "y"], "0 <= x <= 1 and y >= x").unwrap_err(), "y".into());
    }

    #[test]
    fn what_is_in_order_is_bisected() {
        let rising: Vec<i64> = (0..1000).map(|k| k / 3).collect();
        for (elements, sought) in [
            (rising.clone(), 7),
            (rising.iter().rev().copied().collect(), 7),
            (rising.clone(), 0),
            (rising.clone(), 333),
            (rising, 400),
            ((0..1000).map(|k| k % 7).collect(), 5),
            (vec![5; 1000], 5),
        ] {
            let crd = IndexData::I64(elements);
            let mut scope = Scope::default();
            scope.sizes.insert("s".into(), sought);
            scope.add_array(&"crd".into(), &crd, vec![1000]);
            let constraints = parse::formula("0 <= p < 1000 and crd(p) = s").unwrap();
            let variables = ["p".into()];
            let steps = visit::steps(&variables, &constraints.as_conjunction().unwrap()).unwrap();
            let plan = Points::new(&scope, &variables, &steps).unwrap();
            let all = |plan: &Points| {
                let mut out = Vec::new();
                let end = plan.visit::<()>(&scope, &mut |p| {
                    out.push(p[0]);
                    ControlFlow::Continue(())
                });
                assert!(end.is_ok());
                out
            };
            assert_eq!(all(&plan.clone().bisecting()), all(&plan), "{sought} in {crd:?}");
        }
    }

    #[test]
    fn an_access_outside_an_array_is_a_fault_not_a_panic() {
        let crd = IndexData::I64(vec![1, -3]);
        let mut scope = Scope::default();
        scope.add_array(&"crd".into(), &crd, vec![2]);
        let constraints = parse::formula("0 <= p <= 1 and x = crd(crd(p))").unwrap();
        let variables = ["p".into(), "x".into()];
        let steps = visit::steps(&variables, &constraints.as_conjunction().unwrap()).unwrap();
        let plan = Points::new(&scope, &variables, &steps).unwrap();
        let end = plan.visit::<()>(&scope, &mut |_| ControlFlow::Continue(()));
        let Err(Stop::Fault(fault, _)) = end else { panic!("a fault") };
        assert_eq!(fault, Fault::Outside { array: 0, at: -3 });
        assert!(scope.diagnose(fault).message.contains("element -3 of index array `crd`"));
    }
}
