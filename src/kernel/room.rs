//! Whether what a call allocates fits memory, before anything is allocated.

use indexmap::IndexMap;

use super::CompiledKernel;
use crate::code::IndexWidth;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::loops::{Assembled, Gather, begun};
use crate::packing::Group;
use crate::program::Extents;
use crate::synth::{Gathered, Machine, estimate, workspace_named};
use crate::tensor::room;

impl CompiledKernel {
    /// What searches keep fits memory, as far as the sizes are known that the kernel was planned for. Of several ways,
    /// those are the last choice that take much.
    pub(super) fn room_for_states(&self) -> Result<()> {
        if self.planned.ways().count() > 1 || !self.planned.grounds().sizes.are_known() {
            return Ok(());
        }
        for statement in self.planned.statements() {
            let sizes = self.planned.sizes_of(statement);
            for (k, (find, plan)) in statement.finds().iter().zip(statement.chosen()).enumerate() {
                let memory = estimate(plan, find, statement.nest_of(k), &sizes).memory;
                let template = &plan.template.name;
                room(
                    memory as u64,
                    &|| format!("what `{template}` keeps for `{}`", find.problem.position),
                    "leave `--find` out, or force another template: `--find bsearch`",
                )?;
            }
        }
        Ok(())
    }

    /// The arrays of temporaries fit memory.
    pub(super) fn room_for_temporaries(&self, extents: &Extents) -> Result<()> {
        let sequence = self.planned.sequence();
        if sequence.temporaries.is_empty() {
            return Ok(());
        }
        let mut sizes: IndexMap<Name, i64> = IndexMap::new();
        for statement in self.planned.statements() {
            for o in &statement.space.operands {
                for (extent, n) in o.extents_in(extents) {
                    sizes.insert(extent.clone(), i64::try_from(n).unwrap_or(i64::MAX));
                }
            }
        }
        let size = |n: &str| sizes.get(n).copied();
        let loops = self.planned.loops();
        for begin in begun(&loops.body) {
            let own = sequence.temporaries.iter().find(|t| t.array == begin.array);
            let name = own.map_or(begin.array.clone(), |t| t.tensor.clone());
            let length = begin.shape.iter().map(|s| s.value(&(size, |_: &str, _: &[i64]| None)));
            let length = length.map(|n| n.unwrap_or(i64::MAX) as f64).product::<f64>();
            let bytes = length * begin.value.value_type().size_bytes() as f64;
            room(
                bytes as u64,
                &|| format!("the temporary `{name}`"),
                "give each statement a kernel of its own, and the temporary a sparse layout",
            )?;
        }
        Ok(())
    }

    /// Arrays whose length does not depend on the entries, and the workspace, fit memory.
    pub(super) fn room_for(&self, assembled: &Assembled, dims: &[usize]) -> Result<()> {
        let name = self.planned.output();
        let product = |of: &[usize]| of.iter().map(|d| dims[*d] as f64).product::<f64>();
        let segments = assembled.appending.levels.iter().flat_map(|level| &level.segments);
        let lengths = segments.map(|(_, group)| match group {
            Group::Coordinates(of) => product(of) + 1.0,
            Group::Whole | Group::Outer => 0.0,
        });
        let width = match self.planned.index_width() {
            IndexWidth::U32 => 4.0,
            IndexWidth::U64 => 8.0,
        };
        let what = || format!("the output `{name}` in layout `{}`", assembled.layout.name);
        room(
            (lengths.sum::<f64>() * width) as u64,
            &what,
            "use a layout that stores only rows with entries",
        )?;
        let how = &assembled.assembling;
        let Gather::Workspace { template, .. } = &how.gather else { return Ok(()) };
        let Some(workspace) = workspace_named(template)? else { return Ok(()) };
        let extent = product(&how.order[how.prefix..]);
        let gathered = Gathered { extent, updates: 0.0, drains: 1.0 };
        let bytes = workspace.memory(&gathered, &Machine::default());
        let threads = match how.threads {
            Some(Ok(_)) => self.threads,
            _ => 1,
        };
        let what = || match threads {
            1 => format!("the workspace `{template}` of `{name}`"),
            n => format!("the workspaces `{template}` of `{name}`, one for each of {n} threads,"),
        };
        room(
            (bytes * threads as f64) as u64,
            &what,
            "use another workspace, `--workspace hash`, or another loop order",
        )
    }
}
