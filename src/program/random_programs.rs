//! Properties of random texts and random programs.

use std::cell::Cell;
use std::sync::Arc;

use indexmap::IndexMap;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::ir::{Apply, Declare, Fill, If, Let, Loop, Order, Span, Stmt, When, Within};
use super::sugar::{Statement, desugar};
use super::{
    Access, Assign, AssignOp, Expr, Literal, OracleTensor, Program, interpret_all, resolve,
};
use crate::formula::{Affine, Atom, Formula, Name};
use crate::operators::{Operator, Operators};

const INDICES: [&str; 3] = ["i", "j", "k"];

fn affine() -> impl Strategy<Value = Affine> {
    let terms = proptest::collection::vec((0..INDICES.len(), -3_i64..4), 0..3);
    (terms, -2_i64..3).prop_map(|(terms, constant)| {
        let terms = terms.into_iter().map(|(k, c)| (Atom::Var(Name::from(INDICES[k])), c));
        Affine::from_terms(terms, constant)
    })
}

/// The rank is part of the name, so that tensors keep it.
fn access(prefix: &'static str) -> impl Strategy<Value = Access> {
    let plain = (0..INDICES.len()).prop_map(|k| Affine::var(INDICES[k]));
    let subscript = prop_oneof![3 => plain, 1 => affine()];
    (proptest::collection::vec(subscript, 0..4), 0..2).prop_map(move |(subscripts, k)| Access {
        tensor: Name::from(format!("{prefix}{}_{k}", subscripts.len())),
        subscripts,
        windows: Vec::new(),
        span: 0..0,
    })
}

/// All operators, those of arithmetic more often.
fn operator() -> impl Strategy<Value = Arc<Operator>> {
    let operators = Operators::shipped().expect("shipped operators");
    let named = |names: Vec<&str>| -> Vec<Arc<Operator>> {
        names.into_iter().map(|n| operators.named(n).expect("shipped").clone()).collect()
    };
    let all = named(operators.names().collect());
    let some = named(vec!["add", "sub", "mul", "div", "neg", "min"]);
    prop_oneof![proptest::sample::select(some), proptest::sample::select(all)]
}

fn expr() -> impl Strategy<Value = Expr> {
    let texts = ["0", "3", "2.50", ".5", "1e-3", "inf", "nan", "true", "false"];
    let literal = proptest::sample::select(texts.to_vec())
        .prop_map(|text: &str| Expr::Literal(Literal { text: text.to_string(), span: 0..0 }));
    let leaf = prop_oneof![3 => access("A").prop_map(Expr::Access), 1 => literal];
    leaf.prop_recursive(5, 24, 3, |inner| {
        (operator(), proptest::collection::vec(inner, 3)).prop_map(|(op, mut args)| {
            args.truncate(if op.is_variadic() { 3 } else { op.arity() });
            Expr::Apply(Apply { op, args, span: Span::default() })
        })
    })
}

/// Over the indices of the statement only.
fn restriction() -> impl Strategy<Value = Formula> {
    let leaf = (affine(), affine(), 0..4).prop_map(|(a, b, op)| {
        // Constants fold, as the parser folds them.
        Formula::and([match op {
            0 => Formula::lt(a, b),
            1 => Formula::le(a, b),
            2 => Formula::eq(a, b),
            _ => Formula::ne(a, b),
        }])
    });
    leaf.prop_recursive(3, 8, 3, |inner| {
        let parts = proptest::collection::vec(inner, 1..4);
        prop_oneof![parts.clone().prop_map(Formula::and), parts.prop_map(Formula::or)]
    })
}

fn assign_op() -> impl Strategy<Value = AssignOp> {
    let operators = Operators::shipped().expect("shipped operators");
    let combine = |n: &str| AssignOp::Combine(operators.named(n).expect("shipped").clone());
    let some = ["add", "mul", "min", "max"].map(combine).to_vec();
    prop_oneof![1 => Just(AssignOp::Assign), 4 => proptest::sample::select(some)]
}

/// A statement of index notation.
fn program() -> impl Strategy<Value = Program> {
    (access("Y"), assign_op(), expr(), proptest::option::of(restriction())).prop_map(
        |(output, op, rhs, restriction)| {
            let make = |restriction: Option<Formula>| {
                let restriction = restriction.map(|r| (r, Span::default()));
                let (output, op, value) = (output.clone(), op.clone(), rhs.clone());
                desugar(Statement { output, op, value, restriction })
                    .and_then(|root| Program::new(root, ""))
            };
            make(restriction).or_else(|_| make(None)).expect("without a restriction it is right")
        },
    )
}

