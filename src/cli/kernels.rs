//! The kernels of a program, one after the other: as they are planned without data, and as one module.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::{Kernel, Planned, places_code, places_layout};
use siskin::layout::Layout;
use siskin::module::Module;
use siskin::operators::Value as Number;
use siskin::program::Program;
use siskin::program::finch::{Kind, Locate};

use super::listed::Results;
use super::options::KernelOptions;
use super::program::{Part, Translated};
use super::sequence::{self, Kernels, Step, Wish};
use super::tensors::{OutputWish, TensorOptions, by_result};
use super::{data, running};

/// One of them.
pub struct One {
    pub planned: Planned,
    pub module: Module,
    pub options: KernelOptions,
    /// What is made of its result for later kernels.
    pub locates: Vec<Locate>,
}

impl One {
    pub fn new(planned: Planned, options: &KernelOptions) -> Result<One> {
        let module = planned.render()?;
        Ok(One { planned, module, options: options.clone(), locates: Vec::new() })
    }

    /// What it writes, and how: entries that cannot be appended are packed when it has run.
    fn results(&self) -> Vec<(Name, &Arc<Layout>)> {
        let layout = |name: &Name| match self.planned.assembled().filter(|a| a.tensor == *name) {
            Some(made) => &made.layout,
            None => &self.planned.layouts()[name],
        };
        let names = self.planned.program().results().into_iter();
        names.map(|name| (name.clone(), layout(&name))).collect()
    }
}

/// What a kernel leaves to later ones, and what that holds where it stores nothing.
type Left = IndexMap<Name, (Arc<Layout>, Option<Number>)>;

/// Plans the kernels of a program.
pub fn kernels(
    made: Translated,
    plan: &mut dyn FnMut(&Kernel) -> Result<Planned>,
) -> Result<Vec<One>> {
    let mut left = Left::new();
    let mut out: Vec<One> = Vec::new();
    for group in made.groups {
        out.extend(group.each(|part, kernels| planned_part(part, kernels, &mut left, plan))?);
    }
    Ok(out)
}

fn planned_part(
    part: Part,
    kernels: Kernels,
    left: &mut Left,
    plan: &mut dyn FnMut(&Kernel) -> Result<Planned>,
) -> Result<Vec<One>> {
    let Part { expression, tensors, options, output, kept, locates } = part;
    let (repeat, fresh, listed) = (0, true, None);
    let wish = Wish { expression, tensors, output, options, repeat, kept, fresh, listed };
    let mut own = sequence::each(&wish, kernels, |step| {
        let one = planned(step, left, plan)?;
        for (name, layout) in one.results() {
            let fill = one.planned.fill_of_result(&name);
            let fill = (!fill.same(Number::zero(fill.value_type()))).then_some(fill);
            left.insert(name, (layout.clone(), fill));
        }
        Ok(one)
    })?;
    for locate in &locates {
        let rank = left.get(&locate.from).map_or(0, |(layout, _)| layout.rank());
        left.insert(locate.tensor.clone(), (places_layout(rank)?, None));
    }
    if let Some(last) = own.last_mut() {
        last.locates = locates;
    }
    Ok(own)
}

fn planned(
    step: &Step,
    left: &Left,
    plan: &mut dyn FnMut(&Kernel) -> Result<Planned>,
) -> Result<One> {
    let asked = &step.wish;
    let kernel = asked.options.kernel(&asked.expression)?;
    let program = kernel.program()?;
    program.assignments()?;
    let (own, _) = by_result(&asked.output, &program)?;
    let wish = OutputWish::parse(&own, &program)?;
    let mut kernel = with_tensors(kernel, &asked.options, &program, &asked.tensors, &wish)?;
    let output = &program.output()?.tensor;
    let read: Vec<&Name> = program.accesses().into_iter().map(|a| &a.tensor).collect();
    for (name, (layout, fill)) in left.iter().filter(|(name, _)| read.contains(name)) {
        kernel = kernel.declared(name, layout);
        if let Some(fill) = fill.filter(|_| name != output) {
            kernel = kernel.fill(name, fill);
        }
    }
    if let Some(layout) = &step.layout {
        kernel = kernel.layout(output, layout);
    }
    let kernel = step.tell_fresh(kernel, &program, |name| left.contains_key(name));
    let planned = plan(&kernel)?;
    step.refuse_apart(&planned)?;
    One::new(planned, &asked.options)
}

/// What a kernel is called among several.
pub fn name(k: usize) -> String {
    format!("kernel_{}", k + 1)
}

/// What becomes of computed places, in words.
pub fn located(locate: &Locate) -> String {
    format!(
        "{} is true at the places that {} holds, of {}",
        locate.tensor, locate.from, locate.extent
    )
}

