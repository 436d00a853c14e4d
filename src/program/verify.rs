//! What a program must satisfy beyond its grammar.

use std::ops::Range;

use super::SOURCE_NAME;
use super::ir::{Access, Declare, Expr, Literal, Program, Stmt};
use super::token::{WORDS, continues_name, is_reserved, starts_name, words};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Atom, Name};

impl Program {
    /// A program of the tree `root`, whose spans are byte ranges of `text` (or empty).
    ///
    /// # Errors
    /// Those of [`Program::verify`].
    pub fn new(root: Stmt, text: impl Into<String>) -> Result<Program> {
        let program = Program { root, text: text.into() };
        program.verify()?;
        Ok(program)
    }

    /// Checks the IR's invariants:
    /// - names are identifiers, none has two roles (tensor, index, value); a value is bound by one
    ///   statement, an index by loops of which none is inside another: it is one index, of one extent;
    /// - indices and values are used inside the statements that bind them; subscripts are linear in
    ///   indices and values; an `if` compares indices and calls nothing;
    /// - a tensor has one rank, and no assignment reads what it writes;
    /// - a tensor is declared at most once, before all else that mentions it and in a block outside
    ///   of which nothing does, and keeps what is given only if it is an output; an output that is not
    ///   declared is combined by one operator, not `=`;
    /// - a free loop gives the same result in any order;
    /// - operators have as many arguments as they take; literals are finite and carry no sign.
    ///
    /// # Errors
    /// [`Code::Program`], with the place in [`Program::text`].
    pub fn verify(&self) -> Result<()> {
        self.verify_parts().map_err(|e| e.within(SOURCE_NAME, &self.text))
    }

    fn verify_parts(&self) -> Result<()> {
        for access in self.all_accesses() {
            verify_name(&access.tensor, access.name_span())?;
            for subscript in &access.subscripts {
                if subscript.terms().iter().any(|(atom, _)| !matches!(atom, Atom::Var(_))) {
                    return Err(wrong("subscript is not a sum of indices", access.span.clone())
                        .help("use only sums and constant multiples of indices"));
                }
            }
            let mut names = Ok(());
            access.visit_indices(&mut |index| {
                if names.is_ok() {
                    names = verify_name(index, self.place_of_index(access, index));
                }
            });
            names?;
        }
        self.verify_roles()?;
        self.verify_binders()?;
        self.verify_ranks()?;
        self.verify_assigns()?;
        self.verify_expressions()?;
        self.verify_scopes()?;
        self.verify_declares()?;
        self.verify_order()
    }

    /// The place of the first occurrence of `index` in the subscripts of `access`.
    pub(super) fn place_of_index(&self, access: &Access, index: &str) -> Range<usize> {
        words(&self.text, access.name_span().end)
            .into_iter()
            .find(|(word, span)| *word == index && span.end <= access.span.end)
            .map_or(access.span.clone(), |(_, span)| span)
    }

    fn verify_roles(&self) -> Result<()> {
        let accesses = self.all_accesses();
        for user in &accesses {
            let Some(named) = accesses.iter().find(|a| user.mentions(&a.tensor)) else { continue };
            let name = &named.tensor;
            let message = format!("`{name}` is both a tensor and an index");
            return Err(wrong(message, self.place_of_index(user, name))
                .note(format!("`{named}` uses it as a tensor, `{user}` as an index"))
                .help("give one of the two another name"));
        }
        Ok(())
    }

    fn verify_ranks(&self) -> Result<()> {
        let accesses = self.all_accesses();
        for (k, access) in accesses.iter().enumerate() {
            let other = accesses[..k]
                .iter()
                .find(|a| a.tensor == access.tensor && a.rank() != access.rank());
            if let Some(other) = other {
                let message = format!(
                    "`{}` has {} and {} subscripts",
                    access.tensor,
                    other.rank(),
                    access.rank()
                );
                return Err(wrong(message, access.span.clone())
                    .note(format!("it first occurs as `{other}`"))
                    .help("a tensor has one subscript per dimension, everywhere"));
            }
        }
        Ok(())
    }

    /// Names that loops, `let` and `declare` introduce.
    fn verify_binders(&self) -> Result<()> {
        let mut bound: Vec<(&Name, Range<usize>)> = Vec::new();
        self.root.visit(&mut |s| match s {
            Stmt::Loop(l) => bound.push((&l.index, l.span.0.clone())),
            Stmt::Let(l) => bound.push((&l.name, l.span.0.clone())),
            _ => {}
        });
        for declare in self.declares() {
            verify_name(&declare.tensor, declare.span.0.clone())?;
        }
        let tensors = self.tensors();
        verify_bound_once(&self.root, &mut Vec::new(), &mut Vec::new())?;
        for (name, place) in &bound {
            verify_name(name, place.clone())?;
            if tensors.contains_key(*name) || self.declares().iter().any(|d| d.tensor == **name) {
                let message = format!("`{name}` is both a tensor and bound by a statement");
                return Err(wrong(message, place.clone()).help("give one of the two another name"));
            }
        }
        Ok(())
    }

