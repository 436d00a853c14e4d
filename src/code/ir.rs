//! The IR of this stage: a small typed imperative language. Its grammar is in the module's doc.

use std::sync::Arc;

use crate::formula::{Constraint, Name};
use crate::layout::Piecewise;
use crate::operators::{Operator, Value};
use crate::tensor::ValueType;

use rustc_hash::FxHashMap;

use super::bounds::BoundsProof;
pub use super::chains::{COMPARED, Chains, MANY, SEVERAL};
pub use super::ids::{ArrayId, LabelId, TableId, VarId, WorkspaceId};
pub use super::operation::BinaryOp;
pub use super::parts::{PartLevel, Parts, Writes};
pub use super::tables::{Question, RARE, Spreads, TableTraits};

/// What an expression evaluates to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A position or a coordinate: `usize`.
    Unsigned,
    /// An integer that may be negative: `isize`.
    Signed,
    Bool,
    /// An element of a tensor.
    Value(ValueType),
    /// A multimap from keys of so many parts to positions.
    Table {
        table: TableId,
        parts: usize,
    },
    /// A key of so many parts.
    Key {
        parts: usize,
    },
    Workspace(WorkspaceId),
}

/// Width of index arrays. Arrays that may hold negative values use the signed type of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum IndexWidth {
    #[default]
    U32,
    U64,
}

impl IndexWidth {
    pub fn unsigned(self) -> &'static str {
        match self {
            IndexWidth::U32 => "u32",
            IndexWidth::U64 => "u64",
        }
    }

    pub fn signed(self) -> &'static str {
        match self {
            IndexWidth::U32 => "i32",
            IndexWidth::U64 => "i64",
        }
    }
}

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// An index array of a tensor; loads of it are converted to `usize`, or `isize` if signed.
    Index {
        signed: bool,
        width: IndexWidth,
    },
    Value(ValueType),
    /// State of a find: `usize`.
    Position,
}

impl Element {
    /// The type of a load.
    pub fn loaded(self) -> Type {
        match self {
            Element::Index { signed: true, .. } => Type::Signed,
            Element::Index { signed: false, .. } | Element::Position => Type::Unsigned,
            Element::Value(t) => Type::Value(t),
        }
    }

    pub fn rust_name(self) -> &'static str {
        match self {
            Element::Index { signed: false, width } => width.unsigned(),
            Element::Index { signed: true, width } => width.signed(),
            Element::Value(t) => t.rust_name(),
            Element::Position => "usize",
        }
    }
}

/// A variable. Its name is unique in its body, so that facts can speak of it by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub name: Name,
    /// What it was to be called; the text calls it so where nothing in sight has that name.
    pub hint: Name,
    pub ty: Type,
}

/// Where an array comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Input,
    /// Written, and read where it is added to.
    Output,
    /// Allocated by the body.
    Local,
    /// Written from its beginning on: it is as long as what was written.
    Grown,
}

impl Origin {
    /// The body is given it to be written.
    pub fn is_written(self) -> bool {
        matches!(self, Origin::Output | Origin::Grown)
    }
}

/// Where elements are combined before they are written, by keys below a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Workspace {
    /// The template that implements it.
    pub template: Name,
    pub shape: Vec<Expr>,
    pub element: ValueType,
}

/// How a value is combined with what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    pub old: VarId,
    pub new: VarId,
    pub result: Box<Expr>,
}

/// An array with row-major subscripts.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub name: Name,
    pub element: Element,
    pub origin: Origin,
    /// The extents of the subscripts; the first is not needed to linearise them.
    pub shape: Vec<Expr>,
    /// Formal arguments, the variables of `domain`.
    pub args: Vec<Name>,
    /// Which subscripts are in bounds. Empty for values, whose domain is their shape.
    pub domain: Vec<Constraint>,
    /// What elements may be, as declared.
    pub range: Vec<Constraint>,
}

