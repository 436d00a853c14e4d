//! What is asked of a kernel.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::coiterate::Coiterate;
use super::grounds::Copies;
use crate::code::IndexWidth;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::iterspace::{Union, Wanted};
use crate::layout::Layout;
use crate::operators::{Operators, Value};
use crate::program::{Language, Program, Types};
use crate::synth::{Sizes, Template};
use crate::tensor::ValueType;

/// Everything that decides a kernel.
#[derive(Clone, Debug)]
pub struct Request {
    /// The statement, as it was given.
    pub expression: String,
    /// Layout text by tensor. Tensors without one are dense.
    pub layouts: IndexMap<Name, String>,
    /// Layouts that are at hand; their names, above, are not looked up.
    pub declared: IndexMap<Name, Arc<Layout>>,
    /// The loop order asked for, outermost first: indices or positions.
    pub order: Vec<Name>,
    /// Where no order is asked for, that which follows how operands are stored, whatever it costs.
    pub default_order: bool,
    /// One way to compute the result, whatever the data.
    pub only_way: bool,
    /// `(position or all, template)`; later ones win.
    pub forced: Vec<(Option<String>, String)>,
    /// Find templates beside those that ship.
    pub templates: Vec<Rc<Template>>,
    /// The types of the tensors.
    pub types: Types,
    /// What tensors hold where they store nothing, unless it is zero.
    pub fills: IndexMap<Name, Value>,
    /// The operators of the expression; `None`: the shipped ones.
    pub operators: Option<Arc<Operators>>,
    /// Numbers that the expression names.
    pub parameters: IndexMap<Name, i64>,
    /// The width of the index arrays.
    pub index_width: IndexWidth,
    /// What the cost model knows of the data.
    pub sizes: Sizes,
    /// Choices of copies, if some tensors are at hand in several layouts; the first is what is said of them above.
    pub copies: Vec<Copies>,
    /// More than one: the outermost loop runs in parallel.
    pub threads: usize,
    /// How the points of a sum are visited.
    pub union: Option<Union>,
    /// How operands are brought together.
    pub coiterate: Coiterate,
    /// Tensors whose regions are sought.
    pub gallops: Vec<Name>,
    /// Results that hold what their first operator begins with when the kernel runs.
    pub fresh: Vec<Name>,
    /// Where a result of unknown structure is gathered.
    pub workspace: Option<String>,
    /// A result that would be mostly fill is assembled.
    pub sparse_result: bool,
    /// What annihilates finite floats annihilates infinities and NaN, too.
    pub fast_math: bool,
    /// Sums of floats keep the order in which the loops visit their terms.
    pub strict_fp: bool,
    /// `(index or position, size)`.
    pub tiles: Vec<(Name, i64)>,
    /// Groups of consecutive positions to visit as one loop.
    pub fused: Vec<Vec<Name>>,
}

impl Request {
    /// A request for a statement over dense tensors, without wishes.
    pub fn new(expression: &str) -> Request {
        Request {
            expression: expression.to_string(),
            layouts: IndexMap::new(),
            declared: IndexMap::new(),
            order: Vec::new(),
            default_order: false,
            only_way: false,
            forced: Vec::new(),
            templates: Vec::new(),
            types: Types::all(ValueType::F64),
            fills: IndexMap::new(),
            operators: None,
            parameters: IndexMap::new(),
            index_width: IndexWidth::U32,
            sizes: Sizes::default(),
            copies: Vec::new(),
            threads: 1,
            union: None,
            coiterate: Coiterate::Auto,
            gallops: Vec::new(),
            fresh: Vec::new(),
            workspace: None,
            sparse_result: false,
            fast_math: false,
            strict_fp: false,
            tiles: Vec::new(),
            fused: Vec::new(),
        }
    }

    /// The expression, parsed.
    ///
    /// # Errors
    /// [`Code::Program`](crate::diagnostic::Code::Program), with the place.
    pub fn program(&self) -> Result<Program> {
        let operators = match &self.operators {
            Some(operators) => operators,
            None => Operators::shipped()?,
        };
        let language = Language { operators, parameters: &self.parameters };
        Program::parse_with(&self.expression, &language)
    }

    /// What is asked of the spaces of `program`.
    pub(super) fn wanted(&self, program: &Program) -> Result<Wanted> {
        if self.fast_math && self.strict_fp {
            let what = "fast math and strict sums contradict each other";
            return Err(Diagnostic::new(Code::Usage, what).help("ask for one of the two"));
        }
        Ok(Wanted {
            shares: shares(self, &program.output()?.tensor),
            union: self.union.unwrap_or_default(),
            fast_math: self.fast_math,
            strict_fp: self.strict_fp,
            counts: self.threads <= 1,
            assembles: false,
            types: self.types.clone(),
            fills: self.fills.clone(),
            gallops: self.gallops.clone(),
            fresh: self.fresh.clone(),
        })
    }

    /// Nothing is said about loops and searches.
    pub(super) fn leaves_loops_open(&self) -> bool {
        let said = [self.order.len(), self.tiles.len(), self.fused.len(), self.forced.len()];
        said.iter().all(|n| *n == 0)
    }

    /// The command that shows the nests of this request.
    pub(super) fn command(&self) -> String {
        let mut out = format!("siskin explain --stage nest '{}'", self.expression);
        for (tensor, layout) in &self.layouts {
            out.push_str(&format!(" -f '{tensor}={layout}'"));
        }
        if !self.order.is_empty() {
            let order: Vec<&str> = self.order.iter().map(|n| &**n).collect();
            out.push_str(&format!(" --order {}", order.join(",")));
        }
        if self.types.general != ValueType::F64 {
            out.push_str(&format!(" --type {}", self.types.general));
        }
        for (tensor, ty) in &self.types.own {
            out.push_str(&format!(" --type {tensor}={ty}"));
        }
        for (name, number) in &self.parameters {
            out.push_str(&format!(" -p {name}={number}"));
        }
        for (tensor, fill) in &self.fills {
            out.push_str(&format!(" --fill {tensor}={fill}"));
        }
        if let Some(union) = self.union {
            out.push_str(&format!(" --union {}", union.word()));
        }
        if self.coiterate != Coiterate::Auto {
            out.push_str(&format!(" --coiterate {}", self.coiterate.word()));
        }
        for tensor in &self.gallops {
            out.push_str(&format!(" --gallop '{tensor}'"));
        }
        if let Some(workspace) = &self.workspace {
            out.push_str(&format!(" --workspace {workspace}"));
        }
        if let Some(limit) = self.sizes.workspace_limit {
            out.push_str(&format!(" --workspace-limit {limit}"));
        }
        if self.fast_math {
            out.push_str(" --fast-math");
        }
        if self.strict_fp {
            out.push_str(" --strict-fp");
        }
        for (of, size) in &self.tiles {
            out.push_str(&format!(" --tile {of}={size}"));
        }
        for group in &self.fused {
            let group: Vec<&str> = group.iter().map(|n| &**n).collect();
            out.push_str(&format!(" --fuse {}", group.join(",")));
        }
        out
    }
}

pub(super) fn names<'a>(names: impl Iterator<Item = &'a Name>) -> String {
    let names: Vec<&str> = names.map(|n| &**n).collect();
    names.join(", ")
}

/// The input named by an output layout of the form `shares(A)`.
pub(super) fn shares(request: &Request, output: &Name) -> Option<Name> {
    let text = request.layouts.get(output)?;
    let name = text.trim().strip_prefix("shares(")?.strip_suffix(')')?;
    Some(Name::from(name.trim()))
}
