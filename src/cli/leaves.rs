//! What the formats of `-t`, `-f` and `-o` state of the values, as `--type` and `--fill` state it.

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::layout::LayoutSpec;
use siskin::operators::Value;
use siskin::program::Program;

use super::options::{KernelOptions, wrong};
use super::result::other_result;
use super::tensor_argument::{FileArgument, named};
use super::tensors::TensorOptions;

/// The options with the types and fills of the formats, `Dense(SparseList(Element(0.0)))`; without an
/// expression, the tensors that have files are inputs.
///
/// # Errors
/// Those of the formats; [`Code::Data`] if `--type` or `--fill` says something else.
pub fn with_leaves(
    expression: Option<&str>,
    tensors: &TensorOptions,
    output: &[String],
    options: &KernelOptions,
) -> Result<KernelOptions> {
    let program = match expression {
        Some(expression) => options.kernel(expression)?.program().ok(),
        None => None,
    };
    let written = |name: &str| {
        program.as_ref().is_some_and(|p| {
            p.output().is_ok_and(|o| *o.tensor == *name)
                || p.temporaries().iter().any(|t| **t == *name)
        })
    };
    let mut out = options.clone();
    for text in &tensors.tensors {
        let (name, rest) = named("-t", text, "FILE[:LAYOUT]")?;
        if let Some(layout) = FileArgument::input(rest)?.layout {
            add(&mut out, name, &layout, !written(name))?;
        }
    }
    let has_file = |name: &str| tensors.tensors.iter().any(|text| before_equals(text) == name);
    for (name, layout) in tensors.formats()? {
        let input = match program {
            Some(_) => !written(name),
            None => has_file(name),
        };
        add(&mut out, name, layout, input)?;
    }
    for text in output {
        if let Some(name) = other_result(text, |name| is_tensor(program.as_ref(), name)) {
            return Err(wrong("--output", text, 0, format!("`{name}` is no result here")).help(
                format!("name a result, or the file alone; one of this name is `./{text}`"),
            ));
        }
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if is_tensor(program.as_ref(), name.trim()) => {
                (name.trim().to_string(), rest.trim())
            }
            _ => match program.as_ref().and_then(|p| p.output().ok()) {
                Some(output) => (output.tensor.to_string(), text.as_str()),
                None => continue,
            },
        };
        if rest.starts_with("shares(") {
            continue;
        }
        if let Some(layout) = FileArgument::parse(rest)?.layout {
            add(&mut out, &name, &layout, false)?;
        }
    }
    Ok(out)
}

fn before_equals(text: &str) -> &str {
    text.split_once('=').map_or(text, |(name, _)| name).trim()
}

fn is_tensor(program: Option<&Program>, name: &str) -> bool {
    program.is_none_or(|p| p.tensors().contains_key(name))
}

/// Adds the type of a tensor, and the fill of an input.
fn add(options: &mut KernelOptions, name: &str, layout: &str, input: bool) -> Result<()> {
    if layout.starts_with("shares(") {
        return Ok(());
    }
    let Some(fill) = LayoutSpec::parse(layout)?.fill().map(Value::from) else { return Ok(()) };
    let ty = fill.value_type();
    let differs = |option: &str, given: &str, states: String| {
        Diagnostic::new(
            Code::Data,
            format!(
                "the format of `{name}` states {states}, but `{option} {name}={given}` is given"
            ),
        )
        .at(0..layout.len(), "this format")
        .within("<layout>", layout)
        .help(format!("leave `{option} {name}={given}` out, or let the format say the same"))
    };
    match options.types()?.own.get(name) {
        Some(own) if *own != ty => {
            return Err(differs("--type", own.as_str(), format!("values of type {ty}")));
        }
        Some(_) => {}
        None => options.value_type.push(format!("{name}={ty}")),
    }
    if !input {
        return Ok(());
    }
    match options.fill.iter().any(|text| before_equals(text) == name) {
        true => {
            let given = options.fill_of(&Name::from(name), ty)?.unwrap_or(Value::zero(ty));
            if !given.same(fill) {
                return Err(differs("--fill", &given.to_string(), format!("the fill {fill}")));
            }
        }
        false if fill.same(Value::zero(ty)) => {}
        false => options.fill.push(format!("{name}={fill}")),
    }
    Ok(())
}
