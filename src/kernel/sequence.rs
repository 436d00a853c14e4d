//! Several statements as one kernel.
//!
//! What a statement writes and a later one reads is a temporary: it is there before it is read, all its elements are
//! stored, and nobody else sees it. What nothing reads is a result: that of the last statement may be stored in any
//! way, the others are written element by element.

use super::assemble::sparse_result;
use super::layouts::Layouts;
use super::request::Request;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::iterspace::Role;
use crate::loops::{Sequence, Statement, Temporary, begun, build, sharing, unbegun};
use crate::program::Program;
use crate::prover::Prover;

/// Refuses what one kernel does not do.
pub(super) fn refuse_sequence(
    request: &Request,
    program: &Program,
    layouts: &Layouts,
) -> Result<()> {
    let all = program.assignments()?;
    if all.len() < 2 {
        return Ok(());
    }
    let refused = |what: String, place: std::ops::Range<usize>| {
        Err(Diagnostic::new(Code::Program, what)
            .at(place, "here")
            .within("<expression>", &program.text)
            .help("give each statement a kernel of its own; `siskin run` does so by itself"))
    };
    let temporaries = program.temporaries();
    let output = &program.output()?.tensor;
    for (k, assignment) in all.iter().enumerate() {
        let (written, place) = (&assignment.output.tensor, assignment.output.span.clone());
        let is_temporary = temporaries.contains(written);
        if written != output && !is_temporary && !layouts.is_dense(written) {
            let name = &layouts.composed[written].name;
            let what = format!("`{written}` has the layout `{name}`, and is not the last result");
            return refused(what, place);
        }
        let before = || all[..=k].iter().flat_map(|a| a.value.accesses());
        if let Some(read) = before().find(|read| read.tensor == *written) {
            let what = format!("`{written}` is read before it is written");
            return refused(what, read.span.clone());
        }
        if is_temporary && !layouts.is_dense(written) {
            let name = &layouts.composed[written].name;
            return refused(format!("the temporary `{written}` has the layout `{name}`"), place);
        }
    }
    let place = program.output()?.span.clone();
    let updates = all.iter().filter(|a| a.output.tensor == *output).count();
    if let (Some(result), 2..) = (&layouts.result, updates) {
        let name = &result.name;
        return refused(
            format!("`{output}` is updated by {updates} statements in the layout `{name}`"),
            place,
        );
    }
    match request.threads > 1 {
        true => refused("several statements run on several threads".to_string(), place),
        false => Ok(()),
    }
}

/// How the statements follow each other.
pub(super) fn sequence(
    program: &Program,
    statements: &[Statement],
    prover: &mut dyn Prover,
) -> Result<Sequence> {
    let assignments = program.assignments()?;
    let mut temporaries: Vec<Temporary> = Vec::new();
    let operands = &statements[0].space.operands;
    for o in operands.iter().filter(|o| o.role == Role::Temporary) {
        if temporaries.iter().any(|t| t.tensor == o.tensor) {
            continue;
        }
        let value = match (o.begins, assignments.iter().find(|a| a.output.tensor == o.tensor)) {
            (Some(value), _) => value,
            (None, Some(first)) => {
                let remedy = "give it a kernel of its own, with an initial value";
                let value = first.op.combines()?.beginning(o.value_type);
                value.map_err(|e| e.help(remedy))?
            }
            (None, None) => continue,
        };
        temporaries.push(Temporary {
            tensor: o.tensor.clone(),
            array: o.value_array.clone(),
            shape: o.value_shape.clone(),
            value,
        });
    }
    Ok(Sequence { shared: sharing(statements, prover), temporaries })
}

/// Refuses loops in which a temporary is touched where it has not begun.
pub(super) fn refuse_unbegun(statements: &[Statement], sequence: &Sequence) -> Result<()> {
    let loops = build(statements, None, sequence);
    let operands = statements.iter().flat_map(|s| &s.space.operands);
    let all = operands.filter(|o| o.role == Role::Temporary).map(|o| &o.value_array);
    match unbegun(&loops.body, &all.collect::<Vec<_>>()) {
        None => Ok(()),
        Some(array) => {
            let what = format!("the temporary of `{array}` begins nowhere in shared loops");
            Err(Diagnostic::new(Code::Space, what)
                .help("give each statement a kernel of its own; `siskin run` does so by itself"))
        }
    }
}

/// Refuses temporaries that would be mostly zero, unless they shrink, and such results of other statements than the
/// last: entries are fewer.
pub(super) fn refuse_waste(
    request: &Request,
    statements: &[Statement],
    sequence: &Sequence,
) -> Result<()> {
    let loops = build(statements, None, sequence);
    let begun = begun(&loops.body);
    for temporary in &sequence.temporaries {
        let own = |s: &&Statement| s.space.output().tensor == temporary.tensor;
        let written: Vec<Statement> = statements.iter().filter(own).cloned().collect();
        let whole = begun.iter().any(|b| b.array == temporary.array && !b.shape.is_empty());
        if written.is_empty() || !whole {
            continue;
        }
        if sparse_result(request, &temporary.tensor, &written)?.is_some() {
            return Err(wasted(&format!("the temporary `{}`", temporary.tensor)));
        }
    }
    let last = statements.last().map(|s| &s.space.output().tensor);
    let others = statements.iter().map(|s| s.space.output()).filter(|o| o.role == Role::Output);
    for result in others.map(|o| &o.tensor).filter(|tensor| Some(*tensor) != last) {
        let own = |s: &&Statement| s.space.output().tensor == *result;
        let written: Vec<Statement> = statements.iter().filter(own).cloned().collect();
        if sparse_result(request, result, &written)?.is_some() {
            return Err(wasted(&format!("the result `{result}`")));
        }
    }
    Ok(())
}

fn wasted(what: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Space, format!("most elements of {what} are zero"))
        .help("give each statement a kernel of its own; `siskin run` does so by itself")
}
