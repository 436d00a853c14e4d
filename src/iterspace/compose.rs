//! Composition of layouts with the accesses of a statement (SPF §4).

use std::sync::Arc;

use indexmap::IndexMap;

use super::cases::{Case, cases};
use super::region::region;
use super::value::{Apply, Value};
use super::{Names, Operand, Role, Space};
use crate::check::stores_coordinates_once;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::layout::{Layout, Property};
use crate::operators::Region;
use crate::program::{Access, AssignOp, Expr, Op, Program};
use crate::theory::Theory;

/// More choices of one piece for each operand are refused: every one is a loop nest of its own.
pub const MOST_CHOICES: usize = 64;

/// How the points of a sum are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Union {
    /// Each term by itself, where the statement adds anyway.
    #[default]
    Distribute,
    /// One pass for each operand, looking up the others.
    Passes,
}

impl Union {
    /// Every one.
    pub const ALL: [Union; 2] = [Union::Distribute, Union::Passes];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Union::Distribute => "distribute",
            Union::Passes => "passes",
        }
    }
}

/// Composes `program` with a layout for each of its tensors.
///
/// The value is nothing but where some of the operands are stored: that [`Region`] is taken apart into
/// [`Case`]s, and each makes spaces of its own. A product has one case, in which all are stored.
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
    compose_by(program, layouts, shares, Union::default())
}

