//! The points of a conjunction over concrete arrays, many at once.
//!
//! In: [`Points`]. Out: the same points in the same order, in batches: a step is done for all points of a batch before the
//! next one, as a pass over columns.
//!
//! ```text
//! for p0 in 0..I                               p0 = 0, 1, 2, …
//!   i = p0                                     i  = p0
//!   for p1 in pos(p0)..pos(p0 + 1)        →    p1 = 0, 1, 2, …; p0 and i repeated as often as it has values
//!     j = crd(p1)                              j  = crd[p1]
//! ```

use std::ops::ControlFlow;

use super::points::{CompiledBound, CompiledStep, Points, Scope, Stop};
use crate::formula::{Fault, Linear};

/// So many points are a batch: their columns stay in the cache.
const POINTS: usize = 4096;

/// Some points.
pub(crate) struct Batch {
    pub len: usize,
    /// For each variable that is found already, its values.
    pub columns: Vec<Vec<i64>>,
}

impl Batch {
    /// The values of a form at all points.
    pub fn eval(&self, scope: &Scope<'_>, e: &Linear) -> Result<Vec<i64>, Fault> {
        e.values(scope, &self.columns, self.len)
    }

    /// The points with these numbers, in this order.
    fn gather(&self, points: &[u32]) -> Batch {
        let gathered = |column: &Vec<i64>| match column.is_empty() {
            true => Vec::new(),
            false => points.iter().map(|&k| column[k as usize]).collect(),
        };
        Batch { len: points.len(), columns: self.columns.iter().map(gathered).collect() }
    }

    /// For each point, the strongest of some bounds.
    fn ends(
        &self,
        scope: &Scope<'_>,
        bounds: &[CompiledBound],
        none: i64,
        strongest: impl Fn(&CompiledBound, i64, i64) -> i64,
    ) -> Result<Vec<i64>, Fault> {
        let mut out = vec![none; self.len];
        for b in bounds {
            let rests = self.eval(scope, &b.rest)?;
            out.iter_mut().zip(rests).for_each(|(end, rest)| *end = strongest(b, *end, rest));
        }
        Ok(out)
    }
}

impl Points {
    /// Calls `visit` with every point, in batches.
    pub fn batches<B>(
        &self,
        scope: &Scope<'_>,
        visit: &mut impl FnMut(&Batch) -> ControlFlow<B>,
    ) -> Result<(), Stop<B>> {
        let nothing = Batch { len: 1, columns: vec![Vec::new(); self.variables] };
        run(scope, &self.steps, nothing, visit)
    }
}

