//! Compose → scan → synthesize → choose, for every space of a statement.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::assemble::{forced_workspace, sparse_result};
use super::coiterate::Coiterate;
use super::copies::cheapest;
use super::fitting::fit;
use super::grounds::Grounds;
use super::layouts::{Layouts, layouts};
use super::leaves::{other_fill, says_fill};
use super::planned::{Planned, last};
use super::reorder::{LITTLE, cheapest_order, entries, is_open};
use super::repacked::{Made, Repacked, in_one_place, whole};
use super::request::{Request, names};
use super::selection::with_others;
use super::sequence::{refuse_sequence, refuse_unbegun, refuse_waste, sequence};
use super::wishes::Wishes;
use crate::check::has_one_coordinate;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::iterspace::{Operand, Space, Union, Wanted, compose_by};
use crate::layout::Layout;
use crate::loops::{Finder, How, Statement, orders_of_walks};
use crate::operators::{CaseKind, SpecialResult, Value};
use crate::packing::Appending;
use crate::program::{Access, AssignOp, Expr, Program, number};
use crate::prover::{Prover, Z3Prover};
use crate::scan::{Bind, Range};
use crate::schedule::schedule;
use crate::synth::{Find, Template, Verdict, templates};

/// Searches that take more nanoseconds for each entry that is read or written are compared with looplets.
const DEAR: f64 = 1.5;

/// What looplets cost must be less than this share.
const LESS: f64 = 0.95;

/// Types and fills are of tensors that the expression uses.
fn refuse_unknown(request: &Request, program: &Program) -> Result<()> {
    let tensors = program.tensors();
    let stated = request.types.own.keys().map(|n| ("type", n));
    let stated = stated.chain(request.fills.keys().map(|n| ("fill", n)));
    let stated = stated.chain(request.gallops.iter().map(|n| ("way to walk", n)));
    for (what, tensor) in stated {
        if !tensors.contains_key(tensor) {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("a {what} is given for `{tensor}`, which the expression does not use"),
            )
            .help(format!("the tensors of the expression are {}", names(tensors.keys()))));
        }
    }
    let output = program.output()?;
    match request.fills.keys().find(|tensor| program.writes(tensor)) {
        None => Ok(()),
        Some(computed) => Err(Diagnostic::new(
            Code::Space,
            format!("a fill is given for `{computed}`, which is computed"),
        )
        .at(output.span.clone(), "this output")
        .within("<expression>", &program.text)
        .help("leave it out: every element of a dense output is computed")),
    }
}

/// Wishes of which one forbids another.
fn refuse_contradictions(request: &Request) -> Result<()> {
    let (scheme, union) = (request.coiterate, request.union);
    let other = match scheme {
        Coiterate::Find if union == Some(Union::Merge) => "--union merge".to_string(),
        Coiterate::Merge if union.is_some_and(|u| u != Union::Merge) => {
            format!("--union {}", union.unwrap_or_default().word())
        }
        Coiterate::Looplets if !request.tiles.is_empty() => "--tile".to_string(),
        Coiterate::Looplets if !request.fused.is_empty() => "--fuse".to_string(),
        _ => return Ok(()),
    };
    Err(contradiction(scheme, &other))
}

fn contradiction(scheme: Coiterate, other: &str) -> Box<Diagnostic> {
    let scheme = format!("--coiterate {}", scheme.word());
    Diagnostic::new(Code::Usage, format!("`{scheme}` does not go with `{other}`"))
        .help(format!("leave `{other}` out, or choose another `--coiterate`"))
}

/// Runs the stages up to the choice.
pub fn plan(request: &Request) -> Result<Planned> {
    // Refutations that are shown get a small model of their own.
    let mut prover = Z3Prover::new().with_any_model();
    plan_with(request, &mut prover)
}

/// [`plan`] with a prover of the caller's choice.
pub fn plan_with(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    refuse_contradictions(request)?;
    match request.copies.is_empty() {
        true => plan_copies(request, prover),
        false => cheapest(request, plan_copies, prover),
    }
}

