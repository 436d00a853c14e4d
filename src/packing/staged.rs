//! Packing in two stages, where positions of outer levels are not known before all entries are looked at.
//!
//! Where a position stands for a run of coordinates, or for one of a block, what is stored below it is one
//! value for the levels above: equal subtensors are one number. In: a layout that is a chain of levels. Out:
//! two layouts, of the levels down to such a position and of those below it.
//!
//! ```text
//! { [q0, q1] -> [i, j] : ptr0(0) <= q0 < ptr0(1) and left0(q0) <= j < right0(q0)
//!                        and ptr1(q0) <= q1 < ptr1(q0 + 1) and i = idx1(q1) }
//! ```
//! is packed as `{ [q0] -> [j] : … }`, whose values are the numbers of the subtensors along `i`, and as
//! `{ [q0, q1] -> [outer0, i] : outer0 = q0 and … }`.

use std::cmp::Ordering;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap;

use super::options::PackOptions;
use super::plan::{Plan, Staged};
use crate::diagnostic::{Diagnostic, Result};
use crate::formula::{Affine, Arith, Constraint, Name};
use crate::layout::{Layout, Places, Relation, Stage, ValueArray};
use crate::tensor::{Entries, IndexData, Tensor, Value, Values, known_sizes};

impl Staged {
    /// The stages of a layout, if one of its levels but the last needs them.
    pub fn of(layout: &Layout) -> Option<Staged> {
        let last = layout.stages.len().checked_sub(1)?;
        (0..last).find_map(|k| {
            let outer = outer(layout, k)?;
            let plan = Plan::of(&outer).ok().filter(Plan::is_known_late)?;
            let (inner, handed) = inner(layout, k)?;
            let below = Plan::of(&inner).ok()?;
            let number = |d: &Name| layout.dims.iter().position(|c| c == d);
            let of = |names: &[Name]| names.iter().filter_map(number).collect::<Vec<usize>>();
            let dims = [of(&outer.dims), of(&inner.dims[handed.len()..])];
            let plans = Box::new([plan, below]);
            Some(Staged { outer: Arc::new(outer), inner: Arc::new(inner), plans, dims, handed })
        })
    }

