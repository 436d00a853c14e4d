//! All strategies compute the same: what each leaves behind is compared.

use std::collections::BTreeMap;

use siskin::diagnostic::{Diagnostic, Result};
use siskin::operators::Value as Number;
use siskin::tensor::{Tensor, ValueType};

/// What a strategy has computed.
pub struct Computed {
    /// Who, as it is told.
    pub by: String,
    pub tensor: Tensor,
    /// What the tensor holds where it stores nothing.
    pub fill: Number,
}

/// Whether elements that are infinite, or no number, count: a product of a zero with such an element is one if the
/// zero is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    All,
    Finite,
}

/// Whole numbers are equal; floats, whose sums depend on the order, up to a part of the largest.
///
/// # Errors
/// If they differ, which is a defect.
pub fn check(a: &Computed, b: &Computed, compared: Compared) -> Result<()> {
    let tolerance = match a.tensor.value_type() {
        ValueType::F64 => 1e-6,
        ValueType::F32 => 1e-2,
        _ => 0.0,
    };
    let difference = difference(a, b, compared)?;
    if difference <= tolerance {
        return Ok(());
    }
    Err(Diagnostic::defect(format!(
        "`{}` and `{}` differ by {difference:e} of the largest element",
        a.by, b.by
    )))
}

/// The greatest difference of two elements, as a part of the largest.
fn difference(a: &Computed, b: &Computed, compared: Compared) -> Result<f64> {
    let (mut difference, mut largest) = (0.0f64, 0.0f64);
    let mut pair = |x: f64, y: f64| {
        let finite = x.is_finite() && y.is_finite();
        if x == y || x.is_nan() && y.is_nan() || compared == Compared::Finite && !finite {
            return;
        }
        let own = if finite { (x - y).abs() } else { f64::INFINITY };
        difference = difference.max(own);
        largest = largest.max(x.abs()).max(y.abs());
    };
    let same = |a: &Tensor, b: &Tensor| {
        a.layout().same_as(b.layout()) && a.dims() == b.dims() && a.arrays() == b.arrays()
    };
    if same(&a.tensor, &b.tensor) && a.tensor.stored() == b.tensor.stored() {
        let (u, v) = (a.tensor.values(), b.tensor.values());
        (0..u.len()).for_each(|k| pair(u.get_f64(k), v.get_f64(k)));
        let all = (0..u.len()).map(|k| u.get_f64(k).abs()).filter(|x| x.is_finite());
        largest = all.fold(largest, f64::max);
    } else {
        let (u, v) = (elements(&a.tensor)?, elements(&b.tensor)?);
        let (less, more) = (number(a.fill), number(b.fill));
        for (place, &x) in &u {
            pair(x, v.get(place).copied().unwrap_or(more));
        }
        for (_, &y) in v.iter().filter(|(place, _)| !u.contains_key(*place)) {
            pair(less, y);
        }
        let all = u.values().map(|x| x.abs()).filter(|x| x.is_finite());
        largest = all.fold(largest, f64::max);
    }
    Ok(if difference == 0.0 { 0.0 } else { difference / largest })
}

/// What is stored, by place in the order of rows.
fn elements(tensor: &Tensor) -> Result<BTreeMap<u128, f64>> {
    let entries = tensor.entries()?;
    let mut out = BTreeMap::new();
    for k in 0..entries.len() {
        let point = entries.point(k);
        let place = point
            .iter()
            .zip(tensor.dims())
            .fold(0u128, |at, (&c, &n)| at.wrapping_mul(n as u128).wrapping_add(c as u128));
        *out.entry(place).or_insert(0.0) += entries.values().get_f64(k);
    }
    Ok(out)
}

fn number(value: Number) -> f64 {
    value.repeated(1).get_f64(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use siskin::files::Loaded;
    use siskin::layout::Layout;
    use siskin::packing::PackOptions;
    use siskin::tensor::Entries;

    use super::*;

    fn computed(layout: &str, points: &[(&[usize], f64)], ty: ValueType) -> Computed {
        let entries = Entries::from_points(&[3, 4], points).unwrap().into_type(ty).unwrap();
        let layout = Arc::new(Layout::named_for_rank(layout, 2).unwrap());
        let tensor = Loaded::Entries(entries).pack_with(&layout, &PackOptions::default()).unwrap();
        Computed { by: layout.name.clone(), tensor, fill: Number::zero(ty) }
    }

    #[test]
    fn results_agree_whatever_they_are_stored_in() {
        let points: [(&[usize], f64); 3] = [(&[0, 1], 2.0), (&[2, 0], 3.0), (&[2, 3], 4.0)];
        for ty in [ValueType::F64, ValueType::I32] {
            let first = computed("csr", &points, ty);
            for layout in ["csr", "csc", "dense", "bcsr(2,2)", "hash"] {
                check(&first, &computed(layout, &points, ty), Compared::All).unwrap();
                for wrong in [&points[..2], &[points[0], points[1], (&[2, 2], 4.0)]] {
                    let other = computed(layout, wrong, ty);
                    let e = check(&first, &other, Compared::All).unwrap_err();
                    assert!(e.code.is_defect() && e.message.contains("`csr` and"), "{}", e.message);
                }
            }
        }
    }

    #[test]
    fn sums_may_differ_by_their_order_and_layouts_in_what_is_infinite() {
        let of = |x: f64| computed("csr", &[(&[0, 0], x), (&[1, 1], 1.0)], ValueType::F64);
        check(&of(1.0), &of(1.0 + 1e-9), Compared::All).unwrap();
        assert!(check(&of(1.0), &of(1.01), Compared::All).is_err());
        check(&of(f64::NAN), &of(f64::NAN), Compared::All).unwrap();
        assert!(check(&of(f64::NAN), &of(1.0), Compared::All).is_err());
        check(&of(f64::NAN), &of(1.0), Compared::Finite).unwrap();
        assert!(check(&of(f64::INFINITY), &of(1.0), Compared::All).is_err());
    }
}
