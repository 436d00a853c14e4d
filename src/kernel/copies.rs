//! Tensors that are at hand in several layouts: which copy a kernel reads.
//!
//! ```text
//! y[i] += A[i,j] * x[j]            A by rows and by columns, x a sparse vector
//!
//! A=csr    pA0, pA1, find px       every entry of A is visited
//! A=csc    px, pA1                 only the columns that x has
//! ```
//!
//! Each choice of a copy for each such tensor is planned with its sizes, and priced; the cheapest is taken, the first
//! of those that cost the same. A choice that has no plan is none, unless no other has one.

use indexmap::IndexMap;

use super::grounds::{Copies, PricedCopies};
use super::planned::Planned;
use super::request::Request;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::prover::Prover;
use crate::synth::Sizes;
use crate::tensor::Tensor;

/// Each choice is planned in full, which takes time.
const MOST: usize = 16;

impl Copies {
    /// The request for a kernel that reads these.
    pub(super) fn within(&self, request: &Request) -> Result<Request> {
        let mut out = Request { copies: Vec::new(), ..request.clone() };
        for (tensor, layout) in &self.layouts {
            out.layouts.insert(tensor.clone(), layout.name.clone());
            out.declared.insert(tensor.clone(), layout.clone());
        }
        let Sizes { workspace_limit, machine, .. } = out.sizes;
        out.sizes = Sizes { workspace_limit, machine, ..self.sizes.clone()? };
        Ok(out)
    }
}

/// One tensor of each name.
type Tensors<'a> = IndexMap<Name, &'a Tensor>;

/// The tensors by name, for each choice of a copy of each, and which have several. Of a tensor whose layout is stated
/// already, it is the copy in that layout.
///
/// # Errors
/// [`Code::Shape`] for copies with other extents; [`Code::Usage`] for two in one layout, and for too many choices.
pub(super) fn choices<'a>(
    request: &Request,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(Vec<Name>, Vec<Tensors<'a>>)> {
    let mut given: IndexMap<Name, Vec<&Tensor>> = IndexMap::new();
    for (name, tensor) in tensors {
        let copies = given.entry(Name::from(name)).or_default();
        if copies.iter().any(|other| other.dims() != tensor.dims()) {
            let what = format!("the copies of `{name}` have different extents");
            return Err(Diagnostic::new(Code::Shape, what).help("give one tensor in all layouts"));
        }
        if copies.iter().any(|other| other.layout().same_as(tensor.layout())) {
            return Err(in_one_layout(name));
        }
        copies.push(tensor);
    }
    for (name, copies) in &mut given {
        let stated = |tensor: &&&Tensor| match request.declared.get(name) {
            Some(layout) => tensor.layout().same_as(layout),
            None => request.layouts.get(name).is_some_and(|own| *own == tensor.layout().name),
        };
        if let Some(own) = copies.iter().find(stated) {
            *copies = vec![own];
        }
    }
    let count = given.values().map(Vec::len).fold(1usize, usize::saturating_mul);
    if count > MOST {
        let what = format!("there are {count} choices of copies, of which each would be planned");
        return Err(Diagnostic::new(Code::Usage, what)
            .help(format!("give fewer tensors in several layouts: up to {MOST} choices")));
    }
    let mut out = vec![IndexMap::new()];
    for (name, copies) in &given {
        let with = |chosen: &Tensors<'a>| {
            let mut all = vec![chosen.clone(); copies.len()];
            for (chosen, copy) in all.iter_mut().zip(copies) {
                chosen.insert(name.clone(), *copy);
            }
            all
        };
        out = out.iter().flat_map(with).collect();
    }
    let several = given.iter().filter(|(_, copies)| copies.len() > 1);
    Ok((several.map(|(name, _)| name.clone()).collect(), out))
}

/// The same tensor twice in the same way.
pub fn in_one_layout(tensor: &str) -> Box<Diagnostic> {
    let what = format!("tensor `{tensor}` is given twice in one layout");
    Diagnostic::new(Code::Usage, what).help("give each copy its own layout, or one of them only")
}

/// The tensor of each name; of several copies that in the layout which is planned.
pub(super) fn fitting<'a>(
    planned: &Planned,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Tensors<'a> {
    let mut out = Tensors::new();
    for (name, tensor) in tensors {
        let layout = planned.layouts().get(name);
        let fits = |tensor: &Tensor| layout.is_some_and(|own| own.same_as(tensor.layout()));
        if !out.get(name).is_some_and(|earlier| fits(earlier)) {
            out.insert(Name::from(name), tensor);
        }
    }
    out
}

/// The cheapest of the plans that `plan` makes, for each choice of copies.
///
/// # Errors
/// That of the first choice, if none has a plan.
pub(super) fn cheapest(
    request: &Request,
    plan: impl Fn(&Request, &mut dyn Prover) -> Result<Planned>,
    prover: &mut dyn Prover,
) -> Result<Planned> {
    let mut best: Option<(f64, usize, Planned)> = None;
    let mut refusal = None;
    let mut priced: Vec<PricedCopies> = Vec::new();
    for (k, copies) in request.copies.iter().enumerate() {
        let layouts = copies.layouts.clone();
        let mut own = PricedCopies { layouts, time: None, refused: None, taken: false };
        match copies.within(request).and_then(|own| plan(&own, prover)) {
            Ok(planned) => {
                let price = planned.price()?;
                own.time = Some(price);
                if best.as_ref().is_none_or(|(least, ..)| price < *least) {
                    best = Some((price, k, planned));
                }
            }
            Err(e) if e.code.is_defect() => return Err(e),
            Err(e) => {
                own.refused = Some(e.message.clone());
                refusal.get_or_insert(e);
            }
        }
        priced.push(own);
    }
    match (best, refusal) {
        (Some((_, k, mut planned)), _) => {
            priced[k].taken = true;
            planned.grounds.copies = priced;
            Ok(planned)
        }
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Err(Diagnostic::defect("there are no copies to choose from")),
    }
}
