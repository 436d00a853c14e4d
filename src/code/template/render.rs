//! The text of a template's macros.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value};

use super::variant::Variant;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::synth::{Template, WorkspaceTemplate};

/// The macro `name` in one variant; lines that are comments become statements, so that parsing keeps
/// them.
pub(super) fn part(template: &Template, name: &str, variant: Variant) -> Result<String> {
    let text = call(template, name, &[Value::from(Serde(variant))])?;
    let lines = text.lines().filter(|l| !l.trim().is_empty()).map(|line| {
        match line.trim_start().strip_prefix("//") {
            Some(comment) => format!("comment!({:?});\n", comment.trim()),
            None => format!("{line}\n"),
        }
    });
    Ok(lines.collect())
}

/// Helper items that the template's code needs, once per module.
///
/// # Errors
/// [`Code::Find`] if the template does not render.
pub fn items(template: &Template, index_type: &str) -> Result<String> {
    call(template, "items", &[Value::from(index_type)])
}

/// The items of a workspace.
///
/// # Errors
/// [`Code::Find`] if its code does not render.
pub fn workspace_items(template: &WorkspaceTemplate) -> Result<String> {
    let help = "kernel.rs.j2 must define the macro items()";
    rendered(&template.name, template.code, "items", &[], help)
}

fn call(template: &Template, name: &str, args: &[Value]) -> Result<String> {
    let help = "kernel.rs.j2 must define macros items(index_type), setup(find), search(find)";
    rendered(&template.name, &template.code, name, args, help)
        .map_err(|e| e.note(format!("in `{}`", template.code_place)))
}

fn rendered(template: &str, code: &str, name: &str, args: &[Value], help: &str) -> Result<String> {
    let wrong = |e: minijinja::Error| {
        let mut text = e.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&e);
        while let Some(c) = cause {
            text.push_str(&format!(": {c}"));
            cause = c.source();
        }
        Diagnostic::new(Code::Find, format!("template `{template}`, macro `{name}`: {text}"))
            .help(help)
    };
    let mut env = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    env.set_syntax(syntax.map_err(wrong)?);
    env.add_template("kernel.rs.j2", code).map_err(wrong)?;
    env.get_template("kernel.rs.j2")
        .map_err(wrong)?
        .render_captured(())
        .map_err(wrong)?
        .with_state_mut(|state| state.call_macro(name, args))
        .map_err(wrong)
}
