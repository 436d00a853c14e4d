//! Layouts whose value array is the tensor itself, element by element: a dense array in some order.
//!
//! In: a layout with all its sizes known. Out: [`Strides`], if every element of the tensor has one
//! place, an affine function of its coordinates. Such a tensor is read and written by copying values;
//! what is not of this form (index arrays, triangles, blocks) is decoded point by point.
//!
//! Before → after, for a matrix by columns of extents 3 × 4:
//!
//! ```text
//! { [p0, p1] -> [i, j] : 0 <= p0 < J and j = p0 and 0 <= p1 < I and i = p1 }, val(p0, p1)
//! start 0, steps [1, 3]
//! ```

use std::borrow::Cow;

use indexmap::IndexMap;

use super::dense::{DenseArray, element_count};
use super::tensor::{Tensor, known_sizes, sizes};
use super::values::{Values, with_values};
use crate::diagnostic::Result;
use crate::formula::{Affine, Arith, Atom, Name, Relop};
use crate::layout::Layout;

/// Element `(i, j, …)` is value number `start + steps[0] * i + steps[1] * j + …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Strides {
    start: i64,
    steps: Vec<i64>,
    dims: Vec<usize>,
}

/// `constant + sum of coefficients * variables`; wide enough for a product of two numbers of a
/// declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Form {
    constant: i128,
    coefficients: Vec<i128>,
}

impl Strides {
    /// The strides of a layout whose `stored` values are all there is. `None` if it has another form,
    /// or the tensor no elements.
    pub fn of(
        layout: &Layout,
        dims: &[usize],
        params: &IndexMap<Name, i64>,
        stored: usize,
    ) -> Option<Strides> {
        let [piece] = layout.relation.pieces.as_slice() else { return None };
        if !layout.arrays.is_empty() || dims.contains(&0) || element_count(dims).is_err() {
            return None;
        }
        let extents = layout.extents().into_iter().zip(dims.iter().map(|&n| n as i64));
        let sizes: IndexMap<Name, i64> =
            extents.chain(params.iter().map(|(n, &v)| (n.clone(), v))).collect();
        let coordinates = &layout.relation.coordinates;
        let rank = coordinates.len();
        let variables: Vec<Name> =
            coordinates.iter().chain(&layout.relation.positions).cloned().collect();
        let form = |e: &Affine| Form::of(e, &variables, &sizes);

        let constraints: Vec<(Form, Relop)> =
            piece.iter().map(|c| Some((form(&c.affine)?, c.relop))).collect::<Option<_>>()?;
        // One position, and one alone, belongs to each point: it is a function of the coordinates.
        let positions: Vec<Form> = (rank..variables.len())
            .map(|p| {
                let equations = constraints.iter().filter(|(_, relop)| *relop == Relop::Eq);
                equations.filter_map(|(f, _)| f.solved_for(p, rank)).next()
            })
            .collect::<Option<_>>()?;
        let place = |f: &Form| f.substituted(&positions, rank);
        // Every point of the box is stored.
        for (f, relop) in &constraints {
            let (least, most) = place(f)?.range(dims)?;
            let holds = match relop {
                Relop::Ge => least >= 0,
                Relop::Eq => least == 0 && most == 0,
                Relop::Ne => least > 0 || most < 0,
            };
            if !holds {
                return None;
            }
        }

        let scalar = |n: &Name| sizes.get(n).map(|&v| Arith::Int(v));
        let mut at = Form::zero(rank);
        for (k, (index, extent)) in layout.value.index.iter().zip(&layout.value.shape).enumerate() {
            let index = place(&form(&index.substitute(&scalar).to_affine().ok()?)?)?;
            if k > 0 {
                at = at.times(i128::from(
                    extent.substitute(&scalar).to_affine().ok()?.as_constant()?,
                ))?;
            }
            at = at.plus(&index)?;
        }
        let (first, last) = at.range(dims)?;
        if first < 0 || last >= stored as i128 {
            return None;
        }
        Some(Strides {
            start: i64::try_from(at.constant).ok()?,
            steps: at.coefficients.iter().map(|&s| i64::try_from(s).ok()).collect::<Option<_>>()?,
            dims: dims.to_vec(),
        })
    }

