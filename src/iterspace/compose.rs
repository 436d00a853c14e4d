//! Composition of layouts with the accesses of a statement (SPF §4).

use std::sync::Arc;

use indexmap::IndexMap;

use super::accesses::Accesses;
use super::elsewhere::{Elsewhere, Rest, combined_once, rest_of};
use super::passes::{Pass, passes};
use super::permissive::{answered, permissive, same};
use super::region::{Leaves, Value};
use super::source::Source;
use super::wanted::Wanted;
use super::{Operand, Space};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name, Relop};
use crate::layout::{Layout, Property};
use crate::operators::{Operator, Region};
use crate::program::{Access, AssignOp, Assignment, Expr, Program, combines, typed};
use crate::tensor::ValueType;
use crate::theory::Theory;

/// More choices of one piece for each operand are refused: every one is a loop nest of its own.
pub const MOST_CHOICES: usize = 64;

/// Composes `program` with a layout for each of its tensors.
///
/// The value is nothing but where some of the operands are stored: that [`Region`] is taken apart into
/// cases, and each makes spaces of its own. A product has one case, in which all are stored.
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
    let wanted = Wanted { shares: shares.cloned(), ..Wanted::default() };
    compose_by(program, layouts, &wanted)
}

/// [`compose`] for tensors of certain types and fills, with a choice of how sums are visited.
///
/// # Errors
/// Those of [`compose`], and [`Code::Program`] if types do not fit together.
pub fn compose_by(
    program: &Program,
    layouts: &IndexMap<Name, Arc<Layout>>,
    wanted: &Wanted,
) -> Result<Vec<Space>> {
    let mut accesses = Accesses::new(program, layouts, wanted)?;
    let mut steps = Vec::new();
    for assignment in program.assignments()? {
        steps.push(Step::new(program, &assignment, wanted, &mut accesses)?);
    }
    if let Some(tensor) = &wanted.shares {
        accesses.share(tensor)?;
    }
    let mut all = Vec::new();
    let mut written: Vec<Name> = Vec::new();
    for mut step in steps {
        let tensor = accesses.operands[step.target].tensor.clone();
        let rest = step.refrain(&mut accesses, wanted, !written.contains(&tensor))?;
        written.push(tensor);
        all.extend(std::iter::once(step).chain(rest));
    }
    let (facts, properties) = accesses.known();
    let theory = Arc::new(accesses.theory(&facts, &properties));
    let common = Common { facts, properties, theory };
    let mut spaces = Vec::new();
    for (number, step) in all.iter().enumerate() {
        spaces.extend(step.spaces(number, program, &accesses, &common, wanted)?);
    }
    if let [only] = spaces.as_mut_slice() {
        only.is_alone = true;
    }
    Ok(spaces)
}

/// What the spaces of all statements know.
struct Common {
    facts: Vec<Constraint>,
    properties: Vec<Property>,
    theory: Arc<Theory>,
}

/// A statement, one of several, over operands.
struct Step {
    /// Its indices.
    indices: Vec<Name>,
    /// What must hold of them.
    restriction: Option<Formula>,
    op: Arc<Operator>,
    /// The output begins anew.
    assigns: bool,
    value: Value,
    target: usize,
    /// The operands that it reads.
    reads: Vec<usize>,
    /// The points that it visits, if the value is known at the others, and what becomes of these.
    elsewhere: Option<(Region, Elsewhere)>,
}

/// Where indices run.
struct Scope {
    extents: IndexMap<Name, Name>,
    inside: Vec<Constraint>,
    guards: Vec<Formula>,
}

impl Scope {
    /// Whether an operand is stored everywhere: nothing but that subscripts are inside is asked of it.
    fn is_total(&self, o: &Operand) -> bool {
        let is_given = |c: &Constraint| c.as_bool() == Some(true) || self.inside.contains(c);
        let is_direct = || o.is_direct() && o.pieces.len() == 1 && o.pieces[0].iter().all(is_given);
        is_direct() || o.inside().all(|c| is_given(&c)) && o.stores_every_coordinate()
    }
}

