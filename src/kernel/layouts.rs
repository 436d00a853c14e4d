//! The layouts of a statement's tensors, and what an output can have.

use std::sync::Arc;

use indexmap::IndexMap;

use super::assemble::is_written_in_place;
use super::request::{Request, names, shares};
use crate::check::{has_one_coordinate, refuse_unsound, stores_coordinates_once};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name};
use crate::layout::{DefaultFor, Layout, share};
use crate::program::{Access, Program};

/// The layouts of a statement.
pub(super) struct Layouts {
    /// Of every tensor, the output's first, as spaces are composed of them.
    pub composed: IndexMap<Name, Arc<Layout>>,
    /// Of the result, if it is assembled.
    pub result: Option<Arc<Layout>>,
}

impl Layouts {
    /// Whether every element of a tensor has a place of its own.
    pub fn is_dense(&self, tensor: &Name) -> bool {
        is_written_in_place(&self.composed[tensor])
    }
}

/// The layout of every tensor of `program`.
pub(super) fn layouts(request: &Request, program: &Program) -> Result<Layouts> {
    let mut layouts: IndexMap<Name, Arc<Layout>> = IndexMap::new();
    let output = &program.output()?.tensor;
    let sharing = shares(request, output);
    for (tensor, rank) in program.tensors() {
        if sharing.is_some() && tensor == *output {
            // Derived from the input's below; its place in the order is kept.
            let placeholder = Layout::named_for_rank(&DefaultFor::Output.layout()?, rank)?;
            layouts.insert(tensor, Arc::new(placeholder));
            continue;
        }
        let role = match program.writes(&tensor) {
            true => DefaultFor::Output,
            false => DefaultFor::Array,
        };
        let at_hand = request.declared.get(&tensor).filter(|layout| layout.rank() == rank);
        let layout = match (at_hand, request.layouts.get(&tensor)) {
            (Some(layout), _) => layout.clone(),
            (None, Some(text)) => {
                let layout = Layout::named_for_rank(text, rank);
                Arc::new(layout.map_err(|e| e.note(format!("it is the layout of `{tensor}`")))?)
            }
            (None, None) => Arc::new(Layout::named_for_rank(&role.layout()?, rank)?),
        };
        refuse_unsound(&layout)?;
        layouts.insert(tensor, layout);
    }
    let shared = sharing.is_some();
    if let Some(input) = sharing {
        let layout = sharing_layout(program, &layouts, &input)?;
        layouts.insert(output.clone(), Arc::new(layout));
    }
    let mut result = None;
    if !shared && !is_written_in_place(&layouts[output]) {
        let direct = Layout::named_for_rank(&DefaultFor::Output.layout()?, layouts[output].rank())?;
        result = layouts.insert(output.clone(), Arc::new(direct));
    }
    refuse_output(program, &layouts[output], shared)?;
    for tensor in request.layouts.keys() {
        if !layouts.contains_key(tensor) {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("a layout is given for `{tensor}`, which the expression does not use"),
            )
            .help(format!("the tensors of the expression are {}", names(layouts.keys()))));
        }
    }
    Ok(Layouts { composed: layouts, result })
}

/// An output is written element by element: a position must stand for one coordinate, and a coordinate
/// must not be stored twice. (Where positions are an input's, its duplicates each take their part.)
fn refuse_output(program: &Program, layout: &Layout, shared: bool) -> Result<()> {
    let why = match () {
        () if !has_one_coordinate(layout) => "a position may stand for several coordinates",
        () if !shared && !stores_coordinates_once(layout) => "a coordinate may be stored twice",
        () => return Ok(()),
    };
    let output = program.output()?;
    Err(Diagnostic::new(
        Code::Space,
        format!("`{}` cannot be computed in layout `{}`: {why}", output.tensor, layout.name),
    )
    .at(output.span.clone(), "this output")
    .within("<expression>", &program.text)
    .help("compute it in a dense layout, and convert the result"))
}

/// The layout of an output with the sparsity of `input`.
fn sharing_layout(
    program: &Program,
    layouts: &IndexMap<Name, Arc<Layout>>,
    input: &Name,
) -> Result<Layout> {
    let output = program.output()?;
    let access = program.accesses().into_iter().find(|a| a.tensor == *input);
    let (Some(access), Some(layout)) = (access, layouts.get(input)) else {
        return Err(Diagnostic::new(
            Code::Space,
            format!("`shares({input})`: `{input}` is not read by the expression"),
        )
        .at(output.span.clone(), "this output")
        .within("<expression>", &program.text)
        .help("name a tensor that the expression reads"));
    };
    let shared_by = |written: &Access, access: &Access| -> Vec<Option<usize>> {
        let dimension = |s: &Affine| {
            let index = s.as_var()?;
            (0..access.rank()).find(|&d| access.plain(d) == Some(index))
        };
        written.subscripts.iter().map(dimension).collect()
    };
    let shared = shared_by(output, access);
    for other in program.assignments()?.iter().filter(|a| a.output.tensor == output.tensor) {
        let read = other.value.accesses().into_iter().find(|a| a.tensor == *input);
        if read.is_none_or(|read| shared_by(other.output, read) != shared) {
            let what = format!("this statement does not write where `{input}` is stored");
            return Err(Diagnostic::new(
                Code::Space,
                format!(
                    "`{}` shares the sparsity of `{input}` in one statement only",
                    output.tensor
                ),
            )
            .at(other.output.span.clone(), what)
            .within("<expression>", &program.text)
            .help(format!("compute `{}` in a layout of its own", output.tensor)));
        }
    }
    share(layout, &shared)
}
