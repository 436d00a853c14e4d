//! What names stand for. Every index, value and tensor gets a name of its own, under which the later
//! passes look it up.
//!
//! `for`, `if` and `let` open scopes. A name that is bound is bound to nothing else inside. A tensor that
//! is declared inside a scope is a workspace of it; one that is declared again begins anew: each
//! declaration makes another tensor. Without a declaration a tensor is one that is given.
//!
//! Numbers that are given take the place of their names, and what masks stand for the place of masks.

use indexmap::IndexMap;

use super::functions::{BUILT_IN, operator};
use super::host::Host;
use super::mask;
use super::refusal::wrong;
use super::subscript::PROTOCOLS;
use super::syntax::{
    Access, Assign, Branch, Declare, Expr, Extent, Finch, Ident, Literal, Stmt, Tensor, Update,
};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::operators::Value;
use crate::program::ir::Span;
use crate::program::token::{continues_name, is_reserved, starts_name};

/// A program whose names are all different.
#[derive(Debug)]
pub(super) struct Scoped {
    pub body: Vec<Stmt>,
    /// What each name stands for.
    pub names: IndexMap<String, Role>,
    /// Of the names that are not those in the text, what the text says.
    pub written: IndexMap<String, String>,
    /// The tensors that the program returns, by the names that the host knows.
    pub returned: Vec<(Name, String)>,
    /// The numbers of the host that it uses.
    pub numbers: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    Index,
    Value,
    Tensor(TensorRole),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TensorRole {
    /// What the host calls it.
    pub host: Name,
    /// What it begins with; none if it is given.
    pub init: Option<Expr>,
    /// Whether it is declared at global scope, or given.
    pub global: bool,
}

impl Scoped {
    /// A diagnostic in the names of the text.
    pub fn spelt(&self, mut e: Box<Diagnostic>) -> Box<Diagnostic> {
        let spelt = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some(start) = rest.find(starts_name) {
                let word = &rest[start..];
                let word = &word[..word.find(|c| !continues_name(c)).unwrap_or(word.len())];
                out.push_str(&rest[..start]);
                out.push_str(self.written.get(word).map_or(word, String::as_str));
                rest = &rest[start + word.len()..];
            }
            out + rest
        };
        e.message = spelt(&e.message);
        e.notes.iter_mut().for_each(|note| *note = spelt(note));
        e.help = e.help.as_deref().map(spelt);
        if let Some((_, label)) = &mut e.span {
            *label = spelt(label);
        }
        e
    }

    pub fn tensor(&self, name: &str) -> Option<&TensorRole> {
        match self.names.get(name)? {
            Role::Tensor(role) => Some(role),
            Role::Index | Role::Value => None,
        }
    }
}

/// Words of the tree of statements.
const WORDS: [&str; 9] =
    ["forall", "for", "let", "declare", "when", "given", "within", "else", "in"];

pub(super) fn scoped(finch: &Finch, host: &Host<'_>) -> Result<Scoped> {
    let mut resolver = Resolver {
        host,
        names: IndexMap::new(),
        written: IndexMap::new(),
        scopes: vec![Scope::default()],
        returned: None,
        numbers: Vec::new(),
    };
    let body = resolver.block(&finch.body)?;
    let returned = match resolver.returned.take() {
        Some(returned) => returned,
        None => resolver.all_outputs(&body),
    };
    let Resolver { names, written, numbers, .. } = resolver;
    Ok(Scoped { body, names, written, returned, numbers })
}

#[derive(Default)]
struct Scope {
    /// By the names in the text.
    bound: IndexMap<String, String>,
    tensors: IndexMap<String, String>,
}

struct Resolver<'a> {
    host: &'a Host<'a>,
    names: IndexMap<String, Role>,
    written: IndexMap<String, String>,
    scopes: Vec<Scope>,
    returned: Option<Vec<(Name, String)>>,
    numbers: Vec<Name>,
}

