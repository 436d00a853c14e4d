//! Random programs: the tree that they are lowered to computes what running their text directly does.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use siskin::program::finch::Finch;
use siskin::program::finch::syntax::{Access, Expr, Literal, Stmt, Tensor, Update};
use siskin::tensor::Values;

use super::Inputs;
use super::compiled::{Given, MATRICES, VECTORS};

const N: i64 = 4;

/// A value, or `missing`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Number(i64),
    Truth(bool),
    Missing,
}

/// Runs programs over whole numbers, as they are written.
struct Direct {
    tensors: HashMap<String, Vec<i64>>,
    names: HashMap<String, i64>,
}

impl Direct {
    fn run(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Block(body) => self.run(body),
                Stmt::For(indices, body) => self.repeat(indices, body),
                Stmt::If(branches, otherwise) => {
                    let taken = branches.iter().find(|b| self.holds(&b.condition));
                    match (taken, otherwise) {
                        (Some(branch), _) => self.run(&branch.body),
                        (None, Some(body)) => self.run(body),
                        (None, None) => {}
                    }
                }
                Stmt::Let(bound, body) => {
                    for (name, value) in bound {
                        let value = self.number(value);
                        self.names.insert(name.name.clone(), value);
                    }
                    self.run(body);
                }
                Stmt::Declare(d) => {
                    let size = if d.tensor.name == "y" { N } else { 1 };
                    let init = self.number(&d.init);
                    self.tensors.insert(d.tensor.name.clone(), vec![init; size as usize]);
                }
                Stmt::Assign(a) => {
                    let value = self.number(&a.value);
                    let Some(at) = self.place(&a.output) else { continue };
                    let element =
                        &mut self.tensors.get_mut(&a.output.tensor.name().name).unwrap()[at];
                    *element = match &a.op {
                        Update::Init(_) | Update::Overwrite(_) => value,
                        Update::Symbol("+", _) => element.wrapping_add(value),
                        Update::By(Expr::Name(op)) if op.name == "min" => value.min(*element),
                        Update::By(Expr::Name(op)) if op.name == "max" => value.max(*element),
                        Update::By(Expr::Call(..)) if *element == 0 => value,
                        Update::By(Expr::Call(..)) => *element,
                        other => panic!("{other}"),
                    };
                }
                Stmt::Freeze(..) | Stmt::Thaw(..) | Stmt::Return(..) => {}
            }
        }
    }

    fn repeat(
        &mut self,
        indices: &[(
            siskin::program::finch::syntax::Ident,
            siskin::program::finch::syntax::Extent,
        )],
        body: &[Stmt],
    ) {
        let Some(((index, _), rest)) = indices.split_first() else { return self.run(body) };
        for value in 1..=N {
            self.names.insert(index.name.clone(), value);
            self.repeat(rest, body);
        }
    }

    fn holds(&self, e: &Expr) -> bool {
        match self.value(e) {
            Value::Truth(truth) => truth,
            other => panic!("{e} is {other:?}"),
        }
    }

    fn number(&self, e: &Expr) -> i64 {
        match self.value(e) {
            Value::Number(number) => number,
            other => panic!("{e} is {other:?}"),
        }
    }

    /// Where an access goes; none if it lies outside and may.
    fn place(&self, access: &Access) -> Option<usize> {
        let mut subscripts: Vec<&Expr> = access.subscripts.iter().collect();
        if let Tensor::Swizzle(..) = access.tensor {
            subscripts.reverse();
        }
        let mut at = 0;
        let extent = match subscripts.len() {
            1 => self.tensors[&access.tensor.name().name].len() as i64,
            _ => N,
        };
        for e in subscripts {
            let value = match e {
                Expr::Prefix("~", inner, _) => self.number(inner),
                Expr::Window(from, _, index, _) => self.number(from) - 1 + self.number(index),
                other => self.number(other),
            };
            // `i + j` may lie outside, too.
            let mut indices = 0;
            e.visit(&mut |part| {
                indices +=
                    usize::from(matches!(part, Expr::Name(n) if n.name == "i" || n.name == "j"));
            });
            let may = matches!(e, Expr::Prefix("~", ..)) || indices > 1;
            if !(1..=extent).contains(&value) {
                assert!(may, "{access} is outside");
                return None;
            }
            at = at * N as usize + (value - 1) as usize;
        }
        Some(at)
    }

    fn value(&self, e: &Expr) -> Value {
        use Value::{Missing, Number, Truth};
        match e {
            Expr::Literal(Literal::Integer(text), _) => Number(text.parse().unwrap()),
            Expr::Name(name) => Number(self.names[&name.name]),
            Expr::Access(access) if access.tensor.name().name == "uptrimask" => {
                Truth(self.number(&access.subscripts[0]) <= self.number(&access.subscripts[1]))
            }
            Expr::Access(access) => match self.place(access) {
                Some(at) => Number(self.tensors[&access.tensor.name().name][at]),
                None => Missing,
            },
            Expr::Prefix("!", a, _) => Truth(!self.holds(a)),
            Expr::Prefix("-", a, _) => match self.value(a) {
                Number(a) => Number(a.wrapping_neg()),
                other => other,
            },
            Expr::Infix("&&", a, b) => Truth(self.holds(a) & self.holds(b)),
            Expr::Infix("||", a, b) => Truth(self.holds(a) | self.holds(b)),
            Expr::Infix(op, a, b) => match (self.value(a), self.value(b)) {
                (Missing, _) | (_, Missing) => Missing,
                (Number(a), Number(b)) => Number(match *op {
                    "+" => a.wrapping_add(b),
                    "-" => a.wrapping_sub(b),
                    "*" => a.wrapping_mul(b),
                    other => panic!("{other}"),
                }),
                other => panic!("{other:?}"),
            },
            Expr::Chain(first, rest) => {
                let mut left = self.number(first);
                let mut holds = true;
                for (op, e) in rest {
                    let right = self.number(e);
                    holds &= match *op {
                        "<" => left < right,
                        "<=" => left <= right,
                        "==" => left == right,
                        "!=" => left != right,
                        other => panic!("{other}"),
                    };
                    left = right;
                }
                Truth(holds)
            }
            Expr::Call(f, args, _) => {
                let Expr::Name(f) = &**f else { panic!("{e}") };
                match f.name.as_str() {
                    "coalesce" => {
                        args.iter().map(|a| self.value(a)).find(|v| *v != Missing).unwrap()
                    }
                    "ifelse" => {
                        let taken = if self.holds(&args[0]) { 1 } else { 2 };
                        self.value(&args[taken])
                    }
                    "min" => Number(self.number(&args[0]).min(self.number(&args[1]))),
                    "max" => Number(self.number(&args[0]).max(self.number(&args[1]))),
                    // Protocols.
                    _ => self.value(&args[0]),
                }
            }
            other => panic!("{other}"),
        }
    }
}