/// The module of a program: that of its kernel, or a module for each of several, behind a page that says how
/// they are called.
pub fn text(
    path: &Path,
    returned: &[Results],
    measured: &[String],
    kernels: &[One],
) -> Result<String> {
    let program = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let mut lines = match kernels.len() {
        1 => vec![format!("The program `{program}`.")],
        several => vec![format!("`{program}`: a program of {several} kernels.")],
    };
    if !measured.is_empty() {
        lines.push(format!("It was read for tensors of these extents: {}.", measured.join(", ")));
        lines.push(
            "They decided what lies outside; of others, statements are computed as they stand."
                .into(),
        );
    }
    lines.push(String::new());
    if let [one] = kernels
        && one.locates.is_empty()
    {
        return Ok(page(&lines) + one.module.text());
    }
    let version = env!("CARGO_PKG_VERSION");
    lines.push(format!("Generated by siskin {version}. Depends on `std` only."));
    lines.push(String::new());
    lines.push("Called in this order, each on what is given and on what earlier ones have".into());
    lines.push("written: the fields of a tensor are the same in all modules.".into());
    for (k, one) in kernels.iter().enumerate() {
        lines.push(format!("{}. `{}::kernel`: `{}`", k + 1, name(k), one.planned.program()));
        let fresh = one.planned.fresh();
        for (output, layout) in one.results() {
            let before = fresh.get(&output).map(|x| format!(", which holds {x} everywhere before"));
            let before = before.unwrap_or_default();
            lines.push(format!("   writes `{output}` as `{}`{before}", layout.name));
        }
        for locate in &one.locates {
            let is_read = kernels.iter().any(|k| k.planned.layouts().contains_key(&locate.tensor));
            let what = match is_read {
                true => format!("makes the places and `val` of `{}`", locate.tensor),
                false => "fails if a subscript lies outside".to_string(),
            };
            let (from, extent) = (&locate.from, locate.extent);
            lines.push(format!("   then `places(&{from}.val, {extent})` {what}"));
        }
    }
    lines.push(String::new());
    for (name, own, kinds) in returned {
        let said = |(own, kind): (&Name, &Kind)| match kind {
            Kind::Number => format!("`{own}`"),
            Kind::Missing { there: false } => format!("`{own}` (true where it is missing)"),
            Kind::Nothing { there: false } => format!("`{own}` (true where it is nothing)"),
            Kind::Missing { there: true } => format!("`{own}` (false where it is missing)"),
            Kind::Nothing { there: true } => format!("`{own}` (false where it is nothing)"),
        };
        let own: Vec<String> = own.iter().zip(kinds).map(said).collect();
        lines.push(format!("Returns `{name}`: {}.", own.join(", ")));
    }
    let mut out = page(&lines);
    if let Some(one) = kernels.iter().find(|one| !one.locates.is_empty()) {
        out.push('\n');
        out.push_str(&places_code(one.planned.index_width()));
    }
    for (k, one) in kernels.iter().enumerate() {
        // Its lines are as long as they may be.
        out.push_str(&format!("\n#[rustfmt::skip]\npub mod {} {{\n", name(k)));
        for line in one.module.text().lines() {
            out.push_str(if line.is_empty() { "" } else { "    " });
            out.push_str(line);
            out.push('\n');
        }
        out.push_str("}\n");
    }
    Ok(out)
}

/// The lines as the documentation of a module.
fn page(lines: &[String]) -> String {
    lines.iter().map(|line| format!("//! {line}").trim_end().to_string() + "\n").collect()
}

/// The kernel with the result that `run` has: where nothing is said of the only one, a list of entries if a dense one
/// would be mostly zero.
pub fn with_result_of_run(
    kernel: Kernel,
    program: &Program,
    is_given: impl Fn(&Name) -> bool,
) -> Result<Kernel> {
    Ok(match program.assignments()?.as_slice() {
        [only] if !is_given(&only.output.tensor) => kernel.sparse_result(),
        _ => kernel,
    })
}

/// The kernel of an expression with the layouts of `-f` and `-t`, priced for the data of `-t` if these are
/// all that it needs.
pub fn with_tensors(
    mut kernel: Kernel,
    options: &KernelOptions,
    program: &Program,
    tensors: &TensorOptions,
    wish: &OutputWish<'_>,
) -> Result<Kernel> {
    // For the extents of `--dims`; the layouts' diagnostics come later, in the kernel's own words.
    options.extents(program)?;
    for (name, layout) in tensors.formats()? {
        kernel = kernel.layout(name, layout);
    }
    if !tensors.tensors.is_empty() {
        program.assignments()?;
        let inputs = data::some_inputs(program, tensors, options, &IndexMap::new())?;
        let all = program
            .accesses()
            .iter()
            .all(|a| program.writes(&a.tensor) || inputs.tensors.contains_key(&a.tensor));
        if let (false, Some((name, _))) = (all, inputs.copies.first()) {
            let what = format!("tensor `{name}` is given in several layouts, but not all data are");
            return Err(Diagnostic::new(Code::Usage, what)
                .help("give all tensors with `-t`, so that the cheapest layout is known"));
        }
        kernel = match all {
            true => running::for_data(kernel, &inputs)?,
            false => inputs.tensors.iter().fold(kernel.index(inputs.width), |kernel, (name, t)| {
                kernel.declared(name, t.layout())
            }),
        };
    }
    wish.apply(kernel, program, tensors)
}
