//! Lowering statements: from a Finch program with the dimensions of all to the tree of statements.
//!
//! Before → after, for `A` of 4 × 5:
//!
//! ```text
//! y .= 0                         declare y 0
//! for j = _, i = _               forall j in 5 {
//!     y[i] += A[i, j] * x[j] ⟼     forall i in 4 {
//! end                                y[i] += A[i,j] * x[j]
//!                                  }
//!                                }
//! ```
//! Indices count from 0 in the tree. A loop is free where that is proved to be the same. A subscript that
//! is computed gets a name in front of its statement, as `let` would give it.

use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::context::{Flag, Lowered, Lowering, Part};
use super::dimensions::dimensions;
use super::host::Host;
use super::life_cycle;
use super::linear::{conjuncts, formula};
use super::needs::{Needs, Why};
use super::refusal::wrong;
use super::scope::{Scoped, scoped};
use super::syntax::{Branch, Declare, Expr, Finch, Ident, Literal, Stmt};
use super::types::{count_truths, types};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Formula, Name};
use crate::program::bind::Binder;
use crate::program::ir::{self, Block, Fill, If, Let, Loop, Order, Span, When};
use crate::program::{Extents, Program, Types, independence};
use crate::tensor::ValueType;

/// A program as a tree, with what its names are outside.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What diagnostics call the text that the program has.
    pub name: String,
    /// Over tensors and indices of its own names.
    pub program: Program,
    /// Of its indices and tensors.
    pub extents: Extents,
    /// Of its tensors.
    pub types: Types,
    /// Of each tensor of the tree that is given, what the host calls it.
    pub given: IndexMap<Name, Name>,
    /// Its tensors of which elements are searched for, or assembled.
    pub searched: Vec<Name>,
    /// Its tensors that are read by galloping.
    pub gallops: Vec<Name>,
    /// Its tensors whose layout is stated, and how the host calls them.
    pub stated: IndexMap<Name, Name>,
    /// What the program returns.
    pub returned: Vec<Returned>,
    /// The numbers of the host that it uses.
    pub numbers: Vec<Name>,
}

impl Tree {
    /// The extents of what the host calls by a name, `A 3 × 4`, in the order of the names: they decided what lies
    /// outside.
    pub fn measured(&self) -> Vec<String> {
        let returned = self.returned.iter().map(|result| (&result.name, &result.name));
        let mut all: IndexMap<&Name, String> = IndexMap::new();
        for (own, host) in self.given.iter().chain(returned) {
            let Some(dims) = self.extents.tensors.get(own).filter(|dims| !dims.is_empty()) else {
                continue;
            };
            let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
            all.insert(host, format!("{host} {}", dims.join(" × ")));
        }
        all.sort_keys();
        all.into_values().collect()
    }
}

/// What a tensor of the tree holds of one that a program returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Whether the numbers of the tensor before are there, or missing where it is not so.
    Missing {
        /// Whether it is true where they are there.
        there: bool,
    },
    /// Likewise; they are nothing where they are not there.
    Nothing {
        /// Whether it is true where they are there.
        there: bool,
    },
}

/// A tensor that a program returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What the host calls it.
    pub name: Name,
    /// The tensor of the tree; several, if its elements are tuples, or may be missing.
    pub parts: Vec<Name>,
    /// What each of these holds.
    pub kinds: Vec<Kind>,
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// What its elements begin with, if it is declared: as many as parts.
    pub fill: Option<Vec<Fill>>,
}

impl Finch {
    /// The tree of statements that the program is, for what it is given.
    ///
    /// # Errors
    /// [`Code::Program`](crate::diagnostic::Code::Program): names, life cycles, types, or what has no
    /// meaning. [`Code::Shape`](crate::diagnostic::Code::Shape): dimensions do not fit.
    pub fn lower(&self, host: &Host<'_>) -> Result<Tree> {
        self.tree(host).map_err(|e| located(e, &self.name, &self.text))
    }

