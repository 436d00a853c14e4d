//! Indentation of generated code by its brackets, four spaces a level as rustfmt does.

/// Re-indents `code`; lines keep their order and content, runs of blank lines shrink to one.
///
/// All brackets that one line leaves open indent by one level together: `f(a, |x| {`.
pub fn indent(code: &str) -> String {
    let mut out = String::with_capacity(code.len() * 5 / 4);
    // For each open bracket, the line that opened it.
    let mut open: Vec<usize> = Vec::new();
    let mut blank = true;
    for (number, line) in code.lines().enumerate() {
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
        open.truncate(open.len().saturating_sub(closers));
        // A method call that continues the previous line.
        let continued = usize::from(line.starts_with('.') || line.starts_with("&&"));
        out.push_str(&"    ".repeat(depth(&open) + continued));
        out.push_str(line);
        out.push('\n');
        blank = line.ends_with('{');
        for bracket in brackets(&line[closers..]) {
            match bracket {
                '{' | '(' | '[' => open.push(number),
                _ => {
                    open.pop();
                }
            }
        }
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn depth(open: &[usize]) -> usize {
    let mut lines: Vec<usize> = open.to_vec();
    lines.dedup();
    lines.len()
}

/// The brackets of a line, outside comments and string literals.
fn brackets(line: &str) -> Vec<char> {
    let mut out = Vec::new();
    let mut chars = line.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                chars.next();
            }
            '/' if !in_string && chars.peek() == Some(&'/') => break,
            '{' | '(' | '[' | '}' | ')' | ']' if !in_string => out.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::indent;

    #[test]
    fn blocks_are_indented_and_blank_lines_collapse() {
        let got =
            indent("fn f() {\n\n\nlet s = \"{\"; // {\nif a {\nb();\n\n} else {\nc();\n}\n}\n\n");
        assert_eq!(
            got,
            "fn f() {\n    let s = \"{\"; // {\n    if a {\n        b();\n    } else {\n        c();\n    }\n}\n"
        );
    }
}
