//! The type of an expression, and the verifier that runs on every finished body.

use rustc_hash::FxHashSet;

use super::ir::Hole;
use super::ir::{
    BinaryOp, Block, Body, Combination, Element, Expr, LabelId, Load, Origin, Parts, Question,
    Stmt, TableId, TableTraits, Type, VarId, Writes,
};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::Name;
use crate::tensor::ValueType;

impl Body {
    /// The type of `e`, or what is wrong with it.
    pub fn type_of(&self, e: &Expr) -> std::result::Result<Type, String> {
        Ok(match e {
            Expr::Int { signed, .. } => integer(*signed),
            Expr::Unset => Type::Unsigned,
            Expr::Bool(_) => Type::Bool,
            Expr::Number(number) => Type::Value(number.value_type()),
            Expr::Var(v) => self.var(*v).ty,
            Expr::Load(load) => self.check_place(load)?.loaded(),
            Expr::Not(e) => self.expect(e, Type::Bool)?,
            Expr::FromBool(e) => {
                self.expect(e, Type::Bool)?;
                Type::Unsigned
            }
            Expr::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.expect(left, Type::Bool)?;
                self.expect(right, Type::Bool)?
            }
            Expr::Binary { op, left, right } => {
                let ty = self.type_of(left)?;
                self.expect(right, ty)?;
                let (fits, out) = match op {
                    BinaryOp::Add | BinaryOp::Mul => (is_number(ty), ty),
                    BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max => {
                        (is_number(ty) && ty != Type::Value(ValueType::Bool), ty)
                    }
                    BinaryOp::Div => (is_integer(ty) || is_float(ty), ty),
                    BinaryOp::Rem => (is_integer(ty), ty),
                    BinaryOp::SaturatingSub => (ty == Type::Unsigned, ty),
                    BinaryOp::Eq | BinaryOp::Ne => (is_number(ty), Type::Bool),
                    BinaryOp::SameBits => (is_float(ty), Type::Bool),
                    BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                        (is_integer(ty) || is_float(ty), Type::Bool)
                    }
                    BinaryOp::And | BinaryOp::Or | BinaryOp::BitOr => (ty == Type::Bool, ty),
                };
                if !fits {
                    return Err(format!("{op:?} of {ty:?}"));
                }
                out
            }
            Expr::Convert { signed, value } => {
                let ty = self.type_of(value)?;
                if !is_integer(ty) {
                    return Err(format!("conversion of {ty:?}"));
                }
                integer(*signed)
            }
            Expr::Wrapped(value) => match self.type_of(value)? {
                Type::Value(ValueType::U8 | ValueType::I32 | ValueType::I64) => Type::Unsigned,
                ty => return Err(format!("{ty:?} as a position")),
            },
            Expr::Operator { op, generic, args } => {
                let mut types = Vec::new();
                for arg in args {
                    match self.type_of(arg)? {
                        Type::Value(ty) => types.push(ty),
                        ty => return Err(format!("{ty:?} as an argument of `{}`", op.name())),
                    }
                }
                match op.signature(&types) {
                    Ok(s) if s.arguments == types && s.generic == *generic => Type::Value(s.result),
                    _ => return Err(format!("`{}` of {types:?}", op.name())),
                }
            }
            Expr::Cast { to, value } => match self.type_of(value)? {
                Type::Value(_) | Type::Unsigned | Type::Signed => Type::Value(*to),
                ty => return Err(format!("a cast of {ty:?}")),
            },
            Expr::Choose { condition, then, otherwise } => {
                self.expect(condition, Type::Bool)?;
                let ty = self.type_of(then)?;
                self.expect(otherwise, ty)?
            }
            Expr::NewTable { table, parts, len } => {
                self.expect(len, Type::Unsigned)?;
                Type::Table { table: *table, parts: *parts }
            }
            Expr::NewWorkspace { workspace, begin } => {
                self.expect(begin, Type::Value(self.space_of(*workspace).element))?;
                Type::Workspace(*workspace)
            }
            Expr::Len(_) => Type::Unsigned,
            Expr::Key(parts) => {
                for part in parts {
                    let ty = self.type_of(part)?;
                    if !is_integer(ty) {
                        return Err(format!("{ty:?} in a key"));
                    }
                }
                Type::Key { parts: parts.len() }
            }
            Expr::Asked { question, args } => {
                let types: Vec<Type> = args
                    .iter()
                    .map(|arg| self.type_of(arg))
                    .collect::<std::result::Result<_, _>>()?;
                let fits = match &types[..] {
                    [Type::Table { .. }] => *question == Question::IsDense,
                    [Type::Table { parts: a, .. }, Type::Key { parts: b }] => {
                        *question != Question::IsDense && a == b
                    }
                    _ => false,
                };
                match question {
                    _ if !fits => {
                        return Err(format!("`{}` is asked of {types:?}", question.method()));
                    }
                    Question::IsDense | Question::Has => Type::Bool,
                    Question::Near => Type::Unsigned,
                }
            }
            Expr::Fits { value, .. } => {
                self.type_of(value)?;
                Type::Bool
            }
            Expr::HomeSlot { coordinate, slots } => {
                self.type_of(coordinate)?;
                self.expect(slots, Type::Unsigned)?
            }
            Expr::Sum(sum) => {
                self.expect(&sum.lo, Type::Unsigned)?;
                self.expect(&sum.hi, Type::Unsigned)?;
                for (var, e) in &sum.lets {
                    self.expect(e, self.var(*var).ty)?;
                }
                self.expect(&sum.term, Type::Value(sum.ty))?
            }
            Expr::Given { value, .. } => self.type_of(value)?,
            Expr::Hole(hole) => {
                if let Some(e) = hole.argument() {
                    let wanted = match hole {
                        Hole::Invariant(_) => Type::Bool,
                        _ => Type::Unsigned,
                    };
                    self.expect(e, wanted)?;
                }
                match hole {
                    Hole::Matches(_) | Hole::Continues(_) | Hole::Fits | Hole::Invariant(_) => {
                        Type::Bool
                    }
                    Hole::StoredKey(_) | Hole::Query => Type::Key { parts: 0 },
                    Hole::StoredPart(_) | Hole::Sought => Type::Signed,
                    Hole::Lo
                    | Hole::Hi
                    | Hole::Extent
                    | Hole::Position
                    | Hole::Found(_)
                    | Hole::Missed
                    | Hole::Leave => Type::Unsigned,
                }
            }
        })
    }

    fn expect(&self, e: &Expr, wanted: Type) -> std::result::Result<Type, String> {
        match self.type_of(e)? {
            ty if ty == wanted => Ok(ty),
            // Truth values are conditions.
            Type::Value(ValueType::Bool) if wanted == Type::Bool => Ok(wanted),
            ty => Err(format!("{ty:?} where {wanted:?} is wanted")),
        }
    }

    fn check_place(&self, load: &Load) -> std::result::Result<Element, String> {
        let array = self.arr(load.array);
        if load.subscripts.len() != array.shape.len().max(1) {
            return Err(format!("{} subscripts of `{}`", load.subscripts.len(), array.name));
        }
        for s in &load.subscripts {
            self.expect(s, Type::Unsigned)
                .map_err(|e| format!("subscript of `{}`: {e}", array.name))?;
        }
        Ok(array.element)
    }

    /// Checks that the body is finished and well-formed: no hole is open, every variable is bound
    /// before it is used and bound once, types fit, only what is mutable is assigned, only labels
    /// in sight are left.
    ///
    /// # Errors
    /// An internal diagnostic; nothing a user writes can cause it.
    pub fn verify(&self) -> Result<()> {
        let mut bound: FxHashSet<VarId> = self.sizes.iter().copied().collect();
        bound.extend(self.threads);
        let mut checker = Checker {
            body: self,
            mutable: FxHashSet::default(),
            bound,
            once: FxHashSet::default(),
            labels: Vec::new(),
            loops: 0,
        };
        checker.block(&self.block).map_err(|what| {
            Diagnostic::defect(format!("the generated code is not well-formed: {what}"))
                .note(format!("the code is\n{self}"))
        })
    }
}

