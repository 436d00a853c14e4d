//! A result of unknown structure: how the kernel is to make it.

use std::sync::Arc;

use indexmap::IndexMap;

use super::request::Request;
use crate::check::{has_one_coordinate, stores_coordinates_once};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::iterspace::Union;
use crate::layout::{DefaultFor, Layout};
use crate::loops::{Assembled, Assembling, Gather, Statement, assembling, chunks_of, joined};
use crate::packing::{Appending, Plan};
use crate::prover::Prover;
use crate::synth::{
    Gathered, Sizes, WorkspaceTemplate, cheapest_workspace, workspace_named, workspaces,
};

/// Whether a kernel writes elements of this layout where they belong, without knowing which there are.
pub fn is_written_in_place(layout: &Layout) -> bool {
    // Sizes that are counted or measured are known when all entries are.
    let has_room = layout.arrays.is_empty() && layout.params.values().all(Option::is_some);
    has_room && has_one_coordinate(layout) && stores_coordinates_once(layout)
}

/// The layout in which the kernel assembles a result for `wanted`: itself if entries can be appended to
/// it, else that of files of entries, in the order in which the loops meet them, which is packed when the kernel has run.
///
/// # Errors
/// [`Code::NotPackable`] if nothing can be packed in the layout that is wanted.
fn appended_layout(
    wanted: &Arc<Layout>,
    statements: &[Statement],
) -> Result<(Arc<Layout>, Appending)> {
    if let Some(appending) = Appending::of(wanted) {
        return Ok((wanted.clone(), appending));
    }
    Plan::of(wanted)?;
    let name = DefaultFor::Entries.layout()?;
    let entries = Arc::new(Layout::named_along(&name, &order_of_all(statements))?);
    match Appending::of(&entries) {
        Some(appending) => Ok((entries, appending)),
        None => Err(Diagnostic::new(
            Code::NotPackable,
            format!("entries cannot be appended in the layout `{name}`, the default for entries"),
        )),
    }
}

/// How `statements` assemble the result in a layout.
///
/// # Errors
/// [`Code::Find`] if the workspace that is asked for does not exist.
pub(super) fn assembled(
    request: &Request,
    statements: &[Statement],
    wanted: &Arc<Layout>,
    prover: &mut dyn Prover,
) -> Result<Assembled> {
    let (layout, appending) = appended_layout(wanted, statements)?;
    let space = &statements[0].space;
    let output = space.output();
    let forced = forced_workspace(request)?;
    let loops = joined(statements, true);
    let machine = &request.sizes.machine;
    let workspace = |around: &[Name], rest: &[usize]| {
        let extents = rest.iter().map(|d| &output.extents[*d]);
        let gathered = gathered(&request.sizes, statements, around, extents);
        let chosen = match forced {
            Some(workspace) => workspace,
            None => cheapest_workspace(&gathered, request.sizes.most_memory(), machine)?,
        };
        let what = format!("the workspace `{}` of `{}`", chosen.name, output.tensor);
        request.sizes.refuse_above_limit(&what, chosen.memory(&gathered, machine))?;
        let template = Name::from(chosen.name.as_str());
        let sorted = appending.ordered + rest.len() > appending.order.len();
        Ok(Gather::Workspace { template, sorted })
    };
    // A workspace or a way to unite that is asked for is taken.
    let may_merge = match request.union {
        None => forced.is_none(),
        Some(union) => union == Union::Merge,
    };
    let order = &appending.order;
    let grouped = appending.grouped().filter(|_| forced.is_none());
    let mut assembling =
        assembling(&loops, statements, order, may_merge, grouped, workspace, prover)?;
    if request.threads > 1 {
        assembling.threads = Some(match appending.run().is_some() {
            true => Err("runs of equal values go on from one chunk to the next".to_string()),
            false => chunks_of(&loops, &assembling, space, prover),
        });
    }
    let mut names = space.names.clone();
    let tensor = &output.tensor;
    let mut fresh = |n: &Name| names.fresh(&format!("{n}_{tensor}"));
    let arrays = layout.arrays.keys().map(|n| (n.clone(), fresh(n))).collect::<IndexMap<_, _>>();
    // The stand-in is not there to need its name.
    let values = output.value_array.clone();
    Ok(Assembled {
        tensor: tensor.clone(),
        extents: output.extents.clone(),
        begins: output.begins,
        layout,
        appending,
        assembling,
        arrays,
        values,
    })
}