impl Step {
    fn new(
        program: &Program,
        assignment: &Assignment<'_>,
        wanted: &Wanted,
        accesses: &mut Accesses<'_>,
    ) -> Result<Step> {
        let tensor = &assignment.output.tensor;
        let ty = wanted.types.of(tensor);
        let within = |e: Box<Diagnostic>| e.within("<expression>", &program.text);
        let target = accesses.write(assignment.output)?;
        let op = assignment.op.combines()?;
        combines(&op, ty, tensor, assignment.output.span.clone()).map_err(within)?;
        let mut reads = Vec::new();
        let asked = permissive(assignment.value).map_err(within)?;
        let is_asked = |access: &Access| asked.iter().any(|other| same(other, access));
        let value = typed(assignment.value, ty, tensor, &mut |leaf| match leaf {
            Expr::Access(access) => {
                let k = accesses.read(access, is_asked(access))?;
                reads.push(k);
                Ok((Source::Operand(k), wanted.types.of(&access.tensor)))
            }
            Expr::Within(question) => {
                let access = &question.access;
                let k = accesses.read(access, is_asked(access))?;
                let bounds = accesses.bounds(k)?;
                reads.push(bounds);
                Ok((Source::Operand(bounds), ValueType::Bool))
            }
            Expr::Index(index, _) => Ok((Source::Index(index.clone()), ValueType::I64)),
            other => Err(Diagnostic::new(
                Code::Program,
                format!("the value of `{other}` is not supported yet"),
            )
            .at(other.span(), "kernels are made from tensors, indices and numbers")
            .help("compute it beforehand, as a tensor")),
        });
        let value = value.map_err(within)?;
        reads.sort_unstable();
        reads.dedup();
        Ok(Step {
            indices: assignment.indices(),
            restriction: assignment.restriction.cloned(),
            op,
            assigns: assignment.op == AssignOp::Assign,
            value,
            target,
            reads,
            elsewhere: None,
        })
    }

    fn scope(&self, accesses: &Accesses<'_>) -> Scope {
        let own = |index: &Name| self.indices.contains(index);
        let extents = accesses.extents.iter().filter(|(index, _)| own(index));
        let extents: IndexMap<Name, Name> = extents.map(|(i, e)| (i.clone(), e.clone())).collect();
        let accessed = std::iter::once(&self.target).chain(&self.reads);
        let accessed = accessed.map(|&k| &accesses.operands[k]);
        let (inside, guards) = points(&extents, accessed, self.restriction.as_ref());
        Scope { extents, inside, guards }
    }

    /// Visits no point at which nothing is stored, if that can be avoided: what is combined there is known.
    /// Then there may be another step, to combine it. `first`: nothing has written the output before.
    fn refrain(
        &mut self,
        accesses: &mut Accesses<'_>,
        wanted: &Wanted,
        first: bool,
    ) -> Result<Option<Step>> {
        let scope = self.scope(accesses);
        let operands = &accesses.operands;
        let is_total = |k: usize| scope.is_total(&operands[k]);
        let leaves = Leaves { operands, is_total: &is_total, fast_math: wanted.fast_math };
        let within = (&operands[self.target], &scope.extents);
        let restricted = scope.inside.len() > 2 * scope.extents.len() || !scope.guards.is_empty();
        let rest = rest_of(&self.value, &self.op, leaves, within)?.filter(|_| !restricted);
        let Some(Rest { fill, region, kept, reduced }) = rest else { return Ok(None) };
        if self.assigns && first && reduced.is_empty() {
            accesses.begin(self.target, fill);
            self.elsewhere = Some((region, Elsewhere::Begun));
            return Ok(None);
        }
        let again = self.op.apply(fill.value_type(), &[fill, fill]);
        let counts = wanted.counts && !(wanted.assembles && self.target == 0);
        let counts = counts && again.is_some_and(|again| again.same(fill));
        if !counts || !self.op.is_reduction() {
            return Ok(None);
        }
        let counter = accesses.counter(self.target)?;
        self.elsewhere = Some((region, Elsewhere::Counted(counter)));
        Ok(Some(Step {
            indices: kept,
            restriction: None,
            op: self.op.clone(),
            assigns: false,
            value: combined_once(&self.op, counter, &reduced, fill)?,
            target: self.target,
            reads: vec![counter],
            elsewhere: None,
        }))
    }

