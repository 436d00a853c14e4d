//! Where the lines of a Rust expression are broken: by the rules of rustfmt's default style, with
//! lines of [`WIDTH`] columns, so that rustfmt has nothing to change.
//!
//! The rules are rustfmt's own, construct by construct: how arguments overflow, when operators start
//! lines, when a value moves to the next line. A layout is asked for within a [`Shape`] and may be
//! refused there; then the surrounding construct tries its next one.

use super::doc::{Doc, Link};

/// The longest line.
pub const WIDTH: usize = 100;
/// The widest list of arguments, and the widest chain of methods, on one line.
pub const NARROW: usize = 60;
/// What is wider stands on a line of its own in a list.
const SHORT: usize = 10;
const STEP: usize = 4;

/// Where an expression is laid out: on a line that starts at column `indent`, after `offset` columns,
/// with so many columns left for its first line.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub indent: usize,
    pub offset: usize,
    pub width: usize,
}

impl Shape {
    /// A line of its own, but for `tail` columns at its end.
    pub fn line(indent: usize, tail: usize) -> Shape {
        Shape { indent, offset: 0, width: WIDTH.saturating_sub(indent + tail) }
    }

    /// After so many columns.
    pub fn after(self, columns: usize) -> Option<Shape> {
        let width = self.width.checked_sub(columns)?;
        Some(Shape { offset: self.offset + columns, width, ..self })
    }

    /// Before so many columns.
    pub fn before(self, columns: usize) -> Option<Shape> {
        Some(Shape { width: self.width.checked_sub(columns)?, ..self })
    }

    fn used(self) -> usize {
        self.indent + self.offset
    }

    /// The columns that are kept free at the end of the line.
    fn overhead(self) -> usize {
        WIDTH.saturating_sub(self.used() + self.width)
    }

    /// The next line, one level deeper, with the same columns kept free.
    fn deeper(self) -> Option<Shape> {
        Shape::line(self.indent + STEP, 0).before(self.overhead())
    }
}

impl Doc {
    /// The layout in `shape`; lines after the first carry their indentation. What fits in no way is
    /// left on one line, as rustfmt leaves it.
    pub fn render(&self, shape: Shape) -> String {
        self.layout(shape).unwrap_or_else(|| self.flat())
    }

    fn layout(&self, shape: Shape) -> Option<String> {
        Some(match self {
            Doc::Text(text) => text.clone(),
            // The path of what is called is not broken.
            Doc::Call { head, .. } if width(head) > shape.width => return None,
            Doc::Call { head, args } => list(&format!("{head}("), args, ")", shape)?,
            Doc::Array(parts) => list("[", parts, "]", shape)?,
            Doc::Methods { receiver, links } => methods(receiver, links, shape, false)?,
            Doc::Index { base, index } => subscript(base, index, shape)?,
            Doc::Chain { operator, parts } => chain(operator, parts, shape)?,
            Doc::Prefix { operator, inside } => {
                operator.clone() + &inside.layout(shape.after(width(operator))?)?
            }
            Doc::Parentheses(inside) => {
                format!("({})", inside.layout(shape.after(1)?.before(1)?)?)
            }
            Doc::Try(inside) => inside.layout(shape.before(1)?)? + "?",
            Doc::Cast { inside, to } => pair(inside, " as ", &Doc::text(to), shape)?,
            Doc::Range { lo, dots, hi } => pair(lo, dots, hi, shape)?,
            Doc::Binding { before, value } => assignment(before, value, shape),
            Doc::Closure { parameters, lets, result } => closure(parameters, lets, result, shape)?,
        })
    }

    /// The layout, if no chain of methods in it has several lines.
    fn layout_without_chain(&self, shape: Shape) -> Option<String> {
        match self {
            Doc::Methods { receiver, links } => methods(receiver, links, shape, true),
            Doc::Prefix { operator, inside } => {
                let shape = shape.after(width(operator))?;
                Some(operator.clone() + &inside.layout_without_chain(shape)?)
            }
            Doc::Try(inside) => Some(inside.layout_without_chain(shape.before(1)?)? + "?"),
            Doc::Cast { inside, .. } if matches!(**inside, Doc::Call { .. }) => self.layout(shape),
            Doc::Cast { inside, to } => {
                inside.layout_without_chain(shape)?;
                pair(inside, " as ", &Doc::text(to), shape)
            }
            _ => self.layout(shape),
        }
    }