/// The layout for a result of which nothing is asked, if a dense one would be mostly fill: as many
/// updates as are expected leave most of its elements alone. Entries come in the order in which the loops meet
/// their coordinates.
///
/// # Errors
/// [`Code::LayoutSchema`] if the shipped defaults are malformed.
pub(super) fn sparse_result(
    request: &Request,
    output: &Name,
    statements: &[Statement],
) -> Result<Option<Arc<Layout>>> {
    /// Fewer elements are no waste.
    const MANY: f64 = 65_536.0;
    let operand = statements[0].space.output();
    let sizes = &request.sizes.on_one_thread();
    let elements: f64 = operand.extents.iter().map(|e| sizes.extent(e)).product();
    let updates = gathered(sizes, statements, &[], std::iter::empty()).updates;
    let asked = request.layouts.contains_key(output) || !sizes.are_known();
    if asked || elements < MANY || 4.0 * updates > elements || operand.extents.is_empty() {
        return Ok(None);
    }
    let name = DefaultFor::Entries.layout()?;
    Layout::named_along(&name, &order_of_all(statements)).map(|layout| Some(Arc::new(layout)))
}

/// The coordinates in the order in which the loops of all statements decide them; as they are numbered if these differ.
fn order_of_all(statements: &[Statement]) -> Vec<usize> {
    let mut order = order_of_loops(&statements[0]);
    if statements.iter().any(|s| order_of_loops(s) != order) {
        order.sort();
    }
    order
}

/// The coordinates of what is written, in the order in which loops decide them.
fn order_of_loops(statement: &Statement) -> Vec<usize> {
    let subscripts = &statement.space.output().subscripts;
    let mut order: Vec<usize> = (0..subscripts.len()).collect();
    order.sort_by_key(|&d| statement.nest().depth_of(std::slice::from_ref(&subscripts[d])));
    order
}

/// The workspace that the user forces.
///
/// # Errors
/// [`Code::Find`] if there is none of this name.
pub(super) fn forced_workspace(request: &Request) -> Result<Option<&'static WorkspaceTemplate>> {
    let Some(name) = &request.workspace else { return Ok(None) };
    match workspace_named(name)? {
        Some(workspace) => Ok(Some(workspace)),
        None => {
            let known: Vec<&str> = workspaces()?.iter().map(|w| w.name.as_str()).collect();
            Err(Diagnostic::new(Code::Find, format!("no workspace `{name}`"))
                .help(format!("the workspaces are {}", known.join(", "))))
        }
    }
}

/// What a workspace gathers that the result is assembled through.
pub(super) fn gathered_by(sizes: &Sizes, statements: &[Statement], how: &Assembled) -> Gathered {
    let Assembling { around, prefix, order, .. } = &how.assembling;
    let extents = order[*prefix..].iter().map(|d| &how.extents[*d]);
    gathered(sizes, statements, around, extents)
}

/// What the workspace would gather between two iterations of the loops `around` it.
fn gathered<'a>(
    sizes: &Sizes,
    statements: &[Statement],
    around: &[Name],
    extents: impl Iterator<Item = &'a Name>,
) -> Gathered {
    let extent = extents.map(|e| sizes.extent(e)).product();
    let (mut updates, mut drains): (f64, f64) = (0.0, 1.0);
    for s in statements {
        let trips = s.trips(sizes);
        updates += s.updates(sizes);
        let outer = trips.iter().filter(|(n, _)| around.contains(n));
        let runs = around.iter().map(|n| sizes.value(&sizes.runs_of(n, around, s.nest())));
        drains = drains.max(outer.map(|(_, trip)| trip).product::<f64>() * runs.product::<f64>());
    }
    Gathered { extent, updates, drains }
}