/// What may be missing.
fn outside() -> impl Strategy<Value = String> {
    (0..8, -2..4).prop_map(|(k, c)| match k {
        0 => format!("x[~(i + {c})]"),
        1 => format!("x[~(j - {c})]"),
        2 => format!("A[~(i + {c}), j]"),
        3 => format!("A[~(j - {c}), ~(i + {c})]"),
        4 => format!("x[i + j - {c}]"),
        5 => "z[~i]".to_string(),
        6 => "z[~j]".to_string(),
        _ => format!("x[~(p[i] + {c})]"),
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaves = vec![
        "3",
        "i",
        "j",
        "x[i]",
        "x[gallop(j)]",
        "A[i, j]",
        "A[j, i]",
        "A[i, i]",
        "x[p[j]]",
        "x[2]",
        "A[p[i], j]",
        "x[(1:4)(i)]",
        "w[(1:4)(i)]",
        "w[(1:4)(gallop(j))]",
        "w[(3:6)(j)]",
        "swizzle(A, 2, 1)[i, j]",
        "x[p[p[i]]]",
        "-x[j]",
    ];
    let leaf = proptest::sample::select(leaves).prop_map(str::to_string);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let pair = || (inner.clone(), inner.clone());
        let op = proptest::sample::select(vec!["+", "-", "*"]);
        prop_oneof![
            3 => (op, pair()).prop_map(|(op, (a, b))| format!("({a}) {op} ({b})")),
            1 => pair().prop_map(|(a, b)| format!("min({a}, {b})")),
            1 => pair().prop_map(|(a, b)| format!("max({a}, {b})")),
            2 => (outside(), inner.clone()).prop_map(|(a, b)| format!("coalesce({a}, {b})")),
            1 => (outside(), outside(), pair())
                .prop_map(|(a, b, (c, d))| format!("coalesce({a} * ({c}), {b} + 1, {d})")),
            1 => (pair(), pair())
                .prop_map(|((a, b), (c, d))| format!("ifelse({a} < {b}, {c}, {d})")),
        ]
    })
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            "i < j",
            "i <= j - 1",
            "i != 2",
            "uptrimask[j, i]",
            "1 < i <= j",
            "i * 2 == j",
        ])
        .prop_map(str::to_string),
        (value(), value()).prop_map(|(a, b)| format!("{a} < {b}")),
        value().prop_map(|a| format!("1 <= {a} != 3")),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) && ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) || ({b})")),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

/// A statement; `OP_y` and `OP_s` are what updates the outputs.
fn statement() -> impl Strategy<Value = String> {
    let target = prop_oneof![
        proptest::sample::select(vec!["y[i] OP_y", "y[j] OP_y", "y[p[i]] OP_y", "s[] OP_s"])
            .prop_map(str::to_string),
        (-2..3).prop_map(|c| format!("y[~(i + {c})] OP_y")),
        (-2..3).prop_map(|c| format!("y[~(p[j] - {c})] OP_y")),
    ];
    let leaf = (target, value()).prop_map(|(target, value)| format!("{target} {value}"));
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (condition(), inner.clone()).prop_map(|(c, a)| format!("if {c}\n{a}\nend")),
            (condition(), condition(), inner.clone(), inner.clone()).prop_map(|(c, d, a, b)| {
                format!("if {c}\n{a}\nelseif {d}\n{b}\nelse\n{a}\nend")
            }),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}\n{b}")),
            (value(), inner).prop_map(|(v, a)| {
                // A name of its own for each, and used.
                let name = format!("v{}", v.len() * 1000 + a.len());
                format!("let {name} = {v}\n{a} + {name}\nend")
            }),
        ]
    })
}