    /// Packs the outer levels with the numbers of subtensors, then these.
    pub fn pack(
        &self,
        layout: &Arc<Layout>,
        entries: &Entries,
        options: &PackOptions,
    ) -> Result<Tensor> {
        let [outer_dims, inner_dims] = &self.dims;
        // The entries by their outer coordinates, then by the others.
        let at = |d: usize, k: u32| entries.coords()[d].get(k as usize);
        let differ = |dims: &[usize], a: u32, b: u32| {
            let along = dims.iter().map(|&d| at(d, a).cmp(&at(d, b)));
            along.fold(Ordering::Equal, Ordering::then)
        };
        // At most as many as there are entries, which are counted in 32 bits.
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            differ(outer_dims, a, b).then_with(|| differ(inner_dims, a, b))
        });
        let mut numbers: FxHashMap<Vec<u64>, i64> = FxHashMap::default();
        let mut subtensors: Vec<&[u32]> = Vec::new();
        let mut coords: Vec<Vec<u64>> = vec![Vec::new(); outer_dims.len()];
        let mut values: Vec<i64> = Vec::new();
        for below in order.chunk_by(|&a, &b| differ(outer_dims, a, b).is_eq()) {
            let mut key = Vec::with_capacity(below.len() * (inner_dims.len() + 1));
            for &k in below {
                key.extend(inner_dims.iter().map(|&d| at(d, k) as u64));
                key.push(bits(Value::element(entries.values(), k as usize)));
            }
            let number = *numbers.entry(key).or_insert_with(|| {
                subtensors.push(below);
                subtensors.len() as i64
            });
            for (column, &d) in coords.iter_mut().zip(outer_dims) {
                column.push(at(d, below[0]) as u64);
            }
            values.push(number);
        }
        let dims: Vec<usize> = outer_dims.iter().map(|&d| entries.dims()[d]).collect();
        let coords = coords.into_iter().map(IndexData::U64).collect();
        let above = Entries::new(dims, coords, Values::I64(values))?;
        let numbered = PackOptions { fill: Some(Value::I64(0)), ..*options };
        let above = self.plans[0].pack(&self.outer, &above, &numbered).map_err(|e| {
            e.note("values here are numbers of subtensors: equal ones have one number, 0 is empty")
        })?;

        let (scope, _) = known_sizes(&self.outer, above.dims(), above.params(), above.arrays())?;
        let extents: Option<Vec<usize>> = self
            .handed
            .iter()
            .map(|e| scope.value(&Arith::from_affine(e)).and_then(|n| usize::try_from(n).ok()))
            .collect();
        let wrong = || Diagnostic::defect(format!("`{}` is packed in stages", layout.name));
        let extents = extents.ok_or_else(wrong)?;
        let mut dims = extents.clone();
        dims.extend(inner_dims.iter().map(|&d| entries.dims()[d]));
        let mut coords: Vec<Vec<u64>> = vec![Vec::new(); dims.len()];
        let mut kept: Vec<u32> = Vec::new();
        for stored in 0..above.stored() {
            let Value::I64(number) = Value::element(above.values(), stored) else {
                return Err(wrong());
            };
            let Some(number) = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)) else {
                continue;
            };
            let mut position = vec![0; extents.len()];
            let mut rest = stored;
            for (p, &extent) in position.iter_mut().zip(&extents).rev() {
                (*p, rest) = (rest % extent, rest / extent);
            }
            for &k in subtensors[number] {
                let inner = inner_dims.iter().map(|&d| at(d, k) as u64);
                let point = position.iter().map(|&c| c as u64).chain(inner);
                coords.iter_mut().zip(point).for_each(|(column, c)| column.push(c));
                kept.push(k);
            }
        }
        let coords = coords.into_iter().map(IndexData::U64).collect();
        let below = Entries::new(dims, coords, entries.values().gather(&kept))?;
        let below = self.plans[1].pack(&self.inner, &below, options)?;

        let mut arrays = IndexMap::new();
        for name in layout.arrays.keys() {
            let data = above.arrays().get(name).or_else(|| below.arrays().get(name));
            arrays.insert(name.clone(), data.ok_or_else(wrong)?.clone());
        }
        let counted = layout.params.iter().filter(|(_, definition)| definition.is_none());
        let value = |name: &Name| above.params().get(name).or_else(|| below.params().get(name));
        let counts = counted.filter_map(|(name, _)| Some((name.clone(), *value(name)?))).collect();
        let values = below.values().clone();
        Tensor::new(layout.clone(), entries.dims().to_vec(), &counts, arrays, values)
    }
}

/// The bits of a number, which tell subtensors apart.
fn bits(value: Value) -> u64 {
    match value {
        Value::F64(x) => x.to_bits(),
        Value::F32(x) => u64::from(x.to_bits()),
        Value::I64(n) => n as u64,
        Value::I32(n) => n as u64,
        Value::U8(n) => u64::from(n),
        Value::Bool(b) => u64::from(b),
    }
}

/// Names of the levels down to stage `k`.
struct Above {
    dims: Vec<Name>,
    arrays: IndexSet<Name>,
}

fn above(layout: &Layout, k: usize) -> Above {
    let stages = &layout.stages[..=k];
    let declared: IndexSet<Name> = stages.iter().flat_map(|s| s.dims.iter().cloned()).collect();
    Above {
        dims: layout.dims.iter().filter(|d| declared.contains(*d)).cloned().collect(),
        arrays: stages.iter().flat_map(|s| s.arrays.iter().cloned()).collect(),
    }
}

/// Whether a constraint is one of the levels above.
fn is_above(layout: &Layout, above: &Above, positions: &[Name], c: &Constraint) -> bool {
    let mut own = true;
    c.affine.visit_vars(&mut |n| {
        own &= !layout.relation.positions.contains(n) || positions.contains(n);
        own &= !layout.dims.contains(n) || above.dims.contains(n);
    });
    c.visit_calls(&mut |call| own &= above.arrays.contains(&call.array));
    own
}

