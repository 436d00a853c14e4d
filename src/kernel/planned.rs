//! A planned kernel: what all stages up to the choice have made of a request.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::grounds::Grounds;
use super::repacked::{Made, Repacked};
use crate::code::IndexWidth;
use crate::code::naming::Naming;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Operand, Role, Space, Wanted, compose_by};
use crate::layout::Layout;
use crate::loops::{Assembled, Gather, Loops, Sequence, Statement, build, makes_runs, steps};
use crate::module::{KernelSpec, Module, Way, Ways, render};
use crate::operators::Value;
use crate::program::{AssignOp, Program, Types};
use crate::prover::{Prover, Z3Prover};
use crate::tensor::ValueType;

/// A planned kernel: every stage's result. What is proved of it is proved of these values together, so
/// that they are only read.
#[derive(Clone, Debug)]
pub struct Planned {
    pub(super) program: Rc<Program>,
    pub(super) output: Name,
    pub(super) layouts: IndexMap<Name, Arc<Layout>>,
    /// The layouts that spaces are composed of: an assembled result is not stored anywhere yet.
    pub(super) composed: IndexMap<Name, Arc<Layout>>,
    pub(super) statements: Vec<Statement>,
    pub(super) sequence: Rc<Sequence>,
    pub(super) assembled: Option<Rc<Assembled>>,
    pub(super) wanted: Wanted,
    pub(super) index_width: IndexWidth,
    /// What is wanted is packed from what the kernel makes.
    pub(super) repacked: Option<Repacked>,
    pub(super) grounds: Grounds,
    /// Other ways to compute the same, of which the kernel chooses one when it runs; none if this one is the best for
    /// all data, or for those at hand.
    pub(super) others: Vec<Planned>,
}

/// The pieces of the last of several statements, which writes the output.
pub(super) fn last(statements: &[Statement]) -> &[Statement] {
    let mut steps = statements.chunk_by(|a, b| a.space.step == b.space.step);
    steps.next_back().unwrap_or_default()
}

/// The longest name of a way that says what it searches by, in characters.
const LONGEST_NAME: usize = 48;

impl Planned {
    /// The statement that is computed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The tensor that the last statement computes.
    pub fn output(&self) -> &Name {
        &self.output
    }

    /// The layout of every tensor, the output's first.
    pub fn layouts(&self) -> &IndexMap<Name, Arc<Layout>> {
        &self.layouts
    }

    /// One for each choice of relation pieces.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The tree of the loops of all statements.
    pub fn loops(&self) -> Loops {
        build(&self.statements, self.assembled().map(|a| &a.assembling), &self.sequence)
    }

    /// How several statements follow each other.
    pub fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Whether the statements that take most of the time for each of several results share loops.
    pub fn results_share_loops(&self) -> bool {
        let steps = steps(&self.statements);
        let depth = |step: &[Statement]| step.iter().map(|s| s.space.dimensions().len()).max();
        let longest = |result: &Name| {
            let own = steps.iter().enumerate();
            let own = own.filter(|(_, step)| step[0].space.output().tensor == *result);
            own.max_by_key(|(k, step)| (depth(step), *k)).map(|(k, _)| k)
        };
        let longest: Option<Vec<usize>> = self.program.results().iter().map(longest).collect();
        let Some(mut longest) = longest else { return false };
        longest.sort_unstable();
        let shares = |k: usize| self.sequence.shared.get(k).is_some_and(|own| !own.is_empty());
        longest.windows(2).all(|pair| (pair[0]..pair[1]).all(shares))
    }

    /// How the result is made, if its structure is not known before.
    pub fn assembled(&self) -> Option<&Assembled> {
        self.assembled.as_deref()
    }

    /// Whether several threads share a loop, or make parts of the result.
    pub fn runs_on_threads(&self) -> bool {
        let in_parts = self.assembled().and_then(|how| how.assembling.in_parts());
        self.statements.iter().any(|s| s.parallel().is_some()) || in_parts.is_some()
    }

    /// Whether the result is assembled from terms that are walked at once.
    pub(super) fn merges_terms(&self) -> bool {
        self.assembled().is_some_and(|how| how.assembling.gather == Gather::Merge)
    }

    /// Whether the result is assembled from several passes, of which each looks others up.
    pub(super) fn assembles_by_passes(&self) -> bool {
        let last = last(&self.statements);
        let looks_up = |s: &Statement| !s.lookups.is_empty();
        self.assembled().is_some() && last.len() > 1 && last.iter().any(looks_up)
    }

    /// Whether all entries of the result are gathered before the first one is put where it belongs.
    pub(super) fn gathers_all(&self) -> bool {
        let how = self.assembled().map(|how| &how.assembling);
        how.is_some_and(|a| a.prefix == 0 && matches!(a.gather, Gather::Workspace { .. }))
    }

    /// Whether entries are counted before they are put where they belong, so that loops run twice.
    pub fn counts_entries(&self) -> bool {
        self.assembled().is_some_and(|how| how.assembling.gather == Gather::Counts)
    }