    /// True if the values are the elements in row-major order. Steps along dimensions of one
    /// coordinate are never taken.
    fn is_row_major(&self) -> bool {
        let mut step = 1;
        self.start == 0
            && self.dims.iter().zip(&self.steps).rev().all(|(&n, &found)| {
                let wanted = step;
                step *= n as i64;
                n == 1 || found == wanted
            })
    }

    /// True if every value is one element.
    fn is_compact(&self) -> bool {
        let taken = self.steps.iter().zip(&self.dims).filter(|(_, n)| **n > 1);
        let mut taken: Vec<(i64, usize)> = taken.map(|(step, &n)| (step.abs(), n)).collect();
        taken.sort_unstable();
        let mut step = 1;
        taken.into_iter().all(|(found, n)| {
            let wanted = step;
            step *= n as i64;
            found == wanted
        })
    }

    /// The strides of a tensor with as many values as elements, each of them one element.
    pub fn of_array(layout: &Layout, dims: &[usize]) -> Option<Strides> {
        if dims.contains(&0) || layout.params.values().any(Option::is_none) {
            return None;
        }
        let (counts, arrays) = (IndexMap::new(), IndexMap::new());
        let params = sizes(layout, dims, &counts, &arrays).ok()?;
        let count = element_count(dims).ok()?;
        let (scope, _) = known_sizes(layout, dims, &counts, &arrays).ok()?;
        let is_full = scope.value(&layout.value.len) == i64::try_from(count).ok();
        Strides::of(layout, dims, &params, count).filter(|strides| is_full && strides.is_compact())
    }

    /// The values of a tensor with these elements in row-major order.
    pub fn store(&self, elements: Cow<'_, Values>) -> Values {
        if self.is_row_major() {
            return elements.into_owned();
        }
        with_values!(&*elements, v => {
            let mut values = v.clone();
            let mut next = v.iter();
            self.for_each(|at| {
                if let Some(&element) = next.next() {
                    values[at] = element;
                }
            });
            values.into()
        })
    }

    /// Calls `visit` with the place of every element, in row-major order.
    fn for_each(&self, mut visit: impl FnMut(usize)) {
        let Some((&n, outer)) = self.dims.split_last() else { return visit(self.start as usize) };
        let step = self.steps[outer.len()];
        let mut point = vec![0usize; outer.len()];
        let mut base = self.start;
        for _ in 0..outer.iter().product() {
            // `of` found every place among the values.
            (0..n as i64).for_each(|c| visit((base + c * step) as usize));
            for d in (0..outer.len()).rev() {
                point[d] += 1;
                base += self.steps[d];
                if point[d] < outer[d] {
                    break;
                }
                base -= self.steps[d] * outer[d] as i64;
                point[d] = 0;
            }
        }
    }
}

impl Form {
    fn zero(variables: usize) -> Form {
        Form { constant: 0, coefficients: vec![0; variables] }
    }

    fn of(e: &Affine, variables: &[Name], sizes: &IndexMap<Name, i64>) -> Option<Form> {
        let mut out = Form::zero(variables.len());
        out.constant = i128::from(e.offset());
        for (atom, c) in e.terms() {
            let Atom::Var(name) = atom else { return None };
            match variables.iter().position(|v| v == name) {
                Some(slot) => out.coefficients[slot] += i128::from(*c),
                None => out.constant += i128::from(*c) * i128::from(*sizes.get(name)?),
            }
        }
        Some(out)
    }

    /// `v = …` in the first `known` variables, from `self = 0`.
    fn solved_for(&self, v: usize, known: usize) -> Option<Form> {
        let k = self.coefficients[v];
        let others = self.coefficients[known..].iter().enumerate();
        let alone = others.filter(|(p, _)| known + p != v).all(|(_, &c)| c == 0);
        if k.abs() != 1 || !alone {
            return None;
        }
        let known =
            Form { constant: self.constant, coefficients: self.coefficients[..known].to_vec() };
        known.times(-k)
    }

    /// The form in the first `known` variables; the others have these values.
    fn substituted(&self, values: &[Form], known: usize) -> Option<Form> {
        let kept =
            Form { constant: self.constant, coefficients: self.coefficients[..known].to_vec() };
        let others = self.coefficients[known..].iter().zip(values);
        others.filter(|(c, _)| **c != 0).try_fold(kept, |sum, (&c, v)| sum.plus(&v.times(c)?))
    }

