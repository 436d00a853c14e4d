//! Queries as SMT-LIB 2 text, for any other solver and for bug reports.

use std::fmt::Write;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::terms::{Terms, unexpanded};
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};

/// Words that no symbol may be, quoted or not: quoting does not make a new symbol.
const RESERVED: &[&str] = &[
    "!",
    "_",
    "Bool",
    "Int",
    "Real",
    "String",
    "Array",
    "BitVec",
    "abs",
    "and",
    "as",
    "assert",
    "assume",
    "concat",
    "const",
    "distinct",
    "div",
    "divisible",
    "exists",
    "extract",
    "false",
    "forall",
    "if",
    "implies",
    "is",
    "is_int",
    "ite",
    "lambda",
    "let",
    "map",
    "match",
    "max",
    "min",
    "mod",
    "not",
    "or",
    "par",
    "rem",
    "root",
    "select",
    "store",
    "to_int",
    "to_real",
    "true",
    "xor",
];

/// The script: declarations, one assertion per fact, `check-sat` and `get-model`. The facts are
/// contradictory exactly if a solver answers `unsat`.
pub fn script<'f>(facts: impl IntoIterator<Item = &'f Formula>) -> String {
    let facts: Vec<&Formula> = facts.into_iter().collect();
    let symbols = Symbols::of(&facts);
    let mut out = String::from("(set-logic ALL)\n");
    for ((_, arity), symbol) in &symbols.0 {
        let args = vec!["Int"; arity.unwrap_or(0)].join(" ");
        let _ = writeln!(out, "(declare-fun {symbol} ({args}) Int)");
    }
    for fact in facts {
        let _ = writeln!(out, "(assert {})", symbols.formula(fact));
    }
    out.push_str("(check-sat)\n(get-model)\n");
    out
}

/// The symbol of each variable (no arity) and each array (name and arity).
struct Symbols(IndexMap<(Name, Option<usize>), String>);

impl Symbols {
    fn of(facts: &[&Formula]) -> Symbols {
        let terms = Terms::of(facts.iter().copied());
        let vars = terms.vars.iter().map(|name| (name.clone(), None));
        let arrays = terms.calls.iter().map(|call| (call.array.clone(), Some(call.args.len())));
        let mut taken: FxHashSet<String> = RESERVED.iter().map(|w| (*w).to_string()).collect();
        let mut symbols = IndexMap::new();
        for key in vars.chain(arrays) {
            if symbols.contains_key(&key) {
                continue;
            }
            // The relation language has no `!`, so a numbered name meets no written one.
            let plain = key.0.to_string();
            let mut name = plain.clone();
            let mut number = 0;
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("{plain}!{number}");
            }
            symbols.insert(key, quoted(&name));
        }
        Symbols(symbols)
    }

    fn symbol(&self, name: &Name, arity: Option<usize>) -> &str {
        &self.0[&(name.clone(), arity)]
    }

    fn formula(&self, formula: &Formula) -> String {
        let all = |op: &str, parts: &[Formula]| {
            application(op, parts.iter().map(|part| self.formula(part)))
        };
        match formula {
            Formula::Constraint(Constraint { affine, relop }) => {
                let form = self.affine(affine);
                match relop {
                    Relop::Eq => format!("(= {form} 0)"),
                    Relop::Ge => format!("(>= {form} 0)"),
                    Relop::Ne => format!("(not (= {form} 0))"),
                }
            }
            // `(and)` and `(or)` are not terms.
            Formula::And(parts) if parts.is_empty() => "true".into(),
            Formula::Or(parts) if parts.is_empty() => "false".into(),
            Formula::And(parts) if parts.len() == 1 => self.formula(&parts[0]),
            Formula::Or(parts) if parts.len() == 1 => self.formula(&parts[0]),
            Formula::And(parts) => all("and", parts),
            Formula::Or(parts) => all("or", parts),
            Formula::Not(inner) => format!("(not {})", self.formula(inner)),
            Formula::Implies(condition, then) => {
                format!("(=> {} {})", self.formula(condition), self.formula(then))
            }
            Formula::Predicate(name, _) => unexpanded(name),
        }
    }

    fn affine(&self, affine: &Affine) -> String {
        let mut terms: Vec<String> = affine
            .terms()
            .iter()
            .map(|(atom, coefficient)| match coefficient {
                1 => self.atom(atom),
                c => format!("(* {} {})", integer(*c), self.atom(atom)),
            })
            .collect();
        if affine.offset() != 0 || terms.is_empty() {
            terms.push(integer(affine.offset()));
        }
        if terms.len() == 1 { terms.remove(0) } else { application("+", terms) }
    }

    fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Var(name) => self.symbol(name, None).to_string(),
            Atom::Call(call) => {
                let symbol = self.symbol(&call.array, Some(call.args.len()));
                if call.args.is_empty() {
                    return symbol.to_string();
                }
                application(symbol, call.args.iter().map(|arg| self.affine(arg)))
            }
            Atom::Floor(inner, divisor) => format!("(div {} {divisor})", self.affine(inner)),
        }
    }
}

