//! Boolean combinations of constraints.

use super::{Affine, Atom, Call, Constraint, Name, Relop};

/// A quantifier-free formula. Free variables of a property are read as universally quantified.
///
/// `True` is `And([])`, `False` is `Or([])`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    Constraint(Constraint),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Not(Box<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    /// A named predicate, as find templates use them: `match(q, I)`. Expanded before proving.
    Predicate(Name, Vec<Affine>),
}

impl Formula {
    pub fn truth(value: bool) -> Self {
        if value { Formula::And(Vec::new()) } else { Formula::Or(Vec::new()) }
    }

    pub fn is_true(&self) -> bool {
        matches!(self, Formula::And(v) if v.is_empty())
    }

    pub fn is_false(&self) -> bool {
        matches!(self, Formula::Or(v) if v.is_empty())
    }

    pub fn eq(a: Affine, b: Affine) -> Self {
        Formula::Constraint(Constraint::eq(a, b))
    }
    pub fn ne(a: Affine, b: Affine) -> Self {
        Formula::Constraint(Constraint::ne(a, b))
    }
    pub fn le(a: Affine, b: Affine) -> Self {
        Formula::Constraint(Constraint::le(a, b))
    }
    pub fn lt(a: Affine, b: Affine) -> Self {
        Formula::Constraint(Constraint::lt(a, b))
    }

