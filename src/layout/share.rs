//! The layout of an output that has the sparsity of an input (SPF §4, §8.5).
//!
//! Before → after, for `C[i,j,k] = A[i,j,l] * B[k,l]` with `A` compressed in every dimension: the
//! positions of `A` down to the one that decides `j`, then one dense position for `k`:
//!
//! ```text
//! { [p0, p1, p2] -> [i, j, l] : … i = crd0(p0) and … j = crd1(p1) and … l = crd2(p2) }
//! { [p0, p1, q2] -> [i, j, d2] : … i = crd0(p0) and … j = crd1(p1) and 0 <= q2 < D2 and d2 = q2 }
//! ```

use indexmap::IndexMap;

use super::{Layout, Places, Relation, ValueArray};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Constraint, Name, Relop};

/// Derives the layout of an output whose dimension `d` repeats dimension `shared[d]` of `input`, or is
/// dense where that is `None`. Index arrays keep their names: their data is the input's.
///
/// # Errors
/// If the input is a union of relations, stores an index that the output lacks before one that
/// they share, or has one dimension where the output has two.
pub fn share(input: &Layout, shared: &[Option<usize>]) -> Result<Layout> {
    let refuse = |why: String| {
        Diagnostic::new(Code::Space, format!("no output can share `{}`: {why}", input.name))
            .help("store the shared indices first, or give the output a dense layout")
    };
    let [piece] = input.relation.pieces.as_slice() else {
        return Err(refuse("its relation is a union".to_string()));
    };
    let repeated = |(d, k): (usize, &Option<usize>)| k.filter(|_| shared[..d].contains(k));
    if let Some(k) = shared.iter().enumerate().find_map(repeated) {
        let dim = &input.dims[k];
        return Err(refuse(format!("its dimension `{dim}` would be two of the output")));
    }
    let common: Vec<&Name> = shared.iter().flatten().map(|&d| &input.dims[d]).collect();
    let decided_by = |p: &Name| -> Vec<&Name> {
        let decides = |c: &&Constraint| c.relop == Relop::Eq && c.mentions(p);
        let ties = piece.iter().filter(decides);
        ties.flat_map(|c| input.dims.iter().filter(|d| c.mentions(d))).collect()
    };
    let positions = &input.relation.positions;
    let last = positions.iter().rposition(|p| decided_by(p).iter().any(|d| common.contains(d)));
    let kept: Vec<Name> = positions.iter().take(last.map_or(0, |k| k + 1)).cloned().collect();
    for p in &kept {
        if let Some(foreign) = decided_by(p).iter().find(|d| !common.contains(d)) {
            return Err(refuse(format!("its position `{p}` also decides `{foreign}`")));
        }
    }
    let known = |n: &Name| {
        !positions.contains(n) && !input.dims.contains(n) || kept.contains(n) || common.contains(&n)
    };
    let inside = |a: &Affine| {
        let mut all = true;
        a.visit_vars(&mut |n| all &= known(n));
        all
    };
    let mut constraints: Vec<Constraint> =
        piece.iter().filter(|c| inside(&c.affine)).cloned().collect();

    let mut arrays: Vec<Name> = Vec::new();
    for c in &constraints {
        c.visit_calls(&mut |call| {
            if !arrays.contains(&call.array) {
                arrays.push(call.array.clone());
            }
        });
    }
    let (mut index, mut shape) = if kept.len() == positions.len() {
        (input.value.index.clone(), input.value.shape.clone())
    } else {
        position_tuple(input, piece, &kept).map_err(refuse)?
    };

    let mut dims = Vec::new();
    let mut out_positions = kept;
    for (d, from) in shared.iter().enumerate() {
        match from {
            Some(k) => dims.push(input.dims[*k].clone()),
            None => {
                let dim = unused(input, format!("d{d}"), Layout::extent_name);
                let position = unused(input, format!("q{d}"), |position| Name::from(position));
                let (i, p) = (Affine::var(dim.clone()), Affine::var(position.clone()));
                let extent = Layout::extent_name(&dim);
                constraints.push(Constraint::le(Affine::zero(), p.clone()));
                constraints.push(Constraint::lt(p.clone(), Affine::var(extent.clone())));
                constraints.push(Constraint::eq(i, p));
                index.push(Arith::Var(position.clone()));
                shape.push(Arith::Var(extent));
                dims.push(dim);
                out_positions.push(position);
            }
        }
    }
    let mut len = shape.first().cloned().unwrap_or(Arith::Int(1));
    for s in shape.iter().skip(1) {
        len = Arith::Mul(Box::new(len), Box::new(s.clone()));
    }
    let params = kept_sizes(input, &dims, &arrays);
    // What the output does not have: the sizes of other levels, the extents of other indices.
    let extents: Vec<Name> = dims.iter().map(|d| Layout::extent_name(d)).collect();
    let has = |n: &Name| params.contains_key(n) || extents.contains(n);
    let all_sizes: Vec<Name> = input.params.keys().cloned().chain(input.extents()).collect();
    let lacking = |mentions: &dyn Fn(&Name) -> bool| {
        all_sizes.iter().find(|&n| !has(n) && mentions(n)).cloned()
    };
    let lacks = |c: &Constraint| lacking(&|n| c.mentions(n)).is_some();
    for c in &constraints {
        if let Some(size) = lacking(&|n| c.mentions(n)) {
            return Err(refuse(format!(
                "`{c}` depends on `{size}`, which the output does not have"
            )));
        }
    }
    let sizes = shape.iter().chain([&len]).chain(
        arrays.iter().flat_map(|n| input.arrays[n].shape.iter().chain([&input.arrays[n].len])),
    );
    for e in sizes {
        if let Some(size) = lacking(&|n| mentions(e, n)) {
            return Err(refuse(format!(
                "the size {e} depends on `{size}`, which the output does not have"
            )));
        }
    }
    let mut assumptions: Vec<Constraint> =
        extents.iter().map(|e| Constraint::le(Affine::zero(), Affine::var(e.clone()))).collect();
    assumptions.extend(input.assumptions.iter().filter(|c| !lacks(c)).cloned());
    assumptions.dedup();
    let properties = input
        .properties
        .iter()
        .filter(|p| {
            let mut known = true;
            p.formula.visit_calls(&mut |c| known &= arrays.contains(&c.array));
            let variables = p.formula.free_vars();
            known && lacking(&|n| variables.contains(n)).is_none()
        })
        .cloned()
        .collect();
    let kept_array = |name: &Name| {
        let mut array = input.arrays[name].clone();
        // A bound by another level's size is that level's business.
        array.range.retain(|c| !lacks(c));
        (name.clone(), array)
    };
    Ok(Layout {
        name: format!("shares {}", input.name),
        summary: format!("Values with the sparsity of {}", input.name),
        relation: Relation {
            positions: out_positions,
            coordinates: dims.clone(),
            pieces: vec![constraints],
        },
        dims,
        value: ValueArray { name: input.value.name.clone(), index, shape, len, constant: None },
        short_circuit: false,
        fill: None,
        arrays: input.arrays.keys().filter(|n| arrays.contains(n)).map(kept_array).collect(),
        params,
        properties,
        assumptions,
        remarks: Vec::new(),
        places: Places::default(),
        stages: Vec::new(),
    })
}