/// Programs that update `y` and `s`.
fn program() -> impl Strategy<Value = String> {
    let op =
        || proptest::sample::select(vec!["+=", ":=", "<<min>>=", "<<max>>=", "<<choose(0)>>="]);
    let headers = vec!["for j = _, i = _", "for i = 1:4, j in 1:4", "for i = _, j = parallel(_)"];
    let parts = (statement(), op(), op(), proptest::sample::select(headers));
    parts.prop_map(|(body, y, s, header)| {
        let body = body.replace("OP_y", y).replace("OP_s", s);
        // `if` and `let` end in no value that could be added to.
        let body = body.replace("end + ", "end\ns[] OP_s ").replace("OP_s", s);
        format!(
            "y .= 0\ns .= 0\n{header}\n{body}\ny[i] {y} x[i]\ns[] {s} A[i, j]\nend\nreturn (y, s)"
        )
    })
}

const X: [i64; 4] = [3, -1, 4, 0];
const P: [i64; 4] = [2, 4, 1, 1];
/// Shorter than the loops.
const Z: [i64; 2] = [5, -2];
/// Longer.
const W: [i64; 6] = [1, 0, -3, 2, 0, 6];

fn inputs() -> Inputs {
    let a: Vec<i64> = (0..16).map(|k| k * 7 % 5 - 2).collect();
    let given = Inputs::default().integers("x", &[4], &X).integers("p", &[4], &P);
    let given = given.integers("z", &[2], &Z).integers("w", &[6], &W);
    given.integers("A", &[4, 4], &a).size("y", &[4])
}

#[test]
fn random_programs_compute_what_their_text_says() {
    let inputs = inputs();
    let compared = std::cell::Cell::new(0);
    let compiled = std::cell::Cell::new(0);
    let refused = std::cell::RefCell::new(std::collections::BTreeMap::<String, usize>::new());
    let mut runner =
        TestRunner::new(Config { cases: 2000, max_shrink_iters: 64, ..Config::default() });
    let checked = runner.run(&program(), |text| {
        let found = match inputs.try_run(&text) {
            Ok(found) => found,
            // A name that is bound twice, or nothing that an index runs along.
            Err(e) if e.message.contains("bound already") => return Ok(()),
            Err(e) => return Err(TestCaseError::fail(format!("{text}\n{e}"))),
        };
        let mut direct = Direct { tensors: HashMap::new(), names: HashMap::new() };
        for (name, tensor) in &inputs.tensors {
            let Values::I64(values) = &tensor.values else { panic!("{name}") };
            direct.tensors.insert(name.to_string(), values.clone());
        }
        direct.run(&Finch::parse(&text, "made.finch").unwrap().body);
        for name in ["y", "s"] {
            let expected = Values::I64(direct.tensors[name].clone());
            prop_assert_eq!(&found[name][0].values, &expected, "{} of\n{}", name, &text);
        }
        compared.set(compared.get() + 1);
        // The interpreter takes long for many statements.
        if text.len() > 500 {
            return Ok(());
        }
        match super::kernels::agree(&inputs, &text) {
            Ok(_) => compiled.set(compiled.get() + 1),
            Err(e) => *refused.borrow_mut().entry(e.message).or_insert(0) += 1,
        }
        Ok(())
    });
    checked.unwrap_or_else(|e| panic!("{e}"));
    assert!(compared.get() > 1500, "{}", compared.get());
    assert!(compiled.get() > 300, "{}: {:?}", compiled.get(), refused.borrow());
}

#[test]
fn random_programs_are_kernels_that_compute_the_same() {
    let inputs = inputs();
    let ran = std::cell::Cell::new(0);
    let config = Config { cases: 60, max_shrink_iters: 0, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let formats = (0..VECTORS.len(), 0..MATRICES.len());
    let checked = runner.run(&(program(), formats), |(text, (vector, matrix))| {
        // Large ones take long to compile.
        if text.len() > 400 || super::kernels::agree(&inputs, &text).is_err() {
            return Ok(());
        }
        let format = |_: usize, rank: usize| match rank {
            1 => Some(VECTORS[vector].to_string()),
            _ => Some(MATRICES[matrix].to_string()),
        };
        Given::new(&inputs, &text, &format).agrees(&inputs, &text);
        ran.set(ran.get() + 1);
        Ok(())
    });
    checked.unwrap_or_else(|e| panic!("{e}"));
    assert!(ran.get() > 10, "{}", ran.get());
}