/// [`compose`] with a choice of how sums are visited.
pub fn compose_by(
    program: &Program,
    layouts: &IndexMap<Name, Arc<Layout>>,
    shares: Option<&Name>,
    union: Union,
) -> Result<Vec<Space>> {
    let assignment = program.assignment()?;
    let text: Arc<str> = Arc::from(program.text.as_str());
    let indices = program.indices();
    let mut names = Names::default();
    indices.iter().for_each(|i| names.take(i));
    let extents: IndexMap<Name, Name> =
        indices.iter().map(|i| (i.clone(), names.fresh(&Layout::extent_name(i)))).collect();

    // Extents of dimensions that no index runs along.
    let mut unnamed: IndexMap<(Name, usize), Name> = IndexMap::new();
    let mut operands: Vec<Operand> = Vec::new();
    let mut add = |role: Role, access: &Access| -> Result<usize> {
        let layout = layouts.get(&access.tensor).ok_or_else(|| {
            Diagnostic::new(Code::Shape, format!("tensor `{}` has no layout", access.tensor))
                .at(access.span.clone(), "used here")
                .within("<expression>", &program.text)
                .help(format!("give one: `-f {0}=LAYOUT` or `-t {0}=FILE:LAYOUT`", access.tensor))
        })?;
        if layout.rank() != access.subscripts.len() {
            return Err(other_rank(program, access, layout));
        }
        let equal = |o: &Operand| {
            o.role == Role::Input && o.tensor == access.tensor && o.subscripts == access.subscripts
        };
        // With duplicates, the product of two sums is not the sum of the squares.
        if let Some(k) = operands.iter().position(equal).filter(|_| stores_coordinates_once(layout))
        {
            return Ok(k);
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
        let operand = Operand::new(
            access.tensor.clone(),
            label,
            role,
            layout.clone(),
            access.subscripts.clone(),
            operand_extents,
            earlier,
            &mut names,
        );
        operands.push(operand);
        Ok(operands.len() - 1)
    };
    add(Role::Output, assignment.output)?;
    let value = Value::of(assignment.value, &mut |leaf| match leaf {
        Expr::Access(access) => add(Role::Input, access),
        other => Err(Diagnostic::new(
            Code::Program,
            format!("the value of `{other}` is not supported yet"),
        )
        .at(other.span(), "kernels are made from tensors and numbers")
        .within("<expression>", &program.text)
        .help("compute it beforehand, as a tensor")),
    })?;

    if let Some(tensor) = shares {
        let input = operands.iter().skip(1).find(|o| o.tensor == *tensor).cloned();
        let shared = match input {
            Some(input) => operands[0].share_positions(&input),
            None => Err(format!("`{tensor}` is not read by the expression")),
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

    // An operand without more conditions than that subscripts are inside is stored everywhere.
    let is_total = |k: usize| {
        let o: &Operand = &operands[k];
        let inside = |c: &Constraint| c.as_bool() == Some(true) || box_constraints.contains(c);
        o.is_direct() && o.pieces.len() == 1 && o.pieces[0].iter().all(inside)
    };
    let sums = assignment.op.combines() == AssignOp::Add;
    let terms: Vec<Value<usize>> = match union {
        Union::Distribute if sums => {
            let signed = |(negative, term): (bool, &Value<usize>)| match negative {
                true => term.clone().negated(),
                false => term.clone(),
            };
            value.terms().into_iter().map(signed).collect()
        }
        _ => vec![value],
    };
    let mut parts: Vec<(Case, Value<usize>)> = Vec::new();
    for value in terms {
        // Zeros change products, and may be the least or the greatest.
        let region = if sums { region(&value, &is_total) } else { Region::All };
        for case in cases(&region) {
            let value = value.without(&|k| case.missed.contains(k));
            refuse_repeated(program, &operands, &case, &value)?;
            parts.push((case, value));
        }
    }
    if parts.is_empty() {
        // Nothing is ever added.
        let nowhere = Case { stored: Vec::new(), missed: Vec::new(), rest: Region::Nothing };
        parts.push((nowhere, Value::zero()));
    }
    if let Some(tensor) = shares {
        // The access whose positions are shared is the first.
        let shared = (1..operands.len()).find(|&k| operands[k].tensor == *tensor);
        let holds =
            |(case, _): &(Case, Value<usize>)| shared.is_some_and(|k| case.stored.contains(&k));
        if !parts.iter().all(holds) {
            return Err(Diagnostic::new(
                Code::Space,
                format!(
                    "`{}` cannot share the sparsity of `{tensor}`: there is something to compute \
                     where `{tensor}` stores nothing",
                    operands[0].tensor
                ),
            )
            .at(assignment.output.span.clone(), "this output")
            .within("<expression>", &program.text)
            .help("give the output a layout of its own"));
        }
    }

    let mut spaces = Vec::new();
    for (case, value) in parts {
        let mut stored: Vec<usize> = vec![0];
        stored.extend((1..operands.len()).filter(|&k| is_total(k) || case.stored.contains(&k)));
        let unstored = case.missed.iter().map(|k| Region::Stored(*k).complement());
        let rest = Region::all_of(std::iter::once(case.rest.clone()).chain(unstored));
        let mut lookups: Vec<usize> = value.leaves().into_iter().copied().collect();
        lookups.extend(rest.operands());
        lookups.retain(|k| !stored.contains(k));
        lookups.sort_unstable();
        lookups.dedup();
        let value = Arc::new(value);
        for pieces in choices(program, &operands, &stored)? {
            let join = |stored: &[usize]| {
                let mut constraints = box_constraints.clone();
                if rest == Region::Nothing {
                    constraints.push(never());
                }
                for &k in stored {
                    for c in &operands[k].pieces[pieces[k]] {
                        if !constraints.contains(c) && c.as_bool() != Some(true) {
                            constraints.push(c.clone());
                        }
                    }
                }
                constraints
            };
            spaces.push(Space {
                indices: indices.clone(),
                extents: extents.clone(),
                operands: operands.clone(),
                stored: stored.clone(),
                lookups: lookups.clone(),
                rest: rest.clone(),
                constraints: join(&stored),
                demanded: join(&stored[1..]),
                guards: guards.clone(),
                facts: facts.clone(),
                properties: properties.clone(),
                theory: theory.clone(),
                op: assignment.op,
                value: value.clone(),
                text: text.clone(),
                pieces,
                tiles: Vec::new(),
                fused: Vec::new(),
                names: names.clone(),
            });
        }
    }
    Ok(spaces)
}

/// Every choice of a piece for each of the stored operands.
fn choices(program: &Program, operands: &[Operand], stored: &[usize]) -> Result<Vec<Vec<usize>>> {
    let count = stored.iter().fold(1_usize, |n, &k| n.saturating_mul(operands[k].pieces.len()));
    if count > MOST_CHOICES {
        let unions = stored.iter().map(|&k| &operands[k]).filter(|o| o.pieces.len() > 1);
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
    let mut out: Vec<Vec<usize>> = vec![Vec::new()];
    for (k, o) in operands.iter().enumerate() {
        let pieces = if stored.contains(&k) { o.pieces.len() } else { 1 };
        let with = |choice: Vec<usize>| {
            (0..pieces).map(move |piece| [choice.as_slice(), &[piece]].concat())
        };
        out = out.into_iter().flat_map(with).collect();
    }
    Ok(out)
}

fn other_rank(program: &Program, access: &Access, layout: &Layout) -> Box<Diagnostic> {
    Diagnostic::new(
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
    .help("choose a layout of this rank, or change the subscripts")
}

/// Where a coordinate is stored twice, its elements are summed: walking them one by one is right only if
/// the value is a product with them.
fn refuse_repeated(
    program: &Program,
    operands: &[Operand],
    case: &Case,
    value: &Value<usize>,
) -> Result<()> {
    for &k in &case.stored {
        let o = &operands[k];
        if stores_coordinates_once(&o.layout) || is_factor(value, k) {
            continue;
        }
        let access = program.accesses().into_iter().find(|a| a.tensor == o.tensor);
        let place = access.map_or(0..0, |a| a.span.clone());
        return Err(Diagnostic::new(
            Code::Space,
            format!("`{}` in layout `{}` may store a coordinate twice", o.tensor, o.layout.name),
        )
        .note("the elements would have to be summed before anything else is computed from them")
        .at(place, "not a factor of a product here")
        .within("<expression>", &program.text)
        .help("store it in a layout that has each coordinate once, such as `coo` or `csr`"));
    }
    Ok(())
}

/// Whether the value is a sum over the elements of operand `k`, each multiplied by the rest.
fn is_factor(value: &Value<usize>, k: usize) -> bool {
    match value {
        Value::Leaf(leaf) => *leaf == k,
        Value::Literal(_) => false,
        Value::Apply(Apply { op, args, .. }) => {
            let has = |arg: &Value<usize>| arg.leaves().contains(&&k);
            let (with, without): (Vec<_>, Vec<_>) = args.iter().partition(|arg| has(arg));
            match op {
                Op::Mul | Op::Neg => with.len() == 1 && is_factor(with[0], k),
                Op::Div => without == [&args[1]] && is_factor(&args[0], k),
                Op::Add | Op::Sub | Op::Min | Op::Max => false,
            }
        }
    }
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
