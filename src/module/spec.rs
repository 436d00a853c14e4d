//! What a module is made from.

use std::rc::Rc;

use indexmap::IndexMap;

use crate::code::IndexWidth;
use crate::formula::Name;
use crate::iterspace::{Operand, Role, Space};
use crate::loops::{Assembled, Sequence, Statement};
use crate::operators::Value;
use crate::program::Program;
use crate::synth::{CostFormula, Machine, Term, templates, workspaces};

/// One or several ways to compute the result of a kernel. What data say when it runs chooses among several.
#[derive(Clone, Debug)]
pub struct Ways {
    /// They take and return the same.
    pub ways: Vec<Way>,
    /// Constants of the machine, for what they are expected to cost.
    pub machine: Machine,
    /// What takes more bytes is not chosen, unless it is the first.
    pub most_memory: f64,
}

impl Ways {
    /// One way.
    pub fn only(spec: KernelSpec) -> Ways {
        let way = Way { name: "core".to_string(), spec, costs: Vec::new() };
        Ways { ways: vec![way], machine: Machine::default(), most_memory: f64::INFINITY }
    }
}

/// One of the ways to compute the result of a kernel.
#[derive(Clone, Debug)]
pub struct Way {
    /// The name of its function.
    pub name: String,
    pub spec: KernelSpec,
    /// What it is expected to cost, if there are others.
    pub costs: Vec<Term<CostFormula>>,
}

/// Everything a kernel is made from.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    pub program: Rc<Program>,
    /// One per choice of relation pieces; run one after the other.
    pub statements: Vec<Statement>,
    pub index_width: IndexWidth,
    /// How several statements follow each other.
    pub sequence: Rc<Sequence>,
    /// How the result is made, if its structure is not known before.
    pub assembled: Option<Rc<Assembled>>,
    /// Results that are to hold one value everywhere before, which the kernel does not see to.
    pub fresh: IndexMap<Name, Value>,
    /// The innermost loops are expected to be short.
    pub short: bool,
    /// Searches in the outermost loops are expected to find something rarely.
    pub rarely: bool,
}

impl KernelSpec {
    /// The kernel takes a number of threads.
    pub fn is_parallel(&self) -> bool {
        self.statements.iter().any(|s| s.parallel.is_some()) || self.in_parts().is_some()
    }

    /// The code of all templates that may be rendered: those that ship, and those that were tried.
    pub(super) fn code_of_templates(&self) -> Vec<Rc<str>> {
        let shipped = templates().unwrap_or_default();
        let spaces = workspaces().unwrap_or_default().iter().map(|w| Rc::from(w.code));
        let finds = self.statements.iter().flat_map(|s| &s.finds);
        let tried = finds.flat_map(|find| &find.attempts).map(|attempt| &attempt.template);
        let mut out: Vec<Rc<str>> = spaces.collect();
        for template in shipped.iter().chain(tried) {
            if !out.contains(&template.code) {
                out.push(template.code.clone());
            }
        }
        out
    }

    /// The loop of which threads take chunks to assemble parts of the result.
    pub(super) fn in_parts(&self) -> Option<&Name> {
        self.assembled.as_ref()?.assembling.in_parts()
    }

    /// Some of several statements have nothing to visit.
    pub(super) fn lacks_steps(&self) -> bool {
        let steps = self.statements.chunk_by(|a, b| a.space.step == b.space.step).count();
        let all = self.program.assignments().map_or(1, |all| all.len());
        // What counts is read by a statement of its own.
        let temporaries = self.program.temporaries();
        let own = |o: &&Operand| o.role == Role::Temporary && !temporaries.contains(&o.tensor);
        let mut counters: Vec<&Name> =
            self.space().operands.iter().filter(own).map(|o| &o.tensor).collect();
        counters.dedup();
        all + counters.len() > steps || self.statements.iter().any(|s| s.nest.is_nothing())
    }

    /// A space whose operands are those of all statements.
    pub(super) fn space(&self) -> &Space {
        &self.statements[0].space
    }

    /// The result of the last statement, which is what is written first of the operands.
    pub(super) fn output(&self) -> &Operand {
        &self.space().operands[0]
    }

    /// The results whose elements are there before and begin anew, each with what they begin with.
    pub(super) fn begun(&self) -> Vec<(&Operand, Value)> {
        let mut out: Vec<(&Operand, Value)> = Vec::new();
        for o in self.space().operands.iter().filter(|o| o.role == Role::Output) {
            let seen = out.iter().any(|(other, _)| other.tensor == o.tensor);
            let grows = self.assembled.as_ref().is_some_and(|a| a.tensor == o.tensor);
            if !seen && !grows && self.program.begins_anew(&o.tensor) {
                out.push((o, o.begins.unwrap_or(Value::zero(o.value_type))));
            }
        }
        out
    }
}