/// The core of a kernel: what it is given, and what it does.
#[derive(Clone, Debug, Default)]
pub struct Body {
    pub(super) variables: Vec<Variable>,
    pub(super) arrays: Vec<Array>,
    pub(super) labels: Vec<Name>,
    pub(super) tables: Vec<Name>,
    /// What the code of tables can do, by the name of their type.
    pub(super) table_traits: FxHashMap<Name, TableTraits>,
    /// Value arrays whose elements are all the same.
    pub(super) constants: FxHashMap<ArrayId, Value>,
    /// Index arrays by which positions are sorted, the first of them first: equal elements of it are neighbours.
    pub(super) sorted_by: Vec<Vec<ArrayId>>,
    /// Functions that no array stores.
    pub(super) functions: Vec<Piecewise>,
    /// Sums of floats keep the order of their terms.
    pub(super) in_order: bool,
    /// What is looked for is rarely found.
    pub rarely: bool,
    pub(super) workspaces: Vec<Workspace>,
    /// Index arrays of which an element is read that is not proved to be at most a size.
    pub(super) beyond_sizes: Vec<ArrayId>,
    /// Sizes that the body is given, in order.
    pub sizes: Vec<VarId>,
    /// The number of threads, for parallel regions.
    pub threads: Option<VarId>,
    pub block: Block,
    /// Of results that are written anew; the others must have values before.
    pub beginnings: FxHashMap<ArrayId, Beginning>,
    /// The length of rows that are kept in registers by tiles.
    pub tiled: Option<VarId>,
}

/// Whether the elements of a result that is written anew must have a value before.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Beginning {
    #[default]
    Always,
    /// All of them are set.
    Never,
    /// At some sizes.
    Where(Expr),
}

pub type Block = Vec<Stmt>;

#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    Comment(String),
    /// `let [mut] x = e;`
    Let {
        var: VarId,
        mutable: bool,
        value: Expr,
    },
    /// `x = e;`, `x += e;`
    Assign {
        var: VarId,
        op: Assign,
        value: Expr,
    },
    /// `a[i, j] = e;`, `a[i, j] += e;`
    Store {
        place: Load,
        op: Assign,
        value: Expr,
    },
    /// `a.push(e);`, `a.push_if(c, e);`
    Push {
        array: ArrayId,
        /// Whether it is pushed; always without one.
        when: Option<Expr>,
        value: Expr,
    },
    /// `prefetch(a, k);`: elements from `k` on, if they are there, will be read soon.
    Prefetch {
        array: ArrayId,
        at: Expr,
    },
    /// `in_memory(a);`: a local array is in memory from here on, not in vectors that suit what reads it.
    InMemory(ArrayId),
    /// `w.combine([i, j], e, |old, new| …);`
    Combine(Box<Combine>),
    /// `for ([i, j], x) in w.drain(|old, new| …) { … }`: every element that was combined, in the order of
    /// the keys if that matters. Then the workspace is empty.
    Drain(Box<Drain>),
    /// `let mut a = vec![e; n];` with a row-major shape; of an array that grows, its first elements.
    Allocate {
        array: ArrayId,
        fill: Expr,
    },
    If {
        condition: Expr,
        then: Block,
        otherwise: Block,
    },
    While {
        condition: Expr,
        invariants: Vec<Expr>,
        body: Block,
    },
    /// `for x in lo..hi`, upwards.
    For {
        var: VarId,
        lo: Expr,
        hi: Expr,
        body: Block,
    },
    /// `'a: { … }`
    Labelled {
        label: LabelId,
        body: Block,
    },
    /// Leaves a labelled block, or the innermost loop.
    Break(Option<LabelId>),
    /// `{ … }`
    Scope(Block),
    /// `t.insert(key, p);`
    Insert {
        table: VarId,
        key: Expr,
        position: Expr,
    },
    /// The positions entered under a key: all of them, in the order of entry, or the first. `access`: whether
    /// the key is proved to be below what the table was made for.
    Matches {
        table: VarId,
        key: Expr,
        access: Access,
        var: VarId,
        all: bool,
        body: Block,
    },
    /// A loop on several threads.
    Parallel(Box<Parallel>),
    /// Facts that a proof elsewhere establishes for `body`.
    Given {
        facts: Vec<Constraint>,
        body: Block,
    },
    /// A part of a template that is still open.
    Hole(Hole),
}

