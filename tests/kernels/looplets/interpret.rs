//! What looplets say of the data of a tensor: every place, with its element or nothing.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use siskin::formula::{Arith, Formula, Meaning, Name};
use siskin::looplets::{Derived, Looplet, Stepper, Stop};
use siskin::tensor::Tensor;

/// The elements by their coordinates, in the order of `indices`; none are fill. Panics if a place is not told
/// of, or twice.
pub fn places(
    derived: &Derived,
    tensor: &Tensor,
    label: &str,
    indices: &[&str],
) -> BTreeMap<Vec<usize>, Option<f64>> {
    let (env, at, out) = (IndexMap::new(), IndexMap::new(), BTreeMap::new());
    let mut walk = Walk { tensor, label, env, at, adds: false, out };
    for (index, extent) in indices.iter().zip(tensor.dims()) {
        walk.env.insert(index.to_uppercase().into(), *extent as i64);
    }
    for (name, value) in tensor.params() {
        walk.env.insert(format!("{name}_{label}").into(), *value);
    }
    walk.all(&derived.looplet);
    let by_name = |at: &IndexMap<Name, i64>| indices.iter().map(|i| at[*i] as usize).collect();
    let mut out = BTreeMap::new();
    for (at, value) in walk.out {
        let at: IndexMap<Name, i64> = at.into_iter().collect();
        assert!(out.insert(by_name(&at), value).is_none(), "{at:?} comes twice");
    }
    out
}

struct Walk<'a> {
    tensor: &'a Tensor,
    label: &'a str,
    env: IndexMap<Name, i64>,
    /// The coordinates at hand.
    at: IndexMap<Name, i64>,
    /// What has one place adds up.
    adds: bool,
    out: BTreeMap<Vec<(Name, i64)>, Option<f64>>,
}

/// Some coordinates of an index.
#[derive(Clone)]
struct Region {
    index: Name,
    from: i64,
    to: i64,
}

