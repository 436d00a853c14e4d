//! Checking a tensor against the properties that its layout declares.
//!
//! In: a [`Tensor`] of any origin. Out: nothing, or the first property that does not hold, with
//! the index at which it fails and the values there: [`Validation`], interpreted. One pass over each
//! array for the common properties; a malformed array is an error, never a panic.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use super::disorder;
use super::index_data::{IndexData, with_index};
use super::number::Value;
use super::owners;
use super::points::{Points, Scope, Stop};
use super::tensor::{Tensor, shape};
use crate::check::is_proved_sound;
use crate::check::validation::{Pass, Side, Span, Test, Validation, Wrong};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Fault, Formula, Name};
use crate::layout::probing::{home_slot, misplaced};
use crate::layout::visit::Step;

/// A property that a tensor does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property, in words or as a formula.
    pub property: String,
    /// The first place where it does not hold.
    pub at: usize,
}

/// Where a test fails.
#[derive(Default)]
struct Place {
    at: usize,
    /// The other of two equal elements.
    twin: usize,
    segment: Option<usize>,
    /// Values of the variables of a formula.
    point: Vec<i64>,
    /// The formula has no value there.
    fault: Option<Fault>,
}

impl Tensor {
    /// Checks lengths, ranges and every declared property. Done once: a tensor that was found
    /// valid is not looked at again.
    ///
    /// # Errors
    /// [`Code::Property`] naming the property, the first offending index and the values.
    pub fn validate(&mut self) -> Result<()> {
        if self.is_validated() {
            return Ok(());
        }
        self.check_properties()?;
        self.mark_validated();
        Ok(())
    }

    /// [`Tensor::validate`] for a tensor that is only borrowed: nothing is remembered.
    ///
    /// # Errors
    /// As [`Tensor::validate`].
    pub fn check_properties(&self) -> Result<()> {
        self.check_those(|_| true)?;
        // What is not proved of all tensors is tried on this one.
        match is_proved_sound(self.layout()) {
            true => Ok(()),
            false => self.entries().map(drop),
        }
    }

    /// Only what positions depend on: of the values, how many there are.
    ///
    /// # Errors
    /// As [`Tensor::validate`].
    pub(crate) fn check_positions(&self) -> Result<()> {
        self.check_those(|pass| !matches!(pass, Pass::Constant { .. }))
    }

    /// Only the conditions on sizes and single elements, e.g. that a matrix is square.
    ///
    /// # Errors
    /// As [`Tensor::validate`].
    pub(crate) fn check_ground(&self) -> Result<()> {
        self.check_those(|pass| matches!(pass, Pass::Holds(_)))
    }

    fn check_those(&self, which: impl Fn(&Pass) -> bool) -> Result<()> {
        let scope = self.scope()?;
        let validation = Validation::of(self.layout());
        let mut tests = validation.tests.iter().filter(|test| which(&test.pass));
        tests.try_for_each(|test| self.check(&scope, test))
    }

    /// The first property that does not hold; modules refuse the same arrays in the same words.
    ///
    /// # Errors
    /// If the tensor's sizes cannot be computed.
    pub fn violation(&self) -> Result<Option<Violation>> {
        let scope = self.scope()?;
        for test in Validation::of(self.layout()).tests {
            if let Some(place) = self.find(&scope, &test)? {
                return Ok(Some(Violation { property: test.property, at: place.at }));
            }
        }
        Ok(None)
    }

    fn check(&self, scope: &Scope<'_>, test: &Test) -> Result<()> {
        match self.find(scope, test)? {
            None => Ok(()),
            Some(place) => {
                let owners = owners::of(self, scope, &self.elements_at(test, &place));
                Err(owners.into_iter().fold(self.refusal(scope, test, &place), Diagnostic::note))
            }
        }
    }

    fn array(&self, name: &Name) -> Result<&IndexData> {
        self.arrays().get(name).ok_or_else(|| {
            Diagnostic::new(Code::Property, format!("index array `{name}` is missing"))
        })
    }

    /// The elements of an index array, or of the values.
    fn length(&self, name: &Name) -> usize {
        self.arrays().get(name).map_or_else(|| self.stored(), IndexData::len)
    }

