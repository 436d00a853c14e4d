//! Whether two declarations say the same of memory, whatever they call it.
//!
//! In: a layout, and a model of which the meaning is known (the arrays of a file format). Out: which
//! array of the layout is which of the model. Relations are compared up to the names of positions,
//! coordinates, sizes and arrays, and up to the order of their constraints; what holds of the arrays
//! (their order, say) is no part of the comparison.
//!
//! ```text
//! { [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0 and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }
//! { [r, p] -> [x, y] : x = r and 0 <= x < X and ptr(x) <= p < ptr(x + 1) and y = idx(p) }
//! ```
//! are alike: `pos` is `ptr`, `crd` is `idx`.

use indexmap::IndexMap;

use super::Layout;
use crate::formula::{Affine, Arith, Atom, Constraint, Name, Relop};

/// For each array of `model`, its name in `layout`; `None` if they differ.
pub fn alike(layout: &Layout, model: &Layout) -> Option<IndexMap<Name, Name>> {
    let (one, other) = (Canonical::of(layout)?, Canonical::of(model)?);
    let fits = one.dims == other.dims
        && one.positions == other.positions
        && one.sizes == other.sizes
        && layout.arrays.len() == model.arrays.len()
        && layout.relation.pieces.len() == model.relation.pieces.len()
        && one.value == other.value
        && std::iter::zip(&one.shape, &other.shape).all(|pair| match pair {
            (Some(a), Some(b)) => a == b,
            _ => true,
        });
    if !fits {
        return None;
    }
    let names: Vec<&Name> = layout.arrays.keys().collect();
    let mut found = None;
    permutations(names.len(), &mut |order| {
        let names: Vec<&Name> = order.iter().map(|&k| names[k]).collect();
        let map: IndexMap<Name, Name> =
            model.arrays.keys().cloned().zip(names.iter().map(|n| (*n).clone())).collect();
        if found.is_none() && other.pieces(&map) == one.pieces(&IndexMap::new()) {
            found = Some(map);
        }
    });
    found
}

/// Calls `visit` with every order of `n` numbers; formats have few arrays.
fn permutations(n: usize, visit: &mut impl FnMut(&[usize])) {
    fn extend(taken: &mut Vec<usize>, n: usize, visit: &mut impl FnMut(&[usize])) {
        if taken.len() == n {
            return visit(taken);
        }
        for k in 0..n {
            if !taken.contains(&k) {
                taken.push(k);
                extend(taken, n, visit);
                taken.pop();
            }
        }
    }
    // More arrays than any format that has a name.
    if n <= 6 {
        extend(&mut Vec::new(), n, visit);
    }
}

/// A relation whose positions, coordinates and sizes have the names of their numbers.
struct Canonical {
    dims: usize,
    positions: usize,
    sizes: usize,
    /// Subscripts of the value.
    value: Vec<String>,
    /// How far those may go, where extents say so: rows may be longer than the dimension.
    shape: Vec<Option<Affine>>,
    pieces: Vec<Vec<Constraint>>,
}

impl Canonical {
    fn of(layout: &Layout) -> Option<Canonical> {
        let relation = &layout.relation;
        let mut sizes: Vec<Name> = Vec::new();
        for c in relation.constraints() {
            c.affine.visit_vars(&mut |n| {
                if layout.params.contains_key(n) && !sizes.contains(n) {
                    sizes.push(n.clone());
                }
            });
        }
        let extents = layout.extents();
        let renamed = |n: &Name| {
            let among = |list: &[Name], letter: &str| {
                list.iter().position(|x| x == n).map(|k| Name::from(format!("{letter}{k}")))
            };
            among(&relation.positions, "p")
                .or_else(|| among(&relation.coordinates, "c"))
                .or_else(|| among(&extents, "E"))
                .or_else(|| among(&sizes, "S"))
        };
        let rename = |n: &Name| renamed(n).map(Affine::var);
        let pieces = relation.pieces.iter();
        let pieces = pieces.map(|piece| piece.iter().map(|c| c.substitute(&rename)).collect());
        let as_arith = |n: &Name| renamed(n).map(Arith::Var);
        let of_extents = |e: &Arith| {
            let form = e.to_affine().ok().filter(|form| !form.has_calls())?;
            let mut known = true;
            form.visit_vars(&mut |n| known &= renamed(n).is_some());
            known.then(|| form.substitute(&rename))
        };
        let value = layout.value.index.iter().map(|e| e.substitute(&as_arith).to_string());
        Some(Canonical {
            dims: layout.rank(),
            positions: relation.positions.len(),
            sizes: sizes.len(),
            value: value.collect(),
            shape: layout.value.shape.iter().map(of_extents).collect(),
            pieces: pieces.map(solved).collect(),
        })
    }