    /// Whether entries of the result come one by one, in their order.
    pub(super) fn appends(&self) -> bool {
        let gather = self.assembled().map(|how| &how.assembling.gather);
        matches!(gather, Some(Gather::Nothing | Gather::Element))
    }

    /// Whether the result stores runs, and gets its entries in their order.
    pub(super) fn appends_runs(&self) -> bool {
        self.assembled().is_some_and(|how| how.appending.run().is_some()) && self.appends()
    }

    /// Whether whole runs of the result come at once.
    pub(super) fn makes_runs(&self) -> bool {
        makes_runs(&self.loops().body)
    }

    /// Whether operands are walked at once.
    pub(super) fn walks_at_once(&self) -> bool {
        self.statements.iter().any(Statement::walks_at_once)
    }

    /// Whether an operand is searched.
    pub(super) fn searches(&self) -> bool {
        self.statements.iter().flat_map(|s| &s.chosen).any(|plan| !plan.template.closed_form)
    }

    /// The index, of extent 1, along which the kernel makes a scalar that may be stored or not.
    pub fn place(&self) -> Option<&Name> {
        match &self.repacked.as_ref()?.made {
            Made::Scalar { place } => Some(place),
            Made::Whole | Made::Begun => None,
        }
    }

    /// The layout that the result is packed into when the kernel has run, if it is another than the kernel's.
    pub fn packed_as(&self) -> Option<&Arc<Layout>> {
        let wanted = &self.layouts[&self.output];
        match (&self.repacked, &self.assembled) {
            (Some(repacked), _) => Some(&repacked.layout),
            (None, Some(made)) if !made.layout.same_as(wanted) => Some(wanted),
            _ => None,
        }
    }

    /// The types of the tensors.
    pub fn types(&self) -> &Types {
        &self.wanted.types
    }

    /// What a tensor holds where it stores nothing.
    ///
    /// # Errors
    /// None that planning did not refuse.
    pub fn fill_of(&self, tensor: &Name) -> Result<Value> {
        self.wanted.fill_of(tensor)
    }

    /// [`Planned::fill_of_result`] of the last statement's.
    pub fn result_fill(&self) -> Value {
        self.fill_of_result(&self.output)
    }

    /// What an element of a result is that it does not store: what it began with. Where all are stored, and
    /// where arrays that were given say which are wanted, it is zero.
    pub fn fill_of_result(&self, name: &Name) -> Value {
        let ty = self.types().of(name);
        if let Some(repacked) = self.repacked.as_ref().filter(|_| *name == self.output) {
            return repacked.fill().map_or(Value::zero(ty), |fill| fill.cast(ty));
        }
        let assembled = self.assembled().is_some_and(|how| how.tensor == *name);
        let begins = self.operand(name).and_then(|output| {
            let stored = output.shares.is_none() && !output.leaves_out();
            match assembled || !stored {
                true => self.beginning(name),
                false => output.begins,
            }
        });
        begins.unwrap_or(Value::zero(ty))
    }

    /// What the elements of a result are before anything is written, if its first operator begins with something.
    pub fn beginning(&self, name: &Name) -> Option<Value> {
        let all = self.program.assignments().ok()?;
        let first = all.iter().find(|a| a.output.tensor == *name)?;
        self.operand(name)?.beginning(&*first.op.combines().ok()?)
    }

    /// The results that have to hold one value everywhere when the kernel runs, which it does not see to itself, as it
    /// does where it assembles them or `=` comes first. It is what their first operator begins with.
    pub fn fresh(&self) -> IndexMap<Name, Value> {
        let all = self.program.assignments().unwrap_or_default();
        let assembles = |name: &Name| self.assembled().is_some_and(|how| how.tensor == *name);
        let begin = |name: Name| {
            let first = all.iter().find(|a| a.output.tensor == name)?;
            let begin = first.op.combines().ok()?.beginning(self.types().of(&name)).ok()?;
            (first.op != AssignOp::Assign && !assembles(&name)).then_some((name, begin))
        };
        let fresh = self.program.results().into_iter();
        fresh.filter(|name| self.wanted.fresh.contains(name)).filter_map(begin).collect()
    }

    /// A tensor as the kernel has it.
    fn operand(&self, tensor: &Name) -> Option<&Operand> {
        let operands = &self.statements.first()?.space.operands;
        operands.iter().find(|o| o.tensor == *tensor)
    }

    /// The width of the index arrays.
    pub fn index_width(&self) -> IndexWidth {
        self.index_width
    }