    /// As the last of several arguments its first line may share theirs.
    fn overflows(&self, alone: bool) -> bool {
        match self {
            Doc::Closure { .. } => true,
            Doc::Call { .. } | Doc::Methods { .. } | Doc::Array(_) => alone,
            Doc::Prefix { inside, .. } | Doc::Cast { inside, .. } | Doc::Try(inside) => {
                inside.overflows(alone)
            }
            _ => false,
        }
    }

    fn is_call(&self) -> bool {
        match self {
            Doc::Call { .. } => true,
            Doc::Prefix { inside, .. } | Doc::Cast { inside, .. } | Doc::Try(inside) => {
                inside.is_call()
            }
            _ => false,
        }
    }

    /// Methods of it go below it, not one level deeper.
    fn is_block(&self, text: &str) -> bool {
        match self {
            Doc::Call { .. } | Doc::Methods { .. } | Doc::Array(_) => text.contains('\n'),
            // A literal at the end of several lines is taken for a string that has them, if the last is short.
            Doc::Text(end) => {
                let is_short = |line: &str| width(line.trim()) <= STEP;
                is_literal(end) && text.rsplit_once('\n').is_some_and(|(_, last)| is_short(last))
            }
            Doc::Prefix { inside, .. } | Doc::Parentheses(inside) | Doc::Try(inside) => {
                inside.is_block(text)
            }
            Doc::Chain { parts, .. } => parts.last().is_some_and(|p| p.is_block(text)),
            Doc::Index { index, .. } => index.is_block(text),
            _ => false,
        }
    }

    /// `x`, `!x`: a binding may follow on the same line.
    fn is_name(&self) -> bool {
        match self {
            Doc::Text(text) => text.chars().all(|c| c.is_alphanumeric() || c == '_'),
            Doc::Prefix { inside, .. } | Doc::Parentheses(inside) | Doc::Try(inside) => {
                inside.is_name()
            }
            _ => false,
        }
    }

    /// Whether this value, which has several lines behind `=`, is better off on the next line.
    fn is_better_below(&self, here: &str, next: &str) -> bool {
        let lines = |text: &str| text.matches('\n').count();
        let opens = |text: &str, end: char| text.lines().next().unwrap_or("").ends_with(end);
        // What has room below is not broken before its `as`, but within parentheses and at the begin of a range it is.
        let is_cast = |line: &str| line.trim().starts_with("as ") && !line.ends_with(')');
        let at_cast = |text: &str| text.lines().nth(1).is_some_and(is_cast);
        let is_cast_first =
            matches!(self, Doc::Range { lo, .. } if matches!(**lo, Doc::Cast { .. }));
        lines(next) == 0
            || !is_cast_first && at_cast(here) && !at_cast(next)
            || lines(here) > lines(next) + 1
            || ['(', '{', '['].iter().any(|b| opens(here, *b) && !opens(next, *b))
    }

    /// May share a line with others of its kind in a list that has several lines.
    fn is_simple(&self) -> bool {
        match self {
            Doc::Text(text) => !text.contains([' ', '(', ':']),
            Doc::Methods { receiver, links } => {
                receiver.is_simple() && links.iter().all(|l| l.args.is_none())
            }
            Doc::Prefix { inside, .. } | Doc::Cast { inside, .. } | Doc::Try(inside) => {
                inside.is_simple()
            }
            Doc::Index { base, index } => base.is_simple() && index.is_simple(),
            _ => false,
        }
    }
}