/// Bound names are made different afterwards, and what is not bound is bound by loops around all.
fn tree() -> impl Strategy<Value = Program> {
    let access = |prefix| access(prefix).prop_map(Expr::Access);
    let value = prop_oneof![
        4 => access("A"),
        1 => access("Y"),
        1 => (0..INDICES.len()).prop_map(|k| Expr::Index(Name::from(INDICES[k]), Span::default())),
        1 => Just(Expr::Name(Name::from("v"), Span::default())),
        1 => (self::access("A"), access("A"), access("A")).prop_map(|(access, inside, outside)| {
            Expr::Within(Box::new(Within { access, inside, outside, span: Span::default() }))
        }),
        1 => expr(),
    ];
    let value = proptest::collection::vec(value, 1..3).prop_map(|args| {
        let operators = Operators::shipped().expect("shipped operators");
        let times = operators.infix("*").expect("a product");
        args.into_iter().reduce(|a, b| Expr::binary(times, a, b)).expect("at least one")
    });
    let assign = (self::access("Y"), assign_op(), value.clone())
        .prop_map(|(output, op, value)| Stmt::Assign(Assign { output, op, value }));
    let fill = (any::<bool>(), any::<bool>()).prop_map(|(negative, infinite)| {
        let text = if infinite { "inf" } else { "2.5" }.to_string();
        (!(negative && infinite))
            .then_some(Fill { negative, literal: Literal { text, span: 0..0 } })
    });
    let declare = (0..3, 0..2, fill).prop_map(|(rank, k, fill)| {
        let tensor = Name::from(format!("Y{rank}_{k}"));
        Stmt::Declare(Declare { tensor, fill, span: Span::default() })
    });
    let leaf = prop_oneof![4 => assign, 1 => declare];
    let stmt = leaf.prop_recursive(4, 16, 3, move |inner| {
        let block = proptest::collection::vec(inner, 0..3);
        let extent = proptest::option::of(0_usize..4);
        prop_oneof![
            2 => (any::<bool>(), 0..INDICES.len(), extent, block.clone()).prop_map(
                |(free, k, extent, body)| {
                    let order = if free { Order::Free } else { Order::Fixed };
                    let (index, span) = (Name::from(INDICES[k]), Span::default());
                    Stmt::Loop(Loop { order, index, extent, body, span })
                }
            ),
            1 => (restriction(), block.clone(), proptest::option::of(block.clone())).prop_map(
                |(condition, then, otherwise)| {
                    Stmt::If(If { condition, then, otherwise, span: Span::default() })
                }
            ),
            1 => (value.clone(), block.clone(), proptest::option::of(block.clone())).prop_map(
                |(value, then, otherwise)| {
                    let operators = Operators::shipped().expect("shipped operators");
                    let less = operators.infix("<").expect("a comparison");
                    let two = Literal { text: "2".to_string(), span: 0..0 };
                    let condition = Expr::binary(less, value, Expr::Literal(two));
                    Stmt::When(When { condition, then, otherwise, span: Span::default() })
                }
            ),
            1 => (value.clone(), block.clone()).prop_map(|(value, body)| {
                let (name, span) = (Name::from("v"), Span::default());
                Stmt::Let(Let { name, value, body, span })
            }),
            1 => block.prop_map(Stmt::Block),
        ]
    });
    // Loops around most trees, so that more of them mention only what is bound.
    (stmt, 0_usize..8).prop_filter_map("breaks a rule of trees", |(stmt, around)| {
        let mut stmt = stmt;
        for (k, index) in INDICES.into_iter().enumerate() {
            if around >> k & 1 == 1 {
                let (index, span) = (Name::from(index), Span::default());
                let (order, extent) = (Order::Fixed, Some(2));
                stmt = Stmt::Loop(Loop { order, index, extent, body: vec![stmt], span });
            }
        }
        Program::new(stmt, "").ok()
    })
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused_in_a_place_of_it(text in "\\PC{0,60}") {
        check_refusal(&text)?;
    }

    #[test]
    fn any_sequence_of_tokens_parses_or_is_refused_in_a_place_of_it(
        tokens in proptest::collection::vec(
            proptest::sample::select(vec![
                "y", "A", "x", "i", "j", "[", "]", "(", ")", ",", "+", "-", "*", "/", "=", "+=", "min",
                "min=", "max(", "if", "<", "<=", "and", "or", "not", "mod", "floor(", "2", "2.5", "1e9",
                "9223372036854775807", "9223372036854775808", " ", "\n", "é", "y[i] = ", "A[i,j]", "'",
                "{", "}", "forall i {", "for", "let x =", "declare y ", "in", "else", "inf",
            ]),
            0..24,
        )
    ) {
        check_refusal(&tokens.concat())?;
        check_refusal(&format!("y[i] = x[i] if {}", tokens.join(" ")))?;
        check_refusal(&format!("y[i] = x[{}]", tokens.join(" ")))?;
        check_refusal(&format!("{{ {}", tokens.join(" ")))?;
        check_refusal(&format!("for i {{ if {}", tokens.join(" ")))?;
    }

    #[test]
    fn a_random_program_reads_back(program in program()) {
        let text = program.to_string();
        let again = match Program::parse(&text) {
            Ok(again) => again,
            Err(e) => return Err(TestCaseError::fail(format!("{text}: {e}"))),
        };
        prop_assert_eq!(&again.to_string(), &text);
        let (one, other) = (again.assignment().unwrap(), program.assignment().unwrap());
        prop_assert_eq!(one.output, other.output);
        prop_assert_eq!(one.op, other.op);
        prop_assert_eq!(one.value, other.value);
        prop_assert_eq!(one.restriction.is_some(), other.restriction.is_some());
        prop_assert_eq!(again.verify(), Ok(()));
        // Every access was found where it says.
        for access in again.all_accesses() {
            let piece = &again.text[access.span.clone()];
            prop_assert!(piece == access.to_string() || piece == format!("{access}[]"), "{}", piece);
        }
        // The tree, written out, is the same program.
        let tree = program.root().to_string();
        prop_assert_eq!(Program::parse(&tree).map(|p| p.to_string()), Ok(text));
    }

    #[test]
    fn a_random_tree_reads_back(program in tree()) {
        let text = program.to_string();
        let again = match Program::parse(&text) {
            Ok(again) => again,
            Err(e) => return Err(TestCaseError::fail(format!("{text}: {e}"))),
        };
        prop_assert_eq!(&again.to_string(), &text);
        prop_assert_eq!(again.verify(), Ok(()));
    }
}