    /// Where the test fails first.
    fn find(&self, scope: &Scope<'_>, test: &Test) -> Result<Option<Place>> {
        let at = |at: usize| Some(Place { at, ..Place::default() });
        Ok(match &test.pass {
            Pass::Length { array, len } => {
                let found = self.length(array);
                let wanted = scope.value(len).and_then(|n| usize::try_from(n).ok());
                if wanted == Some(found) { None } else { at(found) }
            }
            Pass::Holds(formula) => match scope.condition(formula, &[])?.holds(scope, &[]) {
                Ok(true) => None,
                Ok(false) => at(0),
                Err(fault) => Some(Place { fault: Some(fault), ..Place::default() }),
            },
            Pass::None { span, wrong } => self.first_wrong(scope, span, wrong)?,
            Pass::ForAll { steps, conclusion, .. } => self.for_all(scope, steps, conclusion)?,
            Pass::Constant { constant, .. } => {
                let (values, constant) = (self.values(), Value::from(*constant));
                let other = |k: &usize| !Value::element(values, *k).same(constant);
                (0..values.len()).find(other).and_then(at)
            }
            Pass::Never { .. } => at(0),
        })
    }

    fn first_wrong(&self, scope: &Scope<'_>, span: &Span, wrong: &Wrong) -> Result<Option<Place>> {
        let data = self.array(&span.array)?;
        let twin = Cell::new(0);
        let found = match wrong {
            Wrong::Outside { least, most } => {
                let value = |e: &Option<Arith>, otherwise: i64| match e {
                    None => Some(otherwise),
                    Some(e) => scope.value(e),
                };
                let (Some(least), Some(most)) = (value(least, i64::MIN), value(most, i64::MAX))
                else {
                    return Ok(Some(Place { fault: Some(Fault::Overflow), ..Place::default() }));
                };
                self.in_span(
                    span,
                    |r| with_index!(data, v => disorder::outside(&v[r], least, most)),
                )?
            }
            Wrong::NoPosition => {
                let most = data.len() as i64 - 1;
                self.in_span(span, |r| with_index!(data, v => disorder::outside(&v[r], 0, most)))?
            }
            // Neighbours in one array, the usual case, are compared without looking at the type of
            // each element.
            Wrong::Compared { left, relation, right }
                if left.arrays == [span.array.clone()]
                    && left.arrays == right.arrays
                    && !left.ahead
                    && right.ahead =>
            {
                let relation = *relation;
                self.in_span(
                    span,
                    |r| with_index!(data, v => disorder::first_pair_that_is(&v[r], relation)),
                )?
            }
            Wrong::Compared { left, relation, right } => {
                let (left, right) = (self.side(left)?, self.side(right)?);
                let ahead = usize::from(left.1 > 0 || right.1 > 0);
                let mut pairs: Vec<_> = Vec::new();
                for (l, r) in left.0.iter().zip(&right.0) {
                    pairs.push((*l, *r));
                }
                let is_wrong = |k: usize| {
                    let order = pairs.iter().fold(Ordering::Equal, |order, (l, r)| {
                        order.then_with(|| l.get(k + left.1).cmp(&r.get(k + right.1)))
                    });
                    relation.holds(order)
                };
                self.in_span(span, |r| {
                    let start = r.start;
                    (start..r.end.saturating_sub(ahead)).find(|k| is_wrong(*k)).map(|k| k - start)
                })?
            }
            Wrong::Beyond { array } => {
                let n = self.length(array);
                let beyond = |k: &usize| {
                    let (start, end) = (data.get(*k), data.get(k + 1));
                    let inside = |x: i64| usize::try_from(x).is_ok_and(|x| x <= n);
                    start < end && !(inside(start) && inside(end))
                };
                (0..data.len().saturating_sub(1)).find(beyond).map(|k| (k, Some(k)))
            }
            Wrong::Repeated => self.in_span(span, |r| {
                let start = r.start;
                let (a, b) = with_index!(data, v => disorder::repeated(&v[r]))?;
                twin.set(start + b);
                Some(a)
            })?,
            Wrong::Misplaced { slots } => {
                let slots = scope.value(slots).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
                // Lengths were checked: the tables are whole.
                (0..data.len()).step_by(slots.max(1)).find_map(|start| {
                    let len = slots.min(data.len() - start);
                    let slot = misplaced(len, |slot| data.get(start + slot))?;
                    Some((start + slot, None))
                })
            }
        };
        Ok(found.map(|(at, segment)| Place { at, twin: twin.get(), segment, ..Place::default() }))
    }

    /// The arrays of a side, and how far ahead they are read.
    fn side(&self, side: &Side) -> Result<(Vec<&IndexData>, usize)> {
        let arrays: Result<Vec<&IndexData>> = side.arrays.iter().map(|n| self.array(n)).collect();
        Ok((arrays?, usize::from(side.ahead)))
    }

