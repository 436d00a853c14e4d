//! No input makes a declaration panic.

use proptest::prelude::*;

use std::sync::Arc;

use super::from_toml;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;
use crate::formula::Name;
use crate::layout::Layout;
use crate::layout::level_use::parse_list;
use crate::layout::levels::{LevelUses, compose};
use crate::layout::source::Source;
use crate::layout::toml_schema::Declaration;

/// Shipped declarations, layouts and levels alike.
fn declarations() -> Vec<&'static str> {
    embedded::files("layouts").map(|(_, text)| text).collect()
}

/// A tensor of four levels, all declared by `level`.
fn composed(level: &str) -> Result<Layout> {
    let list = "x(i), x(j), x(k), x(l)";
    let new = |text: &str| Arc::new(Source { name: "x".into(), text: text.into(), folder: None });
    let (source, level) = (new(list), new(level));
    let dims: Vec<Name> = ["i", "j", "k", "l"].into_iter().map(Name::from).collect();
    let uses = parse_list(list)?.uses;
    let uses = LevelUses { source: &source, uses: &uses, leaf: None };
    compose("x", "", &dims, &uses, &|_, _| Ok((level.clone(), Declaration::read(&level)?)))
}

fn place_is_in_the_text(e: &Diagnostic) -> bool {
    match (&e.source, &e.span) {
        (Some(source), Some((span, _))) => source.text.get(span.clone()).is_some(),
        _ => true,
    }
}

/// Pieces that mean something somewhere in a declaration.
const TOKENS: [&str; 32] = [
    "p0",
    "I",
    "crd",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    " and ",
    " or ",
    "not ",
    "=>",
    "=",
    "<=",
    "!=",
    "*",
    "/",
    "floor(",
    "\"",
    "'",
    "\n",
    "dims",
    "levels",
    "[params]",
    "-1",
    "0",
    "9223372036854775807",
    "∪",
    "\\",
    "dense(i)",
];

#[test]
fn a_level_composes_with_itself() {
    let dense = embedded::text("layouts/levels/dense.toml").unwrap();
    assert_eq!(composed(dense).unwrap().value.len.to_string(), "I*J*K*L");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_text_is_refused_without_panic(text in "\\PC{0,60}") {
        let _ = Layout::named(&text);
        let _ = from_toml(&text);
    }

    #[test]
    fn mutated_declarations_are_accepted_or_refused(
        which in 0usize..64,
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, 0usize..32),
            1..4,
        ),
    ) {
        let all = declarations();
        prop_assert!(!all.is_empty());
        let mut text = all[which % all.len()].to_string();
        for (at, removed, token) in edits {
            let boundary = |text: &str, mut k: usize| {
                k = k.min(text.len());
                while !text.is_char_boundary(k) { k += 1; }
                k
            };
            let start = boundary(&text, at.index(text.len() + 1));
            let end = boundary(&text, start + removed);
            text.replace_range(start..end, TOKENS[token]);
        }
        for result in [from_toml(&text), composed(&text)] {
            if let Err(e) = result {
                prop_assert!(place_is_in_the_text(&e), "{e:?}");
            }
        }
    }

    #[test]
    fn mutated_uses_are_accepted_or_refused(
        picks in prop::collection::vec(0usize..16, 0..12),
    ) {
        let parts = [
            "dense(i)", "compressed(j, unique=false)", "singleton(k)", ", ", "[i, j] ", "(", ")",
            "bcsr(2,2)", "*", "0", "1..", "=", "last", "entries(0, ordered=false)", "dense(*)", "k",
        ];
        let text: String = picks.iter().map(|&k| parts[k]).collect();
        for rank in 0..4 {
            let _ = Layout::named_for_rank(&text, rank);
        }
    }
}

#[test]
fn numbers_that_instances_could_overflow_are_refused() {
    let text = |number: &str| {
        format!(
            r#"
            name = "huge"
            dims = ["i"]
            relation = "{{ [p] -> [i] : 0 <= p < N and i = a(p) }}"
            value = "val(p)"
            [index.a]
            domain = "0 <= p < N"
            [[property]]
            formula = "0 <= p < N => a({number}*p - {number}) <= I"
            "#
        )
    };
    assert!(from_toml(&text("281474976710656")).is_ok());
    let e = from_toml(&text("281474976710657")).unwrap_err();
    assert_eq!(e.code, Code::NotAffine);
    assert!(e.span.is_some() && e.help.is_some());
}
