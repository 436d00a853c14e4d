//! Composition of layouts with the accesses of a statement (SPF §4).

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Names, Operand, Role, Space};
use crate::check::stores_coordinates_once;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::layout::{Layout, Property};
use crate::program::{Product, Program};
use crate::theory::Theory;

/// More choices of one piece for each operand are refused: every one is a loop nest of its own.
pub const MOST_CHOICES: usize = 64;

/// Composes `program` with a layout for each of its tensors.
///
/// A relation that is a union gives one space for each choice of pieces; together they cover every
/// stored entry once, because overlapping pieces are refused. There are at most [`MOST_CHOICES`].
///
/// With `shares`, the output writes at the positions of that input; its layout is the one that
/// [`share`](crate::layout::share) derives.
pub fn compose(
    program: &Program,
    layouts: &IndexMap<Name, Arc<Layout>>,
    shares: Option<&Name>,
) -> Result<Vec<Space>> {
    let assignment = program.assignment()?;
    let product = program.product()?;
    let coefficient = Arc::new(Product { factors: Vec::new(), ..product.clone() });
    let text: Arc<str> = Arc::from(program.text.as_str());
    let indices = program.indices();
    let mut names = Names::default();
    indices.iter().for_each(|i| names.take(i));
    let extents: IndexMap<Name, Name> =
        indices.iter().map(|i| (i.clone(), names.fresh(&Layout::extent_name(i)))).collect();

    // Extents of dimensions that no index runs along.
    let mut unnamed: IndexMap<(Name, usize), Name> = IndexMap::new();
    let mut operands: Vec<Operand> = Vec::new();
    let mut factors = Vec::new();
    let accesses = std::iter::once((Role::Output, assignment.output))
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
        let equal = |o: &Operand| {
            o.role == Role::Input && o.tensor == access.tensor && o.subscripts == access.subscripts
        };
        // With duplicates, the product of two sums is not the sum of the squares.
        if let Some(k) = operands.iter().position(equal).filter(|_| stores_coordinates_once(layout))
        {
            factors.push(k);
            continue;
        }
        if role == Role::Input {
            factors.push(operands.len());
        }
        let operand_extents = access
            .subscripts
            .iter()
            .enumerate()
            .map(|(d, s)| match s.as_var().and_then(|v| extents.get(v)) {
                Some(extent) => extent.clone(),
                None => unnamed
                    .entry((access.tensor.clone(), d))
                    .or_insert_with(|| names.fresh(&format!("N{d}_{}", access.tensor)))
                    .clone(),
            })
            .collect();
        let again = operands.iter().filter(|o| o.tensor == access.tensor).count();
        let label = match again {
            0 => access.tensor.to_string(),
            n => format!("{}_{}", access.tensor, n + 1),
        };
        let earlier = operands.iter().find(|o| o.tensor == access.tensor);
        operands.push(Operand::new(
            access.tensor.clone(),
            label,
            role,
            layout.clone(),
            access.subscripts.clone(),
            operand_extents,
            earlier,
            &mut names,
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
            .at(assignment.output.span.clone(), "this output")
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

    let theory = Arc::new(theory(&extents, &operands, &facts, &properties));

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
    let never = || Constraint::lt(Affine::zero(), Affine::zero());
    let restriction = assignment.restriction.map(Formula::folded);
    match restriction.as_ref().map(|r| (r, r.as_conjunction())) {
        None => {}
        Some((r, _)) if r.is_false() => box_constraints.push(never()),
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

    let count = operands.iter().fold(1_usize, |n, o| n.saturating_mul(o.pieces.len()));
    if count > MOST_CHOICES {
        let unions = operands.iter().filter(|o| o.pieces.len() > 1);
        let unions: Vec<String> =
            unions.map(|o| format!("{} of `{}`", o.pieces.len(), o.label)).collect();
        return Err(Diagnostic::new(
            Code::Space,
            "the layouts of the tensors are unions of too many pieces together",
        )
        .note(format!("every choice is a loop nest of its own; pieces: {}", unions.join(", ")))
        .note(format!("at most {MOST_CHOICES} nests are made"))
        .within("<expression>", &program.text)
        .help(
            "store some of the tensors without a union, or compute the product in several steps",
        ));
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
            let join = |operands: &[Operand], pieces: &[usize]| {
                let mut constraints = box_constraints.clone();
                for (o, &k) in operands.iter().zip(pieces) {
                    for c in &o.pieces[k] {
                        if !constraints.contains(c) && c.as_bool() != Some(true) {
                            constraints.push(c.clone());
                        }
                    }
                }
                constraints
            };
            let constraints = join(&operands, &pieces);
            let demanded = join(&operands[1..], &pieces[1..]);
            Space {
                indices: indices.clone(),
                extents: extents.clone(),
                operands: operands.clone(),
                factors: factors.clone(),
                constraints,
                demanded,
                guards: guards.clone(),
                facts: facts.clone(),
                properties: properties.clone(),
                theory: theory.clone(),
                op: assignment.op,
                coefficient: coefficient.clone(),
                text: text.clone(),
                pieces,
                tiles: Vec::new(),
                fused: Vec::new(),
                names: names.clone(),
            }
        })
        .collect())
}

fn theory(
    extents: &IndexMap<Name, Name>,
    operands: &[Operand],
    facts: &[Constraint],
    properties: &[Property],
) -> Theory {
    let mut parameters: Vec<Name> = Vec::new();
    let of_operands = operands.iter().flat_map(|o| o.extents.iter().chain(o.params.keys()));
    for n in extents.values().chain(of_operands) {
        if !parameters.contains(n) {
            parameters.push(n.clone());
        }
    }
    let facts = facts.iter().cloned().map(Formula::Constraint).collect();
    let mut theory = Theory::new(parameters, facts);
    for (k, property) in properties.iter().enumerate() {
        theory.add(&property.formula, Some(k));
    }
    let mut arrays: Vec<&Name> = Vec::new();
    for array in operands.iter().flat_map(|o| o.arrays.values()) {
        if !arrays.contains(&&array.name) {
            arrays.push(&array.name);
            theory.add_array(array);
        }
    }
    theory
}

fn facts_contain(earlier: &[Operand], fact: &Constraint) -> bool {
    earlier.iter().any(|o| o.facts.contains(fact))
}