impl Walk<'_> {
    fn linear(&self, shape: &[Arith], at: &[i64]) -> Option<usize> {
        let own = |name: &str| {
            let layout = self.tensor.layout();
            let dims = layout.extents();
            match dims.iter().position(|d| &**d == name) {
                Some(d) => Some(self.tensor.dims()[d] as i64),
                None => self.tensor.params().get(name).copied(),
            }
        };
        let element = |array: &str, at: &[i64]| {
            let data = &self.tensor.arrays()[array];
            let [k] = at else { return None };
            (*k >= 0 && (*k as usize) < data.len()).then(|| data.get(*k as usize))
        };
        let mut out = 0;
        for (n, k) in shape.iter().zip(at) {
            let n = n.value(&(own, element))?;
            out = out * n + k;
        }
        usize::try_from(out).ok()
    }

    fn meaning(&self) -> impl Meaning + '_ {
        let variable = |name: &str| self.env.get(name).copied();
        let element = |array: &str, at: &[i64]| {
            let name = array.strip_suffix(&format!("_{}", self.label))?;
            let declared = &self.tensor.layout().arrays[name];
            let data = &self.tensor.arrays()[name];
            let k = self.linear(&declared.shape, at)?;
            (k < data.len()).then(|| data.get(k))
        };
        (variable, element)
    }

    fn value(&self, e: &siskin::formula::Affine) -> i64 {
        e.value(&self.meaning()).unwrap_or_else(|| panic!("`{e}` has no value"))
    }

    fn pass(&self, tests: &[Formula]) -> bool {
        // In order: what a test reads may be there only if those before hold.
        tests.iter().all(|test| test.holds(&self.meaning()).expect("a test has a value"))
    }

    fn least(&self, ends: &[siskin::formula::Affine]) -> i64 {
        ends.iter().map(|e| self.value(e)).min().expect("an end")
    }

    fn greatest(&self, ends: &[siskin::formula::Affine]) -> i64 {
        ends.iter().map(|e| self.value(e)).max().expect("an end")
    }

    fn stop(&mut self, stop: &Stop, from: i64) -> i64 {
        match stop {
            Stop::Least(ends) => self.least(ends),
            Stop::Greatest(ends) => self.greatest(ends),
            Stop::Last { var, range, stop } => {
                let (lower, upper) = (self.greatest(&range.lower), self.least(&range.upper));
                if lower >= upper {
                    return from;
                }
                self.with(var, upper - 1, |walk| walk.stop(stop, from))
            }
        }
    }

    fn with<T>(&mut self, var: &Name, value: i64, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.env.insert(var.clone(), value);
        let out = f(self);
        match outer {
            Some(outer) => self.env.insert(var.clone(), outer),
            None => self.env.shift_remove(var),
        };
        out
    }

    /// All indices that are left.
    fn all(&mut self, looplet: &Looplet) {
        match looplet {
            Looplet::Along(along) => {
                let from = self.greatest(&along.range.lower);
                let to = self.least(&along.range.upper);
                let region = Region { index: along.index.clone(), from, to };
                let end = self.region(&along.body, region.clone());
                self.fill(&Region { from: end.max(from), ..region });
            }
            Looplet::Fill => self.record(None),
            Looplet::Element { array, index } => {
                let at: Vec<i64> =
                    index.iter().map(|e| e.value(&self.meaning()).unwrap()).collect();
                let value = &self.tensor.layout().value;
                assert_eq!(**array, *format!("{}_{}", value.name, self.label));
                let k = self.linear(&value.shape, &at).expect("a place");
                let element = self.tensor.values().get_f64(k);
                self.record(Some(element));
            }
            Looplet::Thunk { var, value, body } => {
                let value = self.value(value);
                self.with(var, value, |walk| walk.all(body));
            }
            Looplet::Switch { tests, then, otherwise } => match self.pass(tests) {
                true => self.all(then),
                false => self.all(otherwise),
            },
            Looplet::Search(search) => {
                let (lower, upper) =
                    (self.greatest(&search.range.lower), self.least(&search.range.upper));
                let passes = |p: &i64| self.with(&search.var, *p, |walk| walk.pass(&search.tests));
                let found: Vec<i64> = (lower..upper).filter(passes).collect();
                match found.as_slice() {
                    [] => self.all(&Looplet::Fill),
                    all if search.each => {
                        let outer = std::mem::replace(&mut self.adds, true);
                        for p in all {
                            self.with(&search.var, *p, |walk| walk.all(&search.found));
                        }
                        self.adds = outer;
                    }
                    [p] => self.with(&search.var, *p, |walk| walk.all(&search.found)),
                    several => panic!("{several:?} pass"),
                }
            }
            other => panic!("no region is known:\n{other}"),
        }
    }

    /// A region of the next index; where it ended.
    fn region(&mut self, looplet: &Looplet, r: Region) -> i64 {
        match looplet {
            Looplet::Run(body) => {
                self.points(&r, |walk, _| walk.all(body));
                r.to
            }
            Looplet::Lookup { index, body } => {
                self.points(&r, |walk, k| walk.with(index, k, |walk| walk.all(body)));
                r.to
            }
            Looplet::Spike { body, tail } => {
                assert!(r.from < r.to, "a spike has a tail");
                let last = r.to - 1;
                self.points(&Region { to: last, ..r.clone() }, |walk, _| walk.all(body));
                self.points(&Region { from: last, ..r }, |walk, _| walk.all(tail));
                last + 1
            }
            Looplet::Sequence(phases) => {
                let mut from = r.from;
                for phase in phases {
                    let whole = self.stop(&phase.stop, from);
                    let stop = whole.min(r.to);
                    if stop > from {
                        let is_whole = whole == stop || is_even(&phase.body);
                        assert!(is_whole, "a phase leaves its region:\n{}", phase.body);
                        let part = Region { from, to: stop, ..r.clone() };
                        let end = self.region(&phase.body, part.clone());
                        self.fill(&Region { from: end, ..part });
                        from = stop;
                    }
                }
                assert_eq!(from, r.to, "phases are all of the region");
                r.to
            }
            Looplet::Thunk { var, value, body } => {
                let value = self.value(value);
                self.with(var, value, |walk| walk.region(body, r))
            }
            Looplet::Switch { tests, then, otherwise } => match (self.pass(tests), &**otherwise) {
                (true, _) => self.region(then, r),
                (false, Looplet::Fill) => r.from,
                (false, otherwise) => self.region(otherwise, r),
            },
            Looplet::Stepper(stepper) => self.step(stepper, &r),
            other => panic!("not a region:\n{other}"),
        }
    }

    fn step(&mut self, s: &Stepper, r: &Region) -> i64 {
        let (mut p, upper) = (self.greatest(&s.range.lower), self.least(&s.range.upper));
        let mut from = r.from;
        while p < upper {
            let mut next = p + 1;
            if !self.with(&s.var, p, |walk| walk.pass(&s.tests)) {
                p = next;
                continue;
            }
            let stop_at = |walk: &mut Self, p| {
                let stop = s.stop.as_ref()?;
                Some(walk.with(&s.var, p, |walk| walk.stop(stop, from)))
            };
            let stop = stop_at(self, p);
            if s.rises && p + 1 < upper {
                assert!(stop <= stop_at(self, p + 1), "stops fall behind {p}");
            }
            let end = s.end.clone();
            if end.is_some() {
                while next < upper && stop_at(self, next) == stop {
                    next += 1;
                }
            }
            let to = stop.unwrap_or(r.to);
            assert!(to <= r.to, "a step leaves its region");
            let region = Region { from, to, ..r.clone() };
            let inside = |walk: &mut Self| match to > from {
                true => walk.region(&s.body, region.clone()),
                false => from,
            };
            let ended = self.with(&s.var, p, |walk| match &end {
                Some(end) => walk.with(end, next, inside),
                None => inside(walk),
            });
            from = match stop {
                Some(stop) => {
                    self.fill(&Region { from: ended, to: stop, ..r.clone() });
                    stop.max(from)
                }
                None => ended,
            };
            p = next;
        }
        from
    }

    fn fill(&mut self, r: &Region) {
        self.points(r, |walk, _| walk.all(&Looplet::Fill));
    }

    fn points(&mut self, r: &Region, mut f: impl FnMut(&mut Self, i64)) {
        for k in r.from..r.to {
            self.at.insert(r.index.clone(), k);
            f(self, k);
            self.at.shift_remove(&r.index);
        }
    }

    /// An element, or fill, at the coordinates at hand; those that are left are all of the same.
    fn record(&mut self, value: Option<f64>) {
        let mut at: Vec<(Name, i64)> = self.at.iter().map(|(n, k)| (n.clone(), *k)).collect();
        at.sort();
        if at.len() < self.tensor.dims().len() {
            assert!(value.is_none(), "an element has all coordinates");
            return;
        }
        match (self.out.remove(&at), self.adds) {
            (None, _) => _ = self.out.insert(at, value),
            (Some(before), true) => {
                let sum = before.into_iter().chain(value).reduce(|a, b| a + b);
                self.out.insert(at, sum);
            }
            (Some(_), false) => panic!("{at:?} comes twice"),
        }
    }
}

/// Whether each part of a region is told of in the same way.
fn is_even(looplet: &Looplet) -> bool {
    match looplet {
        Looplet::Run(_) | Looplet::Lookup { .. } => true,
        Looplet::Thunk { body, .. } => is_even(body),
        Looplet::Switch { then, otherwise, .. } => is_even(then) && is_even(otherwise),
        _ => false,
    }
}