    fn verify_assigns(&self) -> Result<()> {
        for assign in self.assigns() {
            let name = &assign.output.tensor;
            let reads = assign.value.accesses();
            if let Some(read) = reads.into_iter().find(|a| a.tensor == *name) {
                return Err(wrong(format!("output `{name}` is also read"), read.span.clone())
                    .help(format!(
                        "give the output another name; `{name}[…] += …` already adds to `{name}`"
                    )));
            }
        }
        Ok(())
    }

    fn verify_expressions(&self) -> Result<()> {
        let mut out = Ok(());
        let check = |e: &Expr| match e {
            Expr::Literal(literal) => verify_literal(literal),
            Expr::Apply(apply) => apply.op.accepts(apply.args.len()).map_err(|mut e| {
                e.code = Code::Program;
                e.at(apply.span.0.clone(), "here")
            }),
            Expr::Access(_) | Expr::Index(..) | Expr::Name(..) | Expr::Within(_) => Ok(()),
        };
        self.root.visit(&mut |s| {
            if let Some(value) = s.value() {
                value.visit(&mut |e| {
                    if out.is_ok() {
                        out = check(e);
                    }
                });
            }
            if let (Stmt::Declare(Declare { fill: Some(fill), .. }), true) = (s, out.is_ok()) {
                out = verify_literal(&fill.literal);
            }
        });
        out
    }
}

fn verify_literal(literal: &Literal) -> Result<()> {
    let plain = literal.digits().starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if (plain && literal.is_finite()) || WORDS.contains(&literal.text.as_str()) {
        return Ok(());
    }
    Err(wrong(format!("literal `{literal}` is no number"), literal.span.clone())
        .help("give digits without a sign, `inf`, `nan`, `true` or `false`"))
}

pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
    if names.is_empty() { "here there is none".to_string() } else { names.join(", ") }
}

fn verify_name(name: &str, span: Range<usize>) -> Result<()> {
    let identifier = name.starts_with(starts_name) && name.chars().all(continues_name);
    if identifier && !is_reserved(name) && name != "_" {
        return Ok(());
    }
    let why = if is_reserved(name) { "a reserved word" } else { "not an identifier" };
    Err(wrong(format!("`{name}` is {why}"), span)
        .help("a name is a letter or `_`, then letters, digits and `_`"))
}

pub(super) fn wrong(message: impl Into<String>, span: Range<usize>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Program, message).at(span, "here")
}

