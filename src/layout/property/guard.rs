//! What the kinds share: two argument tuples `p` before `q`, guarded by the domain or by a segment.

use super::super::IndexArray;
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};

/// What a property is about.
pub(super) struct Subject<'a> {
    pub arrays: Vec<&'a IndexArray>,
    pub segments: Option<&'a IndexArray>,
    pub strict: bool,
    pub decreasing: bool,
    /// Names of extents and parameters, which bound variables must not shadow.
    pub is_size: &'a dyn Fn(&Name) -> bool,
}

/// Two argument tuples and what is known about them.
pub(super) struct Pair {
    pub guard: Vec<Formula>,
    pub p: Vec<Affine>,
    pub q: Vec<Affine>,
}

impl Subject<'_> {
    /// The only array of a kind that is about one.
    pub fn single(&self) -> Result<&IndexArray, String> {
        match self.arrays.as_slice() {
            [array] => Ok(array),
            other => Err(format!("is about one array, not {}", other.len())),
        }
    }

    pub fn needs_segments(&self) -> Result<(), String> {
        self.segments.map(|_| ()).ok_or_else(|| "needs the array of its segments".to_string())
    }

    pub fn refuses_segments(&self) -> Result<(), String> {
        match self.segments {
            None => Ok(()),
            Some(_) => Err("has no segments; the periodic kinds do".to_string()),
        }
    }

    /// Variables for one argument tuple: `p`, or `p0, p1, …`.
    pub fn tuple(&self, base: &str) -> Vec<Affine> {
        let arity = self.arrays.first().map_or(0, |a| a.args.len());
        self.variables(base, arity)
    }

    fn variables(&self, base: &str, arity: usize) -> Vec<Affine> {
        let name = |k: usize| {
            let mut name = if arity == 1 { base.to_string() } else { format!("{base}{k}") };
            while (self.is_size)(&Name::from(name.as_str())) {
                name.push('\'');
            }
            Affine::var(name)
        };
        (0..arity).map(name).collect()
    }

    /// The constraints of all domains at the argument tuple `at`.
    pub fn domain(&self, at: &[Affine]) -> Vec<Constraint> {
        let mut out = Vec::new();
        for array in &self.arrays {
            add_new(&mut out, domain_at(array, at));
        }
        out
    }

    /// `p` comes before `q`: in the same segment if there are segments, else in the domain.
    pub fn ordered_pair(&self) -> Result<Pair, String> {
        self.same_arity()?;
        let (p, q) = (self.tuple("p"), self.tuple("q"));
        let guard = match self.segments {
            Some(segments) => self.same_segment(segments, &p, &q)?,
            None => match (p.as_slice(), q.as_slice()) {
                ([p], [q]) => self.ordered_in_interval(p, q),
                _ => {
                    let mut guard = self.domain(&p);
                    add_new(&mut guard, self.domain(&q));
                    let mut guard: Vec<Formula> = guard.into_iter().map(Formula::from).collect();
                    guard.push(Formula::lex_lt(&p, &q));
                    guard
                }
            },
        };
        Ok(Pair { guard, p, q })
    }

    pub fn same_arity(&self) -> Result<(), String> {
        match self.arrays.as_slice() {
            [] => Err("needs an array".to_string()),
            [first, rest @ ..] if rest.iter().any(|a| a.args.len() != first.args.len()) => {
                Err("needs arrays with the same number of arguments".to_string())
            }
            _ => Ok(()),
        }
    }

    /// `0 <= p < q < N`: lower bounds of `p` and upper bounds of `q` imply the others.
    fn ordered_in_interval(&self, p: &Affine, q: &Affine) -> Vec<Formula> {
        let (at_p, at_q) =
            (self.domain(std::slice::from_ref(p)), self.domain(std::slice::from_ref(q)));
        let sign = |c: &Constraint, v: &Affine| match v.as_atom() {
            Some(atom) if c.relop == Relop::Ge && bounds_linearly(c, atom) => {
                c.affine.coefficient(atom).signum()
            }
            _ => 0,
        };
        let mut lower: Vec<Constraint> = at_p.iter().filter(|c| sign(c, p) >= 0).cloned().collect();
        let mut upper: Vec<Constraint> = at_q.iter().filter(|c| sign(c, q) <= 0).cloned().collect();
        // A constraint that is no bound (a stride, say) holds for both.
        lower.push(Constraint::lt(p.clone(), q.clone()));
        upper.retain(|c| !lower.contains(c));
        lower.into_iter().chain(upper).map(Formula::from).collect()
    }

    /// `s(u) <= p < q < s(u + 1)` for `u` and `u + 1` in the domain of `s`; of a tuple, the last
    /// component moves.
    fn same_segment(
        &self,
        segments: &IndexArray,
        p: &[Affine],
        q: &[Affine],
    ) -> Result<Vec<Formula>, String> {
        let ([p], [q]) = (p, q) else {
            return Err("needs arrays with one argument".to_string());
        };
        let mut u = self.variables("u", segments.args.len());
        let mut next = u.clone();
        let Some(last) = next.last_mut() else {
            return Err("needs a segment array with an argument".to_string());
        };
        *last = last.clone() + Affine::constant(1);
        let moving = u[u.len() - 1].clone();

        let (here, there) = (domain_at(segments, &u), domain_at(segments, &next));
        let mut guard = Vec::new();
        for (c, d) in here.into_iter().zip(there) {
            let coefficient = match moving.as_atom() {
                Some(atom) if c.relop == Relop::Ge && bounds_linearly(&c, atom) => {
                    c.affine.coefficient(atom)
                }
                _ => 0,
            };
            match coefficient.signum() {
                1 => add_new(&mut guard, vec![c]),
                -1 => add_new(&mut guard, vec![d]),
                _ => add_new(&mut guard, vec![c, d]),
            }
        }
        // With a single segment (a level at the root), `u` is that segment's number.
        let only = match u.as_slice() {
            [u] => only_value(u, &guard),
            _ => None,
        };
        if let Some(number) = only {
            guard.clear();
            (u, next) = (vec![number.into()], vec![(number + 1).into()]);
        }
        let at = |args: Vec<Affine>| Affine::call(segments.name.clone(), args);
        guard.push(Constraint::le(at(u), p.clone()));
        guard.push(Constraint::lt(p.clone(), q.clone()));
        guard.push(Constraint::lt(q.clone(), at(next)));
        Ok(guard.into_iter().map(Formula::from).collect())
    }

    /// The arrays' values at an argument tuple.
    pub fn values(&self, at: &[Affine]) -> Vec<Affine> {
        self.arrays.iter().map(|a| Affine::call(a.name.clone(), at.to_vec())).collect()
    }

    /// The values at `p` come lexicographically before those at `q`; after, if decreasing.
    pub fn values_in_order(&self, p: &[Affine], q: &[Affine]) -> Formula {
        let (a, b) = (self.values(p), self.values(q));
        let (a, b) = if self.decreasing { (b, a) } else { (a, b) };
        let (Some((last_a, a)), Some((last_b, b))) = (a.split_last(), b.split_last()) else {
            return Formula::truth(true);
        };
        let mut out = match self.strict {
            true => Formula::lt(last_a.clone(), last_b.clone()),
            false => Formula::le(last_a.clone(), last_b.clone()),
        };
        for (x, y) in a.iter().zip(b).rev() {
            let tie = Formula::and([Formula::eq(x.clone(), y.clone()), out]);
            out = Formula::or([Formula::lt(x.clone(), y.clone()), tie]);
        }
        out
    }
}

