//! Text that knows how to break its lines, by the rules of rustfmt's default style with lines of
//! [`WIDTH`] columns: what fits stays on one line; arguments go below each other when they are
//! together wider than [`ARGUMENTS`]; operators start a line.

/// The longest line.
pub const WIDTH: usize = 100;
/// The widest list of arguments on one line.
const ARGUMENTS: usize = 60;
const STEP: usize = 4;

/// A piece of text with the places where it may be broken.
#[derive(Clone, Debug)]
pub enum Doc {
    Text(String),
    /// `head(a, b)`
    Call {
        head: Box<Doc>,
        args: Vec<Doc>,
    },
    /// `a && b && c`, or any other operator of one precedence.
    Chain {
        first: Box<Doc>,
        rest: Vec<(String, Doc)>,
    },
    /// `before inside after` without a break around.
    Wrap {
        before: String,
        inside: Box<Doc>,
        after: String,
    },
    /// `head|x| { statements result }`
    Closure {
        parameters: String,
        statements: Vec<String>,
        result: Box<Doc>,
    },
}

impl Doc {
    pub fn text(text: impl Into<String>) -> Doc {
        Doc::Text(text.into())
    }

    pub fn call(head: impl Into<String>, args: Vec<Doc>) -> Doc {
        Doc::Call { head: Box::new(Doc::text(head)), args }
    }

    pub fn wrap(before: impl Into<String>, inside: Doc, after: impl Into<String>) -> Doc {
        Doc::Wrap { before: before.into(), inside: Box::new(inside), after: after.into() }
    }

    /// On one line; `None` if that is not possible at any width.
    fn flat(&self) -> Option<String> {
        Some(match self {
            Doc::Text(text) => text.clone(),
            Doc::Call { head, args } => {
                let args = flat_list(args)?;
                if args.chars().count() > ARGUMENTS {
                    return None;
                }
                format!("{}({args})", head.flat()?)
            }
            Doc::Chain { first, rest } => {
                let mut out = first.flat()?;
                for (operator, part) in rest {
                    out.push_str(&format!(" {operator} {}", part.flat()?));
                }
                out
            }
            Doc::Wrap { before, inside, after } => format!("{before}{}{after}", inside.flat()?),
            Doc::Closure { parameters, statements, result } => {
                if !statements.is_empty() {
                    return None;
                }
                format!("|{parameters}| {}", result.flat()?)
            }
        })
    }

    /// Whether the text fits on the rest of a line that starts at column `indent` with `used`
    /// columns taken and `tail` columns to come.
    pub fn fits(&self, indent: usize, used: usize, tail: usize) -> Option<String> {
        let text = self.flat()?;
        (indent + used + text.chars().count() + tail <= WIDTH).then_some(text)
    }

    /// The text at indentation `indent`, after `used` columns and before `tail` columns on its first
    /// and last line. Lines after the first carry their indentation.
    pub fn render(&self, indent: usize, used: usize, tail: usize) -> String {
        if let Some(text) = self.fits(indent, used, tail) {
            return text;
        }
        let pad = " ".repeat(indent + STEP);
        let close = " ".repeat(indent);
        match self {
            Doc::Text(text) => text.clone(),
            Doc::Call { head, args } => {
                let head = head.render(indent, used, 1);
                if let Some((last @ Doc::Closure { .. }, before)) = args.split_last() {
                    let before: Vec<String> =
                        before.iter().map(|a| a.render(indent, 0, 0) + ", ").collect();
                    let start = format!("{head}({}", before.concat());
                    let used = used + start.chars().count();
                    return format!("{start}{})", last.render(indent, used, tail + 1));
                }
                if let [only @ Doc::Call { .. }] = args.as_slice() {
                    let used = used + head.chars().count() + 1;
                    return format!("{head}({})", only.render(indent, used, tail + 1));
                }
                let mut out = format!("{head}(\n");
                for a in args {
                    out.push_str(&format!("{pad}{},\n", a.render(indent + STEP, 0, 1)));
                }
                out + &close + ")"
            }
            Doc::Chain { first, rest } => {
                let mut out = first.render(indent, used, 0);
                for (k, (operator, part)) in rest.iter().enumerate() {
                    let tail = if k + 1 == rest.len() { tail } else { 0 };
                    let part = part.render(indent + STEP, operator.len() + 1, tail);
                    out.push_str(&format!("\n{pad}{operator} {part}"));
                }
                out
            }
            Doc::Wrap { before, inside, after } => {
                let width = before.chars().count();
                let inside = inside.render(indent, used + width, tail + after.chars().count());
                format!("{before}{inside}{after}")
            }
            Doc::Closure { parameters, statements, result } => {
                let mut out = format!("|{parameters}| {{\n");
                for s in statements {
                    out.push_str(&format!("{pad}{s}\n"));
                }
                out + &pad + &result.render(indent + STEP, 0, 0) + "\n" + &close + "}"
            }
        }
    }

    /// True if [`Doc::render`] gives several lines.
    pub fn is_broken(&self, indent: usize, used: usize, tail: usize) -> bool {
        self.fits(indent, used, tail).is_none()
    }
}

fn flat_list(parts: &[Doc]) -> Option<String> {
    let parts: Option<Vec<String>> = parts.iter().map(Doc::flat).collect();
    Some(parts?.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(n: usize) -> Vec<Doc> {
        (0..n).map(|k| Doc::text(format!("argument_{k}"))).collect()
    }

    #[test]
    fn what_fits_stays_on_one_line() {
        assert_eq!(Doc::call("f", words(2)).render(4, 8, 1), "f(argument_0, argument_1)");
    }

    #[test]
    fn many_arguments_go_below_each_other() {
        let got = Doc::call("f", words(6)).render(4, 0, 1);
        assert!(got.starts_with("f(\n        argument_0,\n"), "{got}");
        assert!(got.ends_with("argument_5,\n    )"), "{got}");
    }

    #[test]
    fn operators_start_the_lines_of_a_long_chain() {
        let long = |k| Doc::text(format!("{}{k}", "a".repeat(50)));
        let chain = Doc::Chain {
            first: Box::new(long(0)),
            rest: vec![("&&".into(), long(1)), ("&&".into(), long(2))],
        };
        let got = chain.render(0, 3, 0);
        assert_eq!(got.lines().count(), 3);
        assert!(got.lines().skip(1).all(|l| l.starts_with("    && ")), "{got}");
    }
}