    /// The constraints as texts, with arrays renamed, in an order that does not depend on the author.
    fn pieces(&self, arrays: &IndexMap<Name, Name>) -> Vec<Vec<String>> {
        let piece = |constraints: &Vec<Constraint>| {
            let mut texts: Vec<String> =
                constraints.iter().map(|c| directed(&with_arrays(c, arrays)).to_string()).collect();
            texts.sort();
            texts.dedup();
            texts
        };
        let mut out: Vec<Vec<String>> = self.pieces.iter().map(piece).collect();
        out.sort();
        out
    }
}

/// Coordinates that are a position are replaced by it: `pos(i)` is `pos(p0)` where `i = p0`.
fn solved(piece: Vec<Constraint>) -> Vec<Constraint> {
    let mut replaced: Vec<(Name, Name)> = Vec::new();
    for c in piece.iter().filter(|c| c.relop == Relop::Eq && c.affine.offset() == 0) {
        if let [(Atom::Var(a), x), (Atom::Var(b), y)] = c.affine.terms()
            && x + y == 0
            && x.abs() == 1
        {
            match (a.starts_with('c'), b.starts_with('c')) {
                (true, false) if b.starts_with('p') => replaced.push((a.clone(), b.clone())),
                (false, true) if a.starts_with('p') => replaced.push((b.clone(), a.clone())),
                _ => {}
            }
        }
    }
    let position = |n: &Name| replaced.iter().find(|(c, _)| c == n).map(|(_, p)| p.clone());
    let mut out: Vec<Constraint> = replaced
        .iter()
        .map(|(c, p)| Constraint::eq(Affine::var(c.clone()), Affine::var(p.clone())))
        .collect();
    out.extend(piece.iter().map(|c| c.rename(&position)));
    out.retain(|c| c.as_bool() != Some(true));
    out
}

fn with_arrays(c: &Constraint, arrays: &IndexMap<Name, Name>) -> Constraint {
    fn renamed(a: &Affine, arrays: &IndexMap<Name, Name>) -> Affine {
        a.map_atoms(&mut |atom| match atom {
            Atom::Call(call) => {
                let name = arrays.get(&call.array).cloned().unwrap_or(call.array);
                Affine::call(name, call.args)
            }
            other => Affine::atom(other),
        })
    }
    c.map(|a| renamed(a, arrays))
}

/// An equation with one sign.
fn directed(c: &Constraint) -> Constraint {
    let flipped = c.map(|a| -a.clone());
    match c.relop {
        Relop::Ge => c.clone(),
        _ if flipped.affine < c.affine => flipped,
        _ => c.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LayoutSpec;
    use super::*;

    const ROWS: &str = r#"
        name = "rows"
        dims = ["x", "y"]
        relation = "{ [r, p] -> [x, y] : x = r and y = idx(p) and ptr(x) <= p < ptr(x + 1) and 0 <= x < X }"
        value = "data(p)"
        [index.ptr]
        domain = "0 <= r <= X"
        range = "0 <= ptr(r) <= N"
        [index.idx]
        domain = "0 <= p < N"
        range = "0 <= idx(p) < Y"
        [params]
        N = "ptr(X)"
    "#;

    fn compared(layout: &str) -> Option<Vec<(String, String)>> {
        let model = LayoutSpec::from_toml("<model>", ROWS).unwrap().instantiate(2).unwrap();
        let map = alike(&Layout::named_for_rank(layout, 2).unwrap(), &model)?;
        Some(map.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect())
    }

    #[test]
    fn names_and_order_do_not_matter_and_the_arrays_are_told() {
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(compared("csr"), Some(vec![pair("ptr", "pos"), pair("idx", "crd")]));
        let levels = Some(vec![pair("ptr", "pos1"), pair("idx", "crd1")]);
        assert_eq!(compared("dense(i), compressed(j)"), levels);
    }

    #[test]
    fn other_storage_is_not_alike() {
        for layout in ["csc", "coo", "ell", "dcsr", "bcsr(1,1)", "dense", "symmetric-csr"] {
            assert_eq!(compared(layout), None, "{layout}");
        }
    }

    #[test]
    fn longer_rows_are_not_alike() {
        let dense = |shape: &str| {
            let text = format!(
                "name = 'd'\ndims = ['i', 'j']\nvalue = 'val(p, q)'\n{shape}\n\
                 relation = '{{ [p, q] -> [i, j] : 0 <= p < I and i = p and 0 <= q < J and j = q }}'"
            );
            LayoutSpec::from_toml("<d>", &text).unwrap().instantiate(2).unwrap()
        };
        let plain = dense("");
        assert!(alike(&dense("value_shape = ['I', 'J']"), &plain).is_some());
        assert!(alike(&dense("value_shape = ['I', 'J + 1']"), &plain).is_none());
        assert!(alike(&dense("value_shape = ['I + 1', 'J']"), &plain).is_none());
    }
}
