//! The points of an iteration space, and all that is known of them.

use std::sync::Arc;

use indexmap::IndexMap;

use super::elsewhere::Elsewhere;
use super::source::{Source, asked, operands};
use super::{Names, Operand, Points};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Call, Constraint, Formula, Name};
use crate::layout::Property;
use crate::operators::{Operator, Region, Tree};
use crate::theory::Theory;

/// A tile dimension: `size * tile <= of < size * tile + size`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    pub tile: Name,
    pub of: Name,
    pub size: i64,
}

/// The iteration space of a statement over one choice of relation pieces.
#[derive(Clone, Debug)]
pub struct Space {
    /// Logical indices, in order of first occurrence.
    pub indices: Vec<Name>,
    /// Extent parameter of each index, and of others whose extents the value names.
    pub extents: IndexMap<Name, Name>,
    /// What the kernel writes first, then what else is accessed, each access once.
    pub operands: Vec<Operand>,
    /// The number of the statement, if there are several.
    pub step: usize,
    /// No other space is visited by the same kernel.
    pub is_alone: bool,
    /// The operand that is written.
    pub target: usize,
    /// Its places are not known before: what is written is appended, or gathered in a workspace.
    pub is_assembled: bool,
    /// The operands whose positions are dimensions here: what is stored at every point.
    pub stored: Vec<usize>,
    /// The operands of which a lookup tells, at each point, whether and what they store.
    pub lookups: Vec<usize>,
    /// Which lookups must succeed or fail for the point to count.
    pub rest: Region,
    /// Something is stored at every point that counts: the operands that are looked up are walked at once.
    pub merges: bool,
    /// The conjunction over indices, positions and index-array calls.
    pub constraints: Vec<Constraint>,
    /// Those of them that do not come from the layout of the output.
    pub demanded: Vec<Constraint>,
    /// Restrictions that are not conjunctive; tested where their indices are bound.
    pub guards: Vec<Formula>,
    /// What holds of the parameters: extents are not negative, `NNZ_A = pos_A(I)`.
    pub facts: Vec<Constraint>,
    /// Properties of all index arrays, each tensor once.
    pub properties: Vec<Property>,
    /// Facts and properties, and what holds of all index arrays, ready for proofs.
    pub theory: Arc<Theory>,
    /// How values are combined into the output.
    pub op: Arc<Operator>,
    /// What annihilates finite floats annihilates all.
    pub fast_math: bool,
    /// Sums of floats keep the order of their terms.
    pub strict_fp: bool,
    /// What becomes of points that are not visited, though they change elements.
    pub elsewhere: Option<Elsewhere>,
    /// What is combined into the output.
    pub value: Arc<Tree<Source>>,
    /// Index of this space among those of the statement, and which piece of each operand it takes.
    pub pieces: Vec<usize>,
    /// Tile dimensions, in the order in which they were asked for.
    pub tiles: Vec<Tile>,
    /// Groups of positions to be visited as one loop.
    pub fused: Vec<Vec<Name>>,
    /// All names that are taken.
    pub names: Names,
}

impl Space {
    pub fn output(&self) -> &Operand {
        &self.operands[self.target]
    }

    /// Whether no two points have the same element of the output: nothing is reduced.
    pub fn writes_each_point(&self) -> bool {
        let is_subscript = |i: &Name| self.output().subscripts.iter().any(|s| s.mentions(i));
        self.indices.iter().all(is_subscript)
    }

    /// The operand that counts the points at which elements are written.
    pub fn counter(&self) -> Option<usize> {
        match self.elsewhere {
            Some(Elsewhere::Counted(counter)) => Some(counter),
            Some(Elsewhere::Begun) | None => None,
        }
    }

    /// What it writes: the output, and what counts.
    pub fn written(&self) -> impl Iterator<Item = &Operand> {
        let counter = self.counter();
        std::iter::once(self.target).chain(counter).map(|k| &self.operands[k])
    }

    /// Whether it writes an operand.
    pub fn writes(&self, operand: usize) -> bool {
        operand == self.target || self.counter() == Some(operand)
    }

    /// Whether the value of an operand matters.
    pub fn reads(&self, operand: usize) -> bool {
        operands(&self.value).contains(&operand)
    }

    /// Whether it matters if an operand is stored at a point.
    pub fn asks(&self, operand: usize) -> bool {
        self.rest.operands().contains(&operand) || asked(&self.value).contains(&operand)
    }

    /// What is written and what is stored at every point.
    pub fn present(&self) -> impl Iterator<Item = &Operand> {
        self.stored.iter().map(|&k| &self.operands[k])
    }

    /// Parameters: everything constant during the kernel.
    pub fn params(&self) -> Vec<Name> {
        self.theory.parameters.clone()
    }

    /// All dimensions, indices first; a schedule decides their order.
    pub fn dimensions(&self) -> Vec<Name> {
        let positions = self.present().flat_map(|o| o.positions.iter());
        let tiles = self.tiles.iter().map(|t| &t.tile);
        tiles.chain(&self.indices).chain(positions).cloned().collect()
    }

    /// The forms that tell output elements apart: its subscripts, or its value's subscripts where
    /// the output shares positions with an input.
    pub fn output_place(&self) -> Vec<Affine> {
        let output = self.output();
        let stored: Option<Vec<Affine>> =
            output.value_index.iter().map(|a| a.to_affine().ok()).collect();
        match stored {
            Some(place) if output.is_direct() => place,
            _ => output.subscripts.clone(),
        }
    }

    /// The operand that owns a position.
    pub fn owner(&self, position: &str) -> Option<&Operand> {
        self.operands.iter().find(|o| o.positions.iter().any(|p| &**p == position))
    }

