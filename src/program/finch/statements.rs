//! Statements of index notation, as they are made for a program one after the other.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::locate::Locate;
use super::lower::Tree;
use super::nest::{Event, Turns, Update, events};
use super::operations::{constant, element, guarded, indices, zero};
use super::outside::Reach;
use super::refusal::not_compiled;
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Constraint, Formula, Name};
use crate::operators::{Operator, Operators};
use crate::program::display::AsNotation;
use crate::program::ir::{Access, Expr, Fill, update_prefix};
use crate::program::sequence::{renamed_access, renamed_value};
use crate::program::typing::typed_freely;
use crate::tensor::ValueType;

/// One of the steps that a program becomes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Statement(Statement),
    Locate(Locate),
}

/// Steps of which others need what is kept.
pub(super) type Part<'s> = (&'s [Step], Vec<Name>);

impl Step {
    pub(super) fn statement(&self) -> Option<&Statement> {
        match self {
            Step::Statement(statement) => Some(statement),
            Step::Locate(_) => None,
        }
    }

    pub(super) fn locate(&self) -> Option<&Locate> {
        match self {
            Step::Statement(_) => None,
            Step::Locate(locate) => Some(locate),
        }
    }

    /// Whether it needs what earlier steps compute of a tensor.
    pub(super) fn needs(&self, tensor: &Name) -> bool {
        match self {
            Step::Statement(s) => s.reads(tensor) || !s.is_first && s.output.tensor == *tensor,
            Step::Locate(locate) => locate.from == *tensor,
        }
    }

    pub(super) fn writes(&self, tensor: &Name) -> bool {
        self.statement().is_some_and(|s| s.output.tensor == *tensor)
    }
}

/// A statement of index notation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub output: Access,
    /// `None`: `=`, a sum that starts from nothing.
    pub op: Option<Arc<Operator>>,
    pub value: Expr,
    pub formulas: Vec<Formula>,
    /// Whether it is the first that writes its output.
    pub is_first: bool,
}

impl Statement {
    pub fn text(&self) -> String {
        let prefix = self.op.as_ref().map_or("", |op| update_prefix(op));
        let text = AsNotation { output: &self.output, prefix, value: &self.value };
        match self.formulas.is_empty() {
            true => text.to_string(),
            false => format!("{text} if {}", Formula::and(self.formulas.clone())),
        }
    }

    pub fn reads(&self, tensor: &Name) -> bool {
        self.value.accesses().iter().any(|a| a.tensor == *tensor)
    }
}

/// What a tensor of the program is at a point of it.
#[derive(Clone)]
pub(super) enum State {
    /// All elements are this.
    Fresh(Fill),
    /// As the host gives it.
    Given,
    /// Computed, under a name.
    Own(Name),
}

/// A statement to be made: an element of the output is combined with the value.
pub(super) struct Put {
    pub output: Access,
    /// `None`: a sum that starts from nothing.
    pub op: Option<Arc<Operator>>,
    pub value: Expr,
    pub formulas: Vec<Formula>,
    /// All loops around.
    pub loops: Vec<Name>,
}

pub(super) struct Maker<'a> {
    pub tree: &'a Tree,
    pub states: IndexMap<Name, State>,
    /// Of all indices.
    pub indices: IndexMap<Name, usize>,
    /// Of all tensors, those that are made included.
    pub tensors: IndexMap<Name, Vec<usize>>,
    pub types: IndexMap<Name, ValueType>,
    pub steps: Vec<Step>,
    /// For one update: what is true everywhere along an index.
    pub ones: IndexMap<Name, Expr>,
    taken: FxHashSet<Name>,
}

