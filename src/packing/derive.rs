//! From a declaration to its packing plan, part by part.
//!
//! In: a [`Layout`]. Out: a [`Part`], or a refusal naming the index array (or the position) that the
//! relation leaves undetermined and saying what it lacks.

use indexmap::IndexMap;

use super::bounds::{Bounds, of_position};
use super::columns::call_name;
use super::confirm::{Made, open_conditions};
use super::counts::count;
use super::covered;
use super::cuts;
use super::free_numbers::chosen;
use super::intervals;
use super::inverse::{Form, Inverse, calls};
use super::order;
use super::part::{
    Count, Covered, Cut, Forms, Interval, Level, Measure, Measured, Order, Part, Position, Role,
};
use super::probing;
use super::refusal::{refused, undetermined};
use super::ties::ties;
use crate::diagnostic::Result;
use crate::formula::{Affine, Atom, Call, Constraint, Name};
use crate::layout::Layout;

impl Part {
    /// Derives how to pack a part from its relation and properties.
    ///
    /// # Errors
    /// As [`Plan::of`](super::Plan::of).
    pub(super) fn derive(layout: Layout) -> Result<Part> {
        let (layout, chosen) = chosen(layout);
        let mut part = match Derivation::new(&layout).and_then(Derivation::part) {
            Ok(part) => {
                let covered = part.has_runs().then(|| Covered::of(&part));
                Part { covered, layout, ..part }
            }
            Err(e) => {
                let common = covered::common(&layout).filter(|_| covered::is_chained(&layout));
                let Some(common) = common else { return Err(e) };
                // What is said of the whole is said of its parts.
                let Ok(part) = Derivation::new(&common).and_then(Derivation::part) else {
                    return Err(e);
                };
                let part = Part { layout: common, ..part };
                Part { covered: Some(Covered::of(&part)), ..part }
            }
        };
        part.chosen = chosen;
        Ok(part)
    }
}

/// A determined call with its functions, one for each piece.
type Key = (Call, Vec<Form>);

struct Derivation<'a> {
    layout: &'a Layout,
    inverses: Vec<Inverse>,
    ties: IndexMap<Name, Affine>,
    /// For each physical dimension that the coordinates determine, its functions by piece.
    determined: IndexMap<Name, Vec<Form>>,
    /// Positions that cut the coordinates into intervals.
    cuts: Vec<Cut>,
    /// Positions to be numbered, in storage order, with their bounds.
    numbered: IndexMap<Name, Bounds>,
    /// Positions that are aligned with coordinates, with their bounds.
    aligned: IndexMap<Name, (Affine, Bounds)>,
    /// Calls that the coordinates determine.
    keys: Vec<Key>,
    /// What is measured over the entries.
    measures: Vec<Measure>,
}