fn run<B>(
    scope: &Scope<'_>,
    steps: &[CompiledStep],
    mut batch: Batch,
    visit: &mut impl FnMut(&Batch) -> ControlFlow<B>,
) -> Result<(), Stop<B>> {
    for (at, step) in steps.iter().enumerate() {
        match step {
            CompiledStep::Check(e, relop) => {
                let values = batch.eval(scope, e).map_err(Stop::fault)?;
                if !values.iter().all(|&value| relop.holds(value)) {
                    let numbered = (0..).zip(values);
                    let kept = numbered.filter(|(_, value)| relop.holds(*value)).map(|(k, _)| k);
                    batch = batch.gather(&kept.collect::<Vec<u32>>());
                }
                if batch.len == 0 {
                    return Ok(());
                }
            }
            CompiledStep::Solve { slot, value } => {
                batch.columns[*slot] = batch.eval(scope, value).map_err(Stop::fault)?;
            }
            CompiledStep::Loop { slot, lower, upper } => {
                let first = batch.ends(scope, lower, i64::MIN, |b, end, r| end.max(b.least(r)));
                let last = batch.ends(scope, upper, i64::MAX, |b, end, r| end.min(b.greatest(r)));
                let (first, last) = (first.map_err(Stop::fault)?, last.map_err(Stop::fault)?);
                let mut inside = |points: &mut Vec<u32>, values: &mut Vec<i64>| {
                    let mut next = batch.gather(points);
                    next.columns[*slot] = std::mem::take(values);
                    points.clear();
                    run(scope, &steps[at + 1..], next, visit)
                };
                let (mut points, mut values) = (Vec::new(), Vec::new());
                for (k, (&first, &last)) in (0_u32..).zip(first.iter().zip(&last)) {
                    let mut from = first;
                    while from <= last {
                        let room = (POINTS - values.len()) as i64;
                        let to = last.min(from.saturating_add(room - 1));
                        values.extend(from..=to);
                        points.resize(values.len(), k);
                        if values.len() == POINTS {
                            inside(&mut points, &mut values)?;
                        }
                        let Some(next) = to.checked_add(1) else { break };
                        from = next;
                    }
                }
                return match values.is_empty() {
                    true => Ok(()),
                    false => inside(&mut points, &mut values),
                };
            }
        }
    }
    match visit(&batch) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(b) => Err(Stop::Asked(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Name, parse};
    use crate::layout::visit;
    use crate::tensor::IndexData;

    #[test]
    fn batches_have_the_points_in_their_order() {
        // Rows longer than a batch, empty ones, and many that are short.
        let lengths = (0..9000_i64).map(|k| if k == 5 { 10_000 } else { k % 3 });
        let mut pos = vec![0];
        lengths.for_each(|n| pos.push(pos[pos.len() - 1] + n));
        let crd: Vec<i64> = (0..pos[9000]).map(|k| k * 7 % 11).collect();
        let (pos, crd) = (IndexData::I64(pos), IndexData::I64(crd));
        let mut scope = Scope::default();
        scope.sizes.insert("I".into(), 9000);
        scope.add_array(&"pos".into(), &pos, vec![9001]);
        scope.add_array(&"crd".into(), &crd, vec![i64::MAX]);
        let text = "0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and 2*j = crd(p1) \
                    and 0 <= q <= 1 and q + j <= 4";
        let variables: Vec<Name> = ["p0", "p1", "i", "j", "q"].map(Name::from).to_vec();
        let constraints = parse::formula(text).unwrap().as_conjunction().unwrap();
        let steps = visit::steps(&variables, &constraints).unwrap();
        let points = Points::new(&scope, &variables, &steps).unwrap();
        let (mut one_by_one, mut batches) = (Vec::new(), Vec::new());
        let end = points.visit::<()>(&scope, &mut |p| {
            one_by_one.push(p.to_vec());
            ControlFlow::Continue(())
        });
        assert!(end.is_ok());
        let end = points.batches::<()>(&scope, &mut |batch| {
            assert!(0 < batch.len && batch.len <= POINTS);
            let point = |k| batch.columns.iter().map(|column| column[k]).collect::<Vec<_>>();
            batches.extend((0..batch.len).map(point));
            ControlFlow::Continue(())
        });
        assert!(end.is_ok());
        assert!(one_by_one.len() > 3 * POINTS);
        assert_eq!(one_by_one, batches);
    }

    #[test]
    fn what_is_not_there_is_a_fault() {
        let crd = IndexData::I64(vec![1, i64::MAX / 2]);
        let mut scope = Scope::default();
        scope.add_array(&"crd".into(), &crd, vec![2]);
        for (text, fault) in [
            ("0 <= p < 3 and i = crd(p)", Fault::Outside { array: 0, at: 2 }),
            ("0 <= p < 2 and i = 4*crd(p)", Fault::Overflow),
        ] {
            let variables: Vec<Name> = vec!["p".into(), "i".into()];
            let constraints = parse::formula(text).unwrap().as_conjunction().unwrap();
            let steps = visit::steps(&variables, &constraints).unwrap();
            let points = Points::new(&scope, &variables, &steps).unwrap();
            let end = points.batches::<()>(&scope, &mut |_| ControlFlow::Continue(()));
            assert!(matches!(end, Err(Stop::Fault(f, _)) if f == fault), "{text}");
        }
    }
}