/// `left = value`, where `left =` is laid out already: the value moves to the next line where that is
/// better.
pub fn assignment(left: &str, value: &Doc, shape: Shape) -> String {
    let taken = match left.rsplit_once('\n') {
        Some((_, last)) => width(last).saturating_sub(shape.used()),
        None => width(left),
    };
    let here = shape.after(taken + 1).and_then(|s| value.layout(s));
    if let Some(here) = &here
        && !here.contains('\n')
        && width(here) + taken < shape.width
    {
        return format!("{left} {here}");
    }
    let next = shape.deeper().and_then(|s| value.layout(s).map(|text| (fits(&text, s), text)));
    let below = |next: String| format!("{left}\n{}{next}", " ".repeat(shape.indent + STEP));
    match (here, next) {
        (Some(here), Some((fits, next))) if !fits || !value.is_better_below(&here, &next) => {
            format!("{left} {here}")
        }
        (_, Some((_, next))) => below(next),
        (Some(here), None) => format!("{left} {here}"),
        (None, None) => format!("{left} {}", value.flat()),
    }
}

/// True if the last line is nothing but what closes an expression, so that ` {` may follow.
pub fn ends_with_closers(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or(text);
    text.contains('\n') && last.trim_start().chars().all(|c| ")]}?>(".contains(c))
}

fn is_literal(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '"') || text == "true" || text == "false"
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn first_width(text: &str) -> usize {
    text.split('\n').next().map_or(0, width)
}

pub fn last_width(text: &str) -> usize {
    text.rsplit('\n').next().map_or(0, width)
}

fn fits(text: &str, shape: Shape) -> bool {
    first_width(text) <= shape.width
        && (!text.contains('\n')
            || text.lines().all(|l| width(l) <= WIDTH)
                && last_width(text) <= shape.used() + shape.width)
}

fn new_line(indent: usize) -> String {
    format!("\n{}", " ".repeat(indent))
}

/// `head` (with its bracket), the parts, the bracket that closes.
fn list(head: &str, parts: &[Doc], close: &str, shape: Shape) -> Option<String> {
    let one_line = shape.width.saturating_sub(width(head) + 1);
    let nested = Shape::line(shape.indent + STEP, 1);
    let items: Option<Vec<String>> = parts.iter().map(|p| p.layout(nested)).collect();
    let Some((last, before)) = parts.split_last() else { return Some(format!("{head}{close}")) };
    let alone = before.is_empty();
    let is_horizontal = |items: &[String]| {
        let total: usize = items.iter().map(|i| width(i)).sum::<usize>() + 2 * before.len();
        total <= one_line.min(NARROW) && !items.iter().any(|i| i.contains('\n'))
    };
    // What the last part looks like with its first line behind the other parts.
    let combined = alone && width(head) <= STEP && close == ")";
    if (combined || last.overflows(alone))
        && let Some(items) = &items
    {
        let offset: usize = items[..before.len()].iter().map(|i| width(i) + 2).sum();
        let inner = shape.after(width(head)).and_then(|s| s.before(1));
        let inner = match alone && !last.is_call() {
            true => inner,
            false => inner.and_then(|s| Shape { width: s.width.min(NARROW), ..s }.after(offset)),
        };
        let overflowed = inner.and_then(|s| match combined {
            true => last.layout(s),
            false => last.layout_without_chain(s),
        });
        if let Some(overflowed) = overflowed {
            let mut first_lines = items.clone();
            first_lines[before.len()] = overflowed.split('\n').next().unwrap_or("").to_string();
            if is_horizontal(&first_lines) {
                first_lines[before.len()] = match items.last() {
                    // A suffix would be alone on its line otherwise.
                    Some(item)
                        if alone
                            && overflowed.matches('\n').count() == 1
                            && !item.contains('\n') =>
                    {
                        item.clone()
                    }
                    _ => overflowed,
                };
                return Some(format!("{head}{}{close}", first_lines.join(", ")));
            }
        }
    }
    let items = items?;
    let flat = items.join(", ");
    // A single argument may be as wide as the line.
    if is_horizontal(&items) || alone && !flat.contains('\n') && width(&flat) <= one_line {
        return Some(format!("{head}{flat}{close}"));
    }
    let (pad, end) = (new_line(nested.indent), new_line(shape.indent));
    let mut out = head.to_string();
    let mixed = parts.iter().all(Doc::is_simple) && items.iter().all(|i| width(i) <= SHORT);
    let mut line = 0;
    for item in &items {
        let total = width(item) + 1;
        if !mixed || line == 0 || line + 1 + total > nested.width {
            out.push_str(&pad);
            line = 0;
        } else {
            out.push(' ');
            line += 1;
        }
        out.push_str(item);
        out.push(',');
        line += total;
    }
    Some(out + &end + close)
}

