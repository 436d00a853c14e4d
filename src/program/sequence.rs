//! Several statements of index notation, one after the other, as one tree.
//!
//! Before → after:
//!
//! ```text
//! T[i] = A[i,j] * x[j]; y[i] = T[i] * T[i]   ⟼   {
//!                                                  declare T 0
//!                                                  forall i {
//!                                                    forall j {
//!                                                      T[i] += A[i,j] * x[j]
//!                                                    }
//!                                                  }
//!                                                  declare y 0
//!                                                  forall i {
//!                                                    y[i] += T[i] * T[i]
//!                                                  }
//!                                                }
//! ```
//! Each statement has indices of its own. Those of one name are one index of the tree where they run
//! along the same dimension of a tensor, or dimensions that indices connect; else the later gets a number.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ir::{Access, Expr, Stmt};
use super::sugar::{Statement, desugar, indices};
use crate::diagnostic::Result;
use crate::formula::Name;

impl Statement {
    fn accesses(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(&self.output).chain(self.value.accesses())
    }

    fn renamed(&mut self, new: &dyn Fn(&Name) -> Option<Name>) {
        renamed_access(&mut self.output, new);
        renamed_value(&mut self.value, new);
        if let Some((formula, _)) = &mut self.restriction {
            *formula = formula.rename(&|n| new(n));
        }
    }
}

pub(super) fn renamed_access(access: &mut Access, new: &dyn Fn(&Name) -> Option<Name>) {
    access.subscripts.iter_mut().for_each(|s| *s = s.rename(&|n| new(n)));
    for window in &mut access.windows {
        window.index = new(&window.index).unwrap_or(window.index.clone());
    }
}

pub(super) fn renamed_value(value: &mut Expr, new: &dyn Fn(&Name) -> Option<Name>) {
    match value {
        Expr::Access(access) => renamed_access(access, new),
        Expr::Index(name, _) => *name = new(name).unwrap_or(name.clone()),
        Expr::Apply(apply) => apply.args.iter_mut().for_each(|arg| renamed_value(arg, new)),
        Expr::Within(within) => {
            renamed_access(&mut within.access, new);
            renamed_value(&mut within.inside, new);
            renamed_value(&mut within.outside, new);
        }
        Expr::Literal(_) | Expr::Name(..) => {}
    }
}

/// The tree of statements that run one after the other.
pub(super) fn sequence(mut statements: Vec<Statement>) -> Result<Stmt> {
    tell_indices_apart(&mut statements);
    let mut block = Vec::new();
    for s in statements {
        match desugar(s)? {
            Stmt::Block(inner) => block.extend(inner),
            stmt => block.push(stmt),
        }
    }
    Ok(match block.len() {
        1 => block.remove(0),
        _ => Stmt::Block(block),
    })
}

/// Numbers the indices that have the name of another.
fn tell_indices_apart(statements: &mut [Statement]) {
    let mut alike = Alike::default();
    for (k, s) in statements.iter().enumerate() {
        for access in s.accesses() {
            for d in 0..access.rank() {
                if let Some(index) = access.plain(d) {
                    alike.meet((k, index.clone()), (access.tensor.clone(), d));
                }
            }
        }
    }
    let mut taken: FxHashSet<Name> = FxHashSet::default();
    for s in statements.iter() {
        taken.extend(indices(&s.output, &s.value));
        taken.extend(s.accesses().map(|a| a.tensor.clone()));
    }
    // Whose name a name is: the first index that has it.
    let mut owners: FxHashMap<Name, (usize, Name)> = FxHashMap::default();
    for (k, s) in statements.iter_mut().enumerate() {
        let mut renaming: FxHashMap<Name, Name> = FxHashMap::default();
        for index in indices(&s.output, &s.value) {
            let own = (k, index.clone());
            let name = match owners.get(&index) {
                Some(owner) if !alike.are(owner, &own) => {
                    let numbered = |n: usize| Name::from(format!("{index}_{n}"));
                    let fresh = (k + 1..).map(numbered).find(|name| !taken.contains(name));
                    fresh.unwrap_or(index.clone())
                }
                _ => index.clone(),
            };
            taken.insert(name.clone());
            owners.entry(name.clone()).or_insert(own);
            if name != index {
                renaming.insert(index, name);
            }
        }
        s.renamed(&|n| renaming.get(n).cloned());
    }
}

/// Which indices run along the same dimensions.
#[derive(Default)]
struct Alike {
    /// By dimension, the first index along it.
    along: FxHashMap<(Name, usize), (usize, Name)>,
    /// An index that is the same, closer to the first.
    parent: FxHashMap<(usize, Name), (usize, Name)>,
}

impl Alike {
    fn first(&self, index: &(usize, Name)) -> (usize, Name) {
        let mut at = index;
        while let Some(parent) = self.parent.get(at) {
            at = parent;
        }
        at.clone()
    }

    fn meet(&mut self, index: (usize, Name), dimension: (Name, usize)) {
        let other = self.along.entry(dimension).or_insert_with(|| index.clone()).clone();
        let (a, b) = (self.first(&other), self.first(&index));
        if a != b {
            self.parent.insert(b, a);
        }
    }

    fn are(&self, a: &(usize, Name), b: &(usize, Name)) -> bool {
        self.first(a) == self.first(b)
    }
}