/// A value is combined into an element of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Combine {
    pub workspace: VarId,
    pub key: Vec<Expr>,
    pub value: Expr,
    pub by: Combination,
    /// Whether the key is below the shape.
    pub access: Access,
}

/// What is done with each element of a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Drain {
    pub workspace: VarId,
    pub key: Vec<VarId>,
    pub value: VarId,
    pub by: Combination,
    pub sorted: bool,
    pub body: Block,
}

/// The range `lo..hi` by several threads, which take chunks of it in increasing order.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// The ends of a chunk.
    pub start: VarId,
    pub end: VarId,
    pub lo: Expr,
    pub hi: Expr,
    pub writes: Writes,
    /// What each thread sets up once, before its first chunk.
    pub setup: Block,
    /// What is done for a chunk.
    pub body: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assign {
    Set,
    Add,
}

/// An element of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub array: ArrayId,
    pub subscripts: Vec<Expr>,
    pub access: Access,
}

impl Load {
    /// An element of an array whose subscripts are tested.
    pub fn checked(array: ArrayId, subscripts: Vec<Expr>) -> Load {
        Load { array, subscripts, access: Access::Checked }
    }

    /// The same element, however the access is known to be in bounds.
    pub(super) fn is_same_place(&self, other: &Load) -> bool {
        self.array == other.array && self.subscripts == other.subscripts
    }
}

/// How an access is kept inside its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Tested when the kernel runs.
    Checked,
    /// Not tested: only the bounds pass can say so.
    Proved(BoundsProof),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// An integer literal of type `usize` or `isize`.
    Int {
        value: i64,
        signed: bool,
    },
    /// `usize::MAX`: no position.
    Unset,
    Bool(bool),
    /// A number of a value type.
    Number(Value),
    Var(VarId),
    Load(Load),
    Not(Box<Expr>),
    /// Floor division, comparisons, arithmetic: both sides of one type.
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `e as usize` of what is not negative, `e as isize`.
    Convert {
        signed: bool,
        value: Box<Expr>,
    },
    /// A whole number as `usize`, modulo what that holds: it is no position before it is compared with an end.
    Wrapped(Box<Expr>),
    /// An operator of `operators/` for arguments that meet in a type, of which it has as many as are
    /// declared.
    Operator {
        op: Arc<Operator>,
        generic: ValueType,
        args: Vec<Expr>,
    },
    /// A value or an integer as a value of another type.
    Cast {
        to: ValueType,
        value: Box<Expr>,
    },
    /// Either value, without a branch.
    Choose {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// 1 or 0.
    FromBool(Box<Expr>),
    /// A table with room for so many positions.
    NewTable {
        table: TableId,
        parts: usize,
        len: Box<Expr>,
    },
    /// An empty workspace, whose elements begin with a value.
    NewWorkspace {
        workspace: WorkspaceId,
        begin: Box<Expr>,
    },
    /// The number of elements of an array that grows.
    Len(ArrayId),
    Key(Vec<Expr>),
    /// What a table answers without a branch: of a table, and of a key unless the question is of all.
    Asked {
        question: Question,
        args: Vec<Expr>,
    },
    /// Whether a part of a key is a number that the table's keys can hold.
    Fits {
        table: TableId,
        value: Box<Expr>,
    },
    /// The slot of a hash table stored in a tensor from which on a coordinate is looked for.
    HomeSlot {
        coordinate: Box<Expr>,
        slots: Box<Expr>,
    },
    /// The sum of `term` over `lo..hi`, or the greatest or least, in several independent chains.
    Sum(Box<Sum>),
    /// Facts that a proof elsewhere establishes for `value`.
    Given {
        facts: Vec<Constraint>,
        value: Box<Expr>,
    },
    /// A part of a template that is still open.
    Hole(Hole),
}