    fn times(&self, by: i128) -> Option<Form> {
        let coefficients = self.coefficients.iter().map(|c| c.checked_mul(by));
        let coefficients = coefficients.collect::<Option<_>>()?;
        Some(Form { constant: self.constant.checked_mul(by)?, coefficients })
    }

    fn plus(&self, other: &Form) -> Option<Form> {
        let pairs = self.coefficients.iter().zip(&other.coefficients);
        let coefficients = pairs.map(|(a, b)| a.checked_add(*b)).collect::<Option<_>>()?;
        Some(Form { constant: self.constant.checked_add(other.constant)?, coefficients })
    }

    /// Least and greatest value in a box that is not empty.
    fn range(&self, dims: &[usize]) -> Option<(i128, i128)> {
        let (mut least, mut most) = (self.constant, self.constant);
        for (&c, &n) in self.coefficients.iter().zip(dims) {
            let end = c.checked_mul(n as i128 - 1)?;
            least = least.checked_add(end.min(0))?;
            most = most.checked_add(end.max(0))?;
        }
        Some((least, most))
    }
}

impl Tensor {
    fn strides(&self) -> Option<Strides> {
        Strides::of(self.layout(), self.dims(), self.params(), self.stored())
    }

    /// True if the values are the elements in row-major order, and nothing else.
    fn is_array(&self, strides: &Strides) -> bool {
        strides.is_row_major() && self.dims().iter().product::<usize>() == self.stored()
    }

    /// All elements in row-major order, if the values are nothing else; without a copy if they are
    /// stored so.
    pub(crate) fn row_major(&self) -> Option<Cow<'_, Values>> {
        if self.dims().contains(&0) {
            return Some(Cow::Owned(Values::empty(self.value_type())));
        }
        let strides = self.strides()?;
        if self.is_array(&strides) {
            return Some(Cow::Borrowed(self.values()));
        }
        let n: usize = self.dims().iter().product();
        Some(Cow::Owned(with_values!(self.values(), v => {
            let mut elements = Vec::with_capacity(n);
            strides.for_each(|at| elements.push(v[at]));
            elements.into()
        })))
    }

    /// The dense array of the tensor. Values that already are its elements are moved, not copied.
    ///
    /// # Errors
    /// Those of [`Tensor::dense`].
    pub fn into_dense(self) -> Result<DenseArray> {
        if !self.strides().is_some_and(|strides| self.is_array(&strides)) {
            return self.dense();
        }
        if !self.is_validated() {
            self.check_properties()?;
        }
        DenseArray::new(self.dims().to_vec(), self.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_array_is_recognised_whatever_its_value_expression_looks_like() {
        let folder = tempfile::tempdir().unwrap();
        let of = |relation: &str, value: &str| {
            let path = folder.path().join("mine.toml");
            let text = format!(
                "name = \"mine\"\ndims = [\"i\", \"j\"]\nrelation = \"{relation}\"\nvalue = \"{value}\"\nvalue_shape = [\"I*J\"]\n"
            );
            std::fs::write(&path, text).unwrap();
            Layout::named(path.to_str().unwrap()).unwrap()
        };
        let strides = |layout: &Layout, stored| {
            Strides::of(layout, &[3, 4], &IndexMap::new(), stored).map(|s| (s.start, s.steps))
        };
        let whole = "{ [p, q] -> [i, j] : 0 <= p < I and i = p and 0 <= q < J and j = q }";
        assert_eq!(strides(&of(whole, "val(p*J + q)"), 12), Some((0, vec![4, 1])));
        assert_eq!(strides(&of(whole, "val(p*J + q)"), 11), None, "a value is missing");
        let upside_down =
            "{ [p, q] -> [i, j] : 0 <= p < I and i = I - 1 - p and 0 <= q < J and j = q }";
        assert_eq!(strides(&of(upside_down, "val(p*J + q)"), 12), Some((8, vec![-4, 1])));
        // Not all of the matrix: what is missing is zero, not somebody else's value.
        let triangle =
            "{ [p, q] -> [i, j] : 0 <= p < I and i = p and 0 <= q <= p and q < J and j = q }";
        assert_eq!(strides(&of(triangle, "val(p*J + q)"), 12), None);
    }
}
