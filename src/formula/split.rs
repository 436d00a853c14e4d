//! The parts of printed text, by its parentheses and brackets.

/// The parts of a list; separators inside parentheses or brackets are not its own. None for an empty
/// text.
pub fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                out.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    if !text[start..].is_empty() {
        out.push(&text[start..]);
    }
    out
}

/// What is inside, if the text is one pair of parentheses.
pub fn in_parentheses(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_i64;
    let closes = inner.chars().any(|c| {
        depth += i64::from(c == '(') - i64::from(c == ')');
        depth < 0
    });
    (!closes).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inside_stays_together() {
        assert_eq!(split("f(a, b), c[d, e], g", ", "), ["f(a, b)", "c[d, e]", "g"]);
        assert_eq!(split("", ", "), [""; 0]);
        assert_eq!(in_parentheses("(a or (b))"), Some("a or (b)"));
        assert_eq!(in_parentheses("(a) or (b)"), None);
    }
}
