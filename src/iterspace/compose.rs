//! Composition of layouts with the accesses of a statement (SPF §4).

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Operand, Role, Tile};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name, Relop, conjunction};
use crate::layout::{Layout, Property};
use crate::program::{AssignOp, Program};

/// The iteration space of a statement over one choice of relation pieces.
#[derive(Clone, Debug)]
pub struct Space {
    /// Logical indices, in order of first occurrence.
    pub indices: Vec<Name>,
    /// Extent parameter of each index.
    pub extents: IndexMap<Name, Name>,
    /// The output first, then the factors in order.
    pub operands: Vec<Operand>,
    /// The conjunction over indices, positions and index-array calls.
    pub constraints: Vec<Constraint>,
    /// Restrictions that are not conjunctive; tested where their indices are bound.
    pub guards: Vec<Formula>,
    /// What holds of the parameters: extents are not negative, `NNZ_A = pos_A(I)`.
    pub facts: Vec<Constraint>,
    /// Properties of all index arrays, each tensor once.
    pub properties: Vec<Property>,
    pub op: AssignOp,
    pub coefficient: f64,
    /// Index of this space among those of the statement, and which piece of each operand it takes.
    pub pieces: Vec<usize>,
    /// Tile dimensions, in the order in which they were asked for.
    pub tiles: Vec<Tile>,
    /// Groups of positions to be visited as one loop.
    pub fused: Vec<Vec<Name>>,
}

impl Space {
    pub fn output(&self) -> &Operand {
        &self.operands[0]
    }

    pub fn inputs(&self) -> &[Operand] {
        &self.operands[1..]
    }

    /// Parameters: everything constant during the kernel.
    pub fn params(&self) -> Vec<Name> {
        let mut out: Vec<Name> = Vec::new();
        let operands = self.operands.iter();
        let names = self
            .extents
            .values()
            .chain(operands.flat_map(|o| o.extents.iter().chain(o.params.keys())));
        for n in names {
            if !out.contains(n) {
                out.push(n.clone());
            }
        }
        out
    }

