//! Properties of random texts and random programs.

use std::cell::Cell;

use indexmap::IndexMap;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{
    Access, AssignOp, Expr, FunctionCall, Literal, OracleTensor, Program, interpret, resolve,
};
use crate::formula::{Affine, Atom, Formula, Name};

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
        span: 0..0,
    })
}

fn expr() -> impl Strategy<Value = Expr> {
    let literal = prop_oneof![Just("0"), Just("3"), Just("2.50"), Just(".5"), Just("1e-3")]
        .prop_map(|text: &str| {
            let value = text.parse().expect("a number");
            Expr::Literal(Literal { value, text: text.to_string(), span: 0..0 })
        });
    let leaf = prop_oneof![3 => access("A").prop_map(Expr::Access), 1 => literal];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        prop_oneof![
            inner.clone().prop_map(|a| Expr::Neg(Box::new(a))),
            pair.clone().prop_map(|(a, b)| Expr::Add(a, b)),
            pair.clone().prop_map(|(a, b)| Expr::Sub(a, b)),
            pair.clone().prop_map(|(a, b)| Expr::Mul(a, b)),
            pair.prop_map(|(a, b)| Expr::Div(a, b)),
            (any::<bool>(), proptest::collection::vec(inner, 2..4)).prop_map(|(min, args)| {
                let function = Name::from(if min { "min" } else { "max" });
                Expr::Call(FunctionCall { function, args, span: 0..0 })
            }),
        ]
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

fn program() -> impl Strategy<Value = Program> {
    let op = (0..AssignOp::ALL.len()).prop_map(|k| AssignOp::ALL[k]);
    (access("Y"), op, expr(), proptest::option::of(restriction())).prop_map(
        |(output, op, rhs, restriction)| {
            let mut program = Program { output, op, rhs, restriction: None, text: String::new() };
            let indices = program.indices();
            program.restriction =
                restriction.filter(|r| r.free_vars().iter().all(|v| indices.contains(v)));
            program
        },
    )
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
            ]),
            0..24,
        )
    ) {
        check_refusal(&tokens.concat())?;
        check_refusal(&format!("y[i] = x[i] if {}", tokens.join(" ")))?;
        check_refusal(&format!("y[i] = x[{}]", tokens.join(" ")))?;
    }

    #[test]
    fn a_random_program_reads_back(program in program()) {
        let text = program.to_string();
        let again = match Program::parse(&text) {
            Ok(again) => again,
            Err(e) => return Err(TestCaseError::fail(format!("{text}: {e}"))),
        };
        prop_assert_eq!(&again.to_string(), &text);
        prop_assert_eq!(&again.output, &program.output);
        prop_assert_eq!(again.op, program.op);
        prop_assert_eq!(&again.rhs, &program.rhs);
        prop_assert_eq!(again.restriction.is_some(), program.restriction.is_some());
        prop_assert_eq!(again.verify(), Ok(()));
        // Every access was found where it says.
        for access in again.all_accesses() {
            let piece = &again.text[access.span.clone()];
            prop_assert!(piece == access.to_string() || piece == format!("{access}[]"), "{}", piece);
        }
    }
}

/// Restrictions print in another form than they are built in.
#[test]
fn a_random_program_means_what_its_printed_form_means() {
    let computed = Cell::new(0);
    let mut runner = TestRunner::default();
    let outcome = runner.run(&program(), |program| {
        let again = Program::parse(&program.to_string())
            .map_err(|e| TestCaseError::fail(format!("{program}: {e}")))?;
        let results = [&program, &again].map(run_on_small_tensors);
        prop_assert_eq!(&results[0], &results[1], "{}", program);
        computed.set(computed.get() + u32::from(results[0].is_ok()));
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    assert!(computed.get() > 20, "only {} programs had a result", computed.get());
}

/// The bits of the output's elements, or the message of the refusal.
fn run_on_small_tensors(program: &Program) -> Result<Vec<u64>, String> {
    let stated: IndexMap<Name, usize> = program.indices().into_iter().zip([2, 3, 2]).collect();
    let extent = |s: &Affine| s.as_var().map_or(4, |index| stated[index]);
    let dims: IndexMap<Name, Vec<usize>> = program
        .accesses()
        .iter()
        .map(|a| (a.tensor.clone(), a.subscripts.iter().map(extent).collect()))
        .collect();
    let tensors = dims.iter().map(|(name, dims)| {
        let size: usize = dims.iter().product();
        let values = (1..=size).map(|k| k as f64).collect();
        (name.clone(), OracleTensor { dims: dims.clone(), values })
    });
    let tensors: IndexMap<Name, OracleTensor> = tensors.collect();
    let out = resolve(program, &dims, &stated)
        .and_then(|extents| interpret(program, &tensors, &extents))
        .map_err(|e| e.message.clone())?;
    Ok(out.into_iter().map(f64::to_bits).collect())
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