/// Loops one after the other may have one index; nothing else is bound twice. `seen` are the names so far,
/// with whether each is a loop's.
fn verify_bound_once<'a>(
    stmt: &'a Stmt,
    around: &mut Vec<&'a Name>,
    seen: &mut Vec<(&'a Name, bool)>,
) -> Result<()> {
    let bound = match stmt {
        Stmt::Loop(l) => Some((&l.index, true, &l.span)),
        Stmt::Let(l) => Some((&l.name, false, &l.span)),
        _ => None,
    };
    if let Some((name, is_loop, place)) = bound {
        let apart = |(other, of_loop): &(&Name, bool)| *other != name || (is_loop && *of_loop);
        if around.contains(&name) || !seen.iter().all(apart) {
            return Err(wrong(format!("`{name}` is bound twice"), place.0.clone())
                .help("give loops inside each other, and every `let`, names of their own"));
        }
        seen.push((name, is_loop));
        around.push(name);
    }
    for inner in stmt.blocks().into_iter().flatten() {
        verify_bound_once(inner, around, seen)?;
    }
    if bound.is_some() {
        around.pop();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::Operators;
    use crate::program::ir::{Apply, Assign, Span};

    #[test]
    fn each_broken_invariant_is_refused_in_its_place() {
        for (text, message, at) in [
            ("y[i] = y[i] * x[i]", "output `y` is also read", 7..11),
            ("y[i] = x[i] + i[]", "`i` is both a tensor and an index", 2..3),
            ("y[i] = x[i] * A[2*i + x,i]", "`x` is both a tensor and an index", 22..23),
            ("y[y] = x[i]", "`y` is both a tensor and an index", 2..3),
            ("y[i] = x[i] * x[i,j]", "`x` has 1 and 2 subscripts", 14..20),
            ("y[i] = x[i] * x", "`x` has 1 and 0 subscripts", 14..15),
            ("y[ceil] = x[ceil]", "`ceil` is a reserved word", 2..6),
            ("y[_] = x[_]", "`_` is not an identifier", 2..3),
            (
                "y[i] = x[i] if j < i + ii",
                "the restriction mentions `j`, which is not an index",
                15..16,
            ),
            (
                "y[i] = x[i] if i < ii + N",
                "the restriction mentions `ii`, which is not an index",
                19..21,
            ),
            ("y[i] = x[i] if i < x(i)", "the restriction reads `x`", 19..20),
            ("y[i] = x[i] if i < 3 and on(i)", "the restriction reads `on`", 25..27),
            ("y[i] = x[i] if i < α", "the restriction mentions `α`, which is not an index", 19..21),
        ] {
            let e = Program::parse(text).unwrap_err();
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            assert_eq!(e.span.as_ref().unwrap().0, at, "{text}");
            assert!(e.help.is_some(), "{text}");
            assert_eq!(e.source.as_ref().unwrap().name, SOURCE_NAME);
        }
    }

    #[test]
    fn a_hand_made_program_is_verified_too() {
        let broken = |text: &str, change: &dyn Fn(&mut Assign)| {
            let mut root = Program::parse(text).unwrap().root;
            let mut stmt = &mut root;
            let assign = loop {
                stmt = match stmt {
                    Stmt::Assign(assign) => break assign,
                    Stmt::Loop(l) => &mut l.body[0],
                    Stmt::Block(block) => &mut block[1],
                    other => panic!("{other}"),
                };
            };
            change(assign);
            Program::new(root, text).unwrap_err().message
        };
        let message = broken("y[i] = x[i]", &|a| {
            a.output.subscripts[0] = a.output.subscripts[0].clone().floor_div(2);
        });
        assert_eq!(message, "subscript is not a sum of indices");
        for text in ["-2", "two", "", "+inf", "1e999"] {
            let literal = Literal { text: text.to_string(), span: 0..0 };
            let message = broken("y[i] = 2", &|a| a.value = Expr::Literal(literal.clone()));
            assert_eq!(message, format!("literal `{text}` is no number"));
        }
        let op = Operators::shipped().unwrap().infix("-").unwrap();
        let message = broken("y[i] = x[i]", &|a| {
            let (op, args) = (op.clone(), Vec::new());
            a.value = Expr::Apply(Apply { op, args, span: Span::default() });
        });
        assert_eq!(message, "`sub` has 2 arguments, not 0");
    }

    #[test]
    fn each_broken_rule_of_trees_is_refused_in_its_place() {
        for (text, message, at) in [
            ("forall i { y[j] += x[i] }", "`j` is bound by no loop here", "j"),
            ("{ forall i { a += x[i] } b += x[i] }", "`i` is bound by no loop here", "i"),
            ("forall i { forall i { a += x[i] } }", "`i` is bound twice", "i"),
            ("forall i { let i = 2 { a += x[i] } }", "`i` is bound twice", "i"),
            ("let v = 2 { y += v * v[] }", "`v` is both a tensor and bound by a statement", "v"),
            ("forall max { y += 2 }", "`max` is a reserved word", "max"),
            (
                "forall i { if j < 2 { y += x[i] } }",
                "the restriction mentions `j`, which is not an index",
                "j",
            ),
            ("forall i { if x(i) > 2 { y += x[i] } }", "the restriction reads `x`", "x"),
            ("forall i { y[i] = x[i] }", "`y` is stored to, but not declared", "y[i]"),
            (
                "{ forall i { y += x[i] } forall j { y *= x[j] } }",
                "`y` is written by `+=` and by `*=`, but not declared",
                "y",
            ),
            ("{ declare y 0 declare y 1 y += 2 }", "`y` is declared twice", "y"),
            ("{ declare t 0 y += t }", "`t` is declared, but not written", "t"),
            (
                "{ forall i { y[i] += x[i] } declare y 0 }",
                "`y` is used before it is declared",
                "y[i]",
            ),
            (
                "{ forall i { declare t 0 t += x[i] } y += t }",
                "`t` is used outside the block that declares it",
                "t",
            ),
            (
                "{ declare y 0 forall i { y[] = x[i] } }",
                "the order of the free loop over `i` decides `y`",
                "y[]",
            ),
            (
                "{ declare y 0 forall i { forall j { y[i+j] = x[i] * w[j] } } }",
                "the order of the free loop over `i` decides `y`",
                "y[i+j]",
            ),
            (
                "{ declare y 1 forall i { y *= x[i] y += 1 } }",
                "the order of the free loop over `i` decides `y`",
                "y",
            ),
            (
                "{ declare s 0 forall i { s += x[i] y[i] += s } }",
                "the order of the free loop over `i` decides `s`",
                "s",
            ),
        ] {
            let e = Program::parse(text).expect_err(text);
            assert_eq!((e.code, e.message.as_str()), (Code::Program, message), "{text}");
            assert_eq!(&text[e.span.clone().unwrap().0], at, "{text}");
            assert!(e.help.is_some() && e.source.is_some(), "{text}");
        }
    }

    #[test]
    fn loops_whose_order_does_not_matter_may_be_free() {
        for text in [
            "{ declare y 0 forall i { y[i] = x[i] } }",
            "{ declare y 0 forall i { y[i] += x[i] y[i] *= 2 z[i] += y[i] } }",
            "forall i { declare t 0 for j { t += A[i,j] } y[i] += t * t }",
            "{ declare s 0 for i { s += x[i] y[i] += s } }",
            "{ declare y 0 for i { y[] = x[i] } }",
            "forall i { y min= x[i] }",
        ] {
            if let Err(e) = Program::parse(text) {
                panic!("{text}: {e}");
            }
        }
    }
}
