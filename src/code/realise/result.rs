//! The arrays of a result that is assembled, and what is pushed to them.

use std::sync::Arc;

use super::super::ir::{
    Array, ArrayId, Assign, Block, Body, Element, Expr, IndexWidth, Load, Origin, PartLevel, Parts,
    Stmt, VarId,
};
use super::sizes::size;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::layout::checks::admits_negative;
use crate::loops::Assembled;
use crate::operators::Operator;
use crate::packing::Group;
use crate::tensor::{Value, ValueType};

/// The arrays of a result, and what is known of its last entry.
pub(super) struct Assembly {
    pub(super) levels: Vec<Level>,
    pub(super) values: ArrayId,
    pub(super) ty: ValueType,
    pub(super) op: Arc<Operator>,
    pub(super) order: Vec<usize>,
    pub(super) extents: Vec<Expr>,
    /// What the layout calls the coordinates.
    pub(super) names: Vec<Name>,
    /// So many coordinates of the order tell outer levels apart.
    pub(super) outer: usize,
    /// The first entry's, if threads assemble parts.
    pub(super) first: Vec<VarId>,
    /// The last entry's.
    pub(super) last: Vec<VarId>,
    /// What the workspace is.
    pub(super) gathered: Option<Expr>,
    pub(super) workspace: Option<VarId>,
    pub(super) gathering: Option<Gathering>,
    /// The run that may still grow, if runs are stored.
    pub(super) open: Option<OpenRun>,
}

/// The arrays of a level.
pub(super) struct Level {
    pub(super) prefix: usize,
    pub(super) coordinates: Vec<(ArrayId, usize)>,
    pub(super) segments: Vec<(ArrayId, Group)>,
    pub(super) run: Option<RunArrays>,
}

/// How a level stores runs.
#[derive(Clone, Copy)]
pub(super) struct RunArrays {
    /// The coordinate that runs.
    pub(super) along: usize,
    /// Where runs begin; nothing is stored of it if they cover all.
    pub(super) begins: Option<ArrayId>,
    pub(super) ends: ArrayId,
}

/// The run that may still grow.
#[derive(Clone)]
pub(super) struct OpenRun {
    /// Its coordinates, in the order of the result's dimensions: where it begins along the one that runs.
    pub(super) at: Vec<VarId>,
    /// Where it ends; unset if there is none.
    pub(super) end: VarId,
    pub(super) value: VarId,
    /// Whether anything is written to it.
    pub(super) taken: bool,
    pub(super) covering: Option<Covering>,
}

/// What is known between runs that cover all coordinates of their group.
#[derive(Clone)]
pub(super) struct Covering {
    /// Up to where the group is covered.
    pub(super) reached: VarId,
    /// The number of the group, if each combination of coordinates has one.
    pub(super) group: Option<(VarId, Vec<usize>)>,
    /// What is stored where nothing was written.
    pub(super) fill: Value,
}

/// Where updates go.
#[derive(Clone)]
pub(super) enum Gathering {
    Nothing,
    Element {
        value: VarId,
        some: VarId,
        /// Coordinates that are known to be natural numbers only where the element is written.
        keys: Vec<(usize, VarId)>,
    },
    /// By these coordinates.
    Workspace(Vec<usize>),
    /// The entries of each group are counted, behind it.
    Counted,
    /// Where the group's next entry belongs.
    Placed,
}

/// Declares the arrays of an assembled result.
pub(super) fn declare(body: &mut Body, assembled: &Assembled, ty: ValueType, width: IndexWidth) {
    let layout = &assembled.layout;
    for (array, name) in layout.arrays.values().zip(assembled.arrays.values()) {
        let segments = assembled.appending.levels.iter().flat_map(|l| &l.segments);
        let fixed = segments.clone().any(|(segment, group)| {
            *segment == array.name && matches!(group, Group::Coordinates(_))
        });
        let extents = layout.extents();
        let renamed = |n: &Name| {
            let at = extents.iter().position(|e| e == n)?;
            assembled.extents.get(at).cloned()
        };
        let shape = match fixed {
            true => vec![size(body, &array.len.rename(&renamed))],
            false => Vec::new(),
        };
        let element = Element::Index { signed: admits_negative(array), width };
        body.array(grown(name, element, shape));
    }
    body.array(grown(&assembled.values, Element::Value(ty), Vec::new()));
}

