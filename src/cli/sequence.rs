//! Several statements, `T[i] = A[i,j] * x[j]; y[i] = T[i] * T[i]`: as one kernel, or one after the other,
//! each on what the earlier ones have computed.
//!
//! Out: for all of them, or for each statement, what a kernel is made from. A tensor that a later statement reads is a
//! temporary: it is neither shown nor written unless `-o NAME=FILE` asks for it. Wishes about loops are
//! for the last statement.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::{Kernel, Planned};
use siskin::layout::Layout;
use siskin::operators::Value;
use siskin::program::Program;

use super::options::KernelOptions;
use super::result::of_result;
use super::tensors::TensorOptions;

/// What is asked of a statement: with options that are about its tensors.
#[derive(Clone)]
pub struct Wish {
    pub expression: String,
    pub tensors: TensorOptions,
    /// `-o`
    pub output: Vec<String>,
    pub options: KernelOptions,
    /// Further runs, for their times.
    pub repeat: usize,
    /// What it leaves behind, beside its last result.
    pub kept: Vec<Name>,
    /// Nobody gives its results but earlier kernels.
    pub fresh: bool,
    /// Where results are listed, for a program that returns several.
    pub listed: Option<Rc<Listing>>,
}

/// Results as they are printed, by name.
#[derive(Default)]
pub struct Listing {
    pub results: RefCell<IndexMap<Name, serde_json::Value>>,
    /// In which layouts, with what they hold where nothing is stored.
    pub layouts: IndexMap<Name, (String, Option<Value>)>,
    /// What the program calls those that have another name in kernels.
    pub called: IndexMap<Name, Name>,
}

/// A statement of several.
#[derive(Clone)]
pub struct Step {
    pub wish: Wish,
    pub output: Name,
    /// A later statement reads or updates what it computes.
    pub temporary: bool,
    /// Several statements as one kernel of several results.
    pub united: bool,
    /// The layout in which later statements read it.
    pub layout: Option<String>,
    /// The layout that the result of several updates gets in the end: kernels that update write element by element.
    pub converted: Option<Arc<Layout>>,
}

impl Step {
    /// Tells a kernel which of its results hold nothing yet.
    pub fn tell_fresh(
        &self,
        kernel: Kernel,
        program: &Program,
        is_known: impl Fn(&Name) -> bool,
    ) -> Kernel {
        let results = program.results().into_iter();
        let fresh = results.filter(|name| self.wish.fresh && !is_known(name));
        fresh.fold(kernel, Kernel::fresh)
    }
}

/// The statements of a text; none is empty, but the last may end in `;`.
fn statements(text: &str) -> Result<Vec<&str>> {
    let mut parts: Vec<&str> = text.split(';').collect();
    if parts.len() > 1 && parts.last().is_some_and(|last| last.trim().is_empty()) {
        parts.pop();
    }
    match parts.iter().position(|part| part.trim().is_empty()) {
        Some(k) if parts.len() > 1 => {
            let at = parts[..k].iter().map(|part| part.len() + 1).sum();
            Err(Diagnostic::new(Code::Program, "a statement is empty")
                .at(at..at + parts[k].len(), "nothing between these")
                .within("<expression>", text)
                .help("write one statement between two `;`"))
        }
        _ => Ok(parts),
    }
}

/// How many kernels statements may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// One for all of them, or one for each.
    Any,
    /// One, whose results share loops.
    One,
}

