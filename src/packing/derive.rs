//! From a declaration to its packing plan.
//!
//! In: a [`Layout`]. Out: a [`Plan`], or a refusal naming the index array (or the position) that the
//! relation leaves undetermined and saying what it lacks.

use indexmap::IndexMap;

use super::bounds::{Bounds, of_position};
use super::columns::call_name;
use super::intervals;
use super::inverse::{Form, Inverse, calls};
use super::order;
use super::plan::{Count, Forms, Interval, Level, Measure, Measured, Order, Plan, Position, Role};
use super::probing;
use super::refusal::refused;
use crate::check::refuse_contradiction;
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Call, Constraint, Name, Relop};
use crate::layout::{IndexArray, Layout};

impl Plan {
    /// Derives the packing plan of a layout from its relation and properties.
    ///
    /// # Errors
    /// `Code::NotPackable` if an index array is neither a count, nor a coordinate, nor otherwise
    /// determined by the coordinates; the message names it. `Code::Contradiction` if the declared
    /// properties contradict each other.
    pub fn of(layout: &Layout) -> Result<Plan> {
        refuse_contradiction(layout)?;
        Derivation::new(layout)?.plan()
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

        let (mut determined, mut numbered) = (IndexMap::new(), IndexMap::new());
        let mut aligned: IndexMap<Name, (Affine, Bounds)> = IndexMap::new();
        for position in &layout.relation.positions {
            if ties.contains_key(position) {
                continue;
            }
            match in_every_piece(&Atom::Var(position.clone())) {
                Some(forms) => {
                    determined.insert(position.clone(), forms);
                }
                None => {
                    let bounds = of_position(layout, &pieces[0], position)?;
                    match intervals::alignment(&pieces, position) {
                        Some(e) => drop(aligned.insert(position.clone(), (e, bounds))),
                        None => drop(numbered.insert(position.clone(), bounds)),
                    }
                }
            }
        }

        let (mut keys, mut open) = (Vec::new(), Vec::new());
        for atom in calls(&pieces[0]) {
            let Atom::Call(call) = &atom else { continue };
            let bounds_a_position = numbered.values().any(|b: &Bounds| b.calls().contains(call))
                || aligned
                    .values()
                    .any(|(_, b)| b.segments().is_some() && b.calls().contains(call));
            if bounds_a_position {
                continue;
            }
            match in_every_piece(&atom) {
                Some(forms) => keys.push((call.clone(), forms)),
                None => open.push(call.clone()),
            }
        }
        let measures = intervals::measures(layout, &pieces, &aligned, &numbered, open)
            .map_err(|call| undetermined(layout, &call))?;
        Ok(Derivation { layout, inverses, ties, determined, numbered, aligned, keys, measures })
    }

    fn plan(self) -> Result<Plan> {
        let layout = self.layout;
        let levels = self.levels()?;
        let arrays = self.roles(&levels)?;
        let positions = layout
            .relation
            .positions
            .iter()
            .map(|name| {
                let position = match (self.ties.get(name), self.aligned.get(name)) {
                    (Some(tie), _) => Position::Tied(tie.clone()),
                    (None, Some((e, _))) => Position::Aligned(e.clone()),
                    (None, None) => match levels.iter().position(|level| level.position == *name) {
                        Some(level) => Position::Numbered(level),
                        None => Position::Determined,
                    },
                };
                (name.clone(), position)
            })
            .collect();
        let pieces = (0..self.inverses.len()).map(|k| self.forms(k, &levels, &arrays)).collect();
        let verify = self.inverses.len() > 1 || !self.is_single_valued();
        let mut plan = Plan {
            name: layout.name.clone(),
            value: Arith::Call(layout.value.name.clone(), layout.value.index.clone()),
            coordinates: layout.relation.coordinates.clone(),
            positions,
            levels,
            arrays,
            measures: self.measures,
            counts: IndexMap::new(),
            pieces,
            verify,
        };
        for (name, _) in layout.params.iter().filter(|(_, definition)| definition.is_none()) {
            let measured =
                plan.measures.iter().position(|m| m.what == Measured::Size(name.clone()));
            let count = match measured {
                Some(k) => Count::Measured(k),
                None => count(layout, &plan, name)?,
            };
            plan.counts.insert(name.clone(), count);
        }
        plan.complete(layout);
        Ok(plan)
    }

