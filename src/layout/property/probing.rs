//! `probing`: the array holds hash tables with linear probing, one along its last argument for each
//! choice of the others; a negative number marks an empty slot (Formats §3.1, *hashed*).
//!
//! `home(W, c)` is a function symbol: the slot of a table of `W` from which on `c` is looked for
//! ([`home_slot`](super::super::probing::home_slot)).
//!
//! ```text
//! (0 <= p < q < W and 0 <= f(p) => f(p) != f(q))
//! and (0 <= p < W and 0 <= f(p) => 0 <= home(W, f(p)) <= p)
//! and (0 <= p < q < W and 0 <= f(q) and home(W, f(q)) <= p => 0 <= f(p))
//! ```

use super::super::bounds::extent_of;
use super::super::probing::HOME;
use super::guard::{Subject, conjunction, domain_at};
use crate::formula::{Affine, Constraint, Formula};

pub(super) fn formula(subject: &Subject<'_>) -> Result<Formula, String> {
    subject.refuses_segments()?;
    let array = subject.single()?;
    let Some(slot) = array.args.last() else {
        return Err("needs an array with arguments".to_string());
    };
    let plain = array.args.iter().zip(&array.shape).all(|(arg, extent)| {
        let from_zero = Constraint::le(Affine::zero(), Affine::var(arg.clone()));
        let below = extent_of(arg, &array.domain, subject.is_size);
        array.domain.contains(&from_zero)
            && below.is_some_and(|e| extent.to_affine().is_ok_and(|s| s == e))
    });
    if !plain || array.domain.len() != 2 * array.args.len() {
        return Err("needs an array whose domain is `0 <= ARGUMENT < SIZE` for each".to_string());
    }
    let Some(slots) = extent_of(slot, &array.domain, subject.is_size) else {
        return Err(format!("needs an array whose domain bounds `{slot}`"));
    };
    let table = &array.args[..array.args.len() - 1];
    let at = |slot: &Affine| {
        let mut args: Vec<Affine> = table.iter().cloned().map(Affine::var).collect();
        args.push(slot.clone());
        args
    };
    let variable = |base: &str| {
        let mut name = base.to_string();
        while table.iter().any(|t| **t == *name) || (subject.is_size)(&name.as_str().into()) {
            name.push('\'');
        }
        Affine::var(name)
    };
    let (p, q) = (variable("p"), variable("q"));
    let (at_p, at_q) = (at(&p), at(&q));
    let value = |args: &[Affine]| Affine::call(array.name.clone(), args.to_vec());
    let occupied = |args: &[Affine]| Formula::le(Affine::zero(), value(args));
    let home = |args: &[Affine]| Affine::call(HOME, vec![slots.clone(), value(args)]);
    let inside = |args: &[Affine]| conjunction(domain_at(array, args));
    let of_table = array.domain.iter().filter(|c| !c.mentions(slot)).cloned();
    let ordered = conjunction(
        of_table
            .chain([
                Constraint::le(Affine::zero(), p.clone()),
                Constraint::lt(p.clone(), q.clone()),
                Constraint::lt(q.clone(), slots.clone()),
            ])
            .collect(),
    );

    let once = Formula::and([ordered.clone(), occupied(&at_p)])
        .implies(Formula::ne(value(&at_p), value(&at_q)));
    let from_home = Formula::and([inside(&at_p), occupied(&at_p)]).implies(Formula::and([
        Formula::le(Affine::zero(), home(&at_p)),
        Formula::le(home(&at_p), p.clone()),
    ]));
    let no_hole = Formula::and([ordered, occupied(&at_q), Formula::le(home(&at_q), p)])
        .implies(occupied(&at_p));
    Ok(Formula::and([once, from_home, no_hole]))
}