/// [`plan_with`] for one copy of each tensor.
fn plan_copies(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    let mut request = request.clone();
    request.sizes.threads = (request.threads > 1).then_some(request.threads);
    let request = &request;
    if let Some((along, repacked)) = in_one_place(request)? {
        let mut planned = plan_united(&along, prover)?;
        if !says_fill(&repacked.layout, planned.result_fill()) {
            return plan_whole(request, &planned, repacked.layout, prover);
        }
        planned.repacked = Some(repacked);
        return Ok(planned);
    }
    let planned = plan_united(request, prover)?;
    let layout = &planned.layouts[planned.output()];
    match planned.assembled.is_some() && !says_fill(layout, planned.result_fill()) {
        true => plan_whole(request, &planned, layout.clone(), prover),
        false => Ok(planned),
    }
}

/// A result of which all elements are made, since those that `sparse` does not store would be something else than
/// the format says, with which they begin.
fn plan_whole(
    request: &Request,
    sparse: &Planned,
    layout: Arc<Layout>,
    prover: &mut dyn Prover,
) -> Result<Planned> {
    let output = &sparse.output;
    let ty = sparse.types().of(output);
    let op = last(&sparse.statements).first().map(|s| &s.space.op);
    let begins = op.and_then(|op| op.beginning(ty).ok()).unwrap_or(Value::zero(ty));
    let program = request.program()?;
    let fill = layout.fill.map(|fill| Value::from(fill).cast(ty));
    let made = match sets_all(&program, output)? {
        true if fill.is_some_and(|fill| may_be_left(&program, output, fill)) => Made::Begun,
        true => Made::Whole,
        false if says_fill(&layout, begins) => Made::Begun,
        false => return Err(other_fill(output, &layout, sparse.result_fill())),
    };
    let mut planned = plan_united(&whole(request, output)?, prover)?;
    planned.repacked = Some(Repacked { layout, made });
    Ok(planned)
}

/// Whether what is assigned to a result is, in some case, what its format says of elements that are not stored:
/// `select(hit[i], new[i], 1)`.
fn may_be_left(program: &Program, output: &Name, fill: Value) -> bool {
    let Ok(all) = program.assignments() else { return false };
    let ty = fill.value_type();
    let leaves = |value: &Expr| {
        let Expr::Apply(apply) = value else { return false };
        let is_fill = |arg: &Expr| match arg {
            Expr::Literal(literal) => number(literal, ty).is_some_and(|n| n.identical(fill)),
            _ => false,
        };
        apply.op.specials(ty).iter().any(|special| match special.result {
            SpecialResult::Argument(k) => {
                special.kind == CaseKind::Fill && apply.args.get(k).is_some_and(is_fill)
            }
            SpecialResult::Value(_) => false,
        })
    };
    all.iter().any(|assignment| assignment.output.tensor == *output && leaves(assignment.value))
}

/// Whether the program sets every element of a result.
fn sets_all(program: &Program, output: &Name) -> Result<bool> {
    let all = program.assignments()?;
    let mut own = all.iter().filter(|a| a.output.tensor == *output);
    let (Some(only), None) = (own.next(), own.next()) else { return Ok(false) };
    let subscripts: Vec<Option<&Name>> =
        (0..only.output.rank()).map(|d| only.output.plain(d)).collect();
    let apart =
        |(d, index): (usize, &Option<&Name>)| index.is_some() && !subscripts[..d].contains(index);
    let everywhere = subscripts.iter().enumerate().all(apart);
    // Where a subscript would leave its tensor, nothing is set; a number that would is refused.
    let read = only.value.accesses();
    let stays = |access: &Access, d: usize| {
        access.plain(d).is_some() || access.subscripts[d].as_constant().is_some()
    };
    let inside = read.iter().all(|access| (0..access.rank()).all(|d| stays(access, d)));
    let whole = only.op == AssignOp::Assign && only.restriction.is_none();
    Ok(whole && everywhere && inside)
}

/// Whether operands are to be walked at once, in whatever words.
fn asks_for_merge(request: &Request) -> bool {
    request.coiterate == Coiterate::Merge || request.union == Some(Union::Merge)
}