    /// The same plan with all values of another type and with index arrays of another width: finds are
    /// proved for integers of any width, accesses when the module is rendered. `None` if there is
    /// something else to visit for that type: `max(a - 2, 0)` is 254 where an `u8` is missing. Nor if it has
    /// temporaries of the type.
    ///
    /// # Errors
    /// Those of composition, for that type.
    pub fn with_types(
        mut self,
        value_type: ValueType,
        index_width: IndexWidth,
    ) -> Result<Option<Planned>> {
        let compose = |wanted: &Wanted| compose_by(&self.program, &self.composed, wanted);
        let before = compose(&self.wanted)?;
        self.wanted.types = Types::all(value_type);
        let after = compose(&self.wanted)?;
        if before.len() != after.len() || before.iter().zip(&after).any(|(a, b)| !a.same_points(b))
        {
            return Ok(None);
        }
        let mut pairs = before.iter().zip(after);
        for statement in &mut self.statements {
            let sought = statement.sought().to_vec();
            let own = &mut statement.space;
            let is_own = |old: &Space| old.value == own.value && old.same_points(own);
            let own_pair = pairs.find(|(old, _)| is_own(&old.looking_up(&sought)));
            let Some((_, new)) = own_pair else { return Ok(None) };
            for (operand, new) in own.operands.iter_mut().zip(&new.operands) {
                // How statements follow each other was laid out for their temporaries as they were.
                if operand.role == Role::Temporary && operand.value_type != new.value_type {
                    return Ok(None);
                }
                operand.value_type = new.value_type;
                operand.fill = new.fill;
                operand.begins = new.begins;
            }
            own.value = new.value;
            own.op = new.op;
        }
        self.index_width = index_width;
        let mut others = Vec::new();
        for other in std::mem::take(&mut self.others) {
            others.extend(other.with_types(value_type, index_width)?);
        }
        self.others = others;
        Ok(Some(self))
    }

    /// The same plan with another template for find number `find` of a statement. `None` if there is no
    /// such find, or the template is not proved for it. There are no other ways then.
    #[must_use]
    pub fn with_template(
        mut self,
        statement: usize,
        find: usize,
        template: &str,
    ) -> Option<Planned> {
        self.others.clear();
        let proved = self.statements.get_mut(statement)?.choose(find, template);
        proved.then_some(self)
    }

    /// Renders the module.
    ///
    /// # Errors
    /// What is wrong with a find template, and what the value type cannot express.
    pub fn render(&self) -> Result<Module> {
        self.render_with(&mut Z3Prover::new().with_any_model())
    }

    /// [`Planned::render`] with a prover of the caller's choice for the bounds of accesses.
    ///
    /// # Errors
    /// Those of [`Planned::render`].
    pub fn render_with(&self, prover: &mut dyn Prover) -> Result<Module> {
        if self.others.is_empty() {
            return render(&Ways::only(self.spec()), prover);
        }
        let way = |(way, name): (&Planned, String)| {
            Ok(Way { name, spec: way.spec(), costs: way.open_terms()? })
        };
        let sizes = &self.grounds.sizes;
        let ways = Ways {
            ways: self.ways().zip(self.way_names()).map(way).collect::<Result<_>>()?,
            machine: sizes.machine.clone(),
            most_memory: sizes.most_memory(),
        };
        render(&ways, prover)
    }

    /// The ways to compute the result, of which the kernel chooses one when it runs if there are several.
    pub fn ways(&self) -> impl Iterator<Item = &Planned> {
        std::iter::once(self).chain(&self.others)
    }

    /// One of [`Planned::ways`] without the others.
    #[must_use]
    pub fn alone(&self) -> Planned {
        Planned { others: Vec::new(), ..self.clone() }
    }

    /// The names of [`Planned::ways`], which are those of functions of the module: what is searched by, or a number
    /// where that is too long for a name.
    pub fn way_names(&self) -> Vec<String> {
        if self.others.is_empty() {
            return vec!["core".to_string()];
        }
        // Where orders differ, the same template may search for several positions.
        let mut words: Vec<Vec<String>> = self.ways().map(|way| way.words(false)).collect();
        if words.iter().enumerate().any(|(k, own)| words[..k].contains(own)) {
            words = self.ways().map(|way| way.words(true)).collect();
        }
        let mut naming = Naming::new();
        let joined: Vec<String> = words.iter().map(|words| words.join("_")).collect();
        match joined.iter().any(|name| name.len() > LONGEST_NAME) {
            true => (1..=joined.len()).map(|k| naming.fresh(&format!("core_{k}"))).collect(),
            false => joined.iter().map(|name| naming.fresh(name)).collect(),
        }
    }

    /// What a module needs of it.
    fn spec(&self) -> KernelSpec {
        KernelSpec {
            program: self.program.clone(),
            statements: self.statements.clone(),
            index_width: self.index_width,
            sequence: self.sequence.clone(),
            assembled: self.assembled.clone(),
            fresh: self.fresh(),
            short: self.statements.iter().all(|s| self.grounds.sizes.are_short_in(s.nest())),
            rarely: self.statements.iter().all(|s| self.grounds.sizes.rarely_find_in(s.nest())),
        }
    }

    /// The words of its name as one of several ways: the templates that search, and what for.
    fn words(&self, positions: bool) -> Vec<String> {
        let mut words = vec!["core".to_string()];
        let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        for statement in &self.statements {
            for (find, plan) in statement.finds.iter().zip(&statement.chosen) {
                if plan.template.closed_form {
                    continue;
                }
                if positions {
                    words.push(plain(&find.problem.position));
                }
                words.push(plain(&plan.template.name));
            }
        }
        if words.len() == 1 {
            // Nothing is searched.
            words.push("loops".to_string());
        }
        words
    }
}
