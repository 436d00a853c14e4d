//! The relation of a layout as a union of conjunctions.
//!
//! In: the pieces of a parsed relation, whose formulas are arbitrary. Out: a [`Relation`] whose
//! pieces share one tuple of positions and one of coordinates, each a plain conjunction.
//!
//! ```text
//! { [p] -> [i, j] : A ; [q] -> [j, i] : B or C }
//! ```
//! becomes the pieces `A`, `B'`, `C'`, where `B'` is `B` with `q, j, i` read as `p, i, j`.

use std::fmt;

use super::Relation;
use super::apart::apart;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::parse::{self, Constants, Piece};
use crate::formula::{Affine, Constraint, Formula, Name, Relop, conjunction};

/// More conjunctions than any sensible declaration; bounds the normal form of hostile input.
const MAX_PIECES: usize = 64;

impl Relation {
    /// Reads isl's notation with index-array calls; what `Display` prints reads back.
    pub fn parse(text: &str) -> Result<Relation> {
        Relation::parse_with(text, &|_| None)
    }

    /// [`Relation::parse`] with integer parameters.
    pub fn parse_with(text: &str, constants: Constants<'_>) -> Result<Relation> {
        Relation::from_pieces(parse::relation_with(text, constants)?)
    }

    fn from_pieces(parsed: Vec<Piece>) -> Result<Relation> {
        let Some(first) = parsed.first() else {
            return Err(Diagnostic::new(Code::Syntax, "the relation has no piece"));
        };
        let (positions, coordinates) = (first.inputs.clone(), first.outputs.clone());
        let mut pieces = Vec::new();
        for piece in &parsed {
            if let Some(name) = piece.inputs.iter().find(|n| piece.outputs.contains(n)) {
                return Err(Diagnostic::new(
                    Code::LayoutSchema,
                    format!("`{name}` is both a position and a coordinate"),
                )
                .help("name them apart and add an equation"));
            }
            same_length("positions", &positions, &piece.inputs)?;
            same_length("coordinates", &coordinates, &piece.outputs)?;
            let formula = piece.formula.substitute(&|n| {
                let at = |from: &[Name], to: &[Name]| {
                    from.iter().position(|x| x == n).map(|k| Affine::var(to[k].clone()))
                };
                at(&piece.inputs, &positions).or_else(|| at(&piece.outputs, &coordinates))
            });
            pieces.extend(normal_form(&formula)?);
            if pieces.len() > MAX_PIECES {
                return Err(too_many_pieces());
            }
        }
        let pieces = apart(pieces, MAX_PIECES).ok_or_else(too_many_pieces)?;
        Ok(Relation { positions, coordinates, pieces })
    }

    /// Every constraint of every piece.
    pub fn constraints(&self) -> impl Iterator<Item = &Constraint> {
        self.pieces.iter().flatten()
    }
}

fn same_length(what: &str, first: &[Name], other: &[Name]) -> Result<()> {
    if first.len() == other.len() {
        return Ok(());
    }
    Err(Diagnostic::new(
        Code::LayoutSchema,
        format!(
            "pieces of a union differ: one has {} {what}, another {}",
            first.len(),
            other.len()
        ),
    )
    .help("give every piece the same number of positions and of coordinates"))
}

/// The conjunctions of a formula. Refuses predicates and unreasonably many conjunctions.
pub(super) fn normal_form(formula: &Formula) -> Result<Vec<Vec<Constraint>>> {
    no_predicates(formula)?;
    if normal_form_size(formula, false) > MAX_PIECES {
        return Err(too_many_pieces());
    }
    Ok(formula.to_dnf())
}

fn too_many_pieces() -> Box<Diagnostic> {
    Diagnostic::new(
        Code::LayoutSchema,
        format!("the relation falls apart into more than {MAX_PIECES} conjunctions"),
    )
    .help("write fewer `or`, `!=` and pieces of a union, or more index arrays")
}

/// Predicates belong to find templates; here `pos(p)` without a comparison is a slip.
pub(super) fn no_predicates(formula: &Formula) -> Result<()> {
    formula.expand_predicates(&mut |name, _| {
        Err(Diagnostic::new(
            Code::Syntax,
            format!("`{name}(…)` stands alone; a comparison is expected"),
        )
        .help(format!("compare it with something, e.g. `{name}(…) = 1`")))
    })?;
    Ok(())
}