impl<'a> Maker<'a> {
    pub fn new(tree: &'a Tree) -> Maker<'a> {
        let mut taken: FxHashSet<Name> = FxHashSet::default();
        taken.extend(tree.extents.indices.keys().cloned());
        taken.extend(tree.extents.tensors.keys().cloned());
        taken.extend(tree.given.values().cloned());
        taken.extend(tree.returned.iter().map(|r| r.name.clone()));
        Maker {
            tree,
            states: tree.given.keys().map(|name| (name.clone(), State::Given)).collect(),
            indices: tree.extents.indices.clone(),
            tensors: tree.extents.tensors.clone(),
            types: tree.types.own.clone(),
            steps: Vec::new(),
            ones: IndexMap::new(),
            taken,
        }
    }

    /// All statements of the program, and under which name each part of what it returns is computed.
    pub fn made(&mut self) -> Result<()> {
        let tree = self.tree;
        // Loops around what has levels are outer levels: in the language these are the last dimensions.
        let is_layered = |tensor: &Name| {
            tree.stated.contains_key(tensor) && !tree.extents.tensors[tensor].is_empty()
        };
        let events = events(tree.program.root(), &is_layered)?;
        let mut turns: IndexMap<usize, Vec<&Update<'_>>> = IndexMap::new();
        for event in &events {
            self.ones.clear();
            match event {
                // What is given is there.
                Event::Begin { fill: None, .. } => {}
                Event::Begin { tensor, around, fill: Some(fill) } => {
                    let own = tree.extents.tensors[*tensor].iter().copied();
                    let around = around.iter().map(|i| self.indices[i]);
                    let dims: Vec<usize> = match is_layered(tensor) {
                        true => own.chain(around.rev()).collect(),
                        false => around.chain(own).collect(),
                    };
                    self.tensors.insert((*tensor).clone(), dims);
                    self.types.insert((*tensor).clone(), self.tree.types.of(tensor));
                    self.states.insert((*tensor).clone(), State::Fresh((*fill).clone()));
                }
                // No iteration reaches it, nor what it asks.
                Event::Update(u) if u.loops.iter().any(|l| self.indices[&l.index] == 0) => {}
                Event::Update(update) => match update.turns {
                    None => self.update(update)?,
                    Some(Turns { group, count }) => {
                        let all = turns.entry(group).or_default();
                        all.push(update);
                        if all.len() == count {
                            self.take_turns(all)?;
                        }
                    }
                },
            }
        }
        Ok(())
    }

    pub fn fresh(&mut self, name: &str) -> Name {
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        let mut all = std::iter::once(name.to_string()).chain(numbered).map(Name::from);
        let name = all.find(|n| !self.taken.contains(n)).unwrap_or_else(|| Name::from(name));
        self.taken.insert(name.clone());
        name
    }

    /// A new tensor.
    pub fn tensor(&mut self, name: &str, ty: ValueType, dims: Vec<usize>) -> Name {
        let name = self.fresh(name);
        self.tensors.insert(name.clone(), dims);
        self.types.insert(name.clone(), ty);
        name
    }

    /// A new index.
    pub fn index(&mut self, name: &str, extent: usize) -> Name {
        let name = self.fresh(name);
        self.indices.insert(name.clone(), extent);
        name
    }

    /// Indices along all dimensions of a tensor: where `like` runs along one with an index of its own, that.
    pub fn along(&mut self, tensor: &Name, like: &Access) -> Vec<Name> {
        let dims = self.tensors[tensor].clone();
        let mut out: Vec<Name> = Vec::new();
        for (d, extent) in dims.into_iter().enumerate() {
            let own = like.subscripts[d].as_var().cloned();
            let own = own.filter(|i| self.indices.get(i) == Some(&extent) && !out.contains(i));
            let index = own.unwrap_or_else(|| self.index("d", extent));
            out.push(index);
        }
        out
    }

    /// Whether an access runs along whole dimensions with an index for each.
    pub fn covers(&self, access: &Access) -> bool {
        let dims = &self.tensors[&access.tensor];
        access.subscripts.iter().zip(dims).enumerate().all(|(d, (subscript, extent))| {
            subscript.as_var().is_some_and(|i| {
                let again = access.subscripts[..d].iter().any(|s| s.as_var() == Some(i));
                !again && self.indices.get(i) == Some(extent)
            })
        })
    }

    /// What an element of a tensor is now.
    pub fn read(&self, access: &Access) -> Result<Expr> {
        Ok(match self.states.get(&access.tensor) {
            Some(State::Fresh(fill)) => self.begins(&access.tensor, fill)?,
            Some(State::Own(name)) => {
                let mut access = access.clone();
                access.tensor = name.clone();
                Expr::Access(access)
            }
            Some(State::Given) | None => Expr::Access(access.clone()),
        })
    }

    /// What the elements of a tensor begin with, as a number of its type.
    pub fn begins(&self, tensor: &Name, fill: &Fill) -> Result<Expr> {
        let ty = self.types[tensor];
        let outside = || Diagnostic::defect(format!("`{tensor}` cannot begin so as {ty}"));
        constant(fill.value(ty).ok_or_else(outside)?)
    }

    /// The statements for it: one for each region.
    pub fn put(&mut self, put: &Put) -> Result<()> {
        let tree = self.tree;
        let reach = Reach { indices: &self.indices, tensors: &self.tensors };
        // What lies outside is not written; that is said.
        let inside = reach.inside(&put.output);
        let formulas: Vec<Formula> = match inside.is_true() {
            true => put.formulas.clone(),
            false => put.formulas.iter().cloned().chain([inside]).collect(),
        };
        // What is assembled is written by one statement.
        let regions = match tree.searched.contains(&put.output.tensor) && reach.fits(&put.value) {
            true => vec![(put.value.clone(), formulas)],
            false => reach.regions(&put.value, &formulas)?,
        };
        let ty = self.types[&put.output.tensor];
        if regions.is_empty() && put.op.is_none() {
            let nothing = zero(ty)?;
            return self.fill(&put.output.tensor, nothing);
        }
        for (k, (value, formulas)) in regions.into_iter().enumerate() {
            let op = match &put.op {
                None if k > 0 => Some(Operators::sum()?),
                op => op.clone(),
            };
            let value = self.mentioning(value, &formulas, put)?;
            self.statement(&put.output, op.as_ref(), &value, formulas);
        }
        Ok(())
    }

    /// The value with all loops of a statement as subscripts: an index that is none becomes that of a tensor
    /// that is true everywhere.
    fn mentioning(&mut self, value: Expr, formulas: &[Formula], put: &Put) -> Result<Expr> {
        let mut conditions = Vec::new();
        for index in &put.loops {
            let is_subscript =
                put.output.mentions(index) || value.accesses().iter().any(|a| a.mentions(index));
            if is_subscript {
                continue;
            }
            let mut counts = formulas.iter().any(|f| f.free_vars().contains(index));
            value.visit(&mut |e| counts |= matches!(e, Expr::Index(own, _) if own == index));
            let again = put.op.as_ref().is_some_and(|op| op.is_idempotent());
            if !counts && again && self.indices[index] > 0 {
                continue;
            }
            let one = match self.ones.get(index) {
                Some(one) => one.clone(),
                None => {
                    let extent = self.indices[index];
                    let name = self.tensor("one", ValueType::Bool, vec![extent]);
                    let one = element(&name, std::slice::from_ref(index));
                    self.statement(&one, None, &super::operations::literal("true"), Vec::new());
                    self.ones.insert(index.clone(), Expr::Access(one.clone()));
                    Expr::Access(one)
                }
            };
            conditions.push(one);
        }
        if conditions.is_empty() {
            return Ok(value);
        }
        let ty = self.types[&put.output.tensor];
        let nothing = match &put.op {
            None => zero(ty)?,
            Some(op) => match op.identity(ty, 1) {
                Some(identity) => constant(identity)?,
                None => {
                    let what = "a repetition of an operator without an identity";
                    return Err(not_compiled(what, put.output.span.clone()));
                }
            },
        };
        guarded(&conditions, value, nothing)
    }

    /// All elements of a tensor become a number.
    pub fn fill(&mut self, tensor: &Name, value: Expr) -> Result<()> {
        let none = Access {
            tensor: tensor.clone(),
            subscripts: vec![Affine::zero(); self.tensors[tensor].len()],
            windows: Vec::new(),
            span: 0..0,
        };
        let indices = self.along(tensor, &none);
        self.statement(&element(tensor, &indices), None, &value, Vec::new());
        Ok(())
    }

    /// Puts into a tensor that is new, and else holds `otherwise`, with which the operator begins.
    pub fn put_new(&mut self, otherwise: Expr, mut put: Put) -> Result<()> {
        let tensor = put.output.tensor.clone();
        if self.covers(&put.output) {
            let before = self.steps.len();
            self.put(&put)?;
            // Where there is no iteration, nothing was put.
            return match self.steps.len() > before {
                true => Ok(()),
                false => self.fill(&tensor, otherwise),
            };
        }
        self.fill(&tensor, otherwise)?;
        put.op = Some(put.op.take().map_or_else(Operators::sum, Ok)?);
        self.put(&put)
    }

    pub fn statement(
        &mut self,
        output: &Access,
        op: Option<&Arc<Operator>>,
        value: &Expr,
        formulas: Vec<Formula>,
    ) {
        let same = |s: &Step| matches!(s, Step::Statement(s) if s.output.tensor == output.tensor);
        let is_first = !self.steps.iter().any(same);
        let (mut output, op, mut value) = (output.clone(), op.cloned(), value.clone());
        let mut formulas = formulas;
        self.cover(&mut output, &mut value, &mut formulas);
        let reach = Reach { indices: &self.indices, tensors: &self.tensors };
        reach.open(&mut output);
        reach.open_all(&mut value);
        self.steps.push(Step::Statement(Statement { output, op, value, formulas, is_first }));
    }

    /// An index alone in a subscript of the output runs along the whole dimension, which it says the extent of: one that
    /// does not is one that does, as far as the other goes. Those that go farther are restricted already.
    fn cover(&mut self, output: &mut Access, value: &mut Expr, formulas: &mut Vec<Formula>) {
        for d in 0..output.rank() {
            let Some(index) = output.plain(d).cloned() else { continue };
            let extent = self.tensors[&output.tensor][d];
            let Some(own) = self.indices.get(&index).copied().filter(|own| *own != extent) else {
                continue;
            };
            let whole = self.index(&index, extent);
            let new = |name: &Name| (*name == index).then(|| whole.clone());
            renamed_access(output, &new);
            renamed_value(value, &new);
            formulas.iter_mut().for_each(|formula| *formula = formula.rename(&new));
            if own < extent {
                let last = Affine::constant(own as i64 - 1);
                formulas.push(Formula::Constraint(Constraint::le(Affine::var(whole), last)));
            }
        }
    }

    /// The type of a value; none if it takes that of what it stands beside.
    pub(super) fn type_of(&self, value: &Expr) -> Result<Option<ValueType>> {
        let mut is_number = true;
        value.visit(&mut |e| is_number &= matches!(e, Expr::Literal(_) | Expr::Apply(_)));
        let mut leaf = |e: &Expr| {
            let ty = match e {
                Expr::Access(access) => self.types[&access.tensor],
                Expr::Within(_) => ValueType::Bool,
                _ => ValueType::I64,
            };
            // Leaves of one kind are never compared: their types say it all.
            Ok((0_u8, ty))
        };
        let (_, ty) = typed_freely(value, &mut leaf)?;
        Ok((!is_number || ty == ValueType::Bool).then_some(ty))
    }

    /// A value in a type: numbers that it then stands beside take that, and not a narrower one.
    pub fn converted(
        &mut self,
        value: Expr,
        ty: ValueType,
        loops: &[Name],
        formulas: &[Formula],
    ) -> Result<Expr> {
        if self.type_of(&value)?.is_none_or(|own| own == ty) {
            return Ok(value);
        }
        let loops = mentioned(&value, formulas, loops);
        let dims = loops.iter().map(|i| self.indices[i]).collect();
        let name = self.tensor("as", ty, dims);
        let output = element(&name, &loops);
        let formulas = formulas.to_vec();
        self.put(&Put { output: output.clone(), op: None, value, formulas, loops })?;
        Ok(Expr::Access(output))
    }

    /// A tensor that can be updated: what a fresh or given one holds is stored first.
    pub fn stored(&mut self, tensor: &Name) -> Result<Name> {
        match self.states.get(tensor).cloned() {
            Some(State::Own(name)) => Ok(name),
            Some(State::Fresh(fill)) => {
                let value = self.begins(tensor, &fill)?;
                self.fill(tensor, value)?;
                self.states.insert(tensor.clone(), State::Own(tensor.clone()));
                Ok(tensor.clone())
            }
            Some(State::Given) => {
                self.becomes(tensor, None, |maker, indices| maker.read(&element(tensor, indices)))
            }
            None => Err(Diagnostic::defect(format!("`{tensor}` is nothing"))),
        }
    }

    /// All elements of a tensor become something, under a new name.
    pub fn becomes(
        &mut self,
        tensor: &Name,
        like: Option<&Access>,
        value: impl FnOnce(&Maker<'_>, &[Name]) -> Result<Expr>,
    ) -> Result<Name> {
        let dims = self.tensors[tensor].clone();
        let none = Access {
            tensor: tensor.clone(),
            subscripts: vec![Affine::zero(); dims.len()],
            windows: Vec::new(),
            span: 0..0,
        };
        let indices = self.along(tensor, like.unwrap_or(&none));
        let value = value(self, &indices)?;
        let name = self.tensor(tensor, self.types[tensor], dims);
        let output = element(&name, &indices);
        self.put(&Put { output, op: None, value, formulas: Vec::new(), loops: indices })?;
        self.states.insert(tensor.clone(), State::Own(name.clone()));
        Ok(name)
    }
}

/// The loops that decide a value and formulas, in their order.
pub(super) fn mentioned(value: &Expr, formulas: &[Formula], loops: &[Name]) -> Vec<Name> {
    let mut found: Vec<Name> = formulas.iter().flat_map(Formula::free_vars).collect();
    found.extend(indices(value));
    loops.iter().filter(|l| found.contains(l)).cloned().collect()
}