/// Does something with the one kernel of all statements or, where there is none, with that of each.
pub fn each<T>(
    all: &Wish,
    kernels: Kernels,
    mut one: impl FnMut(&Step) -> Result<T>,
) -> Result<Vec<T>> {
    let steps = steps(all)?;
    if kernels == Kernels::One {
        return Ok(vec![one(&united(all, &steps)?)?]);
    }
    if let Some(whole) = whole(all, &steps)? {
        match one(&whole) {
            Ok(done) => return Ok(vec![done]),
            Err(e) if e.code == Code::Internal => return Err(e),
            // An element that one kernel has written is where it is for no other.
            Err(e) if shares_in_turn(all, &steps).is_some() => return Err(e),
            // Each has a kernel of its own, and what is wrong is said of it.
            Err(e) => tracing::info!("one kernel for each statement: {}", e.message),
        }
    }
    if let Some(output) = shares_in_turn(all, &steps) {
        let what = format!("`{output}` shares a sparsity, and several kernels would write it");
        return Err(Diagnostic::new(Code::Space, what)
            .help("leave wishes about loops out, or give the output a layout of its own"));
    }
    steps.iter().map(one).collect()
}

/// An output that several statements write, at the positions of an input.
fn shares_in_turn<'s>(all: &Wish, steps: &'s [Step]) -> Option<&'s Name> {
    let shares = |text: &String, output: &Name| match of_result(text) {
        Some((name, layout)) => *name == **output && layout.contains("shares("),
        None => text.contains("shares("),
    };
    steps.iter().enumerate().find_map(|(k, step)| {
        let output = &step.output;
        let again = steps[..k].iter().any(|earlier| earlier.output == *output);
        let mut texts = all.output.iter().chain(&all.tensors.formats);
        (again && texts.any(|text| shares(text, output))).then_some(output)
    })
}

/// The steps of what is to be run; one if it is one statement.
fn steps(all: &Wish) -> Result<Vec<Step>> {
    all.options.refuse_unused(&all.expression)?;
    let parts = statements(&all.expression)?;
    if parts.len() > 1 {
        // Each may have a kernel of its own, which reads what it is given.
        all.tensors.read.keep();
    }
    let mut programs: Vec<Program> = Vec::new();
    for part in &parts {
        let program = all.options.kernel(part)?.program()?;
        // Refused before any work is done.
        program.assignment()?;
        programs.push(program);
    }
    let mut out = Vec::new();
    for (k, (program, part)) in programs.iter().zip(&parts).enumerate() {
        let output = program.output()?.tensor.clone();
        let uses = |p: &Program| p.tensors().contains_key(&output);
        let temporary = programs[k + 1..].iter().any(uses);
        let is_last = k + 1 == programs.len();
        let mine = |name: &str| mentions(program, name);
        let others = |name: &str| programs.iter().any(|p| mentions(p, name));
        let only = |texts: &[String]| -> Vec<String> {
            let kept = |text: &&String| match text.split_once('=') {
                Some((name, _)) => mine(name.trim()) || !others(name.trim()),
                None => true,
            };
            texts.iter().filter(kept).cloned().collect()
        };
        let mut own = all.clone();
        own.expression = part.trim().to_string();
        own.tensors.tensors = only(&all.tensors.tensors);
        own.tensors.formats = only(&all.tensors.formats);
        own.options.dims = only(&all.options.dims);
        own.options.fill = only(&all.options.fill);
        own.options.gallop.retain(|name| mine(name.trim()) || !others(name.trim()));
        let types = all.options.value_type.iter().flat_map(|text| text.split(','));
        own.options.value_type = only(&types.map(str::to_string).collect::<Vec<_>>());
        // A file without a name is the last result's; what is updated is written when it is complete.
        let is_complete = !programs[k + 1..].iter().any(|p| is_output_of(p, &output));
        let is_computed = |name: &str| programs.iter().any(|p| is_output_of(p, name));
        own.output.retain(|text| match text.split_once('=') {
            Some((name, _)) if is_computed(name.trim()) => is_complete && *name.trim() == *output,
            _ => is_last,
        });
        let mut layout = None;
        if programs.len() > 1 {
            // What an earlier statement computed is no file.
            let computed = |name: &str| programs[..k].iter().any(|p| is_output_of(p, name));
            own.tensors.tensors.retain(|text| !computed(before_equals(text)));
            own.tensors.formats.retain(|text| {
                let (name, is_output) = (before_equals(text), before_equals(text) == &*output);
                if is_output && temporary {
                    layout = text.split_once('=').map(|(_, layout)| layout.trim().to_string());
                }
                if is_output { !temporary } else { !computed(name) }
            });
        }
        let mut converted = None;
        let updates = programs[..k].iter().any(|p| is_output_of(p, &output));
        if let Some(text) = own.tensors.format(&output)?.filter(|_| updates) {
            let rank = program.output()?.subscripts.len();
            converted = Some(Arc::new(Layout::named_for_rank(text, rank)?))
                .filter(|layout| !layout.arrays.is_empty());
        }
        if converted.is_some() {
            own.tensors.formats.retain(|text| *before_equals(text) != *output);
        }
        if !is_last {
            let options = &mut own.options;
            options.save_kernel = None;
            [&mut options.find, &mut options.order, &mut options.tile, &mut options.fuse]
                .into_iter()
                .for_each(Vec::clear);
        }
        out.push(Step { wish: own, output, temporary, united: false, layout, converted });
    }
    Ok(out)
}

