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

use super::context::{Lowered, Lowering, Place};
use super::dimensions::dimensions;
use super::functions::operator;
use super::host::Host;
use super::life_cycle;
use super::linear::{conjuncts, formula};
use super::refusal::wrong;
use super::scope::{Scoped, scoped};
use super::syntax::{self, Branch, Declare, Expr, Finch, Ident, Literal, Stmt, Update};
use super::types::types;
use super::value::{apply, literal, within};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Formula, Name};
use crate::program::bind::Binder;
use crate::program::ir::{
    self, Access, Assign, AssignOp, Block, Fill, If, Let, Loop, Order, Span, When,
};
use crate::program::{Extents, Program, Types, independence};

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
    /// What the program returns.
    pub returned: Vec<Returned>,
}

/// A tensor that a program returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What the host calls it.
    pub name: Name,
    /// The tensor of the tree; several, if its elements are tuples.
    pub parts: Vec<Name>,
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
        let mut lowering = Lowering {
            host,
            scoped,
            known: &known,
            text: &self.text,
            name: &self.name,
            values: IndexMap::new(),
            before: Vec::new(),
            parts: IndexMap::new(),
            fills: IndexMap::new(),
            taken: scoped.names.keys().cloned().collect(),
        };
        let mut block = lowering.kept()?;
        block.extend(lowering.block(&scoped.body)?);
        lowering.finish(block)
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
            Some((from, to)) => {
                let shift = |form: &Affine| {
                    form.substitute(&|name| {
                        let low = self.known.indices.get(&**name)?.low;
                        Some(Affine::var(name.clone()) + Affine::constant(low))
                    })
                };
                let at = Affine::var(name.clone()) + Affine::constant(bounds.low);
                let condition = Formula::and([
                    Formula::le(shift(from), at.clone()),
                    Formula::le(at, shift(to)),
                ]);
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
    fn bound(&mut self, mark: usize, mut block: Block) -> Block {
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
                Lowered::Scalar(ir::Expr::Name(name, ident.span.clone()), Vec::new())
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
        let fills: Result<Vec<Fill>> = init.iter().map(|e| fill(e)).collect();
        let fills = fills?;
        let names = match fills.len() {
            1 => vec![Name::from(name.as_str())],
            n => (1..=n).map(|k| self.fresh(&format!("{name}_{k}"))).collect(),
        };
        // A tensor that nothing writes is as it is declared.
        let written = super::dimensions::accesses(&self.scoped.body)
            .into_iter()
            .any(|(access, writes)| writes && access.tensor.name().name == *name);
        if !written {
            return Err(wrong(format!("`{name}` is declared, but never written"), span)
                .help("assign to its elements, or leave it out"));
        }
        self.parts.insert(name.clone(), names.clone());
        self.fills.insert(name.clone(), fills.clone());
        let declares = names.into_iter().zip(fills).map(|(tensor, fill)| {
            ir::Stmt::Declare(ir::Declare { tensor, fill: Some(fill), span: span.clone() })
        });
        Ok(declares.collect())
    }

    fn assign(&mut self, assign: &syntax::Assign) -> Result<Block> {
        let mark = self.before.len();
        let place = self.place(&assign.output)?;
        let value = self.value(&assign.value)?;
        let outputs: Vec<Access> = self
            .parts_of(&assign.output.tensor.name().name)
            .into_iter()
            .map(|tensor| Access {
                tensor,
                subscripts: place.subscripts.clone(),
                windows: Vec::new(),
                span: assign.output.span.0.clone(),
            })
            .collect();
        let block = self.update(assign, &outputs, value)?;
        let block = self.dropped(&place, &outputs, block)?;
        Ok(self.bound(mark, block))
    }

    /// A write that may lie outside is dropped there. If a value decides the place, that must be asked.
    fn dropped(&self, place: &Place, outputs: &[Access], block: Block) -> Result<Block> {
        let mut by_value = false;
        for subscript in &place.subscripts {
            subscript.visit_vars(&mut |v| by_value |= !self.known.indices.contains_key(&**v));
        }
        let Some(output) = outputs.first().filter(|_| place.permissive && by_value) else {
            return Ok(block);
        };
        let span = Span(output.span.clone());
        let [yes, no] = ["true", "false"].map(|text| literal(text, &span));
        let condition = within(std::slice::from_ref(output), yes, &no, &span);
        Ok(vec![ir::Stmt::When(When { condition, then: block, otherwise: None, span })])
    }

    fn update(
        &mut self,
        assign: &syntax::Assign,
        outputs: &[Access],
        value: Lowered,
    ) -> Result<Block> {
        let span = Span(assign.value.span());
        let place = Span(assign.output.span.0.clone());
        if outputs.len() > 1 {
            return self.update_tuple(assign, outputs, value);
        }
        if let Update::By(Expr::Name(ident)) = &assign.op
            && matches!(ident.name.as_str(), "minby" | "maxby")
        {
            let message = format!("`{ident}` updates tuples");
            return Err(wrong(message, &place).help(format!(
                "declare a tensor of tuples: `{} .= Inf => 0`",
                assign.output.tensor
            )));
        }
        let value = self.number(value, &span, "the value")?;
        let output = outputs[0].clone();
        let store =
            |value, op| vec![ir::Stmt::Assign(Assign { output: output.clone(), op, value })];
        let named = |name: &str, at: &Span| {
            operator(name, self.host.operators, at).and_then(|op| match op.arity() {
                2 => Ok(AssignOp::Combine(op)),
                n => Err(wrong(format!("`{name}` has {n} arguments"), at)
                    .help("what updates an element takes it and a value")),
            })
        };
        match &assign.op {
            Update::Init(_) | Update::Overwrite(_) => Ok(store(value, AssignOp::Assign)),
            Update::Symbol(symbol, at) => Ok(store(value, named(symbol, at)?)),
            Update::By(Expr::Operator(symbol, at)) => Ok(store(value, named(symbol, at)?)),
            Update::By(Expr::Name(ident)) => match ident.name.as_str() {
                "overwrite" => Ok(store(value, AssignOp::Assign)),
                "coalesce" | "something" => {
                    Err(wrong(format!("`{ident}` keeps every element"), &ident.span)
                        .note("elements are numbers, never `missing` or `nothing`")
                        .help("leave the statement out, or use `choose(z)`"))
                }
                name => Ok(store(value, named(name, &ident.span)?)),
            },
            Update::By(Expr::Call(f, args, at)) => match (&**f, args.as_slice()) {
                (Expr::Name(Ident { name, .. }), [_]) if name == "initwrite" => {
                    Ok(store(value, AssignOp::Assign))
                }
                (Expr::Name(Ident { name, .. }), [z]) if name == "choose" => {
                    let z_span = Span(z.span());
                    let z = self.value(z)?;
                    let z = self.number(z, &z_span, "what is not chosen")?;
                    let op = operator("choose", self.host.operators, at)?;
                    let old = ir::Expr::Access(output.clone());
                    let chosen = apply(op, vec![old, value, z], &span);
                    let name = self.fresh("new");
                    let body = store(ir::Expr::Name(name.clone(), span.clone()), AssignOp::Assign);
                    Ok(vec![ir::Stmt::Let(Let { name, value: chosen, body, span })])
                }
                _ => Err(no_update(at)),
            },
            Update::By(other) => Err(no_update(&Span(other.span()))),
        }
    }

    fn update_tuple(
        &mut self,
        assign: &syntax::Assign,
        outputs: &[Access],
        value: Lowered,
    ) -> Result<Block> {
        let span = Span(assign.value.span());
        let Lowered::Tuple(parts) = value else {
            return Err(wrong("the value is no tuple, as the elements are", &span)
                .help("write a tuple: `(a, b)` or `a => b`"));
        };
        if parts.len() != outputs.len() {
            let message =
                format!("a tuple of {}, where elements have {}", parts.len(), outputs.len());
            return Err(wrong(message, &span).help("give it as many parts"));
        }
        let by = match &assign.op {
            Update::Init(_) | Update::Overwrite(_) => None,
            Update::By(Expr::Name(Ident { name, .. })) if name == "minby" || name == "maxby" => {
                Some(name)
            }
            Update::By(Expr::Name(Ident { name, .. })) if name == "overwrite" => None,
            Update::Symbol(_, at) => return Err(no_tuple(at)),
            Update::By(other) => return Err(no_tuple(&Span(other.span()))),
        };
        // All parts before any is stored.
        let mark = self.before.len();
        let mut stores = Block::new();
        let mut first = None;
        for (part, output) in parts.into_iter().zip(outputs) {
            let value = self.number(part, &span, "a part of the value")?;
            let name = self.fresh("part");
            self.before.push((name.clone(), value, span.clone()));
            let value = ir::Expr::Name(name, span.clone());
            first.get_or_insert(value.clone());
            let output = output.clone();
            stores.push(ir::Stmt::Assign(Assign { output, op: AssignOp::Assign, value }));
        }
        let (Some(by), Some(new)) = (by, first) else { return Ok(self.bound(mark, stores)) };
        let old = Lowered::Scalar(ir::Expr::Access(outputs[0].clone()), Vec::new());
        let condition = self.replaces(by, &old, &Lowered::Scalar(new, Vec::new()), &span)?;
        let choice = When { condition, then: stores, otherwise: None, span };
        Ok(self.bound(mark, vec![ir::Stmt::When(choice)]))
    }

    fn finish(self, block: Block) -> Result<Tree> {
        let root = ir::Stmt::Block(block);
        let program = Program::new(root, self.text)?;
        let mut given = IndexMap::new();
        let mut tensors = IndexMap::new();
        for name in program.tensors().into_keys() {
            let whole = self.parts.iter().find(|(_, parts)| parts.contains(&name));
            let scoped = whole.map_or(&*name, |(whole, _)| whole.as_str());
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
            let whole = self.parts.iter().find(|(_, parts)| parts.contains(name));
            let scoped = whole.map_or(&**name, |(whole, _)| whole.as_str());
            let role = self.scoped.tensor(scoped)?;
            let given = self.host.tensors.get(&role.host).filter(|_| role.init.is_none());
            given.map(|g| g.ty).or_else(|| {
                self.host.types.get(&role.host).copied().filter(|_| role.init.is_some())
            })
        };
        let types = types(&program, &host)?;
        let is_searched = |name: &&Name| {
            let whole = self.parts.iter().find(|(_, parts)| parts.contains(*name));
            let scoped = whole.map_or(&***name, |(whole, _)| whole.as_str());
            let role = self.scoped.tensor(scoped);
            role.is_some_and(|role| self.host.searched.contains(&role.host))
        };
        let searched = tensors.keys().filter(is_searched).cloned().collect();
        let extents = Extents { indices, tensors };
        // Whether all types fit together.
        Binder::new(&extents, &types).statement(program.root(), &mut Vec::new())?;
        let mut returned = Vec::new();
        for (name, scoped) in &self.scoped.returned {
            let parts = self.parts_of(scoped);
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
            returned.push(Returned { name: name.clone(), parts, dims, fill });
        }
        let name = self.name.to_string();
        Ok(Tree { name, program, extents, types, given, searched, returned })
    }
}

/// A diagnostic in a program's text; the tree is checked with the places of that text.
pub(super) fn located(mut e: Box<Diagnostic>, name: &str, text: &str) -> Box<Diagnostic> {
    if let Some(source) = e.source.as_mut().filter(|s| *s.text == *text) {
        source.name = name.to_string();
    }
    e.within(name, text)
}

fn no_update(span: &Span) -> Box<Diagnostic> {
    wrong("this updates no element", span)
        .help("write `<<op>>=` with a function of two arguments, `choose(z)` or `initwrite(z)`")
}

fn no_tuple(span: &Span) -> Box<Diagnostic> {
    wrong("tuples are not updated by this", span)
        .help("use `=`, `:=`, `<<minby>>=` or `<<maxby>>=`")
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
        Expr::Literal(Literal::Missing | Literal::Nothing, _) => {
            return Err(wrong("elements are numbers, never `missing` or `nothing`", &span)
                .help("begin with a number that stands for it"));
        }
        _ => {
            return Err(wrong("what elements begin with is a number", &span)
                .help("write e.g. `y .= 0`, `y .= -Inf` or `y .= Inf => 0`"));
        }
    };
    Ok(Fill { negative, literal: ir::Literal { text, span: span.0 } })
}