struct Checker<'a> {
    body: &'a Body,
    bound: FxHashSet<VarId>,
    once: FxHashSet<VarId>,
    mutable: FxHashSet<VarId>,
    labels: Vec<LabelId>,
    loops: usize,
}

type Check = std::result::Result<(), String>;

impl Checker<'_> {
    fn block(&mut self, block: &Block) -> Check {
        let before = self.bound.clone();
        for stmt in block {
            self.stmt(stmt)?;
        }
        self.bound = before;
        Ok(())
    }

    fn bind(&mut self, var: VarId, ty: Option<Type>) -> Check {
        let declared = self.body.var(var);
        if !self.once.insert(var) {
            return Err(format!("`{}` is bound twice", declared.name));
        }
        if ty.is_some_and(|ty| ty != declared.ty) {
            return Err(format!("`{}` is {:?}, bound to {ty:?}", declared.name, declared.ty));
        }
        self.bound.insert(var);
        Ok(())
    }

    fn expr(&mut self, e: &Expr) -> std::result::Result<Type, String> {
        let mut wrong = None;
        let mut inner: FxHashSet<VarId> = FxHashSet::default();
        e.visit(&mut |part| match part {
            Expr::Var(v) if !self.bound.contains(v) && !inner.contains(v) => {
                wrong = Some(format!("`{}` is used before it is bound", self.body.var(*v).name));
            }
            Expr::Hole(hole) => wrong = Some(format!("the hole `{}!` is open", hole.name())),
            Expr::Sum(sum) => {
                inner.insert(sum.var);
                inner.extend(sum.lets.iter().map(|(v, _)| *v));
            }
            _ => {}
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        for v in inner {
            self.bind(v, None)?;
        }
        self.body.type_of(e)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Check {
        match stmt {
            Stmt::Comment(text) if text.contains('\n') => {
                return Err("a comment of two lines".into());
            }
            Stmt::Comment(_) => {}
            Stmt::Let { var, mutable, value } => {
                let ty = self.expr(value)?;
                self.bind(*var, Some(ty))?;
                if *mutable {
                    self.mutable.insert(*var);
                }
            }
            Stmt::Assign { var, value, .. } => {
                let ty = self.expr(value)?;
                let declared = self.body.var(*var);
                if !self.mutable.contains(var) || !self.bound.contains(var) || declared.ty != ty {
                    return Err(format!("`{}` cannot be assigned {ty:?}", declared.name));
                }
            }
            Stmt::Store { place, value, .. } => {
                let ty = self.expr(value)?;
                let element = self.body.check_place(place)?;
                place.subscripts.iter().try_for_each(|s| self.expr(s).map(|_| ()))?;
                let array = self.body.arr(place.array);
                if element.loaded() != ty || array.origin == Origin::Input {
                    return Err(format!("`{}` cannot hold {ty:?}", array.name));
                }
            }
            Stmt::Push { array, when, value } => {
                when.iter().try_for_each(|when| self.condition(when))?;
                let ty = self.expr(value)?;
                let array = self.body.arr(*array);
                if array.element.loaded() != ty || array.origin != Origin::Grown {
                    return Err(format!("{ty:?} is pushed to `{}`", array.name));
                }
            }
            Stmt::Prefetch { array, at } => {
                let array = self.body.arr(*array);
                if self.expr(at)? != Type::Unsigned || array.origin != Origin::Input {
                    return Err(format!("`{}` is not fetched ahead", array.name));
                }
            }
            Stmt::InMemory(array) => {
                let array = self.body.arr(*array);
                if array.origin != Origin::Local {
                    return Err(format!("`{}` is no local array", array.name));
                }
            }
            Stmt::Combine(c) => {
                let element = self.workspace(c.workspace, c.key.len())?;
                for part in &c.key {
                    if self.expr(part)? != Type::Unsigned {
                        return Err("a key is a natural number".into());
                    }
                }
                if self.expr(&c.value)? != element {
                    return Err(format!("a workspace of {element:?} is given something else"));
                }
                self.combination(&c.by, element)?;
            }
            Stmt::Drain(d) => {
                let element = self.workspace(d.workspace, d.key.len())?;
                self.combination(&d.by, element)?;
                let before = self.bound.clone();
                for var in &d.key {
                    self.bind(*var, Some(Type::Unsigned))?;
                }
                self.bind(d.value, Some(element))?;
                self.repeated(&d.body)?;
                self.bound = before;
            }
            Stmt::Allocate { array, fill } => {
                let filled = self.expr(fill)?;
                let array = self.body.arr(*array);
                if array.origin == Origin::Local && filled != array.element.loaded() {
                    return Err(format!("`{}` is filled with something else", array.name));
                }
                for extent in &array.shape {
                    self.expr(extent)?;
                }
                if !matches!(array.origin, Origin::Local | Origin::Grown) {
                    return Err(format!("`{}` is allocated, but it is an argument", array.name));
                }
            }
            Stmt::If { condition, then, otherwise } => {
                self.condition(condition)?;
                self.block(then)?;
                self.block(otherwise)?;
            }
            Stmt::While { condition, body, .. } => {
                self.condition(condition)?;
                self.repeated(body)?;
            }
            Stmt::For { var, lo, hi, body } => {
                let ty = self.expr(lo)?;
                self.expr(hi)?;
                let before = self.bound.clone();
                self.bind(*var, Some(ty))?;
                self.repeated(body)?;
                self.bound = before;
            }
            Stmt::Labelled { label, body } => {
                self.labels.push(*label);
                self.block(body)?;
                self.labels.pop();
            }
            Stmt::Break(Some(label)) if !self.labels.contains(label) => {
                return Err("a label that is not in sight is left".into());
            }
            Stmt::Break(None) if self.loops == 0 => return Err("no loop is there to leave".into()),
            Stmt::Break(_) => {}
            Stmt::Scope(body) | Stmt::Given { body, .. } => self.block(body)?,
            Stmt::Insert { table, key, position } => {
                self.table(*table, key)?;
                self.expr(position)?;
            }
            Stmt::Matches { table, key, var, body, .. } => {
                self.table(*table, key)?;
                let before = self.bound.clone();
                self.bind(*var, Some(Type::Unsigned))?;
                self.repeated(body)?;
                self.bound = before;
            }
            Stmt::Parallel(p) => {
                self.expr(&p.lo)?;
                self.expr(&p.hi)?;
                if self.body.threads.is_none() {
                    return Err("a parallel loop without threads".into());
                }
                let before = self.bound.clone();
                for stmt in &p.setup {
                    self.stmt(stmt)?;
                }
                self.bind(p.start, Some(Type::Unsigned))?;
                self.bind(p.end, Some(Type::Unsigned))?;
                for var in p.writes.variables() {
                    self.bind(var, Some(Type::Unsigned))?;
                    self.mutable.insert(var);
                }
                if let Writes::Parts(parts) = &p.writes {
                    self.parts(parts)?;
                }
                self.repeated(&p.body)?;
                self.bound = before;
            }
            Stmt::Hole(hole) => return Err(format!("the hole `{}!` is open", hole.name())),
        }
        Ok(())
    }

    /// Parts are of arrays that grow, and of variables for all prefixes.
    fn parts(&self, parts: &Parts) -> Check {
        if let Some(a) = parts.arrays().find(|a| self.body.arr(*a).origin != Origin::Grown) {
            return Err(format!(
                "parts are joined to `{}`, which does not grow",
                self.body.arr(a).name
            ));
        }
        let Some((last, outer)) = parts.levels.split_last() else {
            return Err("parts of no levels".into());
        };
        let told_apart = outer.iter().all(|level| level.prefix <= parts.first.len());
        let counted = parts.levels.iter().all(|level| !level.columns.is_empty());
        match told_apart && counted && parts.first.len() == parts.last.len() {
            true => Ok(()),
            false => Err(format!("positions before {last:?} are not told apart")),
        }
    }

    /// The elements of a workspace whose keys have so many parts.
    fn workspace(&self, var: VarId, parts: usize) -> std::result::Result<Type, String> {
        match self.body.workspace_of(var) {
            Some(w) if w.shape.len() == parts && self.bound.contains(&var) => {
                Ok(Type::Value(w.element))
            }
            _ => Err(format!("`{}` is no workspace with such keys", self.body.var(var).name)),
        }
    }

    fn combination(&mut self, by: &Combination, element: Type) -> Check {
        let before = self.bound.clone();
        self.bind(by.old, Some(element))?;
        self.bind(by.new, Some(element))?;
        let result = self.expr(&by.result)?;
        self.bound = before;
        match result == element {
            true => Ok(()),
            false => Err(format!("elements of {element:?} are combined to {result:?}")),
        }
    }

    fn condition(&mut self, e: &Expr) -> Check {
        match self.expr(e)? {
            Type::Bool | Type::Value(ValueType::Bool) => Ok(()),
            ty => Err(format!("{ty:?} as a condition")),
        }
    }

    fn repeated(&mut self, body: &Block) -> Check {
        self.loops += 1;
        self.block(body)?;
        self.loops -= 1;
        Ok(())
    }

    fn table(&mut self, table: VarId, key: &Expr) -> Check {
        match (self.body.var(table).ty, self.expr(key)?) {
            (Type::Table { parts: a, .. }, Type::Key { parts: b }) if a == b => Ok(()),
            (table, key) => Err(format!("{key:?} is looked up in {table:?}")),
        }
    }
}

impl Body {
    /// The table type of that name.
    pub fn table(&mut self, name: &str) -> TableId {
        let at = self.tables.iter().position(|t| **t == *name);
        let at = at.unwrap_or_else(|| {
            self.tables.push(Name::from(name));
            self.tables.len() - 1
        });
        TableId(at as u32)
    }

    /// What the table that a variable holds can do.
    pub(super) fn traits_of(&self, var: VarId) -> TableTraits {
        match self.var(var).ty {
            Type::Table { table, .. } => {
                self.table_traits.get(self.table_name(table)).copied().unwrap_or_default()
            }
            _ => TableTraits::default(),
        }
    }

    pub fn table_name(&self, id: TableId) -> &Name {
        &self.tables[id.0 as usize]
    }
}

fn integer(signed: bool) -> Type {
    if signed { Type::Signed } else { Type::Unsigned }
}

fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::Unsigned | Type::Signed)
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::Value(ValueType::F64 | ValueType::F32))
}

fn is_number(ty: Type) -> bool {
    is_integer(ty) || matches!(ty, Type::Value(_))
}