/// A plan by the way of visiting the points of sums that is asked for, or that is best. What is forced may be searched
/// for by looplets alone, as where the automatic choice takes these.
fn plan_united(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    let planned = plan_free(request, prover);
    let open = request.coiterate == Coiterate::Auto && is_open(request) && request.union.is_none();
    let lacks = match &planned {
        Ok(planned) => !planned.searches(),
        Err(e) => e.code == Code::Find,
    };
    if open && lacks && !request.forced.is_empty() {
        return plan_instead(request, prover).or(planned);
    }
    planned
}

/// [`plan_united`], whatever is forced.
fn plan_free(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    if request.coiterate == Coiterate::Looplets {
        return plan_looplets(request, prover);
    }
    let union = match request.coiterate {
        Coiterate::Auto => request.union,
        Coiterate::Find => request.union.or(Some(Union::Passes)),
        Coiterate::Merge => Some(Union::Merge),
        Coiterate::Looplets => None,
    };
    // Runs are found as such by looplets: otherwise the result would be made element by element.
    let mut by_looplets = None;
    if request.coiterate == Coiterate::Auto && runs_from_runs(request)? {
        match plan_instead(request, prover) {
            Ok(planned) if planned.appends_runs() && planned.makes_runs() => return Ok(planned),
            other => by_looplets = Some(other),
        }
    }
    let asked = asks_for_merge(request);
    let first = match union {
        None | Some(Union::Merge) => plan_by(request, Union::Distribute, prover),
        Some(union) => return plan_by(request, union, prover),
    };
    let is = |what: fn(&Planned) -> bool| first.as_ref().is_ok_and(what);
    if is(Planned::merges_terms) || !(asked || is(Planned::assembles_by_passes)) {
        return or_by_looplets(request, first?, by_looplets, prover);
    }
    match plan_by(request, Union::Merge, prover) {
        Ok(merged) if asked && merged.walks_at_once() => Ok(merged),
        Ok(merged) if merged.walks_at_once() && merged.appends() => Ok(merged),
        // One operand is walked, and the others are where it says: so all are walked at once.
        _ if request.coiterate == Coiterate::Merge && is(Planned::is_one_walk) => first,
        other if asked => {
            first.and(other)?;
            let program = request.program()?;
            Err(Diagnostic::new(
                Code::Space,
                "this statement cannot be merged: there is nothing to merge",
            )
            .note("points must count where one of at least two operands is stored, and only there")
            .within("<expression>", &program.text)
            .help("leave `--union merge` or `--coiterate merge` out"))
        }
        _ => first,
    }
}

/// The plan; or that by looplets, if it is expected to be cheaper, and the first is not so good that looking for
/// another would not pay. Looplets know a part of the coordinates of a result before they gather (the row of a list
/// of entries lasts for several), and walk runs at once of which nests visit every pair. `by_looplets` is that plan, if
/// it is made already.
fn or_by_looplets(
    request: &Request,
    first: Planned,
    by_looplets: Option<Result<Planned>>,
    prover: &mut dyn Prover,
) -> Result<Planned> {
    let open = request.coiterate == Coiterate::Auto && is_open(request);
    let open = open && request.forced.is_empty() && request.gallops.is_empty();
    if !open || !(first.gathers_all() || is_dear(request, &first)?) {
        return Ok(first);
    }
    match by_looplets.unwrap_or_else(|| plan_instead(request, prover)) {
        Ok(planned) if !planned.gathers_all() && planned.price()? < LESS * first.price()? => {
            Ok(planned)
        }
        _ => Ok(first),
    }
}

/// The plan by looplets of what leaves that open.
fn plan_instead(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    plan_looplets(&Request { coiterate: Coiterate::Looplets, ..request.clone() }, prover)
}

/// Whether nests visit every pair of regions, or what is searched is expected to cost much for each entry.
fn is_dear(request: &Request, planned: &Planned) -> Result<bool> {
    if planned.statements.iter().any(visits_pairs) {
        return Ok(true);
    }
    let sizes = &request.sizes;
    if !sizes.are_known() || !planned.searches() {
        return Ok(false);
    }
    let entries: f64 = planned.statements.iter().map(|s| entries(s, sizes)).sum();
    Ok(planned.price()? > LITTLE.max(DEAR * entries))
}

