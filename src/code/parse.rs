//! Reading code from Rust text: what templates render, and what [`Body`] prints.
//!
//! Accepted is what the module's grammar says, in Rust's spelling, with the holes of
//! [`Hole`] as macros. Everything else is refused with its place.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::ir::Hole;
use super::ir::{
    Access, ArrayId, Assign, BinaryOp, Block, Body, Expr, LabelId, Question, Stmt, TableId, Type,
    VarId,
};
use crate::diagnostic::{Code, Diagnostic, Result};

/// Reads statements into `body`, whose variables and tables they share.
pub struct Parser<'a> {
    pub body: &'a mut Body,
    /// What the text is called in diagnostics, and the text.
    pub place: &'a str,
    pub text: &'a str,
    /// Names in sight, innermost last.
    pub scope: Vec<(String, VarId)>,
    /// The table type that the template's items declare.
    pub table: Option<TableId>,
    /// The loops and labelled blocks around, innermost last.
    around: Vec<Around>,
    /// A whole body is read: see `read.rs`.
    pub(super) whole: Option<Whole>,
}

/// What only bodies have: arrays, and values of one type.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) arrays: Vec<(String, ArrayId)>,
}

/// What a `break` may leave.
enum Around {
    Loop,
    Labelled(String, LabelId),
}

/// What a span covers.
fn range(span: Span) -> Range<usize> {
    span.byte_range()
}