/// Sizes that are mentioned, and those that their definitions mention.
fn sizes_of(layout: &Layout, mentioned: IndexSet<Name>) -> IndexMap<Name, Option<Arith>> {
    let mut known = mentioned;
    let mut at = 0;
    while let Some(name) = known.get_index(at).cloned() {
        if let Some(Some(definition)) = layout.params.get(&name) {
            definition.visit_vars(&mut |n| {
                known.insert(n.clone());
            });
        }
        at += 1;
    }
    let kept = layout.params.iter().filter(|(name, _)| known.contains(*name));
    kept.map(|(name, definition)| (name.clone(), definition.clone())).collect()
}

/// The sizes that the arrays and conditions of a layout mention.
fn mentioned(layout: &Layout) -> IndexSet<Name> {
    let mut out = IndexSet::new();
    let mut note = |n: &Name| {
        out.insert(n.clone());
    };
    layout.relation.constraints().for_each(|c| c.affine.visit_vars(&mut note));
    for array in layout.arrays.values() {
        array.domain.iter().chain(&array.range).for_each(|c| c.affine.visit_vars(&mut note));
        array.shape.iter().chain([&array.len]).for_each(|e| e.visit_vars(&mut note));
    }
    layout.value.shape.iter().for_each(|e| e.visit_vars(&mut note));
    out
}

fn product(factors: &[Arith]) -> Arith {
    let product = factors.iter().cloned().reduce(|a, b| Arith::Mul(Box::new(a), Box::new(b)));
    product.unwrap_or(Arith::Int(1))
}

fn not_negative(layout: &Layout) -> Vec<Constraint> {
    let sizes = layout.extents().into_iter().chain(layout.params.keys().cloned());
    sizes.map(|n| Constraint::le(Affine::zero(), Affine::var(n))).collect()
}

/// The levels down to stage `k`, with a value for each position that they hand on.
fn outer(layout: &Layout, k: usize) -> Option<Layout> {
    let stage = &layout.stages[k];
    let positions = layout.relation.positions.get(..stage.positions)?.to_vec();
    let above = above(layout, k);
    let mut pieces: Vec<Vec<Constraint>> = Vec::new();
    for piece in &layout.relation.pieces {
        let own = piece.iter().filter(|c| is_above(layout, &above, &positions, c));
        let own: Vec<Constraint> = own.cloned().collect();
        if !pieces.contains(&own) {
            pieces.push(own);
        }
    }
    let shape: Vec<Arith> = stage.handed.iter().map(|(_, e)| Arith::from_affine(e)).collect();
    let mut out = layout.clone();
    out.dims = above.dims.clone();
    out.relation = Relation { positions, coordinates: above.dims.clone(), pieces };
    out.arrays.retain(|name, _| above.arrays.contains(name));
    out.value = ValueArray {
        name: layout.value.name.clone(),
        index: stage.handed.iter().map(|(n, _)| Arith::Var(n.clone())).collect(),
        len: product(&shape),
        shape,
        constant: None,
    };
    out.fill = None;
    out.stages.truncate(k + 1);
    out.params = sizes_of(layout, mentioned(&out));
    finish(layout, &mut out);
    Some(out)
}

/// Properties and assumptions of what is left of the `whole` layout: those about arrays that are left.
/// (What else a property calls is a function that is known everywhere, as the home of a coordinate in a table.)
fn finish(whole: &Layout, layout: &mut Layout) {
    let gone =
        |array: &Name| whole.arrays.contains_key(array) && !layout.arrays.contains_key(array);
    let lost = |p: &crate::layout::Property| {
        let mut lost = p.arrays.iter().any(gone);
        p.formula.visit_calls(&mut |call| lost |= gone(&call.array));
        lost
    };
    let kept = layout.properties.iter().filter(|p| !lost(p)).cloned().collect();
    layout.properties = kept;
    layout.assumptions = not_negative(layout);
    layout.places = Places::default();
    layout.remarks = Vec::new();
}