    /// One for each case and choice of relation pieces.
    fn spaces(
        &self,
        number: usize,
        program: &Program,
        accesses: &Accesses<'_>,
        common: &Common,
        wanted: &Wanted,
    ) -> Result<Vec<Space>> {
        let operands = &accesses.operands;
        let scope = self.scope(accesses);
        let is_total = |k: usize| scope.is_total(&operands[k]);
        let leaves = Leaves { operands, is_total: &is_total, fast_math: wanted.fast_math };
        let visited = self.elsewhere.as_ref().map(|(region, _)| region);
        let how = (wanted.union, visited);
        let parts = passes(program, (&self.op, self.target), self.value.clone(), leaves, how)?;
        if let Some(tensor) = &wanted.shares {
            refuse_elsewhere(program, operands, tensor, &parts)?;
        }
        let mut spaces = Vec::new();
        for mut pass in parts {
            let is_stored = |k: &usize| is_total(*k) || pass.stored.contains(k);
            let mut stored: Vec<usize> = vec![self.target];
            stored.extend(self.reads.iter().copied().filter(is_stored));
            pass.value = answered(pass.value, operands, &stored);
            let lookups = pass.lookups(&stored);
            let mut extents = scope.extents.clone();
            // Those of indices that it does not have, but whose extents its value names.
            let named =
                |extent: &Name| pass.value.leaves().contains(&&Source::Index(extent.clone()));
            let others = accesses.extents.iter().filter(|(_, extent)| named(extent));
            extents.extend(others.map(|(index, extent)| (index.clone(), extent.clone())));
            let value = Arc::new(pass.value);
            for pieces in choices(program, operands, &stored)? {
                let join = |stored: &[usize]| {
                    let mut constraints = scope.inside.clone();
                    if pass.rest == Region::Nothing {
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
                    indices: self.indices.clone(),
                    extents: extents.clone(),
                    operands: operands.clone(),
                    step: number,
                    is_alone: false,
                    target: self.target,
                    is_assembled: wanted.assembles && self.target == 0,
                    stored: stored.clone(),
                    lookups: lookups.clone(),
                    rest: pass.rest.clone(),
                    merges: pass.merges,
                    constraints: join(&stored),
                    demanded: join(&stored[1..]),
                    guards: scope.guards.clone(),
                    facts: common.facts.clone(),
                    properties: common.properties.clone(),
                    theory: common.theory.clone(),
                    op: self.op.clone(),
                    fast_math: wanted.fast_math,
                    strict_fp: wanted.strict_fp,
                    elsewhere: self.elsewhere.as_ref().map(|(_, elsewhere)| *elsewhere),
                    value: value.clone(),
                    pieces,
                    tiles: Vec::new(),
                    fused: Vec::new(),
                    names: accesses.names.clone(),
                });
            }
        }
        Ok(spaces)
    }
}

fn never() -> Constraint {
    Constraint::lt(Affine::zero(), Affine::zero())
}

/// Where indices are below their extents, subscripts inside their tensors, and the restriction holds; and
/// what of the latter is no conjunction.
fn points<'a>(
    extents: &IndexMap<Name, Name>,
    operands: impl Iterator<Item = &'a Operand>,
    restriction: Option<&Formula>,
) -> (Vec<Constraint>, Vec<Formula>) {
    let mut inside = Vec::new();
    for (i, extent) in extents {
        inside.push(Constraint::le(Affine::zero(), Affine::var(i.clone())));
        inside.push(Constraint::lt(Affine::var(i.clone()), Affine::var(extent.clone())));
    }
    // Iterations whose affine subscripts leave the tensor are outside the space, if nothing asks for that.
    for o in operands.filter(|o| !o.permissive) {
        for (s, extent) in o.subscripts.iter().zip(&o.extents) {
            // An index alone runs along the dimension, unless that is a window's.
            if s.as_var().is_none_or(|index| extents.get(index) != Some(extent)) {
                inside.push(Constraint::le(Affine::zero(), s.clone()));
                inside.push(Constraint::lt(s.clone(), Affine::var(extent.clone())));
            }
        }
    }
    let mut guards = Vec::new();
    let restriction = restriction.map(Formula::folded);
    match restriction.as_ref().map(|r| (r, r.as_conjunction())) {
        None => {}
        Some((r, _)) if r.is_false() => inside.push(never()),
        Some((_, Some(parts))) => {
            for c in parts {
                match c.relop {
                    Relop::Ne => guards.push(Formula::Constraint(c)),
                    _ => inside.push(c),
                }
            }
        }
        Some((r, None)) => guards.push(r.clone()),
    }
    (inside, guards)
}

/// Where an output shares the positions of an input, that must be stored whenever something is computed.
fn refuse_elsewhere(
    program: &Program,
    operands: &[Operand],
    tensor: &Name,
    parts: &[Pass],
) -> Result<()> {
    // The access whose positions are shared is the first.
    let shared = (1..operands.len()).find(|&k| operands[k].tensor == *tensor);
    if parts.iter().all(|pass| shared.is_some_and(|k| pass.stored.contains(&k))) {
        return Ok(());
    }
    Err(Diagnostic::new(
        Code::Space,
        format!(
            "`{}` cannot share the sparsity of `{tensor}`: there is something to compute where \
             `{tensor}` stores nothing",
            operands[0].tensor
        ),
    )
    .at(program.output()?.span.clone(), "this output")
    .within("<expression>", &program.text)
    .help("give the output a layout of its own"))
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