impl Resolver<'_> {
    /// A name for the tree of statements that nothing else has.
    fn fresh(&self, name: &str) -> String {
        let free = |name: &str| {
            !self.names.contains_key(name)
                && !is_reserved(name)
                && !WORDS.contains(&name)
                && name != "_"
        };
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        std::iter::once(name.to_string()).chain(numbered).find(|n| free(n)).unwrap_or_default()
    }

    fn insert(&mut self, written: &str, name: &str, role: Role) {
        if written != name {
            self.written.insert(name.to_string(), written.to_string());
        }
        self.names.insert(name.to_string(), role);
    }

    fn bound(&self, name: &str) -> Option<&String> {
        self.scopes.iter().rev().find_map(|s| s.bound.get(name))
    }

    fn bind(&mut self, ident: &Ident, role: Role) -> Result<Ident> {
        let what = if role == Role::Index { "an index" } else { "a value" };
        if self.bound(&ident.name).is_some() {
            return Err(wrong(format!("`{ident}` is bound already"), &ident.span)
                .help("give one of the two another name: what is bound stays so inside"));
        }
        let is_tensor = self.scopes.iter().any(|s| s.tensors.contains_key(&ident.name))
            || self.host.tensors.contains_key(ident.name.as_str());
        if is_tensor || self.host.scalars.contains_key(ident.name.as_str()) {
            let other = if is_tensor { "a tensor" } else { "a number that is given" };
            return Err(wrong(format!("`{ident}` is {other}"), &ident.span)
                .help(format!("give {what} another name")));
        }
        if ident.name == "_" {
            return Err(wrong("`_` names nothing", &ident.span).help("write a name"));
        }
        let name = self.fresh(&ident.name);
        self.insert(&ident.name, &name, role);
        if let Some(scope) = self.scopes.last_mut() {
            scope.bound.insert(ident.name.clone(), name.clone());
        }
        Ok(Ident { name, span: ident.span.clone() })
    }

    fn block(&mut self, stmts: &[Stmt]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        for stmt in stmts {
            if self.returned.is_some() {
                break;
            }
            out.extend(self.statement(stmt)?);
        }
        Ok(out)
    }

    /// The statements of a new scope, after `f` has bound what it has.
    fn scope<T>(
        &mut self,
        body: &[Stmt],
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Vec<Stmt>)> {
        self.scopes.push(Scope::default());
        let made = f(self)?;
        let body = self.block(body)?;
        self.scopes.pop();
        Ok((made, body))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Option<Stmt>> {
        Ok(Some(match stmt {
            Stmt::Block(body) => Stmt::Block(self.block(body)?),
            Stmt::For(indices, body) => {
                let (indices, body) = self.scope(body, |r| {
                    let mut out = Vec::new();
                    for (index, extent) in indices {
                        let extent = r.extent(extent)?;
                        out.push((r.bind(index, Role::Index)?, extent));
                    }
                    Ok(out)
                })?;
                Stmt::For(indices, body)
            }
            Stmt::If(branches, otherwise) => {
                let mut out = Vec::new();
                for branch in branches {
                    let condition = self.expr(&branch.condition)?;
                    let ((), body) = self.scope(&branch.body, |_| Ok(()))?;
                    out.push(Branch { condition, body });
                }
                let otherwise = match otherwise {
                    Some(body) => Some(self.scope(body, |_| Ok(()))?.1),
                    None => None,
                };
                Stmt::If(out, otherwise)
            }
            Stmt::Let(bound, body) => {
                let (bound, body) = self.scope(body, |r| {
                    let mut out = Vec::new();
                    for (name, value) in bound {
                        let value = r.expr(value)?;
                        out.push((r.bind(name, Role::Value)?, value));
                    }
                    Ok(out)
                })?;
                Stmt::Let(bound, body)
            }
            Stmt::Declare(declare) => Stmt::Declare(self.declare(declare)?),
            Stmt::Assign(assign) => Stmt::Assign(Assign {
                output: self.access(&assign.output)?,
                op: match &assign.op {
                    Update::By(op) => Update::By(self.function(op)?),
                    other => other.clone(),
                },
                value: self.expr(&assign.value)?,
            }),
            Stmt::Freeze(tensor, op) => Stmt::Freeze(self.tensor(tensor)?, self.maybe(op)?),
            Stmt::Thaw(tensor, op) => Stmt::Thaw(self.tensor(tensor)?, self.maybe(op)?),
            Stmt::Return(tensors, span) => {
                if self.scopes.len() > 1 {
                    return Err(wrong("`return` stands inside a block", span)
                        .help("write it at the end of the program"));
                }
                let mut out = Vec::new();
                for tensor in tensors {
                    let name = self.tensor(tensor)?.name;
                    out.push((Name::from(tensor.name.as_str()), name));
                }
                self.returned = Some(out);
                return Ok(None);
            }
        }))
    }

    fn maybe(&mut self, e: &Option<Expr>) -> Result<Option<Expr>> {
        e.as_ref().map(|e| self.function(e)).transpose()
    }

    fn declare(&mut self, declare: &Declare) -> Result<Declare> {
        let ident = &declare.tensor;
        if self.bound(&ident.name).is_some() || self.host.scalars.contains_key(ident.name.as_str())
        {
            return Err(wrong(format!("`{ident}` is no tensor"), &ident.span)
                .help("declare a tensor of another name"));
        }
        let init = self.expr(&declare.init)?;
        let op = self.maybe(&declare.op)?;
        let name = self.fresh(&ident.name);
        let global = self.scopes.len() == 1;
        let host = Name::from(ident.name.as_str());
        let role = TensorRole { host, init: Some(init.clone()), global };
        self.insert(&ident.name, &name, Role::Tensor(role));
        if let Some(scope) = self.scopes.last_mut() {
            scope.tensors.insert(ident.name.clone(), name.clone());
        }
        Ok(Declare { tensor: Ident { name, span: ident.span.clone() }, init, op })
    }

    /// The tensor that a name stands for here.
    fn tensor(&mut self, ident: &Ident) -> Result<Ident> {
        let span = ident.span.clone();
        if let Some(name) = self.scopes.iter().rev().find_map(|s| s.tensors.get(&ident.name)) {
            return Ok(Ident { name: name.clone(), span });
        }
        if self.bound(&ident.name).is_some() {
            return Err(wrong(format!("`{ident}` is no tensor"), &span)
                .help("indices and values have no subscripts"));
        }
        let host = Name::from(ident.name.as_str());
        if !self.host.tensors.contains_key(&host) {
            return Err(wrong(format!("tensor `{ident}` is neither declared nor given"), &span)
                .help(format!("declare it, `{ident} .= 0`, or pass it: `-t {ident}=FILE`")));
        }
        let name = self.fresh(&ident.name);
        let role = TensorRole { host, init: None, global: true };
        self.insert(&ident.name, &name, Role::Tensor(role));
        self.scopes[0].tensors.insert(ident.name.clone(), name.clone());
        Ok(Ident { name, span })
    }

    fn extent(&mut self, extent: &Extent) -> Result<Extent> {
        Ok(match extent {
            Extent::Infer(span) => Extent::Infer(span.clone()),
            Extent::Range(from, to, span) => {
                let (from, to) = (self.expr(from)?, self.expr(to)?);
                Extent::Range(Box::new(from), Box::new(to), span.clone())
            }
            // On what the iterations run is no part of what they mean.
            Extent::Parallel(inner, ..) => self.extent(inner)?,
        })
    }

    fn access(&mut self, access: &Access) -> Result<Access> {
        let mut subscripts = self.exprs(&access.subscripts)?;
        let mut tensor = &access.tensor;
        // Dimension k of a swizzle is dimension `order[k]` of what it is made of.
        while let Tensor::Swizzle(inner, order, span) = tensor {
            if order.len() != subscripts.len() {
                let message =
                    format!("{} dimensions and {} subscripts", order.len(), subscripts.len());
                return Err(wrong(message, span).help("write one subscript per dimension"));
            }
            let mut inside = subscripts.clone();
            for (subscript, place) in subscripts.into_iter().zip(order) {
                inside[place - 1] = subscript;
            }
            subscripts = inside;
            tensor = inner;
        }
        let Tensor::Named(ident) = tensor else {
            return Err(wrong("a mask is read only", &access.span).help("assign to a tensor"));
        };
        let tensor = Tensor::Named(self.tensor(ident)?);
        Ok(Access { tensor, subscripts, span: access.span.clone() })
    }

    fn exprs(&mut self, list: &[Expr]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn boxed(&mut self, e: &Expr) -> Result<Box<Expr>> {
        self.expr(e).map(Box::new)
    }

    fn expr(&mut self, e: &Expr) -> Result<Expr> {
        Ok(match e {
            Expr::Literal(..) | Expr::Operator(..) => e.clone(),
            Expr::Name(ident) => self.name(ident)?,
            Expr::Access(access) => match self.mask(access)? {
                Some(meaning) => meaning,
                None => Expr::Access(self.access(access)?),
            },
            Expr::Prefix(op, a, span) => Expr::Prefix(op, self.boxed(a)?, span.clone()),
            Expr::Infix(op, a, b) => Expr::Infix(op, self.boxed(a)?, self.boxed(b)?),
            Expr::Chain(first, rest) => {
                let first = self.boxed(first)?;
                let mut out = Vec::new();
                for (op, e) in rest {
                    out.push((*op, self.expr(e)?));
                }
                Expr::Chain(first, out)
            }
            Expr::Call(f, args, span) => {
                if let Expr::Name(ident) = &**f {
                    self.called(ident, span)?;
                }
                let f = Box::new(self.function(f)?);
                Expr::Call(f, self.exprs(args)?, span.clone())
            }
            Expr::Window(from, to, index, span) => {
                let (from, to) = (self.boxed(from)?, self.boxed(to)?);
                Expr::Window(from, to, self.boxed(index)?, span.clone())
            }
            Expr::Tuple(parts, span) => Expr::Tuple(self.exprs(parts)?, span.clone()),
        })
    }

    /// Refuses what is called like a function, and is none.
    fn called(&self, ident: &Ident, span: &Span) -> Result<()> {
        let name = ident.name.as_str();
        if BUILT_IN.contains(&name) || PROTOCOLS.contains(&name) {
            return Ok(());
        }
        let known = |s: &Scope| s.tensors.contains_key(&ident.name);
        let is_tensor =
            self.scopes.iter().any(known) || self.host.tensors.contains_key(ident.name.as_str());
        operator(name, self.host.operators, span).map(drop).map_err(|e| match is_tensor {
            true => wrong(format!("`{ident}` is a tensor, no function"), span)
                .help(format!("subscripts stand in brackets: `{ident}[i]`")),
            false => e,
        })
    }

    /// What is called, or updates an element: its name is none of the program's.
    fn function(&mut self, e: &Expr) -> Result<Expr> {
        Ok(match e {
            Expr::Name(_) => e.clone(),
            Expr::Call(f, args, span) => {
                let f = Box::new(self.function(f)?);
                Expr::Call(f, self.exprs(args)?, span.clone())
            }
            other => self.expr(other)?,
        })
    }

    fn mask(&mut self, access: &Access) -> Result<Option<Expr>> {
        let (name, args) = match &access.tensor {
            Tensor::Mask(name, args) => (name, args.as_slice()),
            Tensor::Named(name) if mask::is_plain(&name.name) => {
                let known = self.host.tensors.contains_key(name.name.as_str())
                    || self.scopes.iter().any(|s| s.tensors.contains_key(&name.name));
                if known {
                    return Ok(None);
                }
                (name, &[][..])
            }
            _ => return Ok(None),
        };
        let (args, subscripts) = (self.exprs(args)?, self.exprs(&access.subscripts)?);
        mask::meaning(name, args, subscripts, &access.span).map(Some)
    }

    fn name(&mut self, ident: &Ident) -> Result<Expr> {
        let span = ident.span.clone();
        if let Some(name) = self.bound(&ident.name) {
            return Ok(Expr::Name(Ident { name: name.clone(), span }));
        }
        if let Some(value) = self.host.scalars.get(ident.name.as_str()) {
            let name = Name::from(ident.name.as_str());
            if !self.numbers.contains(&name) {
                self.numbers.push(name);
            }
            return Ok(number(*value, &span));
        }
        let known = self.scopes.iter().any(|s| s.tensors.contains_key(&ident.name))
            || self.host.tensors.contains_key(ident.name.as_str());
        if known {
            return Err(wrong(format!("`{ident}` is a tensor"), &span)
                .help(format!("write its element: `{ident}[]`, or `{ident}[i]`")));
        }
        Err(wrong(format!("nothing is known of `{ident}`"), &span)
            .help(format!(
                "bind it by `for` or `let`, or pass a number: `-p {ident}=1`; a tensor has subscripts, `{ident}[i]`"
            )))
    }

    /// Without `return`: what is declared at global scope or updated, in the order of the text.
    fn all_outputs(&self, body: &[Stmt]) -> Vec<(Name, String)> {
        let mut written = Vec::new();
        visit(body, &mut |stmt| {
            let name = match stmt {
                Stmt::Declare(d) => &d.tensor.name,
                Stmt::Assign(a) => &a.output.tensor.name().name,
                _ => return,
            };
            if !written.contains(name) {
                written.push(name.clone());
            }
        });
        let mut out: IndexMap<Name, String> = IndexMap::new();
        for name in written {
            if let Some(Role::Tensor(role)) = self.names.get(&name)
                && role.global
            {
                // The last declaration of a name is what it stands for in the end.
                out.insert(role.host.clone(), name);
            }
        }
        out.into_iter().collect()
    }
}

/// A number as an expression.
fn number(value: Value, span: &Span) -> Expr {
    let float = |x: f64| {
        let literal = match x.abs() {
            _ if x.is_nan() => Literal::Nan,
            f64::INFINITY => Literal::Inf,
            x => Literal::Float(format!("{x:?}")),
        };
        (x.is_sign_negative() && !x.is_nan(), literal)
    };
    let whole = |x: i64| (x < 0, Literal::Integer(x.unsigned_abs().to_string()));
    let (negative, literal) = match value {
        Value::F64(x) => float(x),
        Value::F32(x) => float(f64::from(x)),
        Value::I64(x) => whole(x),
        Value::I32(x) => whole(i64::from(x)),
        Value::U8(x) => whole(i64::from(x)),
        Value::Bool(x) => (false, Literal::Bool(x)),
    };
    let number = Expr::Literal(literal, span.clone());
    if negative { Expr::Prefix("-", Box::new(number), span.clone()) } else { number }
}

/// Calls `f` on all statements, from top to bottom.
pub(super) fn visit<'a>(stmts: &'a [Stmt], f: &mut impl FnMut(&'a Stmt)) {
    for stmt in stmts {
        f(stmt);
        for block in blocks(stmt) {
            visit(block, f);
        }
    }
}

/// The blocks that a statement consists of.
pub(super) fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match stmt {
        Stmt::Block(body) | Stmt::For(_, body) | Stmt::Let(_, body) => vec![body],
        Stmt::If(branches, otherwise) => {
            branches.iter().map(|b| b.body.as_slice()).chain(otherwise.as_deref()).collect()
        }
        _ => Vec::new(),
    }
}