    /// All dimensions, indices first; [`loop_order`](super::loop_order) decides the loops.
    pub fn dimensions(&self) -> Vec<Name> {
        let positions = self.operands.iter().flat_map(|o| o.positions.iter());
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

    /// The set in isl's notation, dimensions in the given order.
    pub fn display(&self, dims: &[Name]) -> String {
        let dims: Vec<&str> = dims.iter().map(|d| &**d).collect();
        let mut text = conjunction(&self.constraints);
        for g in &self.guards {
            text.push_str(&format!(" and ({g})"));
        }
        format!("{{ [{}] : {text} }}", dims.join(", "))
    }
}

/// Composes `program` with a layout for each of its tensors.
///
/// A relation that is a union gives one space for each choice of pieces; together they cover every
/// stored entry once, because overlapping pieces are refused.
///
/// With `shares`, the output writes at the positions of that input; its layout is the one that
/// [`share`](crate::layout::share) derives.
pub fn compose(
    program: &Program,
    layouts: &IndexMap<Name, Arc<Layout>>,
    shares: Option<&Name>,
) -> Result<Vec<Space>> {
    let product = program.product()?;
    let indices = program.indices();
    let mut taken: Vec<Name> = indices.clone();
    let extents: IndexMap<Name, Name> = indices
        .iter()
        .map(|i| {
            let name = fresh(&Layout::extent_name(i), &taken);
            taken.push(name.clone());
            (i.clone(), name)
        })
        .collect();

    let mut operands: Vec<Operand> = Vec::new();
    let accesses = std::iter::once((Role::Output, &program.output))
        .chain(product.factors.iter().map(|f| (Role::Input, f)));
    for (role, access) in accesses {
        let layout = layouts.get(&access.tensor).ok_or_else(|| {
            Diagnostic::new(Code::Shape, format!("tensor `{}` has no layout", access.tensor))
                .at(access.span.clone(), "used here")
                .within("<expression>", &program.text)
                .help(format!("give one: `-f {0}=LAYOUT` or `-t {0}=FILE:LAYOUT`", access.tensor))
        })?;
        if layout.rank() != access.subscripts.len() {
            return Err(Diagnostic::new(
                Code::Shape,
                format!(
                    "`{}` has {} subscript(s), its layout `{}` has {} dimension(s)",
                    access.tensor,
                    access.subscripts.len(),
                    layout.name,
                    layout.rank()
                ),
            )
            .at(access.span.clone(), format!("layout `{}`", layout.name))
            .within("<expression>", &program.text)
            .help("choose a layout of this rank, or change the subscripts"));
        }
        let operand_extents = access
            .subscripts
            .iter()
            .enumerate()
            .map(|(d, s)| match s.as_var().and_then(|v| extents.get(v)) {
                Some(extent) => extent.clone(),
                None => Name::from(format!("N{d}_{}", access.tensor)),
            })
            .collect();
        let again = operands.iter().filter(|o| o.tensor == access.tensor).count();
        let label = match again {
            0 => access.tensor.to_string(),
            n => format!("{}_{}", access.tensor, n + 1),
        };
        operands.push(Operand::new(
            access.tensor.clone(),
            label,
            role,
            layout.clone(),
            access.subscripts.clone(),
            operand_extents,
        ));
    }

    if let Some(tensor) = shares {
        let input = operands.iter().skip(1).find(|o| o.tensor == *tensor).cloned();
        let shared = match input {
            Some(input) => operands[0].share_positions(&input),
            None => Err(format!("`{tensor}` is not a factor of the expression")),
        };
        shared.map_err(|why| {
            Diagnostic::new(
                Code::Space,
                format!("`{}` cannot share the sparsity of `{tensor}`: {why}", operands[0].tensor),
            )
            .at(program.output.span.clone(), "this output")
            .within("<expression>", &program.text)
            .help("name a sparse factor, or give the output a layout of its own")
        })?;
    }

    let mut facts = Vec::new();
    let mut properties: Vec<Property> = Vec::new();
    for extent in extents.values() {
        facts.push(Constraint::le(Affine::zero(), Affine::var(extent.clone())));
    }
    for (k, o) in operands.iter().enumerate() {
        let first = operands[..k].iter().all(|other| other.tensor != o.tensor);
        let fresh_facts = o.facts.iter().cloned().chain(o.parameter_equations());
        facts.extend(fresh_facts.filter(|f| first || !facts_contain(&operands[..k], f)));
        if first {
            properties.extend(o.properties.iter().cloned());
        }
        // Another access of the same tensor: one set of extents under two names.
        if let Some(earlier) = operands[..k].iter().find(|other| other.tensor == o.tensor) {
            for (a, b) in earlier.extents.iter().zip(&o.extents) {
                facts.push(Constraint::eq(Affine::var(a.clone()), Affine::var(b.clone())));
            }
        }
    }
    facts.retain(|f| f.as_bool() != Some(true));
    facts.dedup();

    let mut box_constraints = Vec::new();
    for (i, extent) in &extents {
        box_constraints.push(Constraint::le(Affine::zero(), Affine::var(i.clone())));
        box_constraints.push(Constraint::lt(Affine::var(i.clone()), Affine::var(extent.clone())));
    }
    // Iterations whose affine subscripts leave the tensor are outside the space.
    for o in &operands {
        for (s, extent) in o.subscripts.iter().zip(&o.extents) {
            if s.as_var().is_none() {
                box_constraints.push(Constraint::le(Affine::zero(), s.clone()));
                box_constraints.push(Constraint::lt(s.clone(), Affine::var(extent.clone())));
            }
        }
    }
    let mut guards = Vec::new();
    match program.restriction.as_ref().map(|r| (r, r.as_conjunction())) {
        None => {}
        Some((_, Some(parts))) => {
            for c in parts {
                match c.relop {
                    Relop::Ne => guards.push(Formula::Constraint(c)),
                    _ => box_constraints.push(c),
                }
            }
        }
        Some((r, None)) => guards.push(r.clone()),
    }

    let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
    for o in &operands {
        choices = choices
            .into_iter()
            .flat_map(|c| {
                (0..o.pieces.len()).map(move |k| {
                    let mut c = c.clone();
                    c.push(k);
                    c
                })
            })
            .collect();
    }
    Ok(choices
        .into_iter()
        .map(|pieces| {
            let mut constraints = box_constraints.clone();
            for (o, &k) in operands.iter().zip(&pieces) {
                for c in &o.pieces[k] {
                    if !constraints.contains(c) && c.as_bool() != Some(true) {
                        constraints.push(c.clone());
                    }
                }
            }
            Space {
                indices: indices.clone(),
                extents: extents.clone(),
                operands: operands.clone(),
                constraints,
                guards: guards.clone(),
                facts: facts.clone(),
                properties: properties.clone(),
                op: program.op,
                coefficient: product.coefficient,
                pieces,
                tiles: Vec::new(),
                fused: Vec::new(),
            }
        })
        .collect())
}

fn facts_contain(earlier: &[Operand], fact: &Constraint) -> bool {
    earlier.iter().any(|o| o.facts.contains(fact))
}

/// `name`, or with underscores appended until it is not taken.
fn fresh(name: &Name, taken: &[Name]) -> Name {
    let mut out = name.to_string();
    while taken.iter().any(|t| **t == *out) {
        out.push('_');
    }
    Name::from(out)
}
