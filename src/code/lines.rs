//! Statements and items line by line, laid out as rustfmt lays them out.

use super::doc::Doc;
use super::line_breaks::{Shape, WIDTH, assignment, ends_with_closers};

/// Rust text that grows by lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// Lines that are indented by so many levels.
    pub fn at(depth: usize) -> Lines {
        Lines { text: String::new(), depth }
    }

    pub fn into_text(self) -> String {
        self.text
    }

    pub fn indent(&self) -> usize {
        self.depth * 4
    }

    pub fn deeper(&mut self) {
        self.depth += 1;
    }

    pub fn shallower(&mut self) {
        self.depth -= 1;
    }

    pub fn line(&mut self, text: &str) {
        self.text.push_str(&" ".repeat(self.indent()));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// An empty line between two items or statements.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Text that is laid out already.
    pub fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// `header {`
    pub fn open(&mut self, header: &str) {
        self.line(&format!("{header} {{"));
        self.deeper();
    }

    /// `}`, with what follows it.
    pub fn close(&mut self, after: &str) {
        self.shallower();
        self.line(&format!("}}{after}"));
    }

    /// `} header {`
    pub fn next(&mut self, header: &str) {
        self.shallower();
        self.line(&format!("}} {header} {{"));
        self.deeper();
    }

    /// `if condition {`: the brace has a line of its own where the condition has several.
    pub fn open_if(&mut self, keyword: &str, condition: &Doc) {
        let text = condition.render(self.after(keyword));
        self.brace(keyword, &text);
    }

    /// `for x in e {`, `if let x = e {`
    pub fn open_with(&mut self, keyword: &str, before: &str, value: &Doc) {
        let text = assignment(before, value, self.after(keyword));
        self.brace(keyword, &text);
    }

    fn after(&self, keyword: &str) -> Shape {
        let line = Shape::line(self.indent(), 0);
        line.after(keyword.chars().count()).unwrap_or(line)
    }

    fn brace(&mut self, keyword: &str, text: &str) {
        let indent = self.indent();
        let full = indent + keyword.chars().count() + text.chars().count() + 2 > WIDTH;
        let last = text.rsplit('\n').next().unwrap_or(text);
        let offset = last.chars().take_while(|c| *c == ' ').count();
        let closes = ends_with_closers(text) && offset <= indent;
        if (text.contains('\n') || full) && !closes {
            self.line(&format!("{keyword}{text}"));
            self.line("{");
        } else {
            self.line(&format!("{keyword}{text} {{"));
        }
        self.deeper();
    }

    /// `before value;`, on the next line if only that fits.
    pub fn assignment(&mut self, before: &str, value: &Doc) {
        let text = assignment(before, value, Shape::line(self.indent(), 1));
        self.line(&format!("{text};"));
    }

    /// `target operator value;`
    pub fn assign(&mut self, target: &Doc, operator: &str, value: &Doc) {
        let target = target.render(Shape::line(self.indent(), 2 + operator.len()));
        self.assignment(&format!("{target} {operator}"), value);
    }

    /// `name: value,` of a struct
    pub fn struct_field(&mut self, name: &str, value: &Doc) {
        let text = assignment(&format!("{name}:"), value, Shape::line(self.indent(), 1));
        self.line(&format!("{text},"));
    }

    /// `expression;`
    pub fn statement(&mut self, expression: &Doc) {
        let text = expression.render(Shape::line(self.indent(), 1));
        self.line(&format!("{text};"));
    }

    /// `return expression;`
    pub fn give_back(&mut self, expression: &Doc) {
        let line = Shape::line(self.indent(), 1);
        let text = expression.render(line.after("return ".len()).unwrap_or(line));
        self.line(&format!("return {text};"));
    }

    /// The value of a block.
    pub fn result(&mut self, expression: &Doc) {
        let text = expression.render(Shape::line(self.indent(), 0));
        self.line(&text);
    }

    /// `unsafe { expression }`, with what follows it.
    pub fn in_unsafe(&mut self, expression: &Doc, after: &str) {
        let line = Shape::line(self.indent(), "unsafe {  }".len() + after.len());
        let text = expression.render(line);
        if text.contains('\n') || text.chars().count() > line.width {
            self.open("unsafe");
            self.result(expression);
            self.close(after);
        } else {
            self.line(&format!("unsafe {{ {text} }}{after}"));
        }
    }

    /// `fn name(a: A, b: B) -> C {`: on one line, or the parameters below each other.
    pub fn function(&mut self, head: &str, parameters: &[String], result: &str) {
        let arrow = if result.is_empty() { String::new() } else { format!(" -> {result}") };
        let flat = format!("{head}({}){arrow} {{", parameters.join(", "));
        if self.indent() + flat.chars().count() <= WIDTH {
            self.line(&flat);
        } else {
            self.line(&format!("{head}("));
            for parameter in parameters {
                self.line(&format!("    {parameter},"));
            }
            self.line(&format!("){arrow} {{"));
        }
        self.deeper();
    }
}