fn normal_form_size(formula: &Formula, negated: bool) -> usize {
    let sum = |v: &[Formula], negated| {
        v.iter().fold(0, |n: usize, x| n.saturating_add(normal_form_size(x, negated)))
    };
    let product = |v: &[Formula], negated| {
        v.iter().fold(1, |n: usize, x| n.saturating_mul(normal_form_size(x, negated)))
    };
    match formula {
        Formula::Constraint(c) => {
            let splits = if negated { Relop::Eq } else { Relop::Ne };
            1 + usize::from(c.relop == splits)
        }
        Formula::And(v) if !negated => product(v, false),
        Formula::And(v) => sum(v, true),
        Formula::Or(v) if !negated => sum(v, false),
        Formula::Or(v) => product(v, true),
        Formula::Not(x) => normal_form_size(x, !negated),
        Formula::Implies(a, b) => {
            let (a, b) = (normal_form_size(a, !negated), normal_form_size(b, negated));
            if negated { a.saturating_mul(b) } else { a.saturating_add(b) }
        }
        Formula::Predicate(..) => 1,
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tuples =
            format!("[{}] -> [{}]", self.positions.join(", "), self.coordinates.join(", "));
        if self.pieces.is_empty() {
            return write!(f, "{{ {tuples} : false }}");
        }
        f.write_str("{ ")?;
        for (k, piece) in self.pieces.iter().enumerate() {
            let separator = if k > 0 { " ; " } else { "" };
            match piece.as_slice() {
                [] => write!(f, "{separator}{tuples}")?,
                _ => write!(f, "{separator}{tuples} : {}", conjunction(piece))?,
            }
        }
        f.write_str(" }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_union_share_the_names_of_the_first() {
        let r = Relation::parse(
            "{ [p] -> [i, j] : i = row(p) and j = crd(p) }
             ∪ { [q] -> [j, i] : j = crd(q) and i = row(q) and i < j }",
        )
        .unwrap();
        assert_eq!(
            r.to_string(),
            "{ [p] -> [i, j] : i = row(p) and j = crd(p) \
             ; [p] -> [i, j] : i = crd(p) and j = row(p) and j < i }"
        );
    }

    #[test]
    fn a_disjunction_becomes_pieces_that_read_back() {
        let r = Relation::parse("{ [p] -> [i] : i = p and (p < 3 or p != n(i)) }").unwrap();
        assert_eq!(r.pieces.len(), 3);
        assert_eq!(Relation::parse(&r.to_string()).unwrap(), r);
    }

    #[test]
    fn pieces_do_not_meet() {
        for (text, expected) in [
            (
                "{ [p] -> [i, j] : i = p and (j < 2 or i < 3) }",
                "{ [p] -> [i, j] : i = p and j <= 1 ; [p] -> [i, j] : i = p and i <= 2 and j >= 2 }",
            ),
            (
                "{ [p] -> [i] : i = p and i >= 1 ; [q] -> [i] : i = q and i >= 2 }",
                "{ [p] -> [i] : i = p and i >= 1 }",
            ),
            // What an index array holds may be anything.
            (
                "{ [p] -> [i] : i = p and p < n(0) ; [p] -> [i] : i = p and p < 4 }",
                "{ [p] -> [i] : i = p and p < n(0) ; [p] -> [i] : i = p and p <= 3 and n(0) <= p }",
            ),
        ] {
            assert_eq!(Relation::parse(text).unwrap().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn an_empty_relation_reads_back() {
        let r = Relation::parse("{ [p] -> [i] : false }").unwrap();
        assert_eq!(r.to_string(), "{ [p] -> [i] : false }");
        assert_eq!(Relation::parse(&r.to_string()).unwrap(), r);
    }

    #[test]
    fn a_lone_call_and_a_huge_union_are_refused() {
        let e = Relation::parse("{ [p] -> [i] : i = p and crd(p) }").unwrap_err();
        assert_eq!(e.code, Code::Syntax);
        let many: Vec<String> = (0..8).map(|k| format!("i != {k}")).collect();
        let e = Relation::parse(&format!("{{ [p] -> [i] : {} }}", many.join(" and "))).unwrap_err();
        assert!(e.message.contains("64 conjunctions"), "{}", e.message);
        let many = vec!["[p] -> [i] : i != p"; 33].join(" ; ");
        let e = Relation::parse(&format!("{{ {many} }}")).unwrap_err();
        assert!(e.message.contains("64 conjunctions"), "{}", e.message);
    }
}