/// The levels below stage `k`, whose first dimensions are the positions that it hands on; and the extents of
/// these.
fn inner(layout: &Layout, k: usize) -> Option<(Layout, Vec<Affine>)> {
    let stage = &layout.stages[k];
    let outer_positions = layout.relation.positions.get(..stage.positions)?;
    let above = above(layout, k);
    let dims: Vec<Name> =
        (0..stage.handed.len()).map(|n| Name::from(format!("outer{n}"))).collect();
    let extents: Vec<Name> = dims.iter().map(|d| Layout::extent_name(d)).collect();
    // Sizes of the levels above are extents here.
    let mut renamed: IndexMap<Name, Name> = IndexMap::new();
    for ((_, extent), here) in stage.handed.iter().zip(&extents) {
        match extent.as_var() {
            Some(size) => drop(renamed.entry(size.clone()).or_insert(here.clone())),
            None => {
                extent.as_constant()?;
            }
        }
    }
    let affine = |n: &Name| renamed.get(n).cloned().map(Affine::var);
    let arith = |e: &Arith| e.substitute(&|n| renamed.get(n).cloned().map(Arith::Var));
    let mut pieces: Vec<Vec<Constraint>> = Vec::new();
    for piece in &layout.relation.pieces {
        let mut own = Vec::new();
        for (((position, _), dim), extent) in stage.handed.iter().zip(&dims).zip(&extents) {
            let at = Affine::var(position.clone());
            own.push(Constraint::le(Affine::zero(), at.clone()));
            own.push(Constraint::lt(at.clone(), Affine::var(extent.clone())));
            own.push(Constraint::eq(Affine::var(dim.clone()), at));
        }
        let below = piece.iter().filter(|c| !is_above(layout, &above, outer_positions, c));
        own.extend(below.map(|c| c.substitute(&affine)));
        if !pieces.contains(&own) {
            pieces.push(own);
        }
    }
    let handed = stage.handed.iter().map(|(n, _)| n.clone());
    let positions: Vec<Name> =
        handed.chain(layout.relation.positions[stage.positions..].iter().cloned()).collect();
    let mut all = dims.clone();
    all.extend(layout.dims.iter().filter(|d| !above.dims.contains(*d)).cloned());
    let mut out = layout.clone();
    out.dims = all.clone();
    out.relation = Relation { positions, coordinates: all, pieces };
    out.arrays.retain(|name, _| !above.arrays.contains(name));
    for array in out.arrays.values_mut() {
        for c in array.domain.iter_mut().chain(&mut array.range) {
            *c = c.substitute(&affine);
        }
        array.shape = array.shape.iter().map(arith).collect();
        array.len = arith(&array.len);
    }
    out.value.shape = out.value.shape.iter().map(arith).collect();
    out.value.len = arith(&out.value.len);
    for definition in out.params.values_mut().flatten() {
        *definition = arith(definition);
    }
    for property in &mut out.properties {
        property.formula = property.formula.substitute(&affine);
    }
    let m = dims.len();
    let extent_of = |e: &Affine| e.substitute(&affine);
    let first = Stage {
        positions: m,
        dims: dims.clone(),
        arrays: Vec::new(),
        handed: stage.handed.iter().map(|(n, e)| (n.clone(), extent_of(e))).collect(),
    };
    let later = layout.stages[k + 1..].iter().map(|s| Stage {
        positions: s.positions - stage.positions + m,
        handed: s.handed.iter().map(|(n, e)| (n.clone(), extent_of(e))).collect(),
        ..s.clone()
    });
    out.stages = std::iter::once(first).chain(later).collect();
    out.params = sizes_of(&out, mentioned(&out));
    finish(layout, &mut out);
    // Nothing else of the levels above may be left.
    let mut lost = false;
    for name in mentioned(&out) {
        let known = out.params.contains_key(&name)
            || out.extents().contains(&name)
            || out.relation.positions.contains(&name)
            || out.relation.coordinates.contains(&name)
            || out.arrays.values().any(|a| a.args.contains(&name));
        lost |= !known;
    }
    let handed = stage.handed.iter().map(|(_, e)| e.clone()).collect();
    (!lost && !out.dims.is_empty()).then_some((out, handed))
}
