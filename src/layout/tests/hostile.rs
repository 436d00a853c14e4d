//! No input makes a declaration panic.

use proptest::prelude::*;

use super::from_toml;
use crate::embedded;
use crate::layout::Layout;

/// Shipped declarations, layouts and levels alike.
fn declarations() -> Vec<&'static str> {
    embedded::files("layouts").map(|(_, text)| text).collect()
}

/// Pieces that mean something somewhere in a declaration.
const TOKENS: [&str; 32] = [
    "p0", "I", "crd", "(", ")", "[", "]", "{", "}", ",", " and ", " or ", "not ", "=>", "=", "<=",
    "!=", "*", "/", "floor(", "\"", "'", "\n", "dims", "levels", "[params]", "-1", "0",
    "9223372036854775807", "∪", "\\", "dense(i)",
];

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
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0usize..32), 1..4),
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
        if let Err(e) = from_toml(&text)
            && let (Some(source), Some((span, _))) = (&e.source, &e.span)
        {
            prop_assert!(source.text.get(span.clone()).is_some(), "{span:?} is in the text");
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
