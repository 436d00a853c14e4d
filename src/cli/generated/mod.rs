//! Tensors without a file: `-t x=ones`, `-t x=random:0.01`.
//!
//! In: what is wished, and the extents. Out: data as from a file, the same for the same seed on every
//! machine.

use std::collections::BTreeMap;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files::Loaded;
use siskin::tensor::{DenseArray, Entries, IndexData, ValueType, Values, element_count, room};

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generated {
    /// Every element is one.
    Ones,
    /// So large a part of the elements, at random places.
    Random(f64),
}

/// More entries cannot be packed.
const MOST: f64 = u32::MAX as f64;

impl Generated {
    /// `ones`, `random:0.01`; `None` if the text is neither.
    ///
    /// # Errors
    /// [`Code::Usage`] if the density is no number from 0 to 1.
    pub fn parse(text: &str) -> Result<Option<Generated>> {
        if text == "ones" {
            return Ok(Some(Generated::Ones));
        }
        let Some(density) = text.strip_prefix("random:") else { return Ok(None) };
        match density.parse::<f64>() {
            Ok(d) if (0.0..=1.0).contains(&d) => Ok(Some(Generated::Random(d))),
            _ => Err(Diagnostic::new(Code::Usage, format!("`{density}` is no density"))
                .help("the part of the elements that is stored is from 0 to 1: `random:0.01`")),
        }
    }

    /// The tensor.
    ///
    /// # Errors
    /// [`Code::Memory`] or [`Code::Shape`] if it is too large.
    pub fn make(self, dims: &[usize], value_type: ValueType, seed: u64) -> Result<Loaded> {
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
            Generated::Random(density) => random(dims, density, value_type, seed),
        }
    }
}

/// `round(density * n)` of `n` elements, in order of their coordinates. Places are drawn from the generator
/// until there are enough (those that stay empty, if these are fewer); then the values, in order.
fn random(dims: &[usize], density: f64, value_type: ValueType, seed: u64) -> Result<Loaded> {
    let n = element_count(dims)? as u64;
    let wanted = (density * n as f64).round();
    if wanted > MOST {
        return Err(Diagnostic::new(
            Code::Shape,
            format!("{wanted:.0} random entries are more than packing handles"),
        )
        .help("choose a lower density, or smaller extents"));
    }
    let wanted = (wanted as u64).min(n);
    // A coordinate for each dimension, the value, and the place while it is drawn.
    let bytes = wanted.saturating_mul(8 * (dims.len() as u64 + 1) + 24);
    room(
        bytes,
        &|| format!("{wanted} random entries"),
        "choose a lower density, or smaller extents",
    )?;
    let mut generator = SplitMix64(seed);
    let drawn = wanted.min(n - wanted);
    let mut places: BTreeMap<u64, ()> = BTreeMap::new();
    while (places.len() as u64) < drawn {
        places.insert(generator.below(n), ());
    }
    let places: Vec<u64> = match drawn == wanted {
        true => places.into_keys().collect(),
        false => (0..n).filter(|at| !places.contains_key(at)).collect(),
    };
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

/// Steele, Lea and Flood, *Fast splittable pseudorandom number generators* (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// In `(0, 1]`: what is stored is not zero.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = SplitMix64(1234567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!([0; 3].map(|_| generator.next()), expected);
    }

    #[test]
    fn as_many_entries_are_there_as_asked_for_at_any_density() {
        for density in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let made = Generated::Random(density).make(&[10, 20], ValueType::F64, 1).unwrap();
            assert_eq!(made.stored(), (density * 200.0) as usize);
            let again = Generated::Random(density).make(&[10, 20], ValueType::F64, 1).unwrap();
            assert_eq!(made, again);
            assert!((0..made.stored()).all(|k| !made.values().is_zero(k)));
        }
        let (one, other) = (Generated::Random(0.1), Generated::Random(0.1));
        assert_ne!(
            one.make(&[10, 20], ValueType::F64, 1).unwrap(),
            other.make(&[10, 20], ValueType::F64, 2).unwrap()
        );
    }

    #[test]
    fn scalars_and_empty_tensors_are_generated_too() {
        for (dims, stored) in [(&[][..], 1), (&[0, 5], 0), (&[3, 0], 0)] {
            for wish in [Generated::Ones, Generated::Random(1.0)] {
                assert_eq!(wish.make(dims, ValueType::I32, 0).unwrap().stored(), stored);
            }
        }
        assert!(Generated::parse("random:2").is_err());
        assert!(Generated::parse("random:nan").is_err());
        assert_eq!(Generated::parse("ones.mtx").unwrap(), None);
    }
}