impl Planned {
    /// Whether nothing is searched for, and regions are not visited in pairs.
    fn is_one_walk(&self) -> bool {
        !self.searches() && !self.statements.iter().any(visits_pairs)
    }
}

/// Whether an index runs where regions of two operands overlap, for every pair of them.
fn visits_pairs(statement: &Statement) -> bool {
    let positions = |range: &Range| {
        let ends = range.lower.iter().chain(&range.upper);
        let of = |o: &&Operand| ends.clone().any(|e| o.positions.iter().any(|p| e.mentions(p)));
        statement.space.present().filter(of).count()
    };
    statement.regions().is_none()
        && statement.nest.levels.iter().any(|level| match &level.bind {
            Bind::Loop(range) => positions(range) > 1,
            Bind::Let(_) => false,
        })
}

/// Whether runs of the result are appended, something is read of which a position stands for many elements, and
/// nothing else is said of how.
fn runs_from_runs(request: &Request) -> Result<bool> {
    if request.union.is_some() || request.threads > 1 || !request.leaves_loops_open() {
        return Ok(false);
    }
    let program = request.program()?;
    let request = &request.with_leaves(&program)?;
    let Layouts { composed, result } = layouts(request, &program)?;
    let appended = result.and_then(|layout| Appending::of(&layout));
    let has_runs = appended.is_some_and(|appending| appending.run().is_some());
    Ok(has_runs && composed.values().skip(1).any(|layout| !has_one_coordinate(layout)))
}

/// The plan that visits the points by looplets: all operands at once, unless the terms of a product that is stored
/// in several pieces are better visited by themselves.
fn plan_looplets(request: &Request, prover: &mut dyn Prover) -> Result<Planned> {
    if let Some(union) = request.union {
        return plan_by(request, union, prover);
    }
    let at_once = plan_by(request, Union::Merge, prover);
    if at_once.as_ref().is_ok_and(|p| !p.statements.iter().any(Statement::walks_pieces_at_once)) {
        return at_once;
    }
    plan_by(request, Union::Distribute, prover).or(at_once)
}

/// The plan that visits the points of sums in one way, in the order that is asked for, or that is best.
fn plan_by(request: &Request, union: Union, prover: &mut dyn Prover) -> Result<Planned> {
    let first = plan_in_order(request, union, prover);
    let plan = |request: &Request, prover: &mut dyn Prover| plan_in_order(request, union, prover);
    let planned = cheapest_order(request, union, first, plan, prover);
    with_others(request, planned, plan, prover)
}