fn grown(name: &Name, element: Element, shape: Vec<Expr>) -> Array {
    Array {
        name: name.clone(),
        element,
        origin: Origin::Grown,
        shape,
        args: Vec::new(),
        domain: Vec::new(),
        range: Vec::new(),
    }
}

impl Level {
    /// Whether it stores runs that cover all coordinates.
    pub(super) fn covers(&self) -> bool {
        self.run.is_some_and(|run| run.begins.is_none())
    }
}

impl Assembly {
    /// All coordinates of an entry: those that are known outside, and the `rest` by its key.
    pub(super) fn coordinates(known: &[Option<Expr>], rest: &[usize], key: &[Expr]) -> Vec<Expr> {
        let own = |d: usize| rest.iter().position(|other| *other == d).map(|k| key[k].clone());
        let all = known.iter().enumerate().map(|(d, e)| e.clone().or_else(|| own(d)));
        all.map(|e| e.unwrap_or(Expr::int(0))).collect()
    }

    /// What the arrays of a chunk are, if threads assemble parts.
    pub(super) fn parts(&self) -> Parts {
        let mut levels: Vec<PartLevel> = Vec::new();
        for level in &self.levels {
            let of = |wanted: &dyn Fn(&Group) -> bool| -> Vec<ArrayId> {
                level.segments.iter().filter(|(_, g)| wanted(g)).map(|(a, _)| *a).collect()
            };
            levels.push(PartLevel {
                prefix: level.prefix,
                columns: level.coordinates.iter().map(|(array, _)| *array).collect(),
                begins: of(&|group| *group == Group::Outer),
                ends: of(&|group| matches!(group, Group::Coordinates(_))),
            });
        }
        if let Some(level) = levels.last_mut() {
            level.columns.push(self.values);
        }
        Parts { levels, first: self.first.clone(), last: self.last.clone() }
    }

    /// The coordinates of a new position.
    pub(super) fn pushed(&self, level: &Level, coordinates: &[Expr]) -> Block {
        let push = |(array, d): &(ArrayId, usize)| Stmt::push(*array, coordinates[*d].clone());
        level.coordinates.iter().map(push).collect()
    }

    /// Segments of level `k` that belong to coordinates end behind its last position.
    pub(super) fn ended(
        &self,
        k: usize,
        coordinates: &[Expr],
        ends: &mut dyn FnMut(&[usize]) -> bool,
    ) -> Block {
        let mut out = Vec::new();
        for (array, group) in &self.levels[k].segments {
            if let Group::Coordinates(group) = group
                && ends(group)
            {
                out.push(self.segment_end(*array, group, coordinates, k));
            }
        }
        out
    }

    /// `pos[i*J + j + 1] = n`, where the segment of these coordinates ends.
    pub(super) fn segment_end(
        &self,
        array: ArrayId,
        group: &[usize],
        coordinates: &[Expr],
        k: usize,
    ) -> Stmt {
        self.end_of_group(array, self.group_number(group, coordinates), k)
    }

    /// `i*J + j`
    pub(super) fn group_number(&self, group: &[usize], coordinates: &[Expr]) -> Expr {
        group.iter().fold(Expr::int(0), |number, d| match number {
            Expr::Int { .. } => coordinates[*d].clone(),
            number => number.mul(self.extents[*d].clone()).add(coordinates[*d].clone()),
        })
    }

    /// `pos[group + 1] = n`
    pub(super) fn end_of_group(&self, array: ArrayId, group: Expr, k: usize) -> Stmt {
        let place = Load::checked(array, vec![group.add(Expr::int(1))]);
        Stmt::Store { place, op: Assign::Set, value: self.length(k) }
    }

    /// The number of positions of level `k`.
    pub(super) fn length(&self, k: usize) -> Expr {
        let last = k + 1 == self.levels.len();
        match self.levels[k].coordinates.first() {
            Some((array, _)) if !last => Expr::Len(*array),
            _ => Expr::Len(self.values),
        }
    }
}

/// What elements begin with.
pub(super) fn identity(op: &Operator, ty: ValueType) -> Result<Expr> {
    let remedy = "compute the result in a dense layout, with an initial value";
    op.beginning(ty).map(Expr::Number).map_err(|e| e.help(remedy))
}