/// Whether `atom` occurs in `c` only as a linear term, not inside calls or floors.
fn bounds_linearly(c: &Constraint, atom: &Atom) -> bool {
    let Atom::Var(name) = atom else { return false };
    let without = c.affine.clone() + Affine::atom(atom.clone()) * -c.affine.coefficient(atom);
    !without.mentions(name)
}

/// The constant `c` when the guard is exactly `c <= u <= c`.
fn only_value(u: &Affine, guard: &[Constraint]) -> Option<i64> {
    let [lower, upper] = guard else { return None };
    if (lower.relop, upper.relop) != (Relop::Ge, Relop::Ge) {
        return None;
    }
    let at_least = (u.clone() - lower.affine.clone()).as_constant()?;
    let at_most = (u.clone() + upper.affine.clone()).as_constant()?;
    (at_least == at_most).then_some(at_least)
}

/// The domain of an array at the given arguments.
pub(super) fn domain_at(array: &IndexArray, at: &[Affine]) -> Vec<Constraint> {
    array.domain.iter().map(|c| at_arguments(c, array, at)).collect()
}

/// A constraint over the formal arguments of `array`, read at the given ones.
pub(super) fn at_arguments(c: &Constraint, array: &IndexArray, at: &[Affine]) -> Constraint {
    c.substitute(&|n| array.args.iter().position(|a| a == n).and_then(|k| at.get(k).cloned()))
}

pub(super) fn add_new(out: &mut Vec<Constraint>, more: Vec<Constraint>) {
    for c in more {
        if !out.contains(&c) && c.as_bool() != Some(true) {
            out.push(c);
        }
    }
}

pub(super) fn conjunction(constraints: Vec<Constraint>) -> Formula {
    Formula::and(constraints.into_iter().map(Formula::from))
}
