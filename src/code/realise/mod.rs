//! Realise: from the tree of loops to code.
//!
//! Before → after, for the inner loop of a matrix times a vector:
//!
//! ```text
//! for pA1 in pos_A(pA0)..pos_A(pA0 + 1)      let mut sum: f64 = 0.0;
//!   let j = crd_A(pA1)                       for pA1 in pos_A[pA0]..pos_A[pA0 + 1] {
//!     S                                          let j = crd_A[pA1];
//!                                                sum += val_A[pA1] * val_x[j];
//!                                            }
//!                                            val_y[i] += sum;
//! ```
//! Every access is tested until the bounds pass has seen it.

mod assemble;
mod chunk;
mod counted;
mod finds;
mod groups;
mod held;
mod integers;
mod last;
mod leave;
mod merge;
mod nodes;
mod result;
mod runs;
mod segments;
mod sizes;
mod state;
mod step;
mod sweep;
mod temporaries;
mod together;
mod update;
mod values;
mod windows;

pub use sizes::size;

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ir::{
    Array, ArrayId, Block, Body, Element, Expr, IndexWidth, Origin, Spreads, Stmt, TableTraits,
    Type, VarId,
};
use super::path::Path;
use super::template::{self, FindCode};
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Call, Constraint, Formula, Name};
use crate::iterspace::{Operand, Role, Space};
use crate::layout::PropertyKind;
use crate::layout::checks::admits_negative;
use crate::loops::{Assembled, Loops, Place, SearchId};
use crate::operators::{Operator, Value};
use crate::prover::Prover;
use crate::scan::Range;

/// The arguments of a kernel's core and their declarations; no statements yet. An assembled result has
/// arrays that grow.
pub fn declare(
    spaces: &[&Space],
    width: IndexWidth,
    threads: bool,
    assembled: Option<&Assembled>,
) -> Body {
    let mut body = Body::default();
    let Some(space) = spaces.first() else { return body };
    for p in space.params() {
        let v = body.variable(&p, Type::Unsigned);
        body.sizes.push(v);
    }
    let mut seen: Vec<&Name> = Vec::new();
    for o in &space.operands {
        if seen.contains(&&o.tensor) || !o.is_given() {
            continue;
        }
        seen.push(&o.tensor);
        body.functions.extend(o.bounds.values().cloned());
        match assembled.filter(|assembled| assembled.tensor == o.tensor) {
            Some(assembled) => result::declare(&mut body, assembled, o.value_type, width),
            None => declare_operand(&mut body, o, width),
        }
    }
    if threads {
        let v = body.variable("threads", Type::Unsigned);
        body.threads = Some(v);
    }
    body
}

fn declare_operand(body: &mut Body, o: &Operand, width: IndexWidth) {
    for a in o.arrays.values() {
        let shape = a.shape.iter().map(|s| size(body, s)).collect();
        body.array(Array {
            name: a.name.clone(),
            element: Element::Index { signed: admits_negative(a), width },
            origin: Origin::Input,
            shape,
            args: a.args.clone(),
            domain: a.domain.clone(),
            range: a.range.clone(),
        });
    }
    let sorted = o.properties.iter().filter(|p| {
        matches!(p.kind, PropertyKind::Lexicographic)
            || p.kind == PropertyKind::Monotonic && !p.strict
    });
    for property in sorted {
        let mut order: Vec<ArrayId> =
            property.arrays.iter().filter_map(|name| body.array_named(name)).collect();
        if order.len() == property.arrays.len() {
            // What is not strict goes on, as it were: positions of equal elements differ in something.
            if let (Some(last), false) = (order.last(), property.strict) {
                order.push(*last);
            }
            body.sorted_by.push(order);
        }
    }
    let shape = o.value_shape.iter().map(|s| size(body, s)).collect();
    let values = body.array(Array {
        name: o.value_array.clone(),
        element: Element::Value(o.value_type),
        origin: if o.role == Role::Output { Origin::Output } else { Origin::Input },
        shape,
        args: Vec::new(),
        domain: Vec::new(),
        range: Vec::new(),
    });
    body.constants.extend(o.constant().map(|constant| (values, constant)));
}

/// The code of every find, read and proved.
pub fn templates(loops: &Loops, prover: &mut dyn Prover) -> Result<Vec<Rc<FindCode>>> {
    loops
        .finds
        .iter()
        .map(|f| template::load(&f.plan.template, state::variant(f), prover))
        .collect()
}