    fn tree(&self, host: &Host<'_>) -> Result<Tree> {
        let scoped = scoped(self, host)?;
        self.lowered(&scoped, host).map_err(|e| scoped.spelt(e))
    }

    fn lowered(&self, scoped: &Scoped, host: &Host<'_>) -> Result<Tree> {
        life_cycle::verify(scoped, host.operators, &self.text)?;
        let known = dimensions(scoped, host)?;
        let mut absent: FxHashSet<(String, Why)> = FxHashSet::default();
        // What is assigned says which elements may be missing, which is then known where they are read.
        loop {
            let mut lowering = Lowering {
                host,
                scoped,
                known: &known,
                gallops: [self.gallops(), host.gallops.clone()].concat(),
                text: &self.text,
                name: &self.name,
                values: IndexMap::new(),
                before: Vec::new(),
                parts: IndexMap::new(),
                absent: absent.clone(),
                found: FxHashSet::default(),
                fills: IndexMap::new(),
                taken: scoped.names.keys().cloned().collect(),
            };
            let mut block = lowering.kept()?;
            block.extend(lowering.block(&scoped.body)?);
            if lowering.found.is_empty() {
                return lowering.finish(block);
            }
            absent.extend(lowering.found);
        }
    }
}

impl Lowering<'_> {
    /// Outputs that are given begin with what is given.
    fn kept(&self) -> Result<Block> {
        let mut out = Block::new();
        for (access, writes) in super::dimensions::accesses(&self.scoped.body) {
            let Ident { name, span } = access.tensor.name();
            let declared = |s: &ir::Stmt| matches!(s, ir::Stmt::Declare(d) if *d.tensor == **name);
            let given = self.scoped.tensor(name).is_some_and(|role| role.init.is_none());
            if writes && given && !out.iter().any(declared) {
                let (tensor, span) = (Name::from(name.as_str()), span.clone());
                out.push(ir::Stmt::Declare(ir::Declare { tensor, fill: None, span }));
            }
        }
        Ok(out)
    }

    fn block(&mut self, stmts: &[Stmt]) -> Result<Block> {
        let mut out = Block::new();
        for stmt in stmts {
            out.extend(self.statement(stmt)?);
        }
        Ok(out)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Block> {
        match stmt {
            Stmt::Block(body) => self.block(body),
            Stmt::For(indices, body) => {
                let mut block = self.block(body)?;
                for (index, _) in indices.iter().rev() {
                    block = vec![self.repeat(index, block)];
                }
                Ok(block)
            }
            Stmt::If(branches, otherwise) => self.choice(branches, otherwise.as_deref()),
            Stmt::Let(bound, body) => self.binding(bound, body),
            Stmt::Declare(declare) => self.declare(declare),
            Stmt::Assign(assign) => self.assign(assign),
            // Where tensors change between being read and written is no part of what is computed.
            Stmt::Freeze(..) | Stmt::Thaw(..) | Stmt::Return(..) => Ok(Block::new()),
        }
    }

    fn repeat(&self, index: &Ident, body: Block) -> ir::Stmt {
        let bounds = &self.known.indices[&index.name];
        let name = Name::from(index.name.as_str());
        let body = match &bounds.moving {
            None => body,
            Some([from, to]) => {
                let shift = |form: &Affine| {
                    form.substitute(&|name| {
                        let low = self.known.indices.get(&**name)?.low;
                        Some(Affine::var(name.clone()) + Affine::constant(low))
                    })
                };
                let at = Affine::var(name.clone()) + Affine::constant(bounds.low);
                let from = from.iter().map(|form| Formula::le(shift(form), at.clone()));
                let to = to.iter().map(|form| Formula::le(at.clone(), shift(form)));
                let condition = Formula::and(from.chain(to));
                let span = index.span.clone();
                vec![ir::Stmt::If(If { condition, then: body, otherwise: None, span })]
            }
        };
        let (order, span) = (Order::Fixed, index.span.clone());
        let extent = Some(bounds.length());
        let mut repeat = Loop { order, index: name, extent, body, span };
        repeat.order = Order::Free;
        if independence::verify_loop(&repeat).is_err() {
            repeat.order = Order::Fixed;
        }
        ir::Stmt::Loop(repeat)
    }

    /// The statements, with what they need bound in front of them since `mark`.
    pub fn bound(&mut self, mark: usize, mut block: Block) -> Block {
        for (name, value, span) in self.before.split_off(mark).into_iter().rev() {
            block = vec![ir::Stmt::Let(Let { name, value, body: block, span })];
        }
        block
    }

    fn choice(&mut self, branches: &[Branch], otherwise: Option<&[Stmt]>) -> Result<Block> {
        let Some((first, rest)) = branches.split_first() else {
            return otherwise.map_or(Ok(Block::new()), |body| self.block(body));
        };
        let mark = self.before.len();
        let last = rest.is_empty() && otherwise.is_none();
        let is_index = |name: &str| self.known.indices.contains_key(name);
        let parts = if last { conjuncts(&first.condition) } else { vec![&first.condition] };
        let (mut formulas, mut asked) = (Vec::new(), Vec::new());
        for part in parts {
            match formula(part, &is_index) {
                Some(condition) => formulas.push(condition),
                None => asked.push(part),
            }
        }
        let mut conditions = Vec::new();
        for part in asked {
            let span = Span(part.span());
            let value = self.value(part)?;
            conditions.push((self.number(value, &span, "a condition")?, span));
        }
        let then = self.block(&first.body)?;
        let otherwise = match last {
            true => None,
            false => Some(self.choice(rest, otherwise)?),
        };
        let mut out = then;
        let mut otherwise = otherwise;
        for (condition, span) in conditions.into_iter().rev() {
            let then = std::mem::take(&mut out);
            let otherwise = otherwise.take();
            out.push(ir::Stmt::When(When { condition, then, otherwise, span }));
        }
        out = self.bound(mark, out);
        if !formulas.is_empty() {
            let condition = Formula::and(formulas).substitute(&|name| {
                let low = self.known.indices.get(&**name)?.low;
                Some(Affine::var(name.clone()) + Affine::constant(low))
            });
            let span = Span(first.condition.span());
            out = vec![ir::Stmt::If(If { condition, then: out, otherwise, span })];
        }
        Ok(out)
    }

    fn binding(&mut self, bound: &[(Ident, Expr)], body: &[Stmt]) -> Result<Block> {
        let mark = self.before.len();
        for (ident, e) in bound {
            let value = self.value(e)?;
            let value = self.named(ident, value)?;
            self.values.insert(ident.name.clone(), value);
        }
        // What the body needs stands inside.
        let outer = self.before.split_off(mark);
        let block = self.block(body)?;
        self.before.extend(outer);
        Ok(self.bound(mark, block))
    }

    /// A value under a name. What may be missing is written out where it is used instead: no statement
    /// inside may change what it reads.
    fn named(&mut self, ident: &Ident, value: Lowered) -> Result<Lowered> {
        Ok(match value {
            Lowered::Scalar(e, needs) if needs.is_empty() => {
                let name = match self.before.iter().any(|(n, ..)| **n == *ident.name) {
                    true => self.fresh(&ident.name),
                    false => Name::from(ident.name.as_str()),
                };
                self.before.push((name.clone(), e, ident.span.clone()));
                Lowered::Scalar(ir::Expr::Name(name, ident.span.clone()), Needs::default())
            }
            Lowered::Tuple(parts) => {
                let parts: Result<Vec<Lowered>> =
                    parts.into_iter().map(|part| self.named(ident, part)).collect();
                Lowered::Tuple(parts?)
            }
            other => other,
        })
    }

    fn declare(&mut self, declare: &Declare) -> Result<Block> {
        let Declare { tensor: Ident { name, span }, init, .. } = declare;
        let init = match init {
            Expr::Infix("=>", a, b) => vec![&**a, &**b],
            Expr::Tuple(parts, _) => parts.iter().collect(),
            other => vec![other],
        };
        // A tensor that nothing writes is as it is declared.
        let written = super::dimensions::accesses(&self.scoped.body)
            .into_iter()
            .any(|(access, writes)| writes && access.tensor.name().name == *name);
        if !written {
            return Err(wrong(format!("`{name}` is declared, but never written"), span)
                .help("assign to its elements, or leave it out"));
        }
        let mut parts = Vec::new();
        let mut fills = Vec::new();
        let mut out = Block::new();
        let mut begin = |tensor: &Name, fill: Fill| {
            fills.push(fill.clone());
            let (tensor, span) = (tensor.clone(), span.clone());
            out.push(ir::Stmt::Declare(ir::Declare { tensor, fill: Some(fill), span }));
        };
        for (k, e) in init.iter().enumerate() {
            let value = match init.len() {
                1 => Name::from(name.as_str()),
                _ => self.fresh(&format!("{name}_{}", k + 1)),
            };
            let begins = match e {
                Expr::Literal(Literal::Missing, _) => Some(Why::Missing),
                Expr::Literal(Literal::Nothing, _) => Some(Why::Nothing),
                _ => None,
            };
            let written = |text: &str| Fill {
                negative: false,
                literal: ir::Literal { text: text.to_string(), span: e.span() },
            };
            begin(&value, if begins.is_some() { written("0") } else { fill(e)? });
            let mut flags = Vec::new();
            for why in Why::ALL {
                // All of them begin as false.
                let there = begins == Some(why);
                if !there && !self.absent.contains(&(name.clone(), why)) {
                    continue;
                }
                let what = match (why, there) {
                    (_, true) => "there",
                    (Why::Missing, _) => "missing",
                    (Why::Nothing, _) => "nothing",
                };
                let tensor = self.fresh(&format!("{value}_{what}"));
                begin(&tensor, written("false"));
                flags.push(Flag { tensor, why, there });
            }
            parts.push(Part { value, flags });
        }
        self.parts.insert(name.clone(), parts);
        self.fills.insert(name.clone(), fills);
        Ok(out)
    }

    /// The tensor of the program that one of the tree is a part of, and whether it says which elements are there.
    fn whole(&self, name: &Name) -> Option<(&str, bool)> {
        self.parts.iter().find_map(|(whole, parts)| {
            let flags = |p: &Part| p.flags.iter().any(|f| f.tensor == *name);
            let is_flag = parts.iter().any(flags);
            (is_flag || parts.iter().any(|p| p.value == *name)).then_some((whole.as_str(), is_flag))
        })
    }

    fn finish(self, block: Block) -> Result<Tree> {
        let root = ir::Stmt::Block(block);
        let program = Program::new(root, self.text)?;
        let mut given = IndexMap::new();
        let mut tensors = IndexMap::new();
        for name in program.tensors().into_keys() {
            let scoped = self.whole(&name).map_or(&*name, |(whole, _)| whole);
            if let Some(role) = self.scoped.tensor(scoped).filter(|role| role.init.is_none()) {
                given.insert(name.clone(), role.host.clone());
            }
            let dims = self.known.tensors.get(scoped).cloned();
            tensors.insert(
                name,
                dims.ok_or_else(|| Diagnostic::defect("a tensor without dimensions"))?,
            );
        }
        let extent = |index: Name| {
            let length = self.known.indices.get(&*index).map_or(0, |bounds| bounds.length());
            (index, length)
        };
        let indices = program.indices().into_iter().map(extent).collect();
        let host = |name: &Name| {
            let whole = self.whole(name);
            if whole.is_some_and(|(_, flag)| flag) {
                return Some(ValueType::Bool);
            }
            let scoped = whole.map_or(&**name, |(whole, _)| whole);
            let role = self.scoped.tensor(scoped)?;
            let given = self.host.tensors.get(&role.host).filter(|_| role.init.is_none());
            given.map(|g| g.ty).or_else(|| {
                self.host.types.get(&role.host).copied().filter(|_| role.init.is_some())
            })
        };
        let without = |name: &Name| {
            let mut parts = self.parts.values().flatten();
            parts.any(|part| part.value == *name && part.flags.iter().any(|flag| flag.there))
        };
        let types = types(&program, &host, &without)?;
        let mut root = program.root().clone();
        count_truths(&mut root, &types, &mut IndexMap::new())?;
        let program = Program::new(root, self.text)?;
        let called = |name: &Name| {
            let whole =
                self.parts.iter().find(|(_, parts)| parts.iter().any(|part| part.value == *name));
            let scoped = whole.map_or(&**name, |(whole, _)| whole.as_str());
            self.scoped.tensor(scoped).map(|role| role.host.clone())
        };
        let is_searched =
            |name: &&Name| called(name).is_some_and(|host| self.host.searched.contains(&host));
        let searched = tensors.keys().filter(is_searched).cloned().collect();
        let gallops = |name: &&Name| called(name).is_some_and(|host| self.gallops.contains(&host));
        let gallops = tensors.keys().filter(gallops).cloned().collect();
        let stated = tensors.keys().filter_map(|name| Some((name.clone(), called(name)?)));
        let stated = stated.filter(|(_, host)| self.host.stated.contains(host)).collect();
        let extents = Extents { indices, tensors };
        // Whether all types fit together.
        Binder::new(&extents, &types).statement(program.root(), &mut Vec::new())?;
        let mut returned = Vec::new();
        for (name, scoped) in &self.scoped.returned {
            let (mut parts, mut kinds) = (Vec::new(), Vec::new());
            for part in self.parts_of(scoped) {
                parts.push(part.value);
                kinds.push(Kind::Number);
                for Flag { tensor, why, there } in part.flags {
                    parts.push(tensor);
                    kinds.push(match why {
                        Why::Missing => Kind::Missing { there },
                        Why::Nothing => Kind::Nothing { there },
                    });
                }
            }
            if let Some(part) = parts.iter().find(|part| !extents.tensors.contains_key(*part)) {
                return Err(Diagnostic::new(
                    crate::diagnostic::Code::Program,
                    format!("`{name}` is returned, but never used"),
                )
                .at(0..0, format!("no statement mentions `{part}`"))
                .help("return tensors that the program computes"));
            }
            let dims = extents.tensors[&parts[0]].clone();
            let fill = self.fills.get(scoped).cloned();
            returned.push(Returned { name: name.clone(), parts, kinds, dims, fill });
        }
        let name = self.name.to_string();
        let numbers = self.scoped.numbers.clone();
        Ok(Tree {
            name,
            program,
            extents,
            types,
            given,
            searched,
            gallops,
            stated,
            returned,
            numbers,
        })
    }
}

/// A diagnostic in a program's text; the tree is checked with the places of that text.
pub(super) fn located(mut e: Box<Diagnostic>, name: &str, text: &str) -> Box<Diagnostic> {
    if let Some(source) = e.source.as_mut().filter(|s| *s.text == *text) {
        source.name = name.to_string();
    }
    e.within(name, text)
}

/// What the elements of a tensor begin with.
fn fill(e: &Expr) -> Result<Fill> {
    let span = Span(e.span());
    let (negative, inner) = match e {
        Expr::Prefix("-", inner, _) => (true, &**inner),
        other => (false, other),
    };
    let text = match inner {
        Expr::Literal(Literal::Integer(text) | Literal::Float(text), _) => text.clone(),
        Expr::Literal(Literal::Bool(value), _) if !negative => value.to_string(),
        Expr::Literal(Literal::Inf, _) => "inf".to_string(),
        Expr::Literal(Literal::Nan, _) => "nan".to_string(),
        _ => {
            return Err(wrong("what elements begin with is a number", &span)
                .help("write e.g. `y .= 0`, `y .= -Inf` or `y .= Inf => 0`"));
        }
    };
    Ok(Fill { negative, literal: ir::Literal { text, span: span.0 } })
}
