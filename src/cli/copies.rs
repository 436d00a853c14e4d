//! Tensors that are given several times, in several layouts: that they are the same.

use std::cmp::Ordering;
use std::sync::Arc;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::layout::{DefaultFor, Layout};
use siskin::operators::Value as Number;
use siskin::packing::{PackOptions, pack};
use siskin::tensor::{Entries, Tensor};

/// A copy of a tensor, and where it is from.
#[derive(Clone, Copy)]
pub struct From<'a> {
    pub tensor: &'a Tensor,
    pub file: &'a str,
}

/// Refuses two tensors that shall be the same, but have different elements.
///
/// # Errors
/// [`Code::Data`], with the first coordinates at which they differ; [`Code::Shape`] for their extents.
pub fn refuse_difference(name: &Name, a: From<'_>, b: From<'_>, fill: Number) -> Result<()> {
    let refused = |code: Code, note: String| {
        let what = format!("`{}` and `{}` do not hold the same tensor `{name}`", a.file, b.file);
        let help = "give one tensor in several layouts, or two tensors two names";
        Err(Diagnostic::new(code, what).note(note).help(help))
    };
    let (u, v) = (a.tensor.dims(), b.tensor.dims());
    if u != v {
        return refused(Code::Shape, format!("their extents are {u:?} and {v:?}"));
    }
    match difference(&sorted(a.tensor, fill)?, &sorted(b.tensor, fill)?, fill) {
        None => Ok(()),
        Some((point, x, y)) => {
            let point: Vec<String> = point.iter().map(ToString::to_string).collect();
            let at = format!("{name}[{}]", point.join(","));
            refused(Code::Data, format!("{at} is {x} in `{}`, and {y} in `{}`", a.file, b.file))
        }
    }
}

/// What is stored in the order of its coordinates, each once.
fn sorted(tensor: &Tensor, fill: Number) -> Result<Entries> {
    let entries = tensor.entries_else(fill)?;
    if entries.rank() == 0 {
        return Ok(entries);
    }
    let layout = Layout::named_for_rank(&DefaultFor::Entries.layout()?, entries.rank())?;
    let options = PackOptions { fill: Some(fill), ..PackOptions::default() };
    pack(&Arc::new(layout), &entries, &options)?.entries()
}

/// The first coordinates at which sorted entries differ, with both elements; what is not stored is the fill.
fn difference(a: &Entries, b: &Entries, fill: Number) -> Option<(Vec<usize>, Number, Number)> {
    let (mut p, mut q) = (0, 0);
    let element = |of: &Entries, k: usize| Number::element(of.values(), k);
    while p < a.len() || q < b.len() {
        let coordinates = a.coords().iter().zip(b.coords());
        let order = match (p < a.len(), q < b.len()) {
            (true, false) => Ordering::Less,
            (false, _) => Ordering::Greater,
            _ => coordinates.fold(Ordering::Equal, |o, (u, v)| o.then(u.get(p).cmp(&v.get(q)))),
        };
        let (point, x, y) = match order {
            Ordering::Less => (a.point(p), element(a, p), fill),
            Ordering::Greater => (b.point(q), fill, element(b, q)),
            Ordering::Equal => (a.point(p), element(a, p), element(b, q)),
        };
        if !x.same(y) {
            return Some((point, x, y));
        }
        p += usize::from(order.is_le());
        q += usize::from(order.is_ge());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_coordinates_that_differ_are_found() {
        let of = |points: &[(&[usize], f64)]| Entries::from_points(&[3, 4], points).unwrap();
        let zero = Number::F64(0.0);
        let a = of(&[(&[0, 1], 2.0), (&[2, 0], 3.0)]);
        assert_eq!(difference(&a, &a, zero), None);
        // A zero that is stored is as good as one that is not.
        let padded = of(&[(&[0, 0], 0.0), (&[0, 1], 2.0), (&[2, 0], 3.0), (&[2, 3], 0.0)]);
        assert_eq!(difference(&a, &padded, zero), None);
        assert_eq!(difference(&padded, &a, zero), None);
        for (other, point) in [
            (of(&[(&[0, 1], 2.0), (&[2, 0], 4.0)]), [2, 0]),
            (of(&[(&[0, 1], 2.0)]), [2, 0]),
            (of(&[(&[2, 0], 3.0)]), [0, 1]),
            (of(&[(&[0, 1], 2.0), (&[1, 3], 1.0), (&[2, 0], 3.0)]), [1, 3]),
            (of(&[]), [0, 1]),
        ] {
            assert_eq!(difference(&a, &other, zero).unwrap().0, point);
            assert_eq!(difference(&other, &a, zero).unwrap().0, point);
        }
        assert_eq!(difference(&of(&[]), &of(&[]), zero), None);
    }
}