/// An open part of a template: see the table in `hole.rs`.
#[derive(Clone, Debug, PartialEq)]
pub enum Hole {
    Lo,
    Hi,
    Extent,
    Matches(Box<Expr>),
    Continues(Box<Expr>),
    StoredKey(Box<Expr>),
    StoredPart(Box<Expr>),
    Query,
    Sought,
    Fits,
    Position,
    Found(Box<Expr>),
    Missed,
    Leave,
    /// At the end of `setup` only; those of loops belong to the loop.
    Invariant(Box<Expr>),
}

/// A sum whose order of addition is free, or the greatest or least of terms, beginning with an infinity.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// [`BinaryOp::Add`], [`BinaryOp::Max`] or [`BinaryOp::Min`], these of floats.
    pub op: BinaryOp,
    pub var: VarId,
    pub lo: Expr,
    pub hi: Expr,
    /// Bound for each term.
    pub lets: Vec<(VarId, Expr)>,
    pub term: Expr,
    pub ty: ValueType,
    pub chains: Chains,
}

impl Body {
    /// Index arrays of which an element is read that is not proved to be at most a size.
    pub fn arrays_beyond_sizes(&self) -> impl Iterator<Item = &Name> {
        self.beyond_sizes.iter().map(|a| &self.arr(*a).name)
    }

    /// A new variable, called `hint` unless something else is.
    pub fn variable(&mut self, hint: &str, ty: Type) -> VarId {
        let name = self.fresh(hint);
        self.variables.push(Variable { name, hint: Name::from(hint), ty });
        VarId(self.variables.len() as u32 - 1)
    }

    /// A new array; its name is made unique.
    pub fn array(&mut self, mut array: Array) -> ArrayId {
        array.name = self.fresh(&array.name);
        self.arrays.push(array);
        ArrayId(self.arrays.len() as u32 - 1)
    }

    pub fn label(&mut self, hint: &str) -> LabelId {
        let mut name = hint.to_string();
        while self.labels.iter().any(|l| **l == *name) {
            name.push('_');
        }
        self.labels.push(Name::from(name));
        LabelId(self.labels.len() as u32 - 1)
    }

    fn fresh(&self, hint: &str) -> Name {
        let taken = |name: &str| {
            self.variables.iter().any(|v| &*v.name == name)
                || self.arrays.iter().any(|a| &*a.name == name)
        };
        if !taken(hint) {
            return Name::from(hint);
        }
        let mut k = 2;
        while taken(&format!("{hint}_{k}")) {
            k += 1;
        }
        Name::from(format!("{hint}_{k}"))
    }

    pub fn var(&self, id: VarId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    pub fn arr(&self, id: ArrayId) -> &Array {
        &self.arrays[id.0 as usize]
    }

    /// A new workspace.
    pub fn workspace(&mut self, workspace: Workspace) -> WorkspaceId {
        self.workspaces.push(workspace);
        WorkspaceId(self.workspaces.len() as u32 - 1)
    }

    pub fn space_of(&self, id: WorkspaceId) -> &Workspace {
        &self.workspaces[id.0 as usize]
    }

    /// The workspace that a variable holds.
    pub fn workspace_of(&self, var: VarId) -> Option<&Workspace> {
        match self.var(var).ty {
            Type::Workspace(id) => Some(self.space_of(id)),
            _ => None,
        }
    }

    pub fn hint(&self, id: VarId) -> &Name {
        &self.var(id).hint
    }

    pub fn label_name(&self, id: LabelId) -> &Name {
        &self.labels[id.0 as usize]
    }

    pub fn variable_named(&self, name: &str) -> Option<VarId> {
        let at = self.variables.iter().position(|v| &*v.name == name)?;
        Some(VarId(at as u32))
    }

    pub fn array_named(&self, name: &str) -> Option<ArrayId> {
        let at = self.arrays.iter().position(|a| &*a.name == name)?;
        Some(ArrayId(at as u32))
    }

    pub fn arrays(&self) -> impl Iterator<Item = (ArrayId, &Array)> {
        self.arrays.iter().enumerate().map(|(k, a)| (ArrayId(k as u32), a))
    }

    pub fn variables(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        self.variables.iter().enumerate().map(|(k, v)| (VarId(k as u32), v))
    }
}
