//! Indentation of generated code by its brackets, four spaces a level as rustfmt does.

/// Re-indents `code`; lines keep their order and content, runs of blank lines shrink to one.
pub fn indent(code: &str) -> String {
    let mut out = String::with_capacity(code.len() * 5 / 4);
    let mut depth = 0usize;
    let mut blank = true;
    for line in code.lines() {
        let line = line.trim();
        if line.is_empty() {
            if !blank {
                out.push('\n');
            }
            blank = true;
            continue;
        }
        let closers = line.chars().take_while(|c| matches!(c, '}' | ')' | ']')).count();
        // No blank line before a closing bracket.
        if closers > 0 && out.ends_with("\n\n") {
            out.pop();
        }
        let here = depth.saturating_sub(closers);
        // A method call that continues the previous line.
        let continued = usize::from(line.starts_with('.'));
        out.push_str(&"    ".repeat(here + continued));
        out.push_str(line);
        out.push('\n');
        blank = line.ends_with('{');
        depth = (depth as isize + balance(line)).max(0) as usize;
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

/// Opening minus closing brackets, outside comments and string literals.
fn balance(line: &str) -> isize {
    let mut n = 0;
    let mut chars = line.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                chars.next();
            }
            '/' if !in_string && chars.peek() == Some(&'/') => return n,
            '{' | '(' | '[' if !in_string => n += 1,
            '}' | ')' | ']' if !in_string => n -= 1,
            _ => {}
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::indent;

    #[test]
    fn blocks_are_indented_and_blank_lines_collapse() {
        let got = indent("fn f() {\n\n\nlet s = \"{\"; // {\nif a {\nb();\n\n} else {\nc();\n}\n}\n\n");
        assert_eq!(
            got,
            "fn f() {\n    let s = \"{\"; // {\n    if a {\n        b();\n    } else {\n        c();\n    }\n}\n"
        );
    }
}