impl<'a> Derivation<'a> {
    fn new(layout: &'a Layout) -> Result<Derivation<'a>> {
        let Some(first) = layout.relation.pieces.first() else {
            return Err(refused(layout, "its relation is empty")
                .help("give the relation a piece that has points"));
        };
        let ties = ties(layout, first);
        let substitute = |c: &Constraint| c.substitute(&|n| ties.get(n).cloned());
        let pieces: Vec<Vec<Constraint>> = layout
            .relation
            .pieces
            .iter()
            .map(|piece| {
                piece.iter().map(substitute).filter(|c| c.as_bool() != Some(true)).collect()
            })
            .collect();
        let inverses: Vec<Inverse> = pieces.iter().map(|p| Inverse::new(layout, p)).collect();
        let in_every_piece = |atom: &Atom| -> Option<Vec<Form>> {
            inverses.iter().map(|inverse| inverse.of_coordinates(atom)).collect()
        };

        let (mut determined, mut open) = (IndexMap::new(), IndexMap::new());
        for position in layout.relation.positions.iter().filter(|p| !ties.contains_key(*p)) {
            // A rank that can only be the first (`p1 < len(p0)` and `p1 < 1`) is a rank all the same.
            let is_rank = || {
                let bounds = of_position(layout, &pieces[0], position);
                bounds.is_ok_and(|bounds| !bounds.calls().is_empty())
            };
            match in_every_piece(&Atom::Var(position.clone())) {
                Some(forms) if !forms.iter().all(is_constant) || !is_rank() => {
                    determined.insert(position.clone(), forms);
                }
                _ => {
                    open.insert(position.clone(), of_position(layout, &pieces[0], position)?);
                }
            }
        }
        let is_counted = |n: &Name| matches!(layout.params.get(n), Some(None));
        let is_known =
            |n: &Name| determined.contains_key(n) || layout.relation.coordinates.contains(n);
        let cuts = cuts::cuts(layout, &pieces, &open, &is_counted, &is_known);
        open.retain(|p, _| !cuts.iter().any(|cut| cut.position == *p));
        let equations = intervals::alignments(layout, &pieces, &open);
        let (mut numbered, mut aligned) = (IndexMap::new(), IndexMap::new());
        for (position, bounds) in open {
            match equations.get(&position) {
                Some(e) => drop(aligned.insert(position, (e.clone(), bounds))),
                None => drop(numbered.insert(position, bounds)),
            }
        }

        let (mut keys, mut open) = (Vec::new(), Vec::new());
        for atom in calls(&pieces[0]) {
            let Atom::Call(call) = &atom else { continue };
            let bounds_a_position = numbered.values().any(|b: &Bounds| b.calls().contains(call))
                || aligned
                    .values()
                    .any(|(_, b)| b.segments().is_some() && b.calls().contains(call));
            if bounds_a_position || cuts.iter().any(|cut| [&cut.start, &cut.end].contains(&call)) {
                continue;
            }
            match in_every_piece(&atom) {
                Some(forms) => keys.push((call.clone(), forms)),
                None => open.push(call.clone()),
            }
        }
        let measures = intervals::measures(layout, &pieces, &aligned, &numbered, open)
            .map_err(|call| undetermined(layout, &call))?;
        Ok(Derivation {
            layout,
            inverses,
            ties,
            determined,
            cuts,
            numbered,
            aligned,
            keys,
            measures,
        })
    }

    fn part(self) -> Result<Part> {
        let layout = self.layout;
        let mut levels = self.levels()?;
        let arrays = self.roles(&levels)?;
        for level in 0..levels.len() {
            levels[level].by_count = order::by_count(layout, &levels, level, &arrays);
        }
        let positions = layout
            .relation
            .positions
            .iter()
            .map(|name| {
                let position = match (self.ties.get(name), self.aligned.get(name)) {
                    (Some(tie), _) => Position::Tied(tie.clone()),
                    (None, Some((e, _))) => Position::Aligned(e.clone()),
                    (None, None) => {
                        let level = levels.iter().position(|level| level.position == *name);
                        let cut = self.cuts.iter().position(|cut| cut.position == *name);
                        match (level, cut) {
                            (Some(level), _) => Position::Numbered(level),
                            (None, Some(cut)) => Position::Cut(cut),
                            (None, None) => Position::Determined,
                        }
                    }
                };
                (name.clone(), position)
            })
            .collect();
        let pieces = (0..self.inverses.len()).map(|k| self.forms(k, &levels, &arrays)).collect();
        let mut plan = Part {
            layout: layout.clone(),
            single_valued: self.is_single_valued(),
            uncounted: Vec::new(),
            positions,
            levels,
            arrays,
            measures: self.measures.clone(),
            cuts: self.cuts.clone(),
            counts: IndexMap::new(),
            pieces,
            open: Vec::new(),
            covered: None,
            chosen: Vec::new(),
        };
        for (name, _) in layout.params.iter().filter(|(_, definition)| definition.is_none()) {
            let measured =
                plan.measures.iter().position(|m| m.what == Measured::Size(name.clone()));
            let cut = self.cuts.iter().position(|cut| cut.count == *name);
            let count = match (measured, cut) {
                (Some(k), _) => Count::Measured(k),
                (None, Some(k)) => Count::Intervals(k),
                (None, None) => {
                    match (count(layout, &plan, name), intervals::extreme(layout, name)) {
                        (Err(_), Some(measure)) => {
                            let late = measure.of.iter().any(|e| {
                                self.aligned.keys().any(|p| e.mentions(p)) || e.has_calls()
                            });
                            Count::Measured(plan.add_measure(measure, late))
                        }
                        (Ok(count), _) => count,
                        (Err(refusal), None) => {
                            plan.uncounted.push((name.clone(), refusal));
                            continue;
                        }
                    }
                }
            };
            plan.counts.insert(name.clone(), count);
        }
        plan.complete(layout);
        let bounds: Vec<(Name, Bounds)> = self.numbered.into_iter().collect();
        let made = Made { bounds: &bounds, keys: &self.keys };
        plan.open = open_conditions(layout, &plan, &made);
        Ok(plan)
    }

    /// The numbered positions, each after those that its group mentions.
    fn levels(&self) -> Result<Vec<Level>> {
        let layout = self.layout;
        let mut open: Vec<Level> = Vec::new();
        for (position, bounds) in &self.numbered {
            let mut owned: Vec<&Key> =
                self.keys.iter().filter(|key| self.level_of(key) == Some(position)).collect();
            let mut measured: Vec<(&Call, &Measure)> = self
                .measures
                .iter()
                .filter_map(|m| match &m.what {
                    Measured::Element(call) if self.owner(call) == Some(position) => {
                        Some((call, m))
                    }
                    _ => None,
                })
                .collect();
            let mut group = bounds.group();
            if bounds.group_is_closed() {
                // What is also read at positions that are known anyway tells those of this level from none.
                let own = |call: &Call| {
                    let known = |arg: &Affine| {
                        arg.mentions(position) || group.contains(arg) || arg.as_constant().is_some()
                    };
                    self.is_late(call) || call.args.iter().all(known)
                };
                if owned.iter().any(|(call, _)| own(call)) {
                    owned.retain(|(call, _)| own(call));
                    measured.retain(|(call, _)| own(call));
                }
            }
            for call in owned.iter().map(|(call, _)| call).chain(measured.iter().map(|m| m.0)) {
                for arg in &call.args {
                    if self.aligned.keys().any(|p| arg.mentions(p)) {
                        // Where it is written follows once the numbers are known.
                    } else if arg.mentions(position) {
                        // `perm(S*w + r)` is a key of `r` within `S*w`.
                        let k = arg.coefficient_of_var(position);
                        let rest = arg.clone() - Affine::var(position.clone()) * k;
                        let mut outer = false;
                        rest.visit_vars(&mut |n| {
                            outer |= layout.relation.positions.contains(n)
                                || layout.relation.coordinates.contains(n);
                        });
                        let mut own = true;
                        arg.visit_vars(&mut |n| {
                            own &= n == position || layout.params.contains_key(n);
                        });
                        // `crd(floor(p/4), p mod 4)`: a tile of positions.
                        if own {
                            continue;
                        }
                        let given = !outer || group.contains(&rest);
                        let plain = k.abs() == 1 && !rest.mentions(position);
                        if !plain || bounds.group_is_closed() && !given {
                            return Err(refused(
                                layout,
                                format!("`{}` is read at `{arg}`", call.array),
                            )
                            .help("read it at one position, e.g. `crd(p1)`"));
                        }
                        if !given {
                            group.push(rest);
                        }
                    } else if !group.contains(arg) && arg.as_constant().is_none() {
                        if bounds.group_is_closed() && self.is_late(call) {
                            continue;
                        }
                        if bounds.group_is_closed() {
                            return Err(refused(
                                layout,
                                format!(
                                    "`{}` depends on `{arg}`, but `{position}` is not numbered within it",
                                    call.array
                                ),
                            )
                            .help(format!("bound `{position}` by an array that depends on `{arg}`")));
                        }
                        group.push(arg.clone());
                    }
                }
            }
            let named: Vec<(Call, Name)> =
                owned.iter().map(|(call, _)| (call.clone(), call.array.clone())).collect();
            let choice = order::of_keys(layout, &named, bounds.segments());
            let telling = choice.telling.unwrap_or(choice.keys.len());
            let keys: Vec<Call> =
                choice.keys.iter().take(telling).map(|&k| owned[k].0.clone()).collect();
            // What is measured at the position of a key is measured over all entries of that key.
            let interval = match choice.telling {
                Some(_) => None,
                None => self.interval(position, &measured)?,
            };
            let probed = probing::key_of(layout, position, &keys)?;
            open.push(Level {
                position: position.clone(),
                group,
                keys,
                order: match (&interval, choice.order) {
                    (Some(_), Order::Given) => Order::Increasing,
                    (_, order) => order,
                },
                // Decided below, once the groups are known.
                each_entry: !choice.unique && interval.is_none(),
                restarts: bounds.restarts(),
                first: bounds.first(),
                size: bounds.size().cloned(),
                interval,
                probed,
                // Decided once it is known what is counted.
                complete: false,
                by_count: None,
            });
        }
        let mut levels: Vec<Level> = Vec::new();
        while !open.is_empty() {
            let free = |level: &Level| {
                let waits = |other: &Level| {
                    other.position != level.position
                        && level.group.iter().any(|arg| arg.mentions(&other.position))
                };
                !open.iter().any(waits)
            };
            let Some(at) = open.iter().position(free) else {
                return Err(refused(
                    layout,
                    format!("position `{}` depends on itself", open[0].position),
                )
                .help("number outer positions without reference to inner ones"));
            };
            levels.push(open.remove(at));
        }
        for k in 0..levels.len() {
            if levels[k].each_entry && !self.identifies_entries(&levels, k) {
                // Positions below this one tell entries apart, so equal keys share a position.
                levels[k].each_entry = false;
                if levels[k].order == Order::Given {
                    levels[k].order = Order::Increasing;
                }
            }
        }
        Ok(levels)
    }

    /// The interval of coordinates that a position stands for, if arrays at the position are
    /// extremes of coordinates.
    fn interval(
        &self,
        position: &Name,
        measured: &[(&Call, &Measure)],
    ) -> Result<Option<Interval>> {
        let layout = self.layout;
        let Some((call, measure)) = measured.first() else { return Ok(None) };
        let along = &measure.of[0];
        let mut plain = !along.has_calls();
        along.visit_vars(&mut |n| plain &= layout.relation.coordinates.contains(n));
        if !plain {
            return Err(refused(layout, format!("`{}` follows `{along}`", call.array))
                .help("bound one coordinate by it, e.g. `left(p) <= i`"));
        }
        if self.numbered.values().any(|b| b.group().iter().any(|arg| arg.mentions(position))) {
            return Err(refused(
                layout,
                format!("positions are numbered within `{position}`, which is an interval"),
            )
            .help("relate inner positions to coordinates by an equation"));
        }
        let mut value_names: Vec<Name> = Vec::new();
        layout.value.index.iter().for_each(|e| e.visit_vars(&mut |n| value_names.push(n.clone())));
        let equal_values = !value_names.iter().any(|n| self.aligned.contains_key(n));
        let along = along.clone() - Affine::constant(along.offset());
        let decreasing = layout.properties.iter().any(|p| {
            p.decreasing && p.arrays.iter().any(|a| measured.iter().any(|(c, _)| c.array == *a))
        });
        Ok(Some(Interval { along: if decreasing { -along } else { along }, equal_values }))
    }

    /// The position that a determined call tells apart, if any: one that is the same at every
    /// position (`bit(p, r) = 1`) tells none.
    fn level_of(&self, (call, forms): &Key) -> Option<&Name> {
        let same = forms.iter().all(|form| is_constant(form) && form == &forms[0]);
        if same { None } else { self.owner(call) }
    }

    /// The numbered position that a key belongs to: the innermost of its arguments', and of what
    /// these are aligned with.
    fn owner(&self, call: &Call) -> Option<&Name> {
        let aligned: Vec<&Affine> = self
            .aligned
            .iter()
            .filter(|(p, _)| call.args.iter().any(|a| a.mentions(p)))
            .map(|(_, (e, _))| e)
            .collect();
        let mentions = |p: &Name| {
            call.args.iter().any(|a| a.mentions(p)) || aligned.iter().any(|e| e.mentions(p))
        };
        let mentioned: Vec<&Name> = self.numbered.keys().filter(|p| mentions(p)).collect();
        let inside = |p: &Name, outer: &Name| {
            p == outer || self.numbered[p].group().iter().any(|a| a.mentions(outer))
        };
        let innermost = mentioned.iter().find(|p| mentioned.iter().all(|outer| inside(p, outer)));
        innermost.or(mentioned.last()).copied()
    }

    /// Whether the call is read at positions that are known after all is numbered and measured.
    fn is_late(&self, call: &Call) -> bool {
        self.aligned.keys().any(|p| call.args.iter().any(|a| a.mentions(p)))
    }

    /// Whether the keys of a level and its groups determine all coordinates.
    fn identifies_entries(&self, levels: &[Level], level: usize) -> bool {
        let mut inputs: Vec<Atom> = Vec::new();
        let mut open = vec![level];
        while let Some(k) = open.pop() {
            let mut add = |atom: Atom| {
                if !inputs.contains(&atom) {
                    inputs.push(atom);
                }
            };
            levels[k].keys.iter().for_each(|call| add(Atom::Call(call.clone())));
            for arg in &levels[k].group {
                arg.visit_vars(&mut |n| match levels.iter().position(|l| l.position == *n) {
                    Some(outer) => open.push(outer),
                    None if self.determined.contains_key(n)
                        || self.layout.relation.coordinates.contains(n) =>
                    {
                        add(Atom::Var(n.clone()));
                    }
                    None => {}
                });
            }
        }
        self.determine_coordinates(&inputs)
    }

    fn determine_coordinates(&self, inputs: &[Atom]) -> bool {
        self.layout.relation.coordinates.iter().all(|c| {
            let coordinate = Atom::Var(c.clone());
            inputs.contains(&coordinate) || self.inverses[0].function(inputs, &coordinate).is_some()
        })
    }

    /// Whether every position has at most one coordinate.
    fn is_single_valued(&self) -> bool {
        let mut inputs: Vec<Atom> = self.determined.keys().cloned().map(Atom::Var).collect();
        inputs.extend(self.numbered.keys().cloned().map(Atom::Var));
        inputs.extend(self.keys.iter().map(|(call, _)| Atom::Call(call.clone())));
        for (position, (_, bounds)) in &self.aligned {
            inputs.push(Atom::Var(position.clone()));
            inputs.extend(bounds.calls().into_iter().map(Atom::Call));
        }
        for cut in &self.cuts {
            inputs.push(Atom::Var(cut.position.clone()));
            inputs.extend([&cut.start, &cut.end].map(|call| Atom::Call(call.clone())));
        }
        inputs.extend(self.measures.iter().filter_map(|m| match &m.what {
            Measured::Element(call) => Some(Atom::Call(call.clone())),
            _ => None,
        }));
        self.determine_coordinates(&inputs)
    }

    /// What every index array holds.
    fn roles(&self, levels: &[Level]) -> Result<IndexMap<Name, Vec<Role>>> {
        let layout = self.layout;
        let mut found: IndexMap<Name, Vec<Role>> = IndexMap::new();
        let mut add = |name: &Name, role: Role| -> Result<()> {
            let roles = found.entry(name.clone()).or_default();
            if roles.contains(&role) {
                return Ok(());
            }
            if !roles.iter().all(|other| apart(other, &role)) {
                return Err(refused(
                    layout,
                    format!("index array `{name}` would have to hold two different things"),
                )
                .help("use one index array for each, or tell them apart by a constant argument"));
            }
            roles.push(role);
            Ok(())
        };
        for (level, this) in levels.iter().enumerate() {
            for (name, role) in self.numbered[&this.position].roles(level) {
                add(&name, role)?;
            }
            for (key, call) in this.keys.iter().enumerate().filter(|(_, c)| !self.is_late(c)) {
                add(&call.array, Role::Key { level, key, args: call.args.clone() })?;
            }
        }
        for key @ (call, _) in &self.keys {
            let tells = levels.iter().any(|level| level.keys.contains(call));
            if self.level_of(key).is_none() || self.is_late(call) || !tells {
                add(&call.array, Role::Function { args: call.args.clone() })?;
            }
        }
        for (k, measure) in self.measures.iter().enumerate() {
            if let Measured::Element(call) | Measured::Length(call) = &measure.what {
                add(&call.array, Role::Measured(k))?;
            }
        }
        for (k, cut) in self.cuts.iter().enumerate() {
            add(&cut.start.array, Role::Borders(k))?;
        }
        let mut roles = IndexMap::new();
        for name in layout.arrays.keys() {
            match found.swap_remove(name) {
                Some(role) => roles.insert(name.clone(), role),
                None => {
                    return Err(refused(
                        layout,
                        format!("the relation does not say what index array `{name}` holds"),
                    )
                    .help(format!("relate `{name}` to positions and coordinates, or remove it")));
                }
            };
        }
        Ok(roles)
    }

    /// The functions of piece `k`.
    fn forms(&self, k: usize, levels: &[Level], arrays: &IndexMap<Name, Vec<Role>>) -> Forms {
        let form_of = |call: &Call| {
            let key = self.keys.iter().find(|(other, _)| other == call);
            key.map_or_else(Vec::new, |(_, forms)| forms[k].clone())
        };
        let positions = self.layout.relation.positions.iter();
        Forms {
            domain: self.inverses[k].domain(),
            positions: positions.map(|p| self.determined.get(p).map(|f| f[k].clone())).collect(),
            keys: levels.iter().map(|l| l.keys.iter().map(form_of).collect()).collect(),
            functions: self
                .keys
                .iter()
                .filter(|(call, _)| {
                    let role = Role::Function { args: call.args.clone() };
                    arrays.get(&call.array).is_some_and(|roles| roles.contains(&role))
                })
                .map(|(call, forms)| (call_name(call), forms[k].clone()))
                .collect(),
        }
    }
}

/// Whether the function is the same number everywhere.
fn is_constant(form: &Form) -> bool {
    matches!(form.as_slice(), [(_, e)] if e.as_constant().is_some())
}

/// Whether a constant argument tells the elements of two roles apart.
fn apart(a: &Role, b: &Role) -> bool {
    let args = |role: &'_ Role| match role {
        Role::Key { args, .. } | Role::Function { args } => args.clone(),
        _ => Vec::new(),
    };
    let differ = |(a, b): (Affine, Affine)| match (a.as_constant(), b.as_constant()) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    };
    args(a).into_iter().zip(args(b)).any(differ)
}