impl<'a> Parser<'a> {
    pub fn new(body: &'a mut Body, place: &'a str, text: &'a str) -> Parser<'a> {
        Parser {
            body,
            place,
            text,
            scope: Vec::new(),
            table: None,
            around: Vec::new(),
            whole: None,
        }
    }

    pub(super) fn wrong(&self, span: Span, what: impl Into<String>) -> Box<Diagnostic> {
        let at = range(span);
        // The text was parsed within braces of ours.
        let braces = usize::from(self.whole.is_none());
        let at = at.start.saturating_sub(braces)..at.end.saturating_sub(braces);
        Diagnostic::new(Code::Find, what)
            .at(at, "in this code")
            .within(self.place, self.text)
            .help("see the grammar of templates in the documentation of `siskin::code`")
    }

    /// The statements of the text.
    pub fn statements(&mut self) -> Result<Block> {
        let braced = format!("{{{}}}", self.text);
        let block: syn::Block = syn::parse_str(&braced)
            .map_err(|e| self.wrong(e.span(), format!("the code is no Rust: {e}")))?;
        // Names of the outermost block stay in sight: another part may go on with them.
        block.stmts.iter().try_fold(Vec::new(), |mut out, s| {
            self.stmt(s, &mut out)?;
            Ok(out)
        })
    }

    pub(super) fn block(&mut self, block: &syn::Block) -> Result<Block> {
        let before = self.scope.len();
        let mut out = Vec::new();
        for s in &block.stmts {
            self.stmt(s, &mut out)?;
        }
        self.scope.truncate(before);
        Ok(out)
    }

    /// The body of a loop.
    pub(super) fn turn(&mut self, body: &syn::Block) -> Result<Block> {
        self.within(Around::Loop, body)
    }

    fn within(&mut self, around: Around, body: &syn::Block) -> Result<Block> {
        self.around.push(around);
        let body = self.block(body);
        self.around.pop();
        body
    }

    pub(super) fn bind(&mut self, name: &str, ty: Type) -> VarId {
        let v = self.body.variable(name, ty);
        self.scope.push((name.to_string(), v));
        v
    }

    fn lookup(&self, name: &str, span: Span) -> Result<VarId> {
        let found = self.scope.iter().rev().find(|(n, _)| n == name);
        found
            .map(|(_, v)| *v)
            .ok_or_else(|| self.wrong(span, format!("nothing is called `{name}`")))
    }

    fn typed(&self, e: &Expr, span: Span) -> Result<Type> {
        self.body.type_of(e).map_err(|why| self.wrong(span, why))
    }

    pub(super) fn stmt(&mut self, s: &syn::Stmt, out: &mut Block) -> Result<()> {
        match s {
            syn::Stmt::Local(local) => {
                let (mut pattern, mut stated) = (&local.pat, None);
                if let syn::Pat::Type(typed) = pattern {
                    (pattern, stated) = (&typed.pat, Some(&typed.ty));
                }
                let (syn::Pat::Ident(ident), Some(init)) = (pattern, &local.init) else {
                    return Err(
                        self.wrong(local.span(), "a variable is bound by `let name = value;`")
                    );
                };
                if let (Some(_), syn::Expr::Macro(m)) = (&self.whole, &*init.expr)
                    && m.mac.path.is_ident("vec")
                {
                    out.push(self.allocation(&ident.ident.to_string(), &m.mac)?);
                    return Ok(());
                }
                let mut value = self.expr(&init.expr)?;
                if let (Some(_), Some(ty)) = (&self.whole, stated) {
                    value = self.as_type(value, self.stated(ty)?);
                }
                let ty = self.typed(&value, init.expr.span())?;
                let var = self.bind(&ident.ident.to_string(), ty);
                out.push(Stmt::Let { var, mutable: ident.mutability.is_some(), value });
            }
            syn::Stmt::Expr(e, _) => self.statement(e, out)?,
            syn::Stmt::Macro(m) if m.mac.path.is_ident("comment") => {
                let text: syn::LitStr =
                    m.mac.parse_body().map_err(|e| self.wrong(m.span(), e.to_string()))?;
                out.push(Stmt::Comment(text.value()));
            }
            syn::Stmt::Macro(m) => out.push(Stmt::Hole(self.hole(&m.mac, &Hole::STATEMENTS)?)),
            syn::Stmt::Item(item) => {
                return Err(self.wrong(item.span(), "items belong into the macro `items`"));
            }
        }
        Ok(())
    }

    fn statement(&mut self, e: &syn::Expr, out: &mut Block) -> Result<()> {
        match e {
            syn::Expr::Assign(a) => {
                let value = self.expr(&a.right)?;
                out.push(self.assign(&a.left, Assign::Set, value)?);
            }
            syn::Expr::Binary(b)
                if matches!(b.op, syn::BinOp::AddAssign(_))
                    || self.whole.is_some() && matches!(b.op, syn::BinOp::BitOrAssign(_)) =>
            {
                let value = self.expr(&b.right)?;
                out.push(self.assign(&b.left, Assign::Add, value)?);
            }
            syn::Expr::Binary(b) if matches!(b.op, syn::BinOp::SubAssign(_)) => {
                let (left, right) = (self.expr(&b.left)?, self.expr(&b.right)?);
                out.push(self.assign(&b.left, Assign::Set, left.sub(right))?);
            }
            syn::Expr::If(i) => {
                if let syn::Expr::Let(l) = &*i.cond {
                    return self.first_match(i, l, out);
                }
                let condition = self.expr(&i.cond)?;
                let then = self.block(&i.then_branch)?;
                let otherwise = match &i.else_branch {
                    None => Vec::new(),
                    Some((_, e)) => match &**e {
                        syn::Expr::Block(b) => self.block(&b.block)?,
                        other => {
                            let mut inner = Vec::new();
                            self.statement(other, &mut inner)?;
                            inner
                        }
                    },
                };
                out.push(Stmt::If { condition, then, otherwise });
            }
            syn::Expr::While(w) => {
                let condition = self.expr(&w.cond)?;
                let mut body = self.turn(&w.body)?;
                let mut invariants = Vec::new();
                body.retain(|s| match s {
                    Stmt::Hole(Hole::Invariant(c)) => {
                        invariants.push((**c).clone());
                        false
                    }
                    _ => true,
                });
                out.push(Stmt::While { condition, invariants, body });
            }
            syn::Expr::ForLoop(f) => self.for_loop(f, out)?,
            syn::Expr::Block(b) => match &b.label {
                Some(label) if self.whole.is_some() && label.name.ident == "threads" => {
                    out.push(self.parallel(&b.block)?);
                }
                None => out.push(Stmt::Scope(self.block(&b.block)?)),
                Some(label) => {
                    let name = label.name.ident.to_string();
                    let id = self.body.label(&name);
                    let body = self.within(Around::Labelled(name, id), &b.block)?;
                    out.push(Stmt::Labelled { label: id, body });
                }
            },
            syn::Expr::Break(b) if b.expr.is_none() => {
                out.push(Stmt::Break(self.left(b.label.as_ref(), b.span())?));
            }
            syn::Expr::MethodCall(call)
                if self.whole.is_some()
                    && !matches!(call.method.to_string().as_str(), "insert") =>
            {
                match self.grown_statement(call)? {
                    Some(stmt) => out.push(stmt),
                    None => return Err(self.wrong(call.span(), "this is no statement")),
                }
            }
            syn::Expr::MethodCall(call) if call.method == "insert" && call.args.len() == 2 => {
                let table = self.table_variable(&call.receiver)?;
                let (key, position) = (self.expr(&call.args[0])?, self.expr(&call.args[1])?);
                out.push(Stmt::Insert { table, key, position });
            }
            syn::Expr::Call(call) if self.whole.is_some() => out.push(self.hint(call)?),
            syn::Expr::Macro(m) => out.push(Stmt::Hole(self.hole(&m.mac, &Hole::STATEMENTS)?)),
            syn::Expr::Paren(p) => self.statement(&p.expr, out)?,
            other => return Err(self.wrong(other.span(), "this is no statement of the language")),
        }
        Ok(())
    }

    /// The label of what `break` leaves; none for the innermost loop.
    fn left(&self, label: Option<&syn::Lifetime>, span: Span) -> Result<Option<LabelId>> {
        match (label, self.around.last()) {
            (None, Some(Around::Loop)) => Ok(None),
            (None, None) => Err(self.wrong(span, "there is no loop to leave")),
            (None, Some(Around::Labelled(name, _))) => {
                Err(self
                    .wrong(span, format!("in a labelled block, `break '{name}` says what is left")))
            }
            (Some(label), _) => {
                let named = |a: &Around| match a {
                    Around::Labelled(name, id) if label.ident == name => Some(*id),
                    _ => None,
                };
                let found = self.around.iter().rev().find_map(named);
                found.map(Some).ok_or_else(|| self.wrong(span, "no such label is in sight"))
            }
        }
    }

    fn assign(&mut self, left: &syn::Expr, op: Assign, value: Expr) -> Result<Stmt> {
        let place = self.expr(left)?;
        let (op, value) = match self.whole.is_some() {
            true => {
                let ty = self.typed(&place, left.span())?;
                self.update(&place, op, self.as_type(value, ty))
            }
            false => (op, value),
        };
        match place {
            Expr::Var(var) => {
                let ty = self.typed(&value, left.span())?;
                if ty != self.body.var(var).ty {
                    return Err(self.wrong(left.span(), "it is assigned something of another type"));
                }
                Ok(Stmt::Assign { var, op, value })
            }
            Expr::Load(place) => Ok(Stmt::Store { place, op, value }),
            _ => Err(self.wrong(left.span(), "only variables and elements are assigned to")),
        }
    }

    /// `for p in lo..hi`, `for p in table.matches(key)`.
    fn for_loop(&mut self, f: &syn::ExprForLoop, out: &mut Block) -> Result<()> {
        if self.whole.is_some()
            && let Some(drain) = self.drain(f)?
        {
            out.push(drain);
            return Ok(());
        }
        let syn::Pat::Ident(ident) = &*f.pat else {
            return Err(self.wrong(f.pat.span(), "a loop binds one variable"));
        };
        let name = ident.ident.to_string();
        let before = self.scope.len();
        match &*f.expr {
            syn::Expr::Range(syn::ExprRange {
                start: Some(lo),
                end: Some(hi),
                limits: syn::RangeLimits::HalfOpen(_),
                ..
            }) => {
                let (lo, hi) = (self.expr(lo)?, self.expr(hi)?);
                let ty = self.typed(&lo, f.expr.span())?;
                let var = self.bind(&name, ty);
                let body = self.turn(&f.body)?;
                out.push(Stmt::For { var, lo, hi, body });
            }
            syn::Expr::MethodCall(call) if call.method == "matches" && call.args.len() == 1 => {
                let table = self.table_variable(&call.receiver)?;
                let key = self.expr(&call.args[0])?;
                let var = self.bind(&name, Type::Unsigned);
                let body = self.turn(&f.body)?;
                let access = Access::Checked;
                out.push(Stmt::Matches { table, key, access, var, all: true, body });
            }
            other => {
                return Err(
                    self.wrong(other.span(), "a loop runs over `lo..hi` or `table.matches(key)`")
                );
            }
        }
        self.scope.truncate(before);
        Ok(())
    }

    /// `if let Some(p) = table.first(key)`.
    fn first_match(&mut self, i: &syn::ExprIf, l: &syn::ExprLet, out: &mut Block) -> Result<()> {
        let wrong =
            |p: &Self| p.wrong(l.span(), "the only pattern is `Some(p) = table.first(key)`");
        let syn::Pat::TupleStruct(pattern) = &*l.pat else { return Err(wrong(self)) };
        let name = match pattern.elems.first() {
            Some(syn::Pat::Ident(ident)) if pattern.path.is_ident("Some") => {
                ident.ident.to_string()
            }
            _ => return Err(wrong(self)),
        };
        let syn::Expr::MethodCall(call) = &*l.expr else { return Err(wrong(self)) };
        if call.method != "first" || call.args.len() != 1 || i.else_branch.is_some() {
            return Err(wrong(self));
        }
        let table = self.table_variable(&call.receiver)?;
        let key = self.expr(&call.args[0])?;
        let before = self.scope.len();
        let var = self.bind(&name, Type::Unsigned);
        let body = self.block(&i.then_branch)?;
        self.scope.truncate(before);
        out.push(Stmt::Matches { table, key, access: Access::Checked, var, all: false, body });
        Ok(())
    }

    fn table_variable(&mut self, e: &syn::Expr) -> Result<VarId> {
        match self.expr(e)? {
            Expr::Var(v) if matches!(self.body.var(v).ty, Type::Table { .. }) => Ok(v),
            _ => Err(self.wrong(e.span(), "this is no table")),
        }
    }

    fn hole(&mut self, m: &syn::Macro, known: &[(&str, bool)]) -> Result<Hole> {
        let name = m.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let Some((_, takes)) = known.iter().find(|(n, _)| *n == name) else {
            let names: Vec<&str> = known.iter().map(|(n, _)| *n).collect();
            return Err(self
                .wrong(m.span(), format!("`{name}!` stands for nothing here"))
                .help(format!("what may stand here is {}", names.join("!, ") + "!")));
        };
        if name == "leave" && !self.around.is_empty() {
            return Err(self
                .wrong(m.span(), "`leave!` leaves the loop around the search, not one within it")
                .help("put it outside of loops and labelled blocks"));
        }
        let argument = match takes {
            true => {
                let e: syn::Expr = m.parse_body().map_err(|e| {
                    self.wrong(e.span(), format!("`{name}!` takes an expression: {e}"))
                })?;
                Some(self.expr(&e)?)
            }
            false if !m.tokens.is_empty() => {
                return Err(self.wrong(m.span(), format!("`{name}!` takes nothing")));
            }
            false => None,
        };
        Hole::named(&name, argument).ok_or_else(|| self.wrong(m.span(), "no such hole"))
    }

    pub fn expr(&mut self, e: &syn::Expr) -> Result<Expr> {
        if let Some(e) = self.whole_expr(e)? {
            return Ok(e);
        }
        Ok(match e {
            syn::Expr::Lit(l) => match &l.lit {
                syn::Lit::Int(n) => {
                    let value = n.base10_parse::<i64>();
                    Expr::int(value.map_err(|e| self.wrong(n.span(), e.to_string()))?)
                }
                syn::Lit::Bool(b) => Expr::Bool(b.value),
                other => return Err(self.wrong(other.span(), "literals are integers and Booleans")),
            },
            syn::Expr::Path(p) => match p.path.get_ident() {
                Some(name) => Expr::Var(self.lookup(&name.to_string(), p.span())?),
                None if spelled(&p.path) == "usize::MAX" => Expr::Unset,
                None => return Err(self.wrong(p.span(), "this is no variable")),
            },
            syn::Expr::Paren(p) => self.expr(&p.expr)?,
            syn::Expr::Unary(u) if matches!(u.op, syn::UnOp::Not(_)) => {
                Expr::Not(Box::new(self.expr(&u.expr)?))
            }
            syn::Expr::Unary(u) if matches!(u.op, syn::UnOp::Neg(_)) => {
                match self.expr(&u.expr)? {
                    Expr::Int { value, .. } => Expr::integer(-value, true),
                    _ => return Err(self.wrong(u.span(), "only literals have a minus in front")),
                }
            }
            syn::Expr::Binary(b) => self.binary(b)?,
            syn::Expr::Cast(c) => {
                let to = match &*c.ty {
                    syn::Type::Path(p) => spelled(&p.path),
                    _ => String::new(),
                };
                let value = self.expr(&c.expr)?;
                match to.as_str() {
                    "usize" => value.converted(false),
                    "isize" => value.converted(true),
                    _ => return Err(self.wrong(c.span(), "only `usize` and `isize` are cast to")),
                }
            }
            syn::Expr::MethodCall(call) => {
                let method = call.method.to_string();
                let asked = Question::ALL.iter().find(|q| q.method() == method);
                if let Some(question) = asked.filter(|_| self.whole.is_some()) {
                    let mut args = vec![self.expr(&call.receiver)?];
                    for arg in &call.args {
                        args.push(self.expr(arg)?);
                    }
                    return self.checked(Expr::Asked { question: *question, args }, call.span());
                }
                let op = match method.as_str() {
                    "min" => BinaryOp::Min,
                    "max" => BinaryOp::Max,
                    "saturating_sub" => BinaryOp::SaturatingSub,
                    _ => return Err(self.wrong(call.span(), "no such method of integers")),
                };
                if call.args.len() != 1 {
                    return Err(self.wrong(call.span(), "one argument is wanted"));
                }
                let (left, right) = (self.expr(&call.receiver)?, self.expr(&call.args[0])?);
                self.checked(Expr::binary(op, left, right), call.span())?
            }
            syn::Expr::Call(call) => self.call(call)?,
            syn::Expr::Macro(m) => Expr::Hole(self.hole(&m.mac, &Hole::EXPRESSIONS)?),
            other => return Err(self.wrong(other.span(), "this is no expression of the language")),
        })
    }

    fn checked(&self, e: Expr, span: Span) -> Result<Expr> {
        self.typed(&e, span)?;
        Ok(e)
    }

    fn binary(&mut self, b: &syn::ExprBinary) -> Result<Expr> {
        let op = match b.op {
            syn::BinOp::Add(_) => BinaryOp::Add,
            syn::BinOp::Sub(_) => BinaryOp::Sub,
            syn::BinOp::Mul(_) => BinaryOp::Mul,
            syn::BinOp::Div(_) => BinaryOp::Div,
            syn::BinOp::Rem(_) => BinaryOp::Rem,
            syn::BinOp::And(_) => BinaryOp::And,
            syn::BinOp::Or(_) => BinaryOp::Or,
            syn::BinOp::BitOr(_) => BinaryOp::BitOr,
            syn::BinOp::BitAnd(_) if self.whole.is_some() => BinaryOp::Mul,
            syn::BinOp::Eq(_) => BinaryOp::Eq,
            syn::BinOp::Ne(_) => BinaryOp::Ne,
            syn::BinOp::Lt(_) => BinaryOp::Lt,
            syn::BinOp::Le(_) => BinaryOp::Le,
            syn::BinOp::Gt(_) => BinaryOp::Gt,
            syn::BinOp::Ge(_) => BinaryOp::Ge,
            _ => return Err(self.wrong(b.span(), "no such operator")),
        };
        let (left, right) = (self.expr(&b.left)?, self.expr(&b.right)?);
        let (left, right) = self.alike(left, right);
        let e = match op {
            BinaryOp::BitOr if matches!(self.body.type_of(&left), Ok(Type::Value(_))) => {
                Expr::binary(BinaryOp::Add, left, right)
            }
            // What was printed is read as it is.
            _ if self.whole.is_some() => {
                Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
            }
            BinaryOp::Add => left.add(right),
            _ => Expr::binary(op, left, right),
        };
        self.checked(e, b.span())
    }

    fn call(&mut self, call: &syn::ExprCall) -> Result<Expr> {
        let name = match &*call.func {
            syn::Expr::Path(p) => spelled(&p.path),
            _ => String::new(),
        };
        let mut args = Vec::new();
        for a in &call.args {
            args.push(self.expr(a)?);
        }
        let made = match (name.as_str(), args.as_slice()) {
            ("usize::from", [e]) => Expr::FromBool(Box::new(e.clone())),
            ("std::hint::select_unpredictable", [c, a, b]) => {
                let ty = self.typed(a, call.span())?;
                Expr::Choose {
                    condition: Box::new(c.clone()),
                    then: Box::new(a.clone()),
                    otherwise: Box::new(self.as_type(b.clone(), ty)),
                }
            }
            ("home_slot", [c, slots]) => {
                Expr::HomeSlot { coordinate: Box::new(c.clone()), slots: Box::new(slots.clone()) }
            }
            (path, [len]) => {
                let table = self.table.filter(|t| {
                    path.strip_suffix("::new").is_some_and(|t2| t2 == &**self.body.table_name(*t))
                });
                match table {
                    // How many parts its keys have is known where it is used.
                    Some(table) => Expr::NewTable { table, parts: 0, len: Box::new(len.clone()) },
                    None => {
                        return Err(self.wrong(call.span(), format!("nothing is called `{name}`")));
                    }
                }
            }
            _ => return Err(self.wrong(call.span(), format!("`{name}` does not take this"))),
        };
        self.checked(made, call.span())
    }
}

/// `a::b`, without generic arguments.
pub(super) fn spelled(path: &syn::Path) -> String {
    let parts: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    parts.join("::")
}
