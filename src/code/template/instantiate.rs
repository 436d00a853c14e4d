//! A template's code within a kernel: its variables become fresh ones, its holes are filled.

use rustc_hash::FxHashMap;

use super::super::ir::Hole;
use super::super::ir::{Block, Body, Expr, LabelId, Stmt, Type, VarId};
use crate::diagnostic::Result;

/// What a find supplies. Positions are expressions over variables of the kernel.
pub trait Filling {
    fn body(&mut self) -> &mut Body;
    /// What the searched position is called.
    fn position_name(&self) -> String;
    fn lo(&mut self) -> Expr;
    fn hi(&mut self) -> Expr;
    fn matches(&mut self, at: &Expr) -> Result<Expr>;
    fn continues(&mut self, at: &Expr) -> Result<Expr>;
    /// The key stored at a position.
    fn stored(&mut self, at: &Expr) -> Result<Vec<Expr>>;
    /// The key that is looked for, and how to know that its parts fit the stored ones.
    fn query(&mut self) -> Result<Vec<KeyPartCode>>;
    /// The position, where it is known without a search.
    fn position(&mut self) -> Result<Expr>;
    /// What is done with a match.
    fn found(&mut self, at: VarId) -> Result<Block>;
}

/// A part of the key that is looked for.
pub struct KeyPartCode {
    pub value: Expr,
    /// It is proved to be a number that stored keys may be.
    pub fits: bool,
}

/// How the declarations of the outermost block are copied.
#[derive(Clone, Copy, PartialEq)]
pub enum Declare {
    /// As declarations of new variables.
    New,
    /// As assignments to variables that exist.
    Again,
}

/// Copies statements of a template. `variables` maps those that are known; new ones are added.
pub fn instantiate(
    template: &Body,
    block: &Block,
    variables: &mut FxHashMap<VarId, VarId>,
    declare: Declare,
    filling: &mut dyn Filling,
) -> Result<Block> {
    let mut copy = Copy { template, variables, labels: FxHashMap::default(), filling };
    let mut out = Vec::new();
    for stmt in block {
        match stmt {
            Stmt::Let { var, value, .. } if declare == Declare::Again => {
                let value = copy.expr(value)?;
                let var = copy.variables[var];
                out.push(Stmt::Assign { var, op: super::super::ir::Assign::Set, value });
            }
            other => copy.stmt(other, &mut out)?,
        }
    }
    Ok(out)
}

struct Copy<'a> {
    template: &'a Body,
    variables: &'a mut FxHashMap<VarId, VarId>,
    labels: FxHashMap<LabelId, LabelId>,
    filling: &'a mut dyn Filling,
}