/// Conditions print in another form than they are built in.
#[test]
fn a_random_program_means_what_its_printed_form_means() {
    assert!(meanings_kept(&program()) > 20);
}

#[test]
fn a_random_tree_means_what_its_printed_form_means() {
    assert!(meanings_kept(&tree()) > 20);
}

/// How many programs had a result.
fn meanings_kept(programs: &impl Strategy<Value = Program>) -> u32 {
    let computed = Cell::new(0);
    let mut runner = TestRunner::default();
    let outcome = runner.run(programs, |program| {
        let again = Program::parse(&program.to_string())
            .map_err(|e| TestCaseError::fail(format!("{program}: {e}")))?;
        let results = [&program, &again].map(run_on_small_tensors);
        prop_assert_eq!(&results[0], &results[1], "{}", program);
        computed.set(computed.get() + u32::from(results[0].is_ok()));
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    computed.get()
}

/// The bits of the outputs' elements, or the message of the refusal.
fn run_on_small_tensors(program: &Program) -> Result<Vec<u64>, String> {
    let loops = program.loops().into_iter().zip([2, 3, 2].into_iter().cycle());
    let stated: IndexMap<Name, usize> =
        loops.map(|(l, extent)| (l.index.clone(), l.extent.unwrap_or(extent))).collect();
    let extent = |s: &Affine| s.as_var().map_or(4, |index| stated[index]);
    let dims: IndexMap<Name, Vec<usize>> = program
        .accesses()
        .iter()
        .filter(|a| !program.writes(&a.tensor))
        .map(|a| (a.tensor.clone(), a.subscripts.iter().map(extent).collect()))
        .collect();
    let tensors = dims.iter().map(|(name, dims)| {
        let size: usize = dims.iter().product();
        let values = (1..=size).map(|k| k as f64).collect();
        (name.clone(), OracleTensor { dims: dims.clone(), values })
    });
    let tensors: IndexMap<Name, OracleTensor> = tensors.collect();
    let out = resolve(program, &dims, &stated)
        .and_then(|extents| interpret_all(program, &tensors, &extents))
        .map_err(|e| e.message.clone())?;
    Ok(out.into_values().flat_map(|t| t.values).map(f64::to_bits).collect())
}

/// A refusal has a place inside the text, on character boundaries, and a remedy.
fn check_refusal(text: &str) -> Result<(), TestCaseError> {
    match Program::parse(text) {
        Ok(program) => {
            let again = Program::parse(&program.to_string());
            prop_assert!(again.is_ok_and(|again| again.to_string() == program.to_string()));
        }
        Err(e) => {
            let (span, _) = e.span.expect("a place");
            prop_assert!(text.get(span.clone()).is_some(), "{:?} in {:?}", span, text);
            prop_assert!(e.help.is_some());
        }
    }
    Ok(())
}
