//! What a piece of code mentions.

use rustc_hash::FxHashSet;

use super::ir::{
    Access, Array, ArrayId, BinaryOp, Block, Body, Element, Expr, Load, Origin, Stmt, TableId,
    VarId,
};
use super::visit::{Part, visit};

impl Body {
    /// Whether elements of an array are written.
    pub(super) fn writes(&self, array: ArrayId) -> bool {
        let mut found = false;
        visit(&self.block, &mut |part| match part {
            Part::Stmt(Stmt::Store { place, .. }) => found |= place.array == array,
            Part::Stmt(Stmt::Parallel(p)) => found |= p.writes.arrays().contains(&array),
            _ => {}
        });
        found
    }
}

impl Body {
    /// Whether a type of tables is mentioned.
    pub fn has_table(&self, name: &str) -> bool {
        self.has_table_that(|table| **self.table_name(table) == *name)
    }

    /// Whether anything is entered in tables, or arrays in their place.
    pub fn has_tables(&self) -> bool {
        let is_place = |array: &Array| {
            array.origin == Origin::Local && matches!(array.element, Element::Index { .. })
        };
        self.has_table_that(|_| true) || self.arrays().any(|(_, array)| is_place(array))
    }

    fn has_table_that(&self, test: impl Fn(TableId) -> bool) -> bool {
        let mut found = false;
        visit(&self.block, &mut |part| {
            if let Part::Expr(Expr::NewTable { table, .. } | Expr::Fits { table, .. }) = part {
                found |= test(*table);
            }
        });
        found
    }
}

/// What some code mentions.
#[derive(Default)]
pub struct Used {
    pub variables: FxHashSet<VarId>,
    pub arrays: FxHashSet<ArrayId>,
}

impl Used {
    pub fn of(body: &Body, block: &Block) -> Used {
        let mut used = Used::default();
        used.block(body, block);
        used
    }

    fn block(&mut self, body: &Body, block: &Block) {
        visit(block, &mut |part| match part {
            Part::Stmt(stmt) => self.stmt(body, stmt),
            Part::Expr(Expr::Var(v)) => {
                self.variables.insert(*v);
            }
            Part::Expr(Expr::Load(load)) => self.place(body, load),
            Part::Expr(Expr::Len(array)) => {
                self.arrays.insert(*array);
            }
            Part::Expr(Expr::NewWorkspace { workspace, .. }) => {
                self.extents(&body.space_of(*workspace).shape);
            }
            Part::Expr(_) => {}
        });
    }

    fn stmt(&mut self, body: &Body, stmt: &Stmt) {
        match stmt {
            Stmt::Store { place, .. } => self.place(body, place),
            Stmt::Assign { var, .. } => {
                self.variables.insert(*var);
            }
            Stmt::Insert { table, .. } | Stmt::Matches { table, .. } => {
                self.variables.insert(*table);
            }
            Stmt::Push { array, .. } | Stmt::Prefetch { array, .. } | Stmt::InMemory(array) => {
                self.arrays.insert(*array);
            }
            Stmt::Combine(c) => {
                self.variables.insert(c.workspace);
            }
            Stmt::Drain(d) => {
                self.variables.insert(d.workspace);
            }
            Stmt::Allocate { array, .. } => self.shape(body, *array, 0),
            Stmt::Parallel(p) => {
                self.arrays.extend(p.writes.arrays());
                self.variables.extend(p.writes.variables());
                self.variables.extend(body.threads);
            }
            _ => {}
        }
    }

    fn place(&mut self, body: &Body, load: &Load) {
        // As `Printer::index` writes it: a test of each subscript needs all extents; otherwise the
        // first is not needed, nor one that only zeros are multiplied by.
        let zeros = |s: &&Expr| matches!(s, Expr::Int { value: 0, .. });
        let skip = match load.access {
            Access::Checked if load.subscripts.len() > 1 => 0,
            _ => 1 + load.subscripts.iter().take_while(zeros).count(),
        };
        self.shape(body, load.array, skip);
    }

    /// The extents that linearising (or allocating) reads.
    fn shape(&mut self, body: &Body, array: ArrayId, skip: usize) {
        self.arrays.insert(array);
        self.extents(body.arr(array).shape.get(skip..).unwrap_or_default());
    }

    fn extents(&mut self, extents: &[Expr]) {
        for extent in extents {
            extent.visit(&mut |e| {
                if let Expr::Var(v) = e {
                    self.variables.insert(*v);
                }
            });
        }
    }
}

/// True if one of the statements has a use for the variable.
pub fn mentions(body: &Body, rest: &[Stmt], var: VarId) -> bool {
    rest.iter().any(|stmt| {
        let mut used = Used::default();
        used.block(body, &vec![stmt.clone()]);
        used.variables.contains(&var)
    })
}

/// True if a method may be called on the variable, or on what is computed from it: Rust must know its
/// type for that. (A quotient that is rounded up is printed as a method.)
pub fn is_receiver(rest: &[Stmt], var: VarId) -> bool {
    let mut found = false;
    let rest = rest.to_vec();
    visit(&rest, &mut |part| {
        if let Part::Expr(e @ Expr::Binary { op, .. }) = part
            && matches!(op, BinaryOp::Min | BinaryOp::Max | BinaryOp::SaturatingSub | BinaryOp::Div)
        {
            e.visit(&mut |part| found |= *part == Expr::Var(var));
        }
    });
    found
}