/// `a && b && c`: on one line, or an operator at the start of each further line.
fn chain(operator: &str, parts: &[Doc], shape: Shape) -> Option<String> {
    let sign = width(operator) + 1;
    let below = shape.deeper()?.after(sign)?;
    let (first, rest) = parts.split_first()?;
    let one_line = || {
        let (last, inner) = rest.split_last()?;
        let mut out = first.layout(shape)? + " " + operator + " ";
        for part in inner {
            out.push_str(&format!("{} {operator} ", part.layout(below)?));
        }
        if out.contains('\n') {
            return None;
        }
        let prefix = width(&out);
        let last = last.layout(shape.after(prefix)?)?;
        let broken = last.contains('\n') && (last.starts_with('(') || prefix > STEP);
        (!broken).then(|| out + &last)
    };
    let is_binding = |part: &Doc| matches!(part, Doc::Binding { .. });
    let spread = parts.iter().any(is_binding)
        && !(parts.len() == 2 && first.is_name() && is_binding(&parts[1]));
    if !spread && let Some(out) = one_line().filter(|out| fits(out, shape)) {
        return Some(out);
    }
    let mut out = first.layout(shape)?;
    for part in rest {
        let offset = if out.contains('\n') { 0 } else { shape.used() };
        // No short part is left alone on its line.
        if last_width(&out) + offset <= below.indent {
            let last = last_width(out.trim_end().rsplit('\n').next().unwrap_or("").trim_start());
            let here = shape
                .after(sign + 1 + last)
                .and_then(|s| part.layout(s).filter(|here| first_width(here) <= s.width));
            if let Some(here) = here {
                out.push_str(&format!(" {operator} {here}"));
                continue;
            }
        }
        out.push_str(&format!("{}{operator} {}", new_line(below.indent), part.layout(below)?));
    }
    Some(out)
}

/// `left infix right`, broken before the infix.
fn pair(left: &Doc, infix: &str, right: &Doc, shape: Shape) -> Option<String> {
    let whole = Shape { width: WIDTH.saturating_sub(shape.used()), ..shape };
    let left = left.layout(whole)?;
    let here = shape.after(last_width(&left) + width(infix)).and_then(|s| right.layout(s));
    if let Some(here) = here
        && (!here.contains('\n') || width(&left) <= STEP)
        && last_width(&left) + width(infix) + first_width(&here) <= shape.width
    {
        return Some(left + infix + &here);
    }
    let infix = infix.trim_start();
    let right = right.layout(shape.deeper()?.after(width(infix))?)?;
    Some(format!("{left}{}{infix}{right}", new_line(shape.indent + STEP)))
}

fn subscript(base: &Doc, index: &Doc, shape: Shape) -> Option<String> {
    let base = base.layout(shape)?;
    let here =
        shape.after(last_width(&base) + 1).and_then(|s| s.before(1)).and_then(|s| index.layout(s));
    if let Some(here) = here.as_ref().filter(|text| !text.contains('\n')) {
        return Some(format!("{base}[{here}]"));
    }
    let next = shape.deeper()?.after(1)?.before(1).and_then(|s| index.layout(s));
    match (here, next) {
        (here, Some(next)) if here.is_none() || !next.contains('\n') => {
            Some(format!("{base}{}[{next}]", new_line(shape.indent + STEP)))
        }
        (Some(here), _) => Some(format!("{base}[{here}]")),
        _ => None,
    }
}

impl Link {
    fn layout(&self, shape: Shape) -> Option<String> {
        let tried = if self.tried { "?" } else { "" };
        let shape = shape.before(tried.len())?;
        let text = match &self.args {
            None => Some(format!(".{}", self.name)).filter(|t| width(t) <= shape.width),
            Some(args) => list(&format!(".{}(", self.name), args, ")", shape),
        };
        Some(text? + tried)
    }
}