/// The same in the order that is asked for, or the default one.
fn plan_in_order(request: &Request, union: Union, prover: &mut dyn Prover) -> Result<Planned> {
    let program = request.program()?;
    let mut request = request.with_leaves(&program)?;
    let output = program.output()?.tensor.clone();
    let several = program.assignments()?.len() > 1;
    let found = layouts(&request, &program)?;
    refuse_unknown(&request, &program)?;
    refuse_sequence(&request, &program, &found)?;
    let Layouts { composed, result } = found;
    let wanted = Wanted { union, assembles: result.is_some(), ..request.wanted(&program)? };
    let spaces = compose_by(&program, &composed, &wanted)?;
    for space in &spaces {
        let extents = space.extents.iter().map(|(index, name)| (index.clone(), name.clone()));
        request.sizes.indices.extend(extents);
        for function in space.operands.iter().flat_map(|o| o.bounds.values()) {
            if !request.sizes.functions.contains(function) {
                request.sizes.functions.push(function.clone());
            }
        }
    }
    let request = &request;
    let mut templates = templates()?;
    templates.extend_from_slice(&request.templates);
    // Also when there is nothing to force it on: it is a slip.
    for (_, name) in &request.forced {
        if !templates.iter().any(|t| t.name == *name) {
            let known: Vec<&str> = templates.iter().map(|t| t.name.as_str()).collect();
            return Err(Diagnostic::new(Code::Find, format!("no find template `{name}`"))
                .help(format!("the templates are {}", known.join(", "))));
        }
    }
    forced_workspace(request)?;
    let mut statements = Vec::new();
    // What visits nothing, by what it writes.
    let mut nothing = IndexMap::new();
    let wishes = Wishes::of(request, &spaces);
    let by_looplets = request.coiterate == Coiterate::Looplets;
    for mut space in spaces {
        let own = wishes.within(&mut space)?;
        space.verify()?;
        space.refuse_points_without_place(prover)?;
        if space.is_empty(prover) {
            nothing.insert(space.target, (space, own));
            continue;
        }
        let is_open = space.merges && own.is_empty();
        // What is walked at once has the order of a walk; looplets of all have their own, if they can.
        let first = (!is_open || by_looplets).then_some(own);
        let walks = std::iter::once_with(|| orders_of_walks(&space)).take(usize::from(is_open));
        let orders: Vec<Vec<Name>> = first.into_iter().chain(walks.flatten()).collect();
        // What is not walked in any of these orders is looked up in one, or merged index by index.
        let merges = asks_for_merge(request);
        let merges = merges && request.tiles.is_empty() && request.fused.is_empty();
        let again = orders.iter().filter(|_| by_looplets || merges).map(|own| (own, true));
        let mut all = orders.iter().map(|own| (own, false)).chain(again).map(|(own, again)| {
            statement(request, (space.clone(), own, again), &templates, prover)
        });
        let mut statement =
            all.next().unwrap_or_else(|| Err(Diagnostic::defect("nothing is walked")));
        // Pairs of regions, of which an index runs where both are, are no merge.
        let ends = |s: &Result<Statement>| s.as_ref().is_ok_and(|s| !(merges && visits_pairs(s)));
        while !ends(&statement) {
            let Some(other) = all.next() else { break };
            // The last way to try says what all lack.
            if other.is_ok() || by_looplets {
                statement = other;
            }
        }
        let mut statement = statement.map_err(|e| e.within("<expression>", &program.text))?;
        for find in 0..statement.finds().len() {
            if let Some(template) = forced(request, &statement.finds()[find])? {
                let proved = statement.choose(find, &template);
                debug_assert!(proved, "{template} is refused above unless it is proved");
                statement.refuse_above_limit(find, &request.sizes)?;
            }
        }
        statements.push(statement);
    }
    let searches = statements.iter().any(|s| !s.finds().is_empty());
    if by_looplets && !request.forced.is_empty() && !searches {
        let why = "everything is walked here, and nothing searched for";
        return Err(contradiction(request.coiterate, "--find").note(why));
    }
    let writes = |s: &Statement| s.space.target == 0;
    // A result to which nothing is ever added still is one. Results are the first operands.
    nothing.retain(|target, _| {
        *target < program.results().len() && !statements.iter().any(|s| s.space.target == *target)
    });
    for (space, own) in nothing.into_values() {
        let schedule = schedule(&space, &own)?;
        let at = statements.partition_point(|s| s.space.step <= space.step);
        statements.insert(at, Statement::nothing(space, schedule));
    }
    let last_step = statements.last().map_or(0, |s| s.space.step);
    if last_step > 0 && request.leaves_loops_open() && !by_looplets {
        // What is assembled has an order of its own.
        let steps = if result.is_none() { last_step + 1 } else { last_step };
        fit(&mut statements, steps, request, &templates, prover)?;
    }
    for (position, _) in &request.forced {
        if let Some(p) = position {
            let finds = statements.iter().flat_map(Statement::finds);
            let known: Vec<Name> = finds.map(|f| f.problem.position.clone()).collect();
            if !known.iter().any(|k| **k == **p) {
                return Err(Diagnostic::new(Code::Find, format!("no find of a position `{p}`"))
                    .help(if known.is_empty() {
                        "this kernel searches for nothing".to_string()
                    } else {
                        format!("this kernel searches for {}", names(known.iter()))
                    }));
            }
        }
    }
    let mut layouts = composed.clone();
    let mut assembled = None;
    let first_of_last = statements.len() - last(&statements).len();
    let result = match result {
        // What several statements update is not appended to.
        None if request.sparse_result && !statements[..first_of_last].iter().any(writes) => {
            sparse_result(request, &output, &statements[first_of_last..])?
        }
        result => result,
    };
    // What is assembled is made in parts.
    if request.threads > 1 && result.is_none() {
        for statement in statements.iter_mut().filter(|s| !s.nest().is_nothing()) {
            statement.parallelise(prover)?;
        }
    }
    if let Some(result) = result {
        let last = &statements[first_of_last..];
        let how = super::assemble::assembled(request, last, &result, prover)?;
        layouts.insert(output.clone(), result);
        assembled = Some(Rc::new(how));
    }
    let sequence = Rc::new(sequence(&program, &statements, prover)?);
    if several {
        refuse_unbegun(&statements, &sequence)?;
    }
    if several && request.sparse_result {
        refuse_waste(request, &statements, &sequence)?;
    }
    Ok(Planned {
        program: Rc::new(program),
        output,
        layouts,
        composed,
        statements,
        sequence,
        assembled,
        wanted,
        index_width: request.index_width,
        repacked: None,
        grounds: Grounds {
            sizes: request.sizes.clone(),
            forced: request.forced.clone(),
            workspace: request.workspace.clone(),
            orders: Vec::new(),
            copies: Vec::new(),
        },
        others: Vec::new(),
    })
}