    /// Whether the same points are visited in the same way, whatever is computed there.
    pub fn same_points(&self, other: &Space) -> bool {
        self.stored == other.stored
            && self.lookups == other.lookups
            && self.step == other.step
            && self.rest == other.rest
            && self.merges == other.merges
            && self.pieces == other.pieces
    }

    /// That an index array may be read there.
    pub fn domain_of(&self, call: &Call) -> Vec<Constraint> {
        let array = self.operands.iter().find_map(|o| o.arrays.get(&call.array));
        let mut functions = self.operands.iter().flat_map(|o| o.bounds.values());
        match (array, functions.find(|f| f.name == call.array)) {
            (Some(array), _) => array.domain_at(&call.args),
            (None, Some(function)) => function.domain_at(&call.args),
            (None, None) => Vec::new(),
        }
    }

    /// The space of a lookup of operand `k`, by one of its pieces: `known` holds already, and only its
    /// positions are to be found. Each piece has names of its own for them.
    pub fn of_lookup(&self, k: usize, piece: usize, known: Vec<Constraint>) -> Space {
        let (mut operands, mut names) = (self.operands.clone(), self.names.clone());
        if piece > 0 {
            let mut own = |p: &Name| names.fresh(&format!("{p}_{}", piece + 1));
            operands[k] = operands[k].with_positions(&mut own);
        }
        let mut constraints = known;
        for c in &operands[k].pieces[piece] {
            if !constraints.contains(c) && c.as_bool() != Some(true) {
                constraints.push(c.clone());
            }
        }
        let mut stored = self.stored.clone();
        stored.push(k);
        let mut pieces = self.pieces.clone();
        pieces[k] = piece;
        Space {
            operands,
            names,
            stored,
            pieces,
            demanded: constraints.clone(),
            constraints,
            guards: Vec::new(),
            lookups: Vec::new(),
            rest: Region::All,
            merges: false,
            ..self.clone()
        }
    }

    /// The same points, where a lookup tells what `operands` store that are stored at every point: their positions are no
    /// dimensions.
    pub fn looking_up(&self, operands: &[usize]) -> Space {
        let mut out = self.clone();
        let stored = operands.iter().copied().filter(|k| self.stored.contains(k));
        for k in stored {
            let own = self.operands[k].pieces[self.pieces[k]].clone();
            let theirs = |c: &Constraint| own.contains(c) && self.is_of(k, c);
            out.constraints.retain(|c| !theirs(c));
            out.demanded.retain(|c| !theirs(c));
            out.stored.retain(|&other| other != k);
            out.lookups.push(k);
            out.rest = Region::all_of([out.rest, Region::Stored(k)]);
            out.operands[k].pieces = vec![own];
        }
        out
    }

    /// Whether a constraint is about positions or index arrays of an operand.
    fn is_of(&self, k: usize, c: &Constraint) -> bool {
        let o = &self.operands[k];
        let mut calls = false;
        c.affine.visit_calls(&mut |call| {
            calls |= o.arrays.contains_key(&call.array)
                || o.bounds.values().any(|f| f.name == call.array);
        });
        calls || o.positions.iter().any(|p| c.mentions(p))
    }

    /// The space of all that satisfies these constraints, whatever is stored there.
    pub fn bounded_by(&self, constraints: Vec<Constraint>) -> Space {
        Space {
            stored: Vec::new(),
            lookups: Vec::new(),
            rest: Region::All,
            merges: false,
            demanded: constraints.clone(),
            constraints,
            guards: Vec::new(),
            tiles: Vec::new(),
            fused: Vec::new(),
            ..self.clone()
        }
    }

    /// That an index is within its extent.
    pub fn within_extent(&self, index: &Name) -> [Constraint; 2] {
        let (here, extent) = (Affine::var(index.clone()), &self.extents[index]);
        let natural = Constraint::le(Affine::zero(), here.clone());
        [natural, Constraint::lt(here, Affine::var(extent.clone()))]
    }

    /// The points, dimensions in the given order.
    pub fn points(&self, dims: &[Name]) -> Points {
        Points {
            dims: dims.to_vec(),
            constraints: self.constraints.clone(),
            guards: self.guards.clone(),
        }
    }

    /// Checks that every name in a constraint is a dimension or a parameter, every dimension there
    /// once, and every operand of the value read or looked up.
    ///
    /// # Errors
    /// An internal diagnostic; nothing a user writes can cause it.
    pub fn verify(&self) -> Result<()> {
        self.check().map_err(|what| {
            Diagnostic::defect(format!("the space is not well-formed: {what}"))
                .note(format!("the space is {}", self.points(&self.dimensions())))
        })
    }

    fn check(&self) -> std::result::Result<(), String> {
        let dims = self.dimensions();
        if let Some((_, twice)) = dims.iter().enumerate().find(|(k, d)| dims[..*k].contains(d)) {
            return Err(format!("`{twice}` is there twice"));
        }
        let asked = self.rest.operands().into_iter().chain(asked(&self.value));
        let read = operands(&self.value).into_iter().chain(asked);
        let known = |k: usize| self.stored.contains(&k) || self.lookups.contains(&k);
        if let Some(k) = read.into_iter().find(|&k| k == self.target || !known(k)) {
            return Err(format!("operand {k} is not read"));
        }
        let known = |n: &Name| dims.contains(n) || self.theory.parameters.contains(n);
        let mut unknown = None;
        for c in &self.constraints {
            c.affine.visit_vars(&mut |n| {
                if !known(n) {
                    unknown = Some(n.clone());
                }
            });
        }
        let guarded = self.guards.iter().flat_map(Formula::free_vars);
        match unknown.or_else(|| guarded.into_iter().find(|n| !known(n))) {
            Some(n) => Err(format!("nothing is known of `{n}`")),
            None => Ok(()),
        }
    }
}
