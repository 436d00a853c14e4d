//! Properties of random programs as texts: they print and read back, and no text makes the parser panic.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::precedence::IN_FRONT;
use super::syntax::{
    Access, Assign, Branch, Declare, Expr, Extent, Finch, Ident, Literal, Stmt, Tensor, Update,
};
use crate::program::ir::Span;

fn place() -> Span {
    Span::default()
}

fn ident() -> impl Strategy<Value = Ident> {
    proptest::sample::select(vec!["i", "j", "A", "y_2", "Tmp", "choose", "forall", "min"])
        .prop_map(|name: &str| Ident { name: name.to_string(), span: place() })
}

fn literal() -> impl Strategy<Value = Expr> {
    let integer = (0..300_u32).prop_map(|n| Literal::Integer(n.to_string()));
    let float = proptest::sample::select(vec!["0.5", ".5", "2.", "1e-3", "1.5e10"]);
    let words = vec![
        Literal::Bool(true),
        Literal::Bool(false),
        Literal::Inf,
        Literal::Nan,
        Literal::Missing,
        Literal::Nothing,
    ];
    prop_oneof![
        3 => integer,
        1 => float.prop_map(|text: &str| Literal::Float(text.to_string())),
        1 => proptest::sample::select(words),
    ]
    .prop_map(|literal| Expr::Literal(literal, place()))
}

fn tensor() -> impl Strategy<Value = Tensor> {
    let swizzled = |t: Tensor| Tensor::Swizzle(Box::new(t), vec![2, 1], place());
    (ident(), 0..4).prop_map(move |(name, k)| match k {
        0 => swizzled(Tensor::Named(name)),
        1 => swizzled(swizzled(Tensor::Named(name))),
        _ => Tensor::Named(name),
    })
}

fn expr() -> impl Strategy<Value = Expr> {
    let operator = proptest::sample::select(vec!["+", "*", "&&", "<", "⊻"]);
    let leaf = prop_oneof![
        3 => literal(),
        3 => ident().prop_map(Expr::Name),
        1 => operator.prop_map(|op| Expr::Operator(op, place())),
    ];
    let infix =
        vec!["=>", "||", "&&", "+", "-", "|", "*", "/", "%", "&", "÷", "⊻", "<<", ">>", "^"];
    let comparison = proptest::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    leaf.prop_recursive(5, 32, 3, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let list = proptest::collection::vec(inner.clone(), 0..3);
        let chain = proptest::collection::vec((comparison.clone(), inner.clone()), 1..3);
        prop_oneof![
            4 => (proptest::sample::select(infix.clone()), boxed.clone(), boxed.clone())
                .prop_map(|(op, a, b)| Expr::Infix(op, a, b)),
            2 => (proptest::sample::select(IN_FRONT.to_vec()), boxed.clone())
                .prop_map(|(op, a)| Expr::Prefix(op, a, place())),
            1 => (boxed.clone(), chain).prop_map(|(a, rest)| Expr::Chain(a, rest)),
            1 => (ident(), list.clone(), 0..2).prop_map(|(f, args, twice)| {
                let called = Expr::Call(Box::new(Expr::Name(f)), args.clone(), place());
                match twice {
                    0 => called,
                    _ => Expr::Call(Box::new(called), args, place()),
                }
            }),
            1 => (tensor(), list.clone()).prop_map(|(tensor, subscripts)| {
                Expr::Access(Access { tensor, subscripts, span: place() })
            }),
            1 => (boxed.clone(), boxed.clone(), boxed)
                .prop_map(|(a, b, i)| Expr::Window(a, b, i, place())),
            1 => proptest::collection::vec(inner, 1..3).prop_map(|e| Expr::Tuple(e, place())),
        ]
    })
}