/// A space in the order that is asked for, with the cheapest plan for each of its finds; `again` in the way that is left
/// if that failed.
fn statement(
    request: &Request,
    (space, own, again): (Space, &[Name], bool),
    templates: &[Rc<Template>],
    prover: &mut dyn Prover,
) -> Result<Statement> {
    let schedule = schedule(&space, own)?;
    let statement = match request.coiterate {
        Coiterate::Looplets if again => {
            let finder = Finder::new(templates, &request.sizes);
            Statement::by_looplets_and_finds(&space, &schedule, finder, prover)
        }
        Coiterate::Looplets => Statement::by_regions(space, schedule, How::AsRegions, prover),
        _ if again => Statement::by_regions(space, schedule, How::InSteps, prover),
        _ => Statement::new(space, schedule, templates, &request.sizes, prover),
    };
    statement.map_err(|e| reproducible(e, request))
}

/// Says how to make an internal error happen again.
fn reproducible(e: Box<Diagnostic>, request: &Request) -> Box<Diagnostic> {
    match e.code {
        Code::Internal => e.help(format!("please report it, with `{}`", request.command())),
        _ => e,
    }
}

/// The template that the user forces on `find`, if any; refused unless it is proved.
fn forced(request: &Request, find: &Find) -> Result<Option<String>> {
    let position = &find.problem.position;
    // A named position wins over a wish for all.
    let named = request.forced.iter().rev().find(|(p, _)| p.as_deref() == Some(&**position));
    let all = request.forced.iter().rev().find(|(p, _)| p.is_none());
    let Some((wanted_here, name)) = named.or(all) else { return Ok(None) };
    let attempt = find.attempts.iter().find(|a| a.template.name == *name);
    let Some(attempt) = attempt else {
        // A position that is known without any search needs no template.
        return match wanted_here {
            None => Ok(None),
            Some(_) => Err(Diagnostic::new(
                Code::Find,
                format!("template `{name}` does not apply: `{position}` is known without a search"),
            )
            .help("force it on another position, or leave `--find` out")),
        };
    };
    match &attempt.verdict {
        Verdict::Proved(_) => Ok(Some(name.clone())),
        verdict => {
            let proved: Vec<&str> = find.plans().map(|p| p.template.name.as_str()).collect();
            let refused = Diagnostic::new(
                Code::Find,
                format!("template `{name}` is not proved for {}", find.problem.describe()),
            );
            let refused = match verdict {
                // A note of its own is easier to read.
                Verdict::Refuted(r) => match r.counterexample() {
                    Some(model) => refused.note(r.why()).note(format!("counterexample: {model}")),
                    None => refused.note(r.why()),
                },
                _ => refused.note(verdict.to_string()),
            };
            Err(refused.help(format!("proved here: {}", proved.join(", "))))
        }
    }
}