/// Appends the code of `loops` to `body`. `codes` are those of [`templates`]; an assembled result comes
/// with the operator that combines its elements.
///
/// # Errors
/// If an operator does not exist for the types of its arguments.
pub fn realise(
    body: Body,
    loops: &Loops,
    codes: &[Rc<FindCode>],
    assembled: Option<(&Assembled, &Arc<Operator>)>,
    path: &mut Path,
) -> Result<Body> {
    let mut realiser = Realiser {
        body,
        loops,
        codes,
        path,
        env: FxHashMap::default(),
        loaded: Vec::new(),
        sums: Vec::new(),
        lookups: FxHashMap::default(),
        held: FxHashMap::default(),
        some_found: Vec::new(),
        hoisted: Vec::new(),
        fresh: Vec::new(),
        begun: FxHashMap::default(),
        ranges: FxHashMap::default(),
        states: FxHashMap::default(),
        assembly: None,
        elements: Vec::new(),
        allocated: Vec::new(),
        within_loops: 0,
        granted: Vec::new(),
        windows: Vec::new(),
        walks_whole: false,
    };
    realiser.body.in_order = loops.strict_fp;
    let mut block = Vec::new();
    if let Some((assembled, op)) = assembled {
        realiser.begin_result(assembled, op, &mut block)?;
    }
    let all = realiser.block(&loops.body)?;
    block.append(&mut realiser.allocated);
    block.extend(all);
    realiser.end_result(&mut block);
    let mut body = realiser.body;
    body.block.extend(block);
    for template in loops.finds.iter().map(|find| &find.plan.template) {
        let spreads = match template {
            _ if template.places => Some(Spreads::Positions),
            _ if template.vanishes => Some(Spreads::Alone),
            _ if template.values => Some(Spreads::Masked),
            _ => None,
        };
        let (bounded, branchless) = (template.bounded, template.branchless);
        if let Some(table) = template.table.as_deref() {
            let traits = TableTraits { spreads, bounded, branchless };
            body.table_traits.insert(Name::from(table), traits);
        }
    }
    Ok(body)
}

/// What a lookup sets.
struct Found {
    fill: Value,
    value: Option<VarId>,
    /// Whether anything was found.
    is_there: Expr,
}

/// What holds of every number of a range, beside its ends: it was sought.
#[derive(Clone, Debug)]
struct Window {
    range: Range,
    /// Over the variable of the loop.
    facts: Vec<Constraint>,
}

pub(super) struct Realiser<'a, 'p> {
    body: Body,
    loops: &'a Loops,
    codes: &'a [Rc<FindCode>],
    path: &'a mut Path<'p>,
    /// Dimensions that are bound, by the variables that hold them.
    env: FxHashMap<Name, VarId>,
    /// Calls whose value a variable already holds.
    loaded: Vec<(Call, VarId)>,
    /// Output elements that are summed in a variable.
    sums: Vec<(Place, VarId)>,
    /// The variables of the lookups in sight.
    lookups: FxHashMap<Name, Found>,
    /// Of walks whose region may hold an index or not: when it does.
    held: FxHashMap<Name, held::Held>,
    /// Walks of which at least one has found something.
    some_found: Vec<Name>,
    /// Elements that were loaded before a loop.
    hoisted: Vec<(Place, VarId)>,
    /// Arrays that have begun within the kernel.
    begun: FxHashMap<Name, ArrayId>,
    /// States that the block at hand has set up.
    fresh: Vec<SearchId>,
    /// Ranges of finds that a state bound to variables.
    ranges: FxHashMap<SearchId, (Expr, Expr)>,
    states: FxHashMap<SearchId, state::State>,
    /// The result, if it is assembled.
    assembly: Option<result::Assembly>,
    /// Temporaries of one element.
    elements: Vec<(Place, VarId)>,
    /// Arrays of temporaries that begin inside loops.
    allocated: Block,
    within_loops: usize,
    /// Tests that are known to hold.
    granted: Vec<Vec<Constraint>>,
    /// Parts of segments that were sought.
    windows: Vec<Window>,
    /// The loop at hand is over a segment in which nothing is sought.
    walks_whole: bool,
}

impl Realiser<'_, '_> {
    /// A linear form of the space over the variables that hold its dimensions.
    fn here(&self, a: &Affine) -> Affine {
        a.rename(&|n| self.env.get(n).map(|v| self.body.var(*v).name.clone()))
    }

    fn here_all(&self, list: &[Constraint]) -> Vec<Constraint> {
        list.iter().map(|c| c.map(|a| self.here(a))).collect()
    }

    fn here_formula(&self, f: &Formula) -> Formula {
        f.map_affine(&|a| self.here(a))
    }

    fn here_arith(&self, a: &Arith) -> Arith {
        a.rename(&|n| self.env.get(n).map(|v| self.body.var(*v).name.clone()))
    }

    /// Adds facts until the matching `path.leave()`.
    fn enter(&mut self, facts: &[Constraint]) {
        let facts: Vec<Formula> = facts.iter().cloned().map(Formula::Constraint).collect();
        self.path.enter(&facts);
    }

    /// A variable for a dimension of the space.
    fn bind(&mut self, dimension: &Name, ty: Type) -> VarId {
        let v = self.body.variable(dimension, ty);
        self.env.insert(dimension.clone(), v);
        v
    }

    fn array_of(&self, name: &Name) -> ArrayId {
        // What begins within the kernel may be called otherwise, if a variable has its name.
        let local = self.begun.get(name).copied();
        let declared = local.or_else(|| self.body.array_named(name));
        declared.unwrap_or_else(|| panic!("the array `{name}` of an operand was not declared"))
    }
}

/// `if tests { inner }`
fn guarded(tests: Vec<Expr>, inner: Block) -> Block {
    match Expr::and(tests) {
        Expr::Bool(true) => inner,
        _ if inner.is_empty() => inner,
        condition => vec![Stmt::If { condition, then: inner, otherwise: Vec::new() }],
    }
}
