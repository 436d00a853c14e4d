//! Finds as code: the templates' macros with the names of this kernel filled in.
//!
//! A template's `kernel.rs.j2` defines three macros: `items()`, the helper items of the module;
//! `setup(find)`, the state where it is placed; `search(find, body)`, the find around its body. The
//! fields of `find` are those of [`SearchCode`].

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::scan::Nest;
use crate::synth::{Direction, Find, Placement, Plan, Template};

/// What a template sees of a find. All texts are Rust expressions.
#[derive(Clone, Debug, Serialize)]
pub struct SearchCode {
    /// The position's variable: bound while `matches`, `continues` and the body are evaluated.
    pub var: String,
    pub lo: String,
    /// Exclusive.
    pub hi: String,
    /// The position itself, for closed forms.
    pub value: String,
    pub up: bool,
    pub matches: String,
    pub continues: String,
    pub resume: bool,
    /// Visit all matches.
    pub many: bool,
    pub key: Vec<KeyCode>,
    /// `none`, `prefix`, `reset` or `array`.
    pub placement: &'static str,
    /// State indices that the state is kept for, in `reset` and `array`.
    pub indices: Vec<String>,
    /// Their extents.
    pub extents: Vec<String>,
    /// The loop around the find may be left (`break`) once its state has no position left: see
    /// [`may_leave`].
    pub leave: bool,
    #[serde(skip)]
    template: std::rc::Rc<Template>,
}

/// One component of a find key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyCode {
    /// In terms of the position.
    pub inner: String,
    /// In terms of the outer indices.
    pub outer: String,
    /// `outer` is proved to fit the index type; otherwise the template must test it.
    pub fits: bool,
    /// `inner` may be negative: it is kept in two's complement.
    pub signed: bool,
}

impl SearchCode {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        find: &Find,
        plan: &Plan,
        lo: String,
        hi: String,
        value: String,
        matches: String,
        continues: Option<String>,
        key: Vec<KeyCode>,
    ) -> SearchCode {
        SearchCode {
            var: super::rust_expr::ident(&find.problem.position),
            lo,
            hi,
            value,
            up: plan.direction != Some(Direction::Down),
            matches,
            continues: continues.unwrap_or_default(),
            resume: plan.resume,
            many: plan.many,
            key,
            placement: match plan.placement {
                None => "none",
                Some(Placement::Prefix { .. }) => "prefix",
                Some(Placement::Reset { .. }) => "reset",
                Some(Placement::Array { .. }) => "array",
            },
            indices: Vec::new(),
            extents: Vec::new(),
            leave: false,
            template: plan.template.clone(),
        }
    }

    pub fn with_state(mut self, indices: Vec<String>, extents: Vec<String>) -> SearchCode {
        self.indices = indices;
        self.extents = extents;
        self
    }

    pub fn with_leave(mut self, leave: bool) -> SearchCode {
        self.leave = leave;
        self
    }
}

/// True if the innermost loop around the find does nothing but query it, and all its queries share
/// one state: when that state has no position left, the rest of the loop finds nothing.
pub fn may_leave(nest: &Nest, find: &Find, plan: &Plan) -> bool {
    let around = (0..find.problem.level).rev().find(|&d| nest.levels[d].is_loop());
    // The body of another find is no loop of its own.
    let Some(around) = around.filter(|&d| !nest.levels[d].is_find()) else { return false };
    let outside = |n: &Name| nest.level_of(n).is_some_and(|level| level < around);
    match &plan.placement {
        None => false,
        Some(Placement::Prefix { before }) => *before <= around,
        Some(Placement::Reset { before, indices } | Placement::Array { before, indices }) => {
            *before <= around && indices.iter().all(outside)
        }
    }
}

/// The state of a find, where it is placed.
pub fn setup(code: &SearchCode) -> Result<String> {
    call(&code.template, "setup", &[Value::from(Serde(code))])
}

/// The find around `body`.
pub fn search(code: &SearchCode, body: &str) -> Result<String> {
    call(&code.template, "search", &[Value::from(Serde(code)), Value::from(body)])
}

/// Helper items that the template's code needs, once per module.
pub fn items(template: &Template, index_type: &str) -> Result<String> {
    call(template, "items", &[Value::from(index_type)])
}

fn call(template: &Template, name: &str, args: &[Value]) -> Result<String> {
    let wrong = |e: minijinja::Error| {
        let mut text = e.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&e);
        while let Some(c) = cause {
            text.push_str(&format!(": {c}"));
            cause = c.source();
        }
        Diagnostic::new(
            Code::Find,
            format!("template `{}`, macro `{name}`: {text}", template.name),
        )
        .help("kernel.rs.j2 must define macros items(index_type), setup(find), search(find, body)")
    };
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    env.set_syntax(syntax.map_err(wrong)?);
    env.add_template("kernel.rs.j2", &template.code).map_err(wrong)?;
    let rendered = env
        .get_template("kernel.rs.j2")
        .map_err(wrong)?
        .render_captured(())
        .map_err(wrong)?
        .with_state_mut(|state| state.call_macro(name, args))
        .map_err(wrong)?;
    Ok(rendered)
}