impl Copy<'_> {
    fn bind(&mut self, v: VarId) -> Result<VarId> {
        let declared = self.template.var(v).clone();
        let position = self.filling.position_name();
        let hint = match &*declared.hint {
            "p" => position,
            name => format!("{position}_{name}"),
        };
        let ty = match declared.ty {
            Type::Table { table, .. } => {
                let parts = self.filling.query()?.len();
                let name = self.template.table_name(table).clone();
                Type::Table { table: self.filling.body().table(&name), parts }
            }
            other => other,
        };
        let new = self.filling.body().variable(&hint, ty);
        self.variables.insert(v, new);
        Ok(new)
    }

    fn block(&mut self, block: &Block) -> Result<Block> {
        let mut out = Vec::new();
        for stmt in block {
            self.stmt(stmt, &mut out)?;
        }
        Ok(out)
    }

    fn stmt(&mut self, stmt: &Stmt, out: &mut Block) -> Result<()> {
        out.push(match stmt {
            Stmt::Comment(text) => Stmt::Comment(text.clone()),
            Stmt::Let { var, mutable, value } => {
                let value = self.expr(value)?;
                let var = self.bind(*var)?;
                // A position that is known without a search may be negative: then it is none.
                let body = self.filling.body();
                if body.type_of(&value) == Ok(Type::Signed) && !mutable {
                    body.variables[var.0 as usize].ty = Type::Signed;
                }
                Stmt::Let { var, mutable: *mutable, value }
            }
            Stmt::Assign { var, op, value } => {
                Stmt::Assign { var: self.variables[var], op: *op, value: self.expr(value)? }
            }
            Stmt::If { condition, then, otherwise } => {
                let condition = self.expr(condition)?;
                if condition.is_true() {
                    out.extend(self.block(then)?);
                    return Ok(());
                }
                Stmt::If { condition, then: self.block(then)?, otherwise: self.block(otherwise)? }
            }
            Stmt::While { condition, invariants, body } => Stmt::While {
                condition: self.expr(condition)?,
                invariants: invariants.iter().map(|i| self.expr(i)).collect::<Result<_>>()?,
                body: self.block(body)?,
            },
            Stmt::For { var, lo, hi, body } => {
                let (lo, hi) = (self.expr(lo)?, self.expr(hi)?);
                Stmt::For { var: self.bind(*var)?, lo, hi, body: self.block(body)? }
            }
            Stmt::Labelled { label, body } => {
                let name = self.template.label_name(*label).clone();
                let position = self.filling.position_name();
                let new = self.filling.body().label(&format!("{position}_{name}"));
                self.labels.insert(*label, new);
                Stmt::Labelled { label: new, body: self.block(body)? }
            }
            Stmt::Break(label) => Stmt::Break(label.map(|l| self.labels[&l])),
            Stmt::Scope(body) => Stmt::Scope(self.block(body)?),
            Stmt::Insert { table, key, position } => Stmt::Insert {
                table: self.variables[table],
                key: self.expr(key)?,
                position: self.expr(position)?,
            },
            Stmt::Matches { table, key, access, var, all, body } => {
                let (table, key) = (self.variables[table], self.expr(key)?);
                Stmt::Matches {
                    table,
                    key,
                    access: *access,
                    var: self.bind(*var)?,
                    all: *all,
                    body: self.block(body)?,
                }
            }
            Stmt::Hole(Hole::Found(at)) => {
                match self.expr(at)? {
                    Expr::Var(v) => out.extend(self.filling.found(v)?),
                    at => {
                        let name = self.filling.position_name();
                        let var = self.filling.body().variable(&name, Type::Unsigned);
                        out.push(Stmt::Let { var, mutable: false, value: at });
                        out.extend(self.filling.found(var)?);
                    }
                }
                return Ok(());
            }
            Stmt::Hole(Hole::Missed | Hole::Invariant(_)) => return Ok(()),
            Stmt::Hole(Hole::Leave) => Stmt::Break(None),
            // The obligations of templates refuse these.
            Stmt::Hole(_)
            | Stmt::Store { .. }
            | Stmt::Push { .. }
            | Stmt::Prefetch { .. }
            | Stmt::InMemory(_)
            | Stmt::Combine(_)
            | Stmt::Drain(_)
            | Stmt::Allocate { .. }
            | Stmt::Parallel(_)
            | Stmt::Given { .. } => return Ok(()),
        });
        Ok(())
    }

    fn expr(&mut self, e: &Expr) -> Result<Expr> {
        Ok(match e {
            Expr::Var(v) => Expr::Var(self.variables[v]),
            Expr::Hole(hole) => {
                let at = match hole.argument() {
                    Some(at) => self.expr(at)?,
                    None => Expr::int(0),
                };
                match hole {
                    Hole::Lo => self.filling.lo(),
                    Hole::Hi => self.filling.hi(),
                    Hole::Extent => {
                        let stored = Expr::Key(self.filling.stored(&at)?);
                        self.filling.body().extent_of(&stored).unwrap_or(Expr::int(0))
                    }
                    Hole::Matches(_) => self.filling.matches(&at)?,
                    Hole::Continues(_) => self.filling.continues(&at)?,
                    Hole::StoredKey(_) => Expr::Key(self.filling.stored(&at)?),
                    Hole::StoredPart(_) => self.only_part(&at)?,
                    Hole::Query => {
                        Expr::Key(self.filling.query()?.into_iter().map(|k| k.value).collect())
                    }
                    Hole::Sought => {
                        let part = self.filling.query()?.into_iter().next();
                        self.as_signed(part.map_or(Expr::int(0), |k| k.value))
                    }
                    Hole::Fits => self.fits()?,
                    Hole::Position => self.filling.position()?,
                    Hole::Found(_) | Hole::Missed | Hole::Leave | Hole::Invariant(_) => {
                        Expr::Bool(true)
                    }
                }
            }
            Expr::NewTable { table, len, .. } => {
                let len = self.expr(len)?;
                let name = self.template.table_name(*table).clone();
                let parts = self.filling.query()?.len();
                Expr::NewTable {
                    table: self.filling.body().table(&name),
                    parts,
                    len: Box::new(len),
                }
            }
            other => {
                let mut copy = other.clone();
                let mut failed = None;
                copy.parts_mut(&mut |part| match self.expr(part) {
                    Ok(new) => *part = new,
                    Err(e) => failed = Some(e),
                });
                if let Some(e) = failed {
                    return Err(e);
                }
                simplified(copy)
            }
        })
    }

    fn only_part(&mut self, at: &Expr) -> Result<Expr> {
        let part = self.filling.stored(at)?.into_iter().next();
        Ok(self.as_signed(part.unwrap_or(Expr::int(0))))
    }

    fn as_signed(&mut self, e: Expr) -> Expr {
        match self.filling.body().type_of(&e) {
            Ok(Type::Signed) => e,
            _ => e.converted(true),
        }
    }

    fn fits(&mut self) -> Result<Expr> {
        let table = self.template.tables.first().cloned();
        let Some(table) = table else { return Ok(Expr::Bool(true)) };
        let parts = self.filling.query()?;
        let table = self.filling.body().table(&table);
        let tests = parts.into_iter().filter(|k| !k.fits);
        Ok(Expr::and(tests.map(|k| Expr::Fits { table, value: Box::new(k.value) })))
    }
}

fn simplified(e: Expr) -> Expr {
    use super::super::ir::BinaryOp;
    match e {
        Expr::Binary { op: BinaryOp::SaturatingSub, left, right }
            if matches!(*right, Expr::Int { value: 0, .. }) =>
        {
            *left
        }
        Expr::Binary { op: BinaryOp::Add, left, right } => left.add(*right),
        other => other,
    }
}
