//! Computed places as a tensor: true where the last subscript is the place that the others compute.
//!
//! Before → after, for `at` of 2 × 3, places in a dimension of 16:
//!
//! ```text
//! at[i0,i1]   ⟼   { [p0, p1] -> [i0, i1, k] : 0 <= p0 < 2 and … and i0 = p0 and i1 = p1 and k = at(p0, p1) }
//! ```
//! The places are its index array, which is checked to be in range as that of any tensor.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::code::IndexWidth;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::layout::{Layout, LayoutSpec};
use crate::program::finch::{Locate, NOWHERE};
use crate::tensor::{DenseArray, IndexData, Tensor, Values};

/// The tensor of the places that an array holds.
///
/// # Errors
/// [`Code::Shape`]: one of them lies outside.
pub fn places(locate: &Locate, array: &DenseArray) -> Result<Tensor> {
    let Values::I64(numbers) = array.values() else {
        return Err(Diagnostic::defect("places are whole numbers of 64 bits"));
    };
    let mut index: Vec<u32> = Vec::with_capacity(numbers.len());
    let mut there: Vec<bool> = Vec::with_capacity(numbers.len());
    for number in numbers {
        let place = locate.at(*number)?;
        let place32 = u32::try_from(place.unwrap_or(0)).map_err(|_| {
            Diagnostic::new(Code::Shape, format!("a dimension of {} is too long", locate.extent))
                .help("computed subscripts have 32 bits")
        })?;
        index.push(place32);
        there.push(place.is_some());
    }
    let layout = places_layout(array.dims().len())?;
    let dims = [array.dims(), &[locate.extent]].concat();
    let arrays = IndexMap::from([(Name::from("at"), IndexData::U32(index))]);
    let mut out = Tensor::new(layout, dims, &IndexMap::new(), arrays, Values::Bool(there))?;
    out.validate()?;
    Ok(out)
}

/// The layout of places that `rank` dimensions compute.
///
/// # Errors
/// None but a defect of it.
pub fn places_layout(rank: usize) -> Result<Arc<Layout>> {
    let spec = LayoutSpec::from_toml("<places>", &declaration(rank))?;
    spec.instantiate(rank + 1).map(Arc::new)
}

/// [`places`] as a function of an emitted module, for index arrays of this width.
pub fn places_code(width: IndexWidth) -> String {
    let index = width.unsigned();
    format!(
        "\
/// The places and `val` of a tensor of places: {NOWHERE} says that there is none.
///
/// # Errors
/// The first of `numbers` that is no place in a dimension of `extent`.
pub fn places(numbers: &[i64], extent: usize) -> Result<(Vec<{index}>, Vec<bool>), usize> {{
    let mut at = Vec::with_capacity(numbers.len());
    let mut val = Vec::with_capacity(numbers.len());
    for (k, &number) in numbers.iter().enumerate() {{
        let there = number != {NOWHERE};
        let place = if there {{ number }} else {{ 0 }};
        if there && usize::try_from(place).map_or(true, |place| place >= extent) {{
            return Err(k);
        }}
        at.push({index}::try_from(place).map_err(|_| k)?);
        val.push(there);
    }}
    Ok((at, val))
}}
"
    )
}

fn declaration(rank: usize) -> String {
    let each = |text: &dyn Fn(usize) -> String, between: &str| {
        (0..rank).map(text).collect::<Vec<_>>().join(between)
    };
    // A single place has a position, too.
    let (positions, shape, bounds) = match rank {
        0 => ("p0".to_string(), "\"1\"".to_string(), "0 <= p0 < 1".to_string()),
        _ => (
            each(&|d| format!("p{d}"), ", "),
            each(&|d| format!("\"I{d}\""), ", "),
            each(&|d| format!("0 <= p{d} < I{d}"), " and "),
        ),
    };
    let dims = each(&|d| format!("\"i{d}\", "), "");
    let coordinates = each(&|d| format!("i{d}, "), "");
    let same = each(&|d| format!(" and i{d} = p{d}"), "");
    format!(
        "name = \"places\"\nsummary = \"Where the last coordinate is what the others compute\"\n\
         dims = [{dims}\"k\"]\n\
         relation = \"{{ [{positions}] -> [{coordinates}k] : {bounds}{same} and k = at({positions}) }}\"\n\
         value = \"val({positions})\"\nvalue_shape = [{shape}]\n\
         [index.at]\ndomain = \"{bounds}\"\nrange = \"0 <= at({positions}) < K\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_true_where_they_are() {
        let locate = Locate { tensor: "t".into(), from: "at".into(), extent: 3, place: 0..0 };
        for (dims, numbers) in
            [(vec![2, 2], vec![0, 2, i64::MAX, 1]), (vec![2], vec![2, 0]), (vec![], vec![1])]
        {
            let from = DenseArray::new(dims, Values::I64(numbers.clone())).unwrap();
            let found = places(&locate, &from).unwrap().dense().unwrap();
            let expected: Vec<bool> =
                numbers.iter().flat_map(|n| (0..3).map(move |k| k == *n)).collect();
            assert_eq!(found.values(), &Values::Bool(expected));
        }
    }

    #[test]
    fn places_outside_are_refused() {
        let locate = Locate { tensor: "t".into(), from: "at".into(), extent: 3, place: 0..0 };
        for outside in [3, -1, i64::MIN] {
            let from = DenseArray::new(vec![2], Values::I64(vec![0, outside])).unwrap();
            let e = places(&locate, &from).expect_err("outside");
            assert_eq!(e.code, Code::Shape);
        }
    }
}
