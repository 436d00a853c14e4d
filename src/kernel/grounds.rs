//! On what grounds a plan was chosen: what was known, what was forced, and which orders were priced.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Result;
use crate::formula::Name;
use crate::layout::Layout;
use crate::synth::Sizes;

/// What a choice stands on, beside what is proved.
#[derive(Clone, Debug, Default)]
pub struct Grounds {
    /// What is known of the data and of the machine.
    pub sizes: Sizes,
    /// Templates that were asked for, of one position or of all; later ones win.
    pub forced: Vec<(Option<String>, String)>,
    /// The workspace that was asked for.
    pub workspace: Option<String>,
    /// Orders of the loops that were priced, the default first; none if the default is good enough, or an order
    /// was asked for.
    pub orders: Vec<PricedOrder>,
    /// Choices of copies that were priced, as they were given; none if no tensor is at hand in several layouts.
    pub copies: Vec<PricedCopies>,
}

/// A copy of each tensor that has several.
#[derive(Clone, Debug)]
pub struct Copies {
    /// In which layouts they are.
    pub layouts: IndexMap<Name, Arc<Layout>>,
    /// Those of all tensors, with these copies; or why nothing can be computed from them.
    pub(super) sizes: Result<Sizes>,
}

/// `A=csc B=csr`
fn write_copies(layouts: &IndexMap<Name, Arc<Layout>>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (k, (tensor, layout)) in layouts.iter().enumerate() {
        let space = if k == 0 { "" } else { " " };
        write!(f, "{space}{tensor}={}", layout.name)?;
    }
    Ok(())
}

impl fmt::Display for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_copies(&self.layouts, f)
    }
}

impl fmt::Display for PricedCopies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_copies(&self.layouts, f)
    }
}

/// What the best plan with a copy of each tensor that has several is expected to cost.
#[derive(Clone, Debug)]
pub struct PricedCopies {
    /// In which layouts the copies are.
    pub layouts: IndexMap<Name, Arc<Layout>>,
    /// In nanoseconds; `None` if it has no plan.
    pub time: Option<f64>,
    /// Why it has none.
    pub refused: Option<String>,
    /// It is the cheapest.
    pub taken: bool,
}

/// What an order of the loops is expected to cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedOrder {
    /// The loops, outermost first.
    pub dims: Vec<Name>,
    /// In nanoseconds; `None` if it has no plan.
    pub time: Option<f64>,
    /// It costs at least that, and was not planned: another order costs less, or is good enough.
    pub at_least: bool,
}

impl Grounds {
    /// Whether a template was asked for where `position` is searched.
    pub fn is_forced(&self, position: &Name) -> bool {
        self.forced.iter().any(|(p, _)| p.as_deref().is_none_or(|p| *p == **position))
    }
}
