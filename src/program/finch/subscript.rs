//! What subscripts are: an index with a shift, a window, what may lie outside, or what is computed.
//!
//! ```text
//! A[i], A[i + 2]        the index runs along the dimension, shifted
//! A[(2:4)(i)]           … along a part of it
//! A[~e]                 may lie outside, where reading gives `missing` and writing nothing
//! A[i + j], A[i + v]    the same, for the index that is bound last
//! A[2], A[2*i], A[f(i)] computed; lies inside
//! ```
//! Protocols say how a dimension is walked through, not what is computed.

use super::linear::affine;
use super::refusal::wrong;
use super::syntax::{Expr, Ident};
use crate::diagnostic::Result;
use crate::formula::Affine;

/// How a dimension of a tensor is accessed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subscript {
    /// The index plus a number.
    Along { index: String, shift: i64 },
    /// An index from 1 to a length, plus a number.
    Window { index: String, shift: i64, length: i64 },
    /// What may lie outside.
    Permissive(Expr),
    /// What lies inside.
    Computed(Expr),
}

/// How an index may be walked.
pub(super) const PROTOCOLS: [&str; 5] = ["walk", "gallop", "follow", "extrude", "laminate"];

/// How a subscript is walked, if it says so, and what is.
pub(super) fn protocol(e: &Expr) -> Option<(&str, &Expr)> {
    let Expr::Call(f, args, _) = e else { return None };
    match (&**f, args.as_slice()) {
        (Expr::Name(Ident { name, .. }), [inner]) if PROTOCOLS.contains(&name.as_str()) => {
            Some((name, inner))
        }
        _ => None,
    }
}

/// What a subscript is; `depth` says of an index how many are bound around it.
pub(super) fn subscript(e: &Expr, depth: &impl Fn(&str) -> Option<usize>) -> Result<Subscript> {
    let is_index = |name: &str| depth(name).is_some();
    match e {
        Expr::Prefix("~", inner, _) => Ok(Subscript::Permissive((**inner).clone())),
        Expr::Call(_, _, span) => match protocol(e) {
            Some((_, inner @ Expr::Name(Ident { name, .. }))) if is_index(name) => {
                subscript(inner, depth)
            }
            Some(_) => {
                Err(wrong("a protocol is that of an index", span).help("write e.g. `A[gallop(i)]`"))
            }
            None => Ok(Subscript::Computed(e.clone())),
        },
        Expr::Window(from, to, index, span) => {
            let end = |e: &Expr| {
                let form = affine(e, &|_: &str| false, false);
                form.and_then(|form| form.as_constant()).ok_or_else(|| {
                    wrong("the ends of a window are numbers", span)
                        .help("write numbers, or names of numbers that are given")
                })
            };
            let (from, to) = (end(from)?, end(to)?);
            match subscript(index, depth)? {
                Subscript::Along { index, shift: 0 } => {
                    Ok(Subscript::Window { index, shift: from - 1, length: (to - from + 1).max(0) })
                }
                _ => Err(wrong("a window has an index", span).help("write `A[(2:4)(i)]`")),
            }
        }
        _ => Ok(linear(e, depth)),
    }
}

fn linear(e: &Expr, depth: &impl Fn(&str) -> Option<usize>) -> Subscript {
    let computed = || Subscript::Computed(e.clone());
    if let Some(form) = affine(e, &|name: &str| depth(name).is_some(), false) {
        if let Some(index) = (form.clone() - Affine::constant(form.offset())).as_var() {
            return Subscript::Along { index: index.to_string(), shift: form.offset() };
        }
        // Some index must be the last one, and stand alone.
        let mut vars: Vec<(usize, i64)> = Vec::new();
        form.visit_vars(&mut |v| vars.extend(depth(v).map(|d| (d, form.coefficient_of_var(v)))));
        return match vars.iter().max() {
            Some((_, 1)) if vars.len() > 1 => Subscript::Permissive(e.clone()),
            _ => computed(),
        };
    }
    // `i + e`, where `e` is no sum of indices.
    let mut terms = Vec::new();
    addends(e, true, &mut terms);
    let (mut alone, mut others) = (Vec::new(), Vec::new());
    for (term, positive) in &terms {
        match term {
            Expr::Name(Ident { name, .. }) if *positive => match depth(name) {
                Some(depth) => alone.push(depth),
                None => others.push(0),
            },
            term => term.visit(&mut |part| {
                if let Expr::Name(Ident { name, .. }) = part {
                    others.extend(depth(name));
                }
            }),
        }
    }
    match alone.iter().max() {
        Some(last) if terms.len() > 1 && others.iter().all(|d| d < last) => {
            Subscript::Permissive(e.clone())
        }
        _ => computed(),
    }
}

/// The terms of a sum, with whether they are added.
fn addends<'a>(e: &'a Expr, positive: bool, out: &mut Vec<(&'a Expr, bool)>) {
    match e {
        Expr::Infix(op @ ("+" | "-"), a, b) => {
            addends(a, positive, out);
            addends(b, positive == (*op == "+"), out);
        }
        other => out.push((other, positive)),
    }
}