fn extent() -> impl Strategy<Value = Extent> {
    let range =
        (expr(), expr()).prop_map(|(a, b)| Extent::Range(Box::new(a), Box::new(b), place()));
    let plain = prop_oneof![2 => Just(Extent::Infer(place())), 1 => range];
    (plain, proptest::option::of(proptest::collection::vec(expr(), 0..2))).prop_map(
        |(extent, rest)| match rest {
            Some(rest) => Extent::Parallel(Box::new(extent), rest, place()),
            None => extent,
        },
    )
}

fn update() -> impl Strategy<Value = Update> {
    prop_oneof![
        Just(Update::Init(place())),
        Just(Update::Overwrite(place())),
        proptest::sample::select(vec!["+", "*", "&", "|"])
            .prop_map(|op| Update::Symbol(op, place())),
        expr().prop_map(Update::By),
    ]
}

fn stmt() -> impl Strategy<Value = Stmt> {
    let op = || proptest::option::of(expr());
    let assign = (tensor(), proptest::collection::vec(expr(), 0..3), update(), expr()).prop_map(
        |(tensor, subscripts, op, value)| {
            let output = Access { tensor, subscripts, span: place() };
            Stmt::Assign(Assign { output, op, value })
        },
    );
    let leaf = prop_oneof![
        4 => assign,
        1 => (ident(), expr(), op())
            .prop_map(|(tensor, init, op)| Stmt::Declare(Declare { tensor, init, op })),
        1 => (ident(), op()).prop_map(|(t, op)| Stmt::Freeze(t, op)),
        1 => (ident(), op()).prop_map(|(t, op)| Stmt::Thaw(t, op)),
        1 => proptest::collection::vec(ident(), 1..3).prop_map(|t| Stmt::Return(t, place())),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        let body = proptest::collection::vec(inner, 0..3);
        let branch =
            (expr(), body.clone()).prop_map(|(condition, body)| Branch { condition, body });
        prop_oneof![
            body.clone().prop_map(Stmt::Block),
            (proptest::collection::vec((ident(), extent()), 1..3), body.clone())
                .prop_map(|(indices, body)| Stmt::For(indices, body)),
            (proptest::collection::vec((ident(), expr()), 1..3), body.clone())
                .prop_map(|(bound, body)| Stmt::Let(bound, body)),
            (proptest::collection::vec(branch, 1..3), proptest::option::of(body))
                .prop_map(|(branches, otherwise)| Stmt::If(branches, otherwise)),
        ]
    })
}

#[test]
fn programs_print_and_read_back() {
    let body = proptest::collection::vec(stmt(), 0..4);
    TestRunner::default()
        .run(&body, |body| {
            let made = Finch { body, text: String::new(), name: String::new() };
            let text = made.to_string();
            let read = Finch::parse(&text, "made.finch")
                .map_err(|e| TestCaseError::fail(format!("{text}\n{}", e.message)))?;
            prop_assert_eq!(&read, &made, "{}", &text);
            prop_assert_eq!(read.to_string(), text);
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn no_text_makes_the_parser_panic_and_every_refusal_has_place_and_remedy() {
    let pieces = vec![
        "for", "end", "if", "else", "let", "begin", "return", "i", "A", "_", "=", "[", "]", "(",
        ")", ",", ";", "\n", "<<", ">>=", "+", "~", ":", "1", "2.5", "Inf", " ", "@freeze", ".=",
        "é", "÷", "#=", "\"", "&&", "in",
    ];
    let texts = proptest::collection::vec(proptest::sample::select(pieces), 0..24);
    let refused = std::cell::Cell::new(0);
    TestRunner::default()
        .run(&texts, |pieces| {
            let text = pieces.concat();
            if let Err(e) = Finch::parse(&text, "made.finch") {
                refused.set(refused.get() + 1);
                let (span, label) = e.span.clone().expect("a place");
                prop_assert!(span.end <= text.len() && text.is_char_boundary(span.start));
                prop_assert!(!label.is_empty() && e.help.is_some() && e.source.is_some());
            }
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(refused.get() > 0);
}