/// What is to be run as one kernel, if all but one of the tensors that are computed are nobody else's.
fn whole(all: &Wish, steps: &[Step]) -> Result<Option<Step>> {
    let loops = &all.options;
    let asked = [&loops.find, &loops.order, &loops.tile, &loops.fuse];
    // Wishes about loops are for the last statement.
    if steps.len() < 2 || asked.iter().any(|wishes| !wishes.is_empty()) {
        return Ok(None);
    }
    let Ok(program) = all.options.kernel(&all.expression)?.program() else { return Ok(None) };
    let temporaries = program.temporaries();
    let named = |text: &String| temporaries.iter().any(|t| **t == *before_equals(text));
    let own = all.tensors.tensors.iter().chain(&all.tensors.formats).chain(&all.output);
    let shown = own.into_iter().any(named);
    let (Some(last), false) = (steps.last(), shown) else { return Ok(None) };
    // A temporary that is read again after it was written is updated.
    let others = steps.iter().map(|s| &s.output).filter(|output| **output != last.output);
    let mut kept = others.chain(&all.kept).filter(|output| **output != last.output);
    let is_kept = |output: &Name| all.kept.contains(output) || !temporaries.contains(output);
    if kept.any(is_kept) || temporaries.contains(&last.output) {
        return Ok(None);
    }
    Ok(Some(Step {
        wish: all.clone(),
        output: last.output.clone(),
        temporary: false,
        united: false,
        layout: None,
        converted: None,
    }))
}

/// What is to be run as one kernel of several results, none of which a later statement reads.
fn united(all: &Wish, steps: &[Step]) -> Result<Step> {
    let temporaries = all.options.kernel(&all.expression)?.program()?.temporaries();
    match steps.last() {
        Some(last) if !all.kept.iter().any(|name| temporaries.contains(name)) => Ok(Step {
            wish: all.clone(),
            output: last.output.clone(),
            temporary: false,
            united: true,
            layout: None,
            converted: None,
        }),
        _ => Err(Diagnostic::new(Code::Space, "what is computed is read again")),
    }
}

impl Step {
    /// Refuses a kernel of several results that share no loops: it would be no better than one for each.
    pub fn refuse_apart(&self, planned: &Planned) -> Result<()> {
        match self.united && !planned.results_share_loops() {
            true => Err(Diagnostic::new(Code::Space, "its results share no loops")),
            false => Ok(()),
        }
    }
}

fn before_equals(text: &str) -> &str {
    text.split_once('=').map_or(text, |(name, _)| name).trim()
}

fn is_output_of(program: &Program, name: &str) -> bool {
    program.output().is_ok_and(|output| *output.tensor == *name)
}

/// Whether a name is one of the program's tensors or indices.
fn mentions(program: &Program, name: &str) -> bool {
    program.tensors().contains_key(name) || program.indices().iter().any(|i| **i == *name)
}
