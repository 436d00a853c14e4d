//! Checking a tensor against the properties that its layout declares.
//!
//! In: a [`Tensor`] of any origin. Out: nothing, or the first property that does not hold, with
//! the index at which it fails and the values there. One pass over each array for the common
//! properties; a malformed array is an error, never a panic.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use super::disorder::{self, Direction};
use super::index_data::{IndexData, with_index};
use super::points::{Points, Scope, Stop};
use super::tensor::{Tensor, shape};
use crate::check::data_checks;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Formula, Name};
use crate::layout::checks::Check;
use crate::layout::probing::{home_slot, misplaced};
use crate::layout::visit::Step;

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
        let scope = self.scope()?;
        data_checks(self.layout()).iter().try_for_each(|check| self.check(&scope, check))
    }

    /// Only the conditions on sizes and single elements, e.g. that a matrix is square.
    ///
    /// # Errors
    /// As [`Tensor::validate`].
    pub(crate) fn check_ground(&self) -> Result<()> {
        let scope = self.scope()?;
        let checks = data_checks(self.layout());
        let mut ground = checks.iter().filter(|c| matches!(c, Check::Ground { .. }));
        ground.try_for_each(|check| self.check(&scope, check))
    }

    fn check(&self, scope: &Scope<'_>, check: &Check) -> Result<()> {
        match check {
            Check::Length { array, len } => self.length(scope, array, len),
            Check::Range { array, lower, upper } => {
                self.range(scope, array, lower.as_ref(), upper.as_ref())
            }
            Check::Ordered { arrays, segments, strict, decreasing } => {
                let direction = Direction { strict: *strict, decreasing: *decreasing };
                self.ordered(arrays, segments.as_ref(), direction)
            }
            Check::Injective { array, segments } => self.injective(array, segments.as_ref()),
            Check::Permutation { array } => self.permutation(array),
            Check::Disjoint { left, right, segments, strict, decreasing } => {
                let direction = Direction { strict: *strict, decreasing: *decreasing };
                self.disjoint(left, right, segments.as_ref(), direction)
            }
            Check::Probing { array, slots } => self.probing(scope, array, slots),
            Check::Ground { formula } => self.ground(scope, formula),
            Check::ForAll { formula, steps, conclusion } => {
                self.for_all(scope, formula, steps, conclusion)
            }
            Check::Unbounded { formula, variable } => Err(Diagnostic::new(
                Code::Property,
                format!("the property `{formula}` cannot be checked: nothing bounds `{variable}`"),
            )
            .help(format!("bound `{variable}` in the premise of the property"))),
        }
    }

    fn array(&self, name: &Name) -> Result<&IndexData> {
        self.arrays().get(name).ok_or_else(|| {
            Diagnostic::new(Code::Property, format!("index array `{name}` is missing"))
        })
    }

    fn length(&self, scope: &Scope<'_>, name: &Name, len: &Arith) -> Result<()> {
        let (what, found) = match self.arrays().get(name) {
            Some(data) => ("index array", data.len()),
            None => ("value array", self.stored()),
        };
        let wanted = scope.value(len);
        if wanted.is_some_and(|wanted| usize::try_from(wanted) == Ok(found)) {
            return Ok(());
        }
        let wanted = match wanted {
            Some(wanted) if len.to_string() != wanted.to_string() => format!("{len} = {wanted}"),
            _ => len.to_string(),
        };
        Err(Diagnostic::new(
            Code::Property,
            format!("{what} `{name}` has {found} elements, but its layout needs {wanted}"),
        )
        .help("check that the arrays belong to the same tensor and that none is cut off"))
    }

    fn range(
        &self,
        scope: &Scope<'_>,
        name: &Name,
        lower: Option<&Affine>,
        upper: Option<&Affine>,
    ) -> Result<()> {
        let data = self.array(name)?;
        let value = |e: Option<&Affine>, otherwise: i64| match e {
            None => Ok(otherwise),
            Some(e) => scope.value(&Arith::from_affine(e)).ok_or_else(|| {
                Diagnostic::new(
                    Code::Property,
                    format!("the bound `{e}` of `{name}` exceeds 64 bits"),
                )
            }),
        };
        let (least, most) = (value(lower, i64::MIN)?, value(upper, i64::MAX)?);
        let Some(at) = with_index!(data, v => disorder::outside(v, least, most)) else {
            return Ok(());
        };
        let shown = |e: Option<&Affine>, value: i64| match e {
            Some(e) if e.as_constant().is_none() => format!("{e} = {value}"),
            _ => value.to_string(),
        };
        let bounds = match (lower, upper) {
            (Some(_), None) => format!("at least {}", shown(lower, least)),
            (None, _) => format!("at most {}", shown(upper, most)),
            _ => format!("in {} ..= {}", shown(lower, least), shown(upper, most)),
        };
        Err(Diagnostic::new(
            Code::Property,
            format!("{} is out of range: it must be {bounds}", self.element(name, at)),
        )
        .help(WRONG_ARRAYS))
    }

    fn ordered(&self, names: &[Name], segments: Option<&Name>, direction: Direction) -> Result<()> {
        let arrays: Result<Vec<&IndexData>> = names.iter().map(|n| self.array(n)).collect();
        let arrays = arrays?;
        let Some(first) = arrays.first() else { return Ok(()) };
        let n = arrays.iter().map(|a| a.len()).min().unwrap_or(0);
        let found = match (arrays.as_slice(), segments) {
            ([_], None) => {
                with_index!(first, v => disorder::unordered(v, direction)).map(|at| (at, None))
            }
            ([_], Some(segments)) => with_index!(first, v => {
                self.first_in_segments(segments, n, |r| disorder::unordered(&v[r], direction))?
            }),
            (_, segments) => {
                let later = |k: usize| {
                    let order = arrays
                        .iter()
                        .fold(Ordering::Equal, |o, a| o.then_with(|| a.get(k).cmp(&a.get(k + 1))));
                    !direction.allows(order)
                };
                let find = |r: Range<usize>| {
                    let start = r.start;
                    (r.start..r.end.saturating_sub(1)).find(|&k| later(k)).map(|k| k - start)
                };
                match segments {
                    None => find(0..n).map(|at| (at, None)),
                    Some(segments) => self.first_in_segments(segments, n, find)?,
                }
            }
        };
        let Some((at, segment)) = found else { return Ok(()) };
        let subject = match names {
            [name] => format!("{name} is"),
            names => format!("({}) are", names.join(", ")),
        };
        Err(Diagnostic::new(
            Code::Property,
            format!(
                "{subject} not {direction}{}: {}",
                self.within(segments),
                self.pair(names, at, at + 1, segments, segment)
            ),
        )
        .help("sort the entries, or choose a layout that does not declare an order"))
    }

    /// The first segment in which `find` finds something, with the place in the array and the
    /// number of the segment.
    fn first_in_segments(
        &self,
        segments: &Name,
        n: usize,
        find: impl Fn(Range<usize>) -> Option<usize>,
    ) -> Result<Option<(usize, Option<usize>)>> {
        let bounds = self.array(segments)?;
        for u in 1..bounds.len() {
            let (start, end) = (bounds.get(u - 1), bounds.get(u));
            if start >= end {
                continue;
            }
            let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end)) else {
                return Err(self.beyond(segments, u - 1, n));
            };
            if end > n {
                return Err(self.beyond(segments, u - 1, n));
            }
            if let Some(at) = find(start..end) {
                return Ok(Some((start + at, Some(u - 1))));
            }
        }
        Ok(None)
    }

    fn beyond(&self, segments: &Name, segment: usize, n: usize) -> Box<Diagnostic> {
        Diagnostic::new(
            Code::Property,
            format!(
                "segment {segment} of {segments} does not lie within its {n} elements: {}, {}",
                self.element(segments, segment),
                self.element(segments, segment + 1)
            ),
        )
        .help(WRONG_ARRAYS)
    }

    fn injective(&self, name: &Name, segments: Option<&Name>) -> Result<()> {
        let data = self.array(name)?;
        // A pair of equal elements, found per segment; the second is remembered.
        let twin = std::cell::Cell::new(0);
        let found = with_index!(data, v => {
            let find = |r: Range<usize>| {
                let start = r.start;
                let (a, b) = disorder::repeated(&v[r])?;
                twin.set(start + b);
                Some(a)
            };
            match segments {
                None => find(0..v.len()).map(|at| (at, None)),
                Some(segments) => self.first_in_segments(segments, v.len(), find)?,
            }
        });
        let Some((at, segment)) = found else { return Ok(()) };
        let names = std::slice::from_ref(name);
        Err(Diagnostic::new(
            Code::Property,
            format!(
                "{name} holds a number twice{}: {}",
                self.within(segments),
                self.pair(names, at, twin.get(), segments, segment)
            ),
        )
        .help("add up duplicates, or choose a layout that allows them"))
    }

    fn permutation(&self, name: &Name) -> Result<()> {
        let data = self.array(name)?;
        let most = data.len() as i64 - 1;
        if let Some(at) = with_index!(data, v => disorder::outside(v, 0, most)) {
            return Err(Diagnostic::new(
                Code::Property,
                format!("{name} is not a permutation: {}", self.element(name, at)),
            )
            .help(format!("every number from 0 to {most} must occur once")));
        }
        self.injective(name, None)
    }

    fn disjoint(
        &self,
        left: &Name,
        right: &Name,
        segments: Option<&Name>,
        direction: Direction,
    ) -> Result<()> {
        let (starts, ends) = (self.array(left)?, self.array(right)?);
        let n = starts.len().min(ends.len());
        let empty = |k: usize| match direction.strict {
            true => starts.get(k) >= ends.get(k),
            false => starts.get(k) > ends.get(k),
        };
        if let Some(k) = (0..n).find(|&k| empty(k)) {
            let what = if direction.strict { "empty" } else { "reversed" };
            let names = [left.clone(), right.clone()];
            return Err(Diagnostic::new(
                Code::Property,
                format!("the interval {left} .. {right} is {what}: {}", self.elements(&names, k)),
            )
            .help(WRONG_ARRAYS));
        }
        let overlap = |k: usize| match direction.decreasing {
            false => ends.get(k) > starts.get(k + 1),
            true => ends.get(k + 1) > starts.get(k),
        };
        let find = |r: Range<usize>| {
            let start = r.start;
            (r.start..r.end.saturating_sub(1)).find(|&k| overlap(k)).map(|k| k - start)
        };
        let found = match segments {
            None => find(0..n).map(|at| (at, None)),
            Some(segments) => self.first_in_segments(segments, n, find)?,
        };
        let Some((at, segment)) = found else { return Ok(()) };
        let names = [left.clone(), right.clone()];
        Err(Diagnostic::new(
            Code::Property,
            format!(
                "the intervals {left} .. {right} overlap{}: {}",
                self.within(segments),
                self.pair(&names, at, at + 1, segments, segment)
            ),
        )
        .help(WRONG_ARRAYS))
    }

    fn probing(&self, scope: &Scope<'_>, name: &Name, slots: &Arith) -> Result<()> {
        let data = self.array(name)?;
        let slots = scope.value(slots).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        // Lengths were checked: the tables are whole.
        for start in (0..data.len()).step_by(slots.max(1)) {
            let coordinate = |slot: usize| data.get(start + slot);
            let Some(slot) = misplaced(slots.min(data.len() - start), coordinate) else { continue };
            let home = home_slot(data.get(start + slot), slots);
            return Err(Diagnostic::new(
                Code::Property,
                format!(
                    "a search of {name} would not find its element {}: {}, whose home is slot \
                     {home} of {slots}",
                    start + slot,
                    self.element(name, start + slot)
                ),
            )
            .note("a coordinate is once in its table, with no empty slot from its home on")
            .help("build the table by inserting coordinates one by one, without wrapping around"));
        }
        Ok(())
    }

    fn ground(&self, scope: &Scope<'_>, formula: &Formula) -> Result<()> {
        match scope.condition(formula, &[])?.holds(scope, &[]).map_err(|f| scope.diagnose(f))? {
            true => Ok(()),
            false => Err(self.violated(scope, formula, formula, &[], &[])),
        }
    }

    fn for_all(
        &self,
        scope: &Scope<'_>,
        formula: &Formula,
        steps: &[Step],
        conclusion: &Formula,
    ) -> Result<()> {
        let variables: Vec<Name> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Solve { variable, .. } | Step::Loop { variable, .. } => {
                    Some(variable.clone())
                }
                Step::Check(_) => None,
            })
            .collect();
        let points = Points::new(scope, &variables, steps)?;
        let condition = scope.condition(conclusion, &variables)?;
        let end = points.visit(scope, &mut |point| match condition.holds(scope, point) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => {
                ControlFlow::Break(self.violated(scope, formula, conclusion, &variables, point))
            }
            Err(fault) => ControlFlow::Break(scope.diagnose(fault)),
        });
        match end {
            Ok(()) => Ok(()),
            Err(Stop::Fault(fault)) => {
                Err(scope.diagnose(fault).note(format!("while checking the property `{formula}`")))
            }
            Err(Stop::Asked(e)) => Err(e),
        }
    }

    /// The error for a formula that is false at a point, with the elements it reads there.
    fn violated(
        &self,
        scope: &Scope<'_>,
        formula: &Formula,
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
        Diagnostic::new(Code::Property, format!("the property `{formula}` does not hold{place}"))
            .help(WRONG_ARRAYS)
    }

    fn within(&self, segments: Option<&Name>) -> String {
        segments.map_or_else(String::new, |s| format!(" within a segment of {s}"))
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
    fn element(&self, name: &Name, at: usize) -> String {
        match self.arrays().get(name).filter(|data| at < data.len()) {
            Some(data) => format!("{name}({}) = {}", self.arguments(name, at), data.get(at)),
            None => format!("{name}({at})"),
        }
    }

    /// The arguments of element `at`.
    fn arguments(&self, name: &Name, at: usize) -> String {
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

const WRONG_ARRAYS: &str = "check how the index arrays were made";
