//! The entries of one access, whatever is computed with them.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::{Names, Space, compose};
use crate::layout::{DefaultFor, Layout};
use crate::program::{Access, Program};

/// The spaces of `s[] += A[i,j]`, one for each piece of the relation.
pub(super) fn spaces(access: &Access, layout: &Arc<Layout>) -> Result<Vec<Space>> {
    let mut names = Names::default();
    names.take(&access.tensor);
    access.visit_indices(&mut |index| names.take(index));
    let sum = names.fresh("s");
    let brackets = if access.subscripts.is_empty() { "[]" } else { "" };
    let program = Program::parse(&format!("{sum}[] += {access}{brackets}"))?;
    let scalar = Layout::named_for_rank(&DefaultFor::Output.layout()?, 0)?;
    let layouts: IndexMap<Name, Arc<Layout>> =
        [(sum, Arc::new(scalar)), (access.tensor.clone(), layout.clone())].into_iter().collect();
    compose(&program, &layouts, None)
}