/// The sizes that can be computed from the extents of `dims`, the kept arrays and each other.
fn kept_sizes(input: &Layout, dims: &[Name], arrays: &[Name]) -> IndexMap<Name, Option<Arith>> {
    let extents: Vec<Name> = dims.iter().map(|d| Layout::extent_name(d)).collect();
    let mut kept = input.params.clone();
    loop {
        let known: Vec<Name> = kept.keys().chain(&extents).cloned().collect();
        let before = kept.len();
        kept.retain(|_, definition| {
            definition.as_ref().is_none_or(|definition| {
                let mut computable = true;
                definition.visit_vars(&mut |n| computable &= known.contains(n));
                definition.visit_calls(&mut |array| computable &= arrays.contains(array));
                computable
            })
        });
        if kept.len() == before {
            return kept;
        }
    }
}

/// `name`, or with underscores appended until neither it nor what is `derived` from it is a name of
/// the layout.
fn unused(input: &Layout, mut name: String, derived: impl Fn(&str) -> Name) -> Name {
    let taken = |n: &Name| {
        input.dims.contains(n)
            || input.extents().contains(n)
            || input.relation.positions.contains(n)
            || input.params.contains_key(n)
            || input.arrays.contains_key(n)
            || input.value.name == *n
    };
    while taken(&Name::from(name.as_str())) || taken(&derived(&name)) {
        name.push('_');
    }
    Name::from(name)
}

