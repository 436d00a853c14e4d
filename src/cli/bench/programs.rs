//! The kernels of a program, one by one and together.

use std::time::{Duration, Instant};

use indexmap::{IndexMap, IndexSet};
use serde_json::{Value, json};
use siskin::diagnostic::Result;
use siskin::exec::Jit;
use siskin::formula::Name;
use siskin::kernel::Coiterate;
use siskin::operators::Value as Number;

use super::super::data::{self, Computed};
use super::super::program::{Part, Translated};
use super::super::sequence::{self, Step, Wish};
use super::super::tensors::{OutputWish, by_result};
use super::super::{kernels, running, shown};
use super::copying;
use super::figures::{Case, Report, Row, median};
use super::measure::{Effort, Measured, measured};
use super::strategies::automatic;
use super::table;
use super::timed::{Timed, machine};

/// The kernels of a program, one after the other, and all of them.
pub fn timed(made: Translated, effort: &Effort<'_>) -> Result<Timed> {
    let jit = Jit::new()?;
    let (name, text) = (made.name.clone(), made.text.clone());
    OutputWish { file: made.file(), shared: None }.without_file("bench")?;
    let mut computed: IndexMap<Name, Computed> = IndexMap::new();
    let mut parts: Vec<Measured> = Vec::new();
    let mut places = Duration::ZERO;
    for group in made.groups {
        parts.extend(group.each(|part, kernels| {
            let Part { expression, tensors, options, output, kept, locates } = part;
            let (repeat, fresh, listed) = (0, true, None);
            let wish = Wish { expression, tensors, output, options, repeat, kept, fresh, listed };
            let one = |step: &Step| measured_step(step, &mut computed, &jit, effort);
            let own = sequence::each(&wish, kernels, one)?;
            for locate in locates {
                let start = Instant::now();
                let found = running::located(&locate, &computed);
                places += start.elapsed();
                let found = found.map_err(|e| e.within(&name, &text))?;
                computed.insert(locate.tensor, found);
            }
            Ok(own)
        })?);
    }
    let known: IndexSet<String> = parts.iter().flat_map(|p| p.known.clone()).collect();
    effort.check_names(&known.into_iter().collect::<Vec<_>>())?;
    if parts.len() == 1 && places.is_zero() {
        return Ok(Timed::of_cases(parts.into_iter().map(|part| part.case).collect(), None));
    }
    let rows = whole(&parts, places);
    let all = Case { statement: format!("all kernels of {name}"), rows, ..Case::default() };
    let copying = copying::rate();
    let mut said = String::new();
    for (k, Measured { case, .. }) in parts.iter().enumerate() {
        let table = table::text(case, copying);
        said.push_str(&format!("{}: {}\n{table}\n", kernels::name(k), case.statement));
    }
    let own = match places.is_zero() {
        true => String::new(),
        false => format!(", of which {} are between them", shown::time(places)),
    };
    let table = table::text(&all, copying);
    said.push_str(&format!("all {} kernels of {name}{own}\n{table}\n", parts.len()));
    said.push_str(&machine(copying));
    let one = |p: &Measured| json!({ "statement": p.case.statement, "rows": table::rows(&p.case, copying) });
    let kernels: Vec<Value> = parts.iter().map(one).collect();
    let json = json!({
        "rows": table::rows(&all, copying),
        "kernels": kernels,
        "places": places.as_secs_f64(),
        "copying": copying,
    });
    let cases = parts.into_iter().map(|part| part.case).chain([all]).collect();
    Ok(Timed { report: Report { cases, swept: None, copying }, text: said, json })
}

/// The kernel of a statement of a program; what it computes is put to what is computed.
fn measured_step(
    step: &Step,
    computed: &mut IndexMap<Name, Computed>,
    jit: &Jit,
    effort: &Effort<'_>,
) -> Result<Measured> {
    let asked = &step.wish;
    let mut kernel = asked.options.kernel(&asked.expression)?;
    let program = kernel.program()?;
    program.assignments()?;
    let output = program.output()?.tensor.clone();
    for access in program.accesses().into_iter().filter(|a| a.tensor != output) {
        if let Some(fill) = computed.get(&access.tensor).and_then(|known| known.fill) {
            kernel = kernel.fill(&access.tensor, fill);
        }
    }
    let (own, _) = by_result(&asked.output, &program)?;
    let wish = OutputWish::parse(&own, &program)?;
    let inputs = data::inputs(&program, &asked.tensors, &asked.options, computed)?;
    kernel = wish.apply(running::for_data(kernel, &inputs)?, &program, &asked.tensors)?;
    match &step.layout {
        Some(layout) => kernel = kernel.layout(&output, layout),
        None if !inputs.tensors.contains_key(&output) => kernel = kernel.sparse_result(),
        None => {}
    }
    let kernel = step.tell_fresh(kernel, &program, |n| inputs.tensors.contains_key(n));
    if step.united {
        step.refuse_apart(&kernel.plan()?)?;
    }
    let timed = measured(&kernel, &inputs, jit, effort, false)?;
    let is_kept = |name: &Name| asked.kept.contains(name) || step.temporary && *name == output;
    if program.results().iter().any(is_kept) {
        let compiled = kernel.compile_with(jit)?;
        let mut call = compiled.call(inputs.by_name(), &inputs.extents.indices)?;
        call.run();
        for (name, tensor) in call.into_results()? {
            let fill = compiled.planned().fill_of_result(&name);
            let fill = (!fill.same(Number::zero(fill.value_type()))).then_some(fill);
            computed.insert(name, Computed { tensor, fill });
        }
    }
    Ok(timed)
}

/// A run of all kernels, by each scheme that makes something else of one of them: the sums of their medians, and
/// what is done between them.
fn whole(parts: &[Measured], between: Duration) -> Vec<Row> {
    let schemes = [Coiterate::Find, Coiterate::Merge, Coiterate::Looplets].map(Coiterate::word);
    let mut out = Vec::new();
    for name in [automatic()].into_iter().chain(schemes) {
        let of =
            |part: &Measured, name: &str| part.case.rows.iter().position(|r| r.strategy == name);
        let is_new = parts.iter().any(|part| of(part, name).is_some());
        // Where the scheme makes nothing else, the automatic choice is what it makes.
        let own = parts.iter().map(|part| {
            let row = &part.case.rows[of(part, name).or_else(|| of(part, automatic()))?];
            Some((median(&row.seconds)?, row))
        });
        let Some(own) = own.collect::<Option<Vec<_>>>().filter(|_| is_new) else { continue };
        let seconds = own.iter().map(|(seconds, _)| seconds).sum::<f64>() + between.as_secs_f64();
        out.push(Row {
            seconds: vec![seconds],
            generate: own.iter().map(|(_, row)| row.generate).sum(),
            lines: own.iter().map(|(_, row)| row.lines).sum(),
            ..Row::new(name)
        });
    }
    out
}