    /// Conjunction, flattened; `False` absorbs.
    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Self {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Formula::And(inner) => out.extend(inner),
                f if f.is_false() => return Formula::truth(false),
                Formula::Constraint(c) if c.as_bool() == Some(true) => {}
                Formula::Constraint(c) if c.as_bool() == Some(false) => {
                    return Formula::truth(false);
                }
                f => out.push(f),
            }
        }
        if out.len() == 1 { out.remove(0) } else { Formula::And(out) }
    }

    /// Disjunction, flattened; `True` absorbs.
    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Self {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Formula::Or(inner) => out.extend(inner),
                f if f.is_true() => return Formula::truth(true),
                Formula::Constraint(c) if c.as_bool() == Some(false) => {}
                Formula::Constraint(c) if c.as_bool() == Some(true) => {
                    return Formula::truth(true);
                }
                f => out.push(f),
            }
        }
        if out.len() == 1 { out.remove(0) } else { Formula::Or(out) }
    }

    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Self {
        match self {
            Formula::Not(inner) => *inner,
            Formula::Constraint(c) => Formula::Constraint(c.negated()),
            f if f.is_true() => Formula::truth(false),
            f if f.is_false() => Formula::truth(true),
            f => Formula::Not(Box::new(f)),
        }
    }

    pub fn implies(self, then: Formula) -> Self {
        if self.is_true() {
            return then;
        }
        Formula::Implies(Box::new(self), Box::new(then))
    }

    /// Lexicographic `a < b`: `a0 < b0 or (a0 = b0 and (a1 < b1 or …))`.
    pub fn lex_lt(a: &[Affine], b: &[Affine]) -> Self {
        let mut out = Formula::truth(false);
        for (x, y) in a.iter().zip(b).rev() {
            let strictly = Formula::lt(x.clone(), y.clone());
            let tie = Formula::and([Formula::eq(x.clone(), y.clone()), out]);
            out = Formula::or([strictly, tie]);
        }
        out
    }

    /// Two calls of one array: equal arguments have equal values. `None` where that says nothing,
    /// because the arguments differ by a constant or the calls are of different arrays.
    pub fn congruence(one: &Call, other: &Call) -> Option<Formula> {
        if one.array != other.array || one.args.len() != other.args.len() {
            return None;
        }
        let same = |(a, b): (&Affine, &Affine)| Formula::eq(a.clone(), b.clone());
        let premise = Formula::and(one.args.iter().zip(&other.args).map(same));
        (!premise.is_false()).then(|| {
            let value = |call: &Call| Affine::atom(Atom::Call(call.clone()));
            premise.implies(Formula::eq(value(one), value(other)))
        })
    }

    /// The same with constant comparisons decided.
    #[must_use]
    pub fn folded(&self) -> Formula {
        match self {
            Formula::Constraint(c) => match c.as_bool() {
                Some(value) => Formula::truth(value),
                None => self.clone(),
            },
            Formula::And(v) => Formula::and(v.iter().map(Formula::folded)),
            Formula::Or(v) => Formula::or(v.iter().map(Formula::folded)),
            Formula::Not(x) => x.folded().not(),
            Formula::Implies(a, b) => {
                let (a, b) = (a.folded(), b.folded());
                if a.is_false() || b.is_true() { Formula::truth(true) } else { a.implies(b) }
            }
            Formula::Predicate(..) => self.clone(),
        }
    }

    /// Rewrites every constraint and predicate argument with `f`.
    pub fn map_affine(&self, f: &impl Fn(&Affine) -> Affine) -> Formula {
        match self {
            Formula::Constraint(c) => Formula::Constraint(c.map(f)),
            Formula::And(v) => Formula::And(v.iter().map(|x| x.map_affine(f)).collect()),
            Formula::Or(v) => Formula::Or(v.iter().map(|x| x.map_affine(f)).collect()),
            Formula::Not(x) => Formula::Not(Box::new(x.map_affine(f))),
            Formula::Implies(a, b) => {
                Formula::Implies(Box::new(a.map_affine(f)), Box::new(b.map_affine(f)))
            }
            Formula::Predicate(n, args) => {
                Formula::Predicate(n.clone(), args.iter().map(f).collect())
            }
        }
    }

    pub fn substitute(&self, f: &impl Fn(&Name) -> Option<Affine>) -> Formula {
        self.map_affine(&|a| a.substitute(f))
    }

    pub fn rename(&self, f: &impl Fn(&Name) -> Option<Name>) -> Formula {
        self.map_affine(&|a| a.rename(f))
    }

    /// Replaces predicates for which `f` answers.
    pub fn expand_predicates<E>(
        &self,
        f: &mut impl FnMut(&Name, &[Affine]) -> Result<Formula, E>,
    ) -> Result<Formula, E> {
        Ok(match self {
            Formula::Constraint(_) => self.clone(),
            Formula::And(v) => {
                let parts: Result<Vec<_>, E> = v.iter().map(|x| x.expand_predicates(f)).collect();
                Formula::and(parts?)
            }
            Formula::Or(v) => {
                let parts: Result<Vec<_>, E> = v.iter().map(|x| x.expand_predicates(f)).collect();
                Formula::or(parts?)
            }
            Formula::Not(x) => x.expand_predicates(f)?.not(),
            Formula::Implies(a, b) => a.expand_predicates(f)?.implies(b.expand_predicates(f)?),
            Formula::Predicate(n, args) => f(n, args)?,
        })
    }

    /// Calls `f` on every linear form of the formula.
    pub fn visit_affine(&self, f: &mut impl FnMut(&Affine)) {
        match self {
            Formula::Constraint(c) => f(&c.affine),
            Formula::And(v) | Formula::Or(v) => v.iter().for_each(|x| x.visit_affine(f)),
            Formula::Not(x) => x.visit_affine(f),
            Formula::Implies(a, b) => {
                a.visit_affine(f);
                b.visit_affine(f);
            }
            Formula::Predicate(_, args) => args.iter().for_each(f),
        }
    }

    /// Calls `f` on every index-array call, inner ones first.
    pub fn visit_calls(&self, f: &mut impl FnMut(&Call)) {
        self.visit_affine(&mut |a| a.visit_calls(f));
    }

    /// Every variable, in order of first occurrence.
    pub fn free_vars(&self) -> Vec<Name> {
        let mut out: Vec<Name> = Vec::new();
        self.visit_affine(&mut |a| {
            a.visit_vars(&mut |n| {
                if !out.contains(n) {
                    out.push(n.clone());
                }
            });
        });
        out
    }

    /// The constraints when the formula is a plain conjunction.
    pub fn as_conjunction(&self) -> Option<Vec<Constraint>> {
        match self {
            Formula::Constraint(c) => Some(vec![c.clone()]),
            Formula::And(parts) => {
                let mut out = Vec::new();
                for part in parts {
                    out.extend(part.as_conjunction()?);
                }
                Some(out)
            }
            Formula::Not(inner) => match &**inner {
                Formula::Constraint(c) => Some(vec![c.negated()]),
                _ => None,
            },
            _ => None,
        }
    }

    /// Disjunctive normal form: a union of conjunctions (`!=` split into `<` and `>`).
    /// Exponential in the worst case; used on declarations, which are small.
    pub fn to_dnf(&self) -> Vec<Vec<Constraint>> {
        match self {
            Formula::Constraint(c) => match c.relop {
                Relop::Ne => {
                    let below = -c.affine.clone() - Affine::constant(1);
                    let above = c.affine.clone() - Affine::constant(1);
                    vec![
                        vec![Constraint { affine: below, relop: Relop::Ge }],
                        vec![Constraint { affine: above, relop: Relop::Ge }],
                    ]
                }
                _ => vec![vec![c.clone()]],
            },
            Formula::And(parts) => parts.iter().fold(vec![Vec::new()], |acc, part| {
                let right = part.to_dnf();
                let mut out = Vec::with_capacity(acc.len() * right.len());
                for a in &acc {
                    for b in &right {
                        out.push(a.iter().chain(b).cloned().collect());
                    }
                }
                out
            }),
            Formula::Or(parts) => parts.iter().flat_map(Formula::to_dnf).collect(),
            Formula::Not(inner) => inner.push_negation().to_dnf(),
            Formula::Implies(a, b) => Formula::Or(vec![a.push_negation(), (**b).clone()]).to_dnf(),
            Formula::Predicate(name, _) => {
                panic!("predicate {name} must be expanded before normalisation")
            }
        }
    }

    /// The negation with `not` pushed down to the constraints.
    fn push_negation(&self) -> Formula {
        match self {
            Formula::Constraint(c) => Formula::Constraint(c.negated()),
            Formula::And(v) => Formula::Or(v.iter().map(Formula::push_negation).collect()),
            Formula::Or(v) => Formula::And(v.iter().map(Formula::push_negation).collect()),
            Formula::Not(x) => (**x).clone(),
            Formula::Implies(a, b) => Formula::And(vec![(**a).clone(), b.push_negation()]),
            Formula::Predicate(..) => Formula::Not(Box::new(self.clone())),
        }
    }
}

impl From<Constraint> for Formula {
    fn from(c: Constraint) -> Self {
        Formula::Constraint(c)
    }
}