fn mentions(e: &Arith, name: &Name) -> bool {
    let mut found = false;
    e.visit_vars(&mut |n| found |= n == name);
    found
}

/// The position tuple that the kept levels hand on, with its extents: a coordinate array read at
/// `(…, p)` starts from its own arguments, a position without one is appended.
fn position_tuple(
    input: &Layout,
    piece: &[Constraint],
    kept: &[Name],
) -> std::result::Result<(Vec<Arith>, Vec<Arith>), String> {
    let (mut index, mut shape): (Vec<Arith>, Vec<Arith>) = (Vec::new(), Vec::new());
    for p in kept {
        let mut coordinate = None;
        for c in piece.iter().filter(|c| c.relop == Relop::Eq) {
            c.visit_calls(&mut |call| {
                if call.args.last().and_then(Affine::as_var) == Some(p) {
                    coordinate = Some(call.clone());
                }
            });
        }
        if let Some(call) = coordinate {
            index = call.args.iter().map(Arith::from_affine).collect();
            shape.clone_from(&input.arrays[&call.array].shape);
            continue;
        }
        let bound = piece.iter().find_map(|c| {
            let k = c.affine.coefficient_of_var(p);
            let rest = c.affine.clone() + Affine::var(p.clone()) + Affine::constant(1);
            let only_params = rest.terms().iter().all(|(a, _)| match a {
                Atom::Var(n) => !input.relation.positions.contains(n) && !input.dims.contains(n),
                _ => false,
            });
            (c.relop == Relop::Ge && k == -1 && only_params).then_some(rest)
        });
        let Some(extent) = bound else {
            return Err(format!("the number of its positions `{p}` is not known"));
        };
        index.push(Arith::Var(p.clone()));
        shape.push(Arith::from_affine(&extent));
    }
    Ok((index, shape))
}

impl Layout {
    /// The layout without its index arrays: what a kernel that writes a sharing output sees. Its only
    /// size is the number of values.
    pub fn values_only(&self) -> Layout {
        let stored = Name::from("STORED");
        let value = ValueArray { len: Arith::Var(stored.clone()), ..self.value.clone() };
        Layout {
            arrays: IndexMap::new(),
            properties: Vec::new(),
            assumptions: Vec::new(),
            params: IndexMap::from([(stored, None)]),
            value,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_dimension_follows_the_shared_ones() {
        let csf = Layout::named_for_rank("csf", 3).unwrap();
        let shared = share(&csf, &[Some(0), Some(1), None]).unwrap();
        assert_eq!(
            shared.relation.to_string(),
            "{ [p0, p1, q2] -> [i, j, d2] : pos0(0) <= p0 < pos0(1) and i = crd0(p0) and \
             pos1(p0) <= p1 < pos1(p0 + 1) and j = crd1(p1) and 0 <= q2 < D2 and d2 = q2 }"
        );
        let index: Vec<String> = shared.value.index.iter().map(ToString::to_string).collect();
        assert_eq!(index, ["p1", "q2"]);
        assert!(!shared.arrays.contains_key("crd2"));
    }

    #[test]
    fn a_foreign_index_in_between_is_refused() {
        let csf = Layout::named_for_rank("csf", 3).unwrap();
        let e = share(&csf, &[Some(0), Some(2)]).unwrap_err();
        assert!(e.message.contains("also decides `j`"), "{e}");
    }
}