/// A chain of methods: on one line, or each on its own; the last may overflow. `flat`: the links must
/// stay on one line.
fn methods(receiver: &Doc, links: &[Link], shape: Shape, flat: bool) -> Option<String> {
    let mut root = receiver.layout(shape)?;
    let count = links.len();
    let mut links = links.iter();
    // What is no wider than an indentation is no line.
    while width(&root) <= STEP.saturating_sub(shape.offset) && !root.contains('\n') {
        let Some(link) = links.next() else { return Some(root) };
        root.push_str(&link.layout(shape.after(width(&root))?)?);
    }
    let links = links.as_slice();
    let Some((last, inner)) = links.split_last() else { return Some(root) };
    let below = Shape::line(shape.indent + if receiver.is_block(&root) { 0 } else { STEP }, 0);
    let tries = usize::from(last.tried);
    let extendable = ends_with_closers(&root);
    let mut rewrites = vec![root];
    for link in inner {
        rewrites.push(link.layout(below)?);
    }
    let almost = match extendable {
        true => last_width(&rewrites[0]),
        false => rewrites.iter().map(|r| width(r)).sum::<usize>(),
    };
    // rustfmt keeps room for a `?` more than once.
    let almost = almost + tries;
    let limit = if count == 1 { shape.width } else { shape.width.min(NARROW) };
    let budget = limit.saturating_sub(almost);
    let one_line = budget > 0 && rewrites.iter().all(|r| !r.contains('\n'));
    let own = below.before(shape.overhead() + tries)?;
    let mut joined = false;
    let mut chosen = None;
    if (one_line || extendable)
        && let Some(here) =
            shape.before(tries).and_then(|s| s.after(almost)).and_then(|s| last.layout(s))
    {
        let lines = here.lines().count();
        let could = first_width(&here) <= budget;
        match last.layout(own) {
            _ if could && lines >= 5 => {
                chosen = Some(here);
                joined = one_line;
            }
            Some(new) if !could => chosen = Some(new),
            Some(new) if new.lines().count() < lines => chosen = Some(new),
            _ => {
                chosen = Some(here);
                joined = could && one_line;
            }
        }
    }
    let last = match chosen {
        Some(last) => last,
        None => last.layout(if one_line { shape } else { own })?,
    };
    if flat && !joined {
        return None;
    }
    rewrites.push(last);
    let connector = if joined { String::new() } else { new_line(below.indent) };
    Some(rewrites.join(&connector)).filter(|text| fits(text, shape))
}

/// `|x| result`, in a block unless all of it is one line.
fn closure(parameters: &str, lets: &[(String, Doc)], result: &Doc, shape: Shape) -> Option<String> {
    // rustfmt keeps room for the bars, a blank, a brace and one more, or puts parameters below each other.
    if parameters.contains(',') && width(parameters) + 5 > shape.width {
        return None;
    }
    let head = format!("|{parameters}|");
    let body = shape.after(width(&head) + 1)?;
    if lets.is_empty()
        && let Some(text) = result.layout(body).filter(|text| !text.contains('\n'))
    {
        return Some(format!("{head} {text}"));
    }
    let inner = Shape::line(shape.indent + STEP, 0);
    let pad = new_line(inner.indent);
    let mut out = format!("{head} {{");
    for (before, value) in lets {
        let line = Shape::line(inner.indent, 1);
        out.push_str(&format!("{pad}{};", assignment(before, value, line)));
    }
    Some(out + &pad + &result.layout(inner)? + &new_line(shape.indent) + "}")
}

/// `|a: A, b: B|` of a closure with a block: on one line, or the parameters below each other.
pub fn closure_parameters(parameters: &[String], shape: Shape) -> String {
    let flat = parameters.join(", ");
    // rustfmt keeps six columns free: the bars, a blank, the brace, and two more.
    if width(&flat) + 5 <= shape.width {
        return format!("|{flat}|");
    }
    format!("|{}|", parameters.join(&format!(",{}", new_line(shape.used() + 1))))
}

#[cfg(test)]
mod tests;
