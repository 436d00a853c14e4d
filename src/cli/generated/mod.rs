//! Tensors without a file: `-t x=ones`, `-t x=random:0.01`, `-t A=random:banded(2)`.
//!
//! In: what is wished, and the extents. Out: data as from a file, the same for the same seed and name of a tensor on
//! every machine. Tensors of two names have nothing to do with each other.

mod family;
mod splitmix;

use siskin::diagnostic::Result;
use siskin::files::Loaded;
use siskin::tensor::{DenseArray, Entries, IndexData, ValueType, Values};

pub use family::Family;
use splitmix::SplitMix64;

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generated {
    /// Every element is one.
    Ones,
    /// Elements at random places.
    Random(Family),
}

impl Generated {
    /// `ones`, `random:0.01`, `random:grid`; `None` if the text is neither.
    ///
    /// # Errors
    /// Those of [`Family::parse`].
    pub fn parse(text: &str) -> Result<Option<Generated>> {
        if text == "ones" {
            return Ok(Some(Generated::Ones));
        }
        let Some(family) = text.strip_prefix("random:") else { return Ok(None) };
        Ok(Some(Generated::Random(Family::parse(family)?)))
    }

    /// The tensor.
    ///
    /// # Errors
    /// Those of [`Family::places`], and of memory.
    pub fn make(
        self,
        dims: &[usize],
        value_type: ValueType,
        (seed, tensor): (u64, &str),
    ) -> Result<Loaded> {
        match self {
            Generated::Ones => {
                let mut values = DenseArray::zeros(dims, value_type)?.into_values();
                match &mut values {
                    Values::F64(v) => v.fill(1.0),
                    Values::F32(v) => v.fill(1.0),
                    Values::I64(v) => v.fill(1),
                    Values::I32(v) => v.fill(1),
                    Values::U8(v) => v.fill(1),
                    Values::Bool(v) => v.fill(true),
                }
                Ok(Loaded::Dense(DenseArray::new(dims.to_vec(), values)?))
            }
            Generated::Random(family) => {
                random(dims, family, value_type, SplitMix64::of(seed, tensor))
            }
        }
    }
}

/// The elements of a family: their places, then their values, in order.
fn random(
    dims: &[usize],
    family: Family,
    value_type: ValueType,
    mut generator: SplitMix64,
) -> Result<Loaded> {
    let places = family.places(dims, &mut generator)?;
    let mut coords: Vec<Vec<u64>> = vec![Vec::with_capacity(places.len()); dims.len()];
    for &place in &places {
        let mut rest = place;
        for (column, &extent) in coords.iter_mut().zip(dims).rev() {
            column.push(rest % extent as u64);
            rest /= extent as u64;
        }
    }
    let count = places.len();
    let values = match value_type {
        ValueType::F64 => Values::F64((0..count).map(|_| generator.unit()).collect()),
        ValueType::F32 => Values::F32((0..count).map(|_| generator.unit() as f32).collect()),
        ValueType::I64 => Values::I64((0..count).map(|_| 1 + generator.below(9) as i64).collect()),
        ValueType::I32 => Values::I32((0..count).map(|_| 1 + generator.below(9) as i32).collect()),
        ValueType::U8 => Values::U8((0..count).map(|_| 1 + generator.below(9) as u8).collect()),
        ValueType::Bool => Values::Bool(vec![true; count]),
    };
    let coords = coords.into_iter().map(IndexData::U64).collect();
    Ok(Loaded::Entries(Entries::new(dims.to_vec(), coords, values)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(density: f64) -> Generated {
        Generated::Random(Family::Uniform(density))
    }

    #[test]
    fn as_many_entries_are_there_as_asked_for_at_any_density() {
        for density in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let made = of(density).make(&[10, 20], ValueType::F64, (1, "A")).unwrap();
            assert_eq!(made.stored(), (density * 200.0) as usize);
            let again = of(density).make(&[10, 20], ValueType::F64, (1, "A")).unwrap();
            assert_eq!(made, again);
            assert!((0..made.stored()).all(|k| !made.values().is_zero(k)));
        }
        let (one, other) = (of(0.1), of(0.1));
        assert_ne!(
            one.make(&[10, 20], ValueType::F64, (1, "A")).unwrap(),
            other.make(&[10, 20], ValueType::F64, (2, "A")).unwrap()
        );
    }

    #[test]
    fn tensors_of_two_names_are_independent() {
        let places = |name| match of(0.1).make(&[1000], ValueType::F64, (1, name)).unwrap() {
            Loaded::Entries(entries) => (0..100).map(|k| entries.point(k)).collect::<Vec<_>>(),
            Loaded::Dense(_) => unreachable!(),
        };
        let (one, other) = (places("A"), places("B"));
        let common = one.iter().filter(|place| other.contains(place)).count();
        assert!((1..30).contains(&common), "{common} of 100 are the same");
    }

    #[test]
    fn scalars_and_empty_tensors_are_generated_too() {
        for (dims, stored) in [(&[][..], 1), (&[0, 5], 0), (&[3, 0], 0)] {
            for wish in [Generated::Ones, of(1.0)] {
                assert_eq!(wish.make(dims, ValueType::I32, (0, "A")).unwrap().stored(), stored);
            }
        }
        assert!(Generated::parse("random:2").is_err());
        assert!(Generated::parse("random:nan").is_err());
        assert_eq!(Generated::parse("ones.mtx").unwrap(), None);
    }
}