fn application(operator: &str, args: impl IntoIterator<Item = String>) -> String {
    let mut out = format!("({operator}");
    for arg in args {
        out.push(' ');
        out.push_str(&arg);
    }
    out.push(')');
    out
}

/// Negative numbers are applications in SMT-LIB.
fn integer(value: i64) -> String {
    if value < 0 { format!("(- {})", value.unsigned_abs()) } else { value.to_string() }
}

/// A simple symbol as it is, any other (with a prime, say) between bars.
fn quoted(name: &str) -> String {
    let simple = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_!".contains(c));
    if simple { name.to_string() } else { format!("|{name}|") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::parse;
    use crate::prover::{Answer, Prover, Z3Prover};
    use z3::{SatResult, Solver};

    #[test]
    fn a_script_reads_back_and_has_the_same_answer() {
        let queries = [
            vec!["0 <= q' < n", "pos(q') - 2*q' = -3", "pos != pos(pos)"],
            vec!["div = and_ + floor((x - 5)/3)", "min1 < div and (x < 2 or div(div) = 1 - x)"],
            vec!["p < q => crd(p) < crd(q)", "p < q", "crd(p) = crd(q)"],
            vec!["true", "not false", "exists < let"],
            vec!["false"],
        ];
        for texts in queries {
            let facts: Vec<Formula> =
                texts.iter().map(|text| parse::formula(text).unwrap()).collect();
            let script = script(&facts);
            let solver = Solver::new();
            solver.from_string(script.replace("(check-sat)\n(get-model)\n", ""));
            // A line that does not parse would be dropped silently, with all that follow.
            assert_eq!(solver.get_assertions().len(), facts.len(), "{script}");
            let expected = match Z3Prover::new().prove_unsat(&facts) {
                Answer::Unsat => SatResult::Unsat,
                Answer::Sat(_) => SatResult::Sat,
                Answer::Unknown(why) => panic!("undecided: {why}"),
            };
            assert_eq!(solver.check(), expected, "{script}");
        }
    }

    #[test]
    fn symbols_are_legal_and_distinct() {
        let fact = parse::formula("q' < div and pos < pos(q') and pos(q', q') = 0").unwrap();
        let script = script([&fact]);
        assert!(script.contains("(declare-fun |q'| () Int)"), "{script}");
        assert!(script.contains("(declare-fun div!1 () Int)"), "{script}");
        assert!(script.contains("(declare-fun pos () Int)"), "{script}");
        assert!(script.contains("(declare-fun pos!1 (Int) Int)"), "{script}");
        assert!(script.contains("(declare-fun pos!2 (Int Int) Int)"), "{script}");
    }

    #[test]
    fn empty_junctions_are_written_as_truth_values() {
        let facts = [
            Formula::And(vec![]),
            Formula::Implies(Box::new(Formula::Or(vec![])), Box::new(Formula::And(vec![]))),
        ];
        let script = script(&facts);
        assert!(script.contains("(assert true)\n(assert (=> false true))"), "{script}");
    }
}