    /// The first place in the span that `find` finds in a range, and the number of its segment.
    fn in_span(
        &self,
        span: &Span,
        find: impl Fn(Range<usize>) -> Option<usize>,
    ) -> Result<Option<(usize, Option<usize>)>> {
        let n = self.length(&span.array);
        let Some(segments) = &span.segments else {
            return Ok(find(0..n).map(|at| (at, None)));
        };
        let bounds = self.array(segments)?;
        let found = with_index!(bounds, bounds => {
            bounds.windows(2).enumerate().find_map(|(u, ends)| {
                // An earlier test has found them to be within the array.
                let (start, end) = (ends[0] as usize, (ends[1] as usize).min(n));
                if ends[0] >= ends[1] || start >= end {
                    return None;
                }
                find(start..end).map(|at| (start + at, Some(u)))
            })
        });
        Ok(found)
    }

    fn for_all(
        &self,
        scope: &Scope<'_>,
        steps: &[Step],
        conclusion: &Formula,
    ) -> Result<Option<Place>> {
        let variables = variables(steps);
        let points = Points::new(scope, &variables, steps)?;
        let condition = scope.condition(conclusion, &variables)?;
        let end = points.visit(scope, &mut |point| match condition.holds(scope, point) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break((None, point.to_vec())),
            Err(fault) => ControlFlow::Break((Some(fault), point.to_vec())),
        });
        let (fault, point) = match end {
            Ok(()) | Err(Stop::Rounds) => return Ok(None),
            Err(Stop::Fault(fault, point)) => (Some(fault), point),
            Err(Stop::Asked(asked)) => asked,
        };
        let at = point.first().and_then(|&x| usize::try_from(x).ok()).unwrap_or(0);
        Ok(Some(Place { at, point, fault, ..Place::default() }))
    }

    /// The elements of index arrays that the test compares at the place.
    fn elements_at(&self, test: &Test, place: &Place) -> Vec<(Name, usize)> {
        let Pass::None { span, wrong } = &test.pass else { return Vec::new() };
        let side = |side: &Side| {
            let at = place.at + usize::from(side.ahead);
            side.arrays.iter().map(move |name| (name.clone(), at)).collect::<Vec<_>>()
        };
        match wrong {
            Wrong::Compared { left, right, .. } => [side(left), side(right)].concat(),
            Wrong::Repeated => [place.at, place.twin].map(|at| (span.array.clone(), at)).to_vec(),
            _ => vec![(span.array.clone(), place.at)],
        }
    }

    /// What is wrong at the place, with the values there.
    fn refusal(&self, scope: &Scope<'_>, test: &Test, place: &Place) -> Box<Diagnostic> {
        let at = place.at;
        let error = |message: String| Diagnostic::new(Code::Property, message).help(test.help);
        let (span, wrong) = match &test.pass {
            Pass::Length { array, len } => {
                let what =
                    if self.arrays().contains_key(array) { "index array" } else { "value array" };
                let wanted = match scope.value(len) {
                    Some(n) if len.to_string() != n.to_string() => format!("{len} = {n}"),
                    _ => len.to_string(),
                };
                return error(format!(
                    "{what} `{array}` has {at} elements, but its layout needs {wanted}"
                ));
            }
            Pass::Constant { values, .. } => {
                return error(format!(
                    "{}: {values}[{at}] is {}",
                    test.broken,
                    Value::element(self.values(), at)
                ));
            }
            Pass::Never { .. } => return error(test.broken.clone()),
            Pass::Holds(formula) => {
                return match place.fault {
                    Some(fault) => scope.diagnose(fault).note(about(formula)),
                    None => self.violated(scope, test, formula, &[], &[]),
                };
            }
            Pass::ForAll { formula, steps, conclusion } => {
                let variables = variables(steps);
                return match place.fault {
                    Some(fault) => scope.diagnose(fault).note(about(formula)),
                    None => self.violated(scope, test, conclusion, &variables, &place.point),
                };
            }
            Pass::None { span, wrong } => (span, wrong),
        };
        let name = &span.array;
        let broken = &test.broken;
        match wrong {
            Wrong::Outside { least, most } => match place.fault {
                Some(_) => error(format!("a bound of `{name}` exceeds 64 bits")),
                None => error(format!(
                    "{} is out of range: it must be {}",
                    self.element(name, at),
                    bounds(scope, least.as_ref(), most.as_ref())
                )),
            },
            Wrong::NoPosition => error(format!("{broken}: {}", self.element(name, at))),
            Wrong::Compared { left, right, .. } => {
                let mut names: Vec<Name> = left.arrays.clone();
                names.extend(right.arrays.iter().filter(|n| !left.arrays.contains(n)).cloned());
                let shown = match left.ahead || right.ahead {
                    true => self.pair(&names, at, at + 1, span.segments.as_ref(), place.segment),
                    false => self.elements(&names, at),
                };
                error(format!("{broken}: {shown}"))
            }
            Wrong::Beyond { array } => error(format!(
                "segment {at} of {name} does not lie within the {} elements of {array}: {}, {}",
                self.length(array),
                self.element(name, at),
                self.element(name, at + 1)
            )),
            Wrong::Repeated => {
                let names = std::slice::from_ref(name);
                let segments = span.segments.as_ref();
                error(format!(
                    "{broken}: {}",
                    self.pair(names, at, place.twin, segments, place.segment)
                ))
            }
            Wrong::Misplaced { slots } => {
                let slots = scope.value(slots).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
                let home = self.arrays().get(name).map_or(0, |data| home_slot(data.get(at), slots));
                error(format!(
                    "{broken} {at}: {}, whose home is slot {home} of {slots}",
                    self.element(name, at)
                ))
                .note("a coordinate is once in its table, with no empty slot from its home on")
            }
        }
    }

    /// The error for a formula that is false at a point, with the elements it reads there.
    fn violated(
        &self,
        scope: &Scope<'_>,
        test: &Test,
        conclusion: &Formula,
        variables: &[Name],
        point: &[i64],
    ) -> Box<Diagnostic> {
        let mut shown: Vec<String> =
            variables.iter().zip(point).map(|(n, v)| format!("{n} = {v}")).collect();
        conclusion.visit_calls(&mut |call| {
            let call = Atom::Call(call.clone());
            let value = scope
                .compile(&Affine::atom(call.clone()), variables)
                .ok()
                .and_then(|e| scope.eval(&e, point).ok());
            if let Some(value) = value {
                let at = Affine::atom(call).substitute(&|n| {
                    let k = variables.iter().position(|v| v == n)?;
                    Some(Affine::constant(point[k]))
                });
                let text = format!("{at} = {value}");
                if !shown.contains(&text) {
                    shown.push(text);
                }
            }
        });
        let place =
            if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) };
        Diagnostic::new(Code::Property, format!("{}{place}", test.broken)).help(test.help)
    }

    /// `crd(17) = 5, crd(18) = 5 in segment 3`
    fn pair(
        &self,
        names: &[Name],
        a: usize,
        b: usize,
        segments: Option<&Name>,
        segment: Option<usize>,
    ) -> String {
        let mut out = format!("{}, {}", self.elements(names, a), self.elements(names, b));
        if let (Some(segments), Some(segment)) = (segments, segment) {
            out.push_str(&format!(" in segment {}", self.arguments(segments, segment)));
        }
        out
    }

    fn elements(&self, names: &[Name], at: usize) -> String {
        let all: Vec<String> = names.iter().map(|n| self.element(n, at)).collect();
        match all.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        }
    }

    /// `crd(17) = 5`
    pub(super) fn element(&self, name: &Name, at: usize) -> String {
        match self.arrays().get(name).filter(|data| at < data.len()) {
            Some(data) => format!("{name}({}) = {}", self.arguments(name, at), data.get(at)),
            None => format!("{name}({at})"),
        }
    }

    /// The arguments of element `at`.
    pub(super) fn arguments(&self, name: &Name, at: usize) -> String {
        let array = self.scope().ok().zip(self.layout().arrays.get(name));
        let shape = array.and_then(|(scope, array)| shape(&scope, array)).unwrap_or_default();
        let mut rest = at as i64;
        let mut out: Vec<String> = Vec::new();
        for &extent in shape.iter().skip(1).rev() {
            if extent <= 0 {
                return at.to_string();
            }
            out.push((rest % extent).to_string());
            rest /= extent;
        }
        out.push(rest.to_string());
        out.reverse();
        out.join(", ")
    }
}

/// The variables that steps find, in their order.
fn variables(steps: &[Step]) -> Vec<Name> {
    let found = steps.iter().filter_map(|step| match step {
        Step::Solve { variable, .. } | Step::Loop { variable, .. } => Some(variable.clone()),
        Step::Check(_) => None,
    });
    found.collect()
}

fn about(formula: &Formula) -> String {
    format!("while checking the property `{formula}`")
}

/// `in 0 ..= J - 1 = 3`
fn bounds(scope: &Scope<'_>, least: Option<&Arith>, most: Option<&Arith>) -> String {
    let shown = |e: &Arith| match (e, scope.value(e)) {
        (Arith::Int(_), _) | (_, None) => e.to_string(),
        (_, Some(value)) => format!("{e} = {value}"),
    };
    match (least, most) {
        (Some(least), Some(most)) => format!("in {} ..= {}", shown(least), shown(most)),
        (Some(least), None) => format!("at least {}", shown(least)),
        (None, most) => format!("at most {}", most.map(shown).unwrap_or_default()),
    }
}