    /// The numbered positions, each after those that its group mentions.
    fn levels(&self) -> Result<Vec<Level>> {
        let layout = self.layout;
        let mut open: Vec<Level> = Vec::new();
        for (position, bounds) in &self.numbered {
            let owned: Vec<&Key> =
                self.keys.iter().filter(|(call, _)| self.owner(call) == Some(position)).collect();
            let measured: Vec<(&Call, &Measure)> = self
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
            for call in owned.iter().map(|(call, _)| call).chain(measured.iter().map(|m| m.0)) {
                for arg in &call.args {
                    if arg.mentions(position) {
                        let mut others = false;
                        arg.visit_vars(&mut |n| others |= n != position);
                        if others {
                            return Err(refused(
                                layout,
                                format!("`{}` is read at `{arg}`", call.array),
                            )
                            .help("read it at one position, e.g. `crd(p1)`"));
                        }
                    } else if !group.contains(arg) && arg.as_constant().is_none() {
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
            let keys: Vec<Call> = choice.keys.iter().map(|&k| owned[k].0.clone()).collect();
            let interval = self.interval(position, &measured)?;
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

    /// The numbered position that a key belongs to: the innermost of its arguments'.
    fn owner(&self, call: &Call) -> Option<&Name> {
        let mentioned: Vec<&Name> =
            self.numbered.keys().filter(|p| call.args.iter().any(|a| a.mentions(p))).collect();
        let inside = |p: &Name, outer: &Name| {
            p == outer || self.numbered[p].group().iter().any(|a| a.mentions(outer))
        };
        let innermost = mentioned.iter().find(|p| mentioned.iter().all(|outer| inside(p, outer)));
        innermost.or(mentioned.last()).copied()
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
            for (key, call) in this.keys.iter().enumerate() {
                add(&call.array, Role::Key { level, key, args: call.args.clone() })?;
            }
        }
        for (call, _) in &self.keys {
            if self.owner(call).is_none() {
                add(&call.array, Role::Function { args: call.args.clone() })?;
            }
        }
        for (k, measure) in self.measures.iter().enumerate() {
            if let Measured::Element(call) | Measured::Length(call) = &measure.what {
                add(&call.array, Role::Measured(k))?;
            }
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

/// Positions that are functions of other undetermined ones, e.g. `p1 = p0`.
fn ties(layout: &Layout, piece: &[Constraint]) -> IndexMap<Name, Affine> {
    let inverse = Inverse::new(layout, piece);
    let mut free: Vec<Name> = layout.relation.positions.clone();
    free.retain(|p| inverse.of_coordinates(&Atom::Var(p.clone())).is_none());
    let mut ties: IndexMap<Name, Affine> = IndexMap::new();
    for position in free.clone().iter().rev() {
        let coordinates = layout.relation.coordinates.iter();
        let others = free.iter().filter(|p| *p != position);
        let inputs: Vec<Atom> = coordinates.chain(others).cloned().map(Atom::Var).collect();
        let Some(form) = inverse.function(&inputs, &Atom::Var(position.clone())) else { continue };
        if let [(_, value)] = form.as_slice() {
            ties.insert(position.clone(), value.clone());
            free.retain(|p| p != position);
        }
    }
    ties
}

fn undetermined(layout: &Layout, call: &Call) -> Box<Diagnostic> {
    let array = &call.array;
    refused(
        layout,
        format!(
            "index array `{array}` is neither a coordinate, nor a count, nor otherwise determined \
             by the coordinates"
        ),
    )
    .note(format!("`{}` has no unique value for given coordinates", Atom::Call(call.clone())))
    .help(format!(
        "relate `{array}` to a coordinate by an equation, or use it as `{array}(u) <= p < {array}(u + 1)`"
    ))
}

/// What the parameter `name` counts.
fn count(layout: &Layout, plan: &Plan, name: &Name) -> Result<Count> {
    let count = |level: usize, offset: i64| {
        let this = &plan.levels[level];
        let grouped = this.restarts && this.group.iter().any(|g| g.as_constant().is_none());
        match grouped {
            _ if this.probed.is_some() => Count::Slots { level },
            true => Count::LargestGroup { level, offset },
            false => Count::Positions { level, offset },
        }
    };
    // `e = name + offset` as an exclusive bound of a position.
    let exclusive = |e: &Affine| (e.clone() - Affine::var(name.clone())).as_constant();
    for (level, this) in plan.levels.iter().enumerate() {
        if let Some(offset) = this.size.as_ref().and_then(&exclusive) {
            return Ok(count(level, this.first - offset));
        }
    }
    for (array, role) in plan.roles() {
        let declared: &IndexArray = &layout.arrays[array];
        match role {
            Role::Key { level, args, .. } => {
                let this = &plan.levels[*level];
                for (arg, formal) in args.iter().zip(&declared.args) {
                    let bound = declared.domain.iter().find_map(|c| upper_bound(c, formal));
                    if arg.as_var() == Some(&this.position)
                        && let Some(offset) = bound.as_ref().and_then(&exclusive)
                    {
                        return Ok(count(*level, this.first - offset));
                    }
                }
            }
            Role::Segments { level, .. } | Role::Ends { level, .. } => {
                let bounded = declared.range.iter().any(|c| {
                    let call = c.affine.terms().iter().find_map(|(a, k)| match a {
                        Atom::Call(call) if *k == -1 && call.array == *array => Some(a),
                        _ => None,
                    });
                    call.is_some_and(|call| {
                        let rest = c.affine.clone() + Affine::atom(call.clone());
                        c.relop == Relop::Ge && rest.as_var() == Some(name)
                    })
                });
                if bounded {
                    return Ok(count(*level, 0));
                }
            }
            _ => {}
        }
    }
    for (subscript, extent) in layout.value.index.iter().zip(&layout.value.shape) {
        let level =
            plan.levels.iter().position(|l| matches!(subscript, Arith::Var(n) if *n == l.position));
        if let (Some(level), Arith::Var(n)) = (level, extent)
            && n == name
        {
            return Ok(count(level, plan.levels[level].first));
        }
    }
    Err(refused(layout, format!("nothing says what the size `{name}` counts"))
        .help(format!("bound a position by it, e.g. `0 <= p < {name}`, or define it in [params]")))
}

/// The exclusive upper bound of `x` in `c`, if it is one.
fn upper_bound(c: &Constraint, x: &Name) -> Option<Affine> {
    if c.relop != Relop::Ge || c.affine.coefficient_of_var(x) != -1 {
        return None;
    }
    let rest = c.affine.clone() + Affine::var(x.clone());
    (!rest.mentions(x)).then(|| rest + Affine::constant(1))
}
