//! Kinds of random tensors: which places hold an element.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::tensor::{element_count, room};

use super::splitmix::SplitMix64;

/// A kind of random tensor. A density is the part of the elements that is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Family {
    /// Anywhere, `uniform(0.01)`.
    Uniform(f64),
    /// A matrix whose elements are this far from its diagonal at most, `banded(2)`.
    Banded(u64),
    /// Full blocks of this extent in every dimension, anywhere in the grid of blocks, `blocks(8,0.01)`.
    Blocks(u64, f64),
    /// The n-th of every dimension is as likely as 1/n, in an order that is drawn, `powerlaw(0.01)`.
    PowerLaw(f64),
    /// A matrix of neighbours in a square grid of points, by rows: the five-point stencil.
    Grid,
}

/// How each family is written.
const FAMILIES: &str =
    "uniform(DENSITY), banded(WIDTH), blocks(SIZE,DENSITY), powerlaw(DENSITY), grid";

/// More entries cannot be packed.
const MOST: f64 = u32::MAX as f64;

impl Family {
    /// What follows `random:`, e.g. `0.01` or `blocks(8,0.01)`.
    ///
    /// # Errors
    /// [`Code::Usage`] if there is no such family, or its numbers are out of range.
    pub fn parse(text: &str) -> Result<Family> {
        let (name, numbers) = match text.split_once('(') {
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(numbers) => (name.trim(), numbers.split(',').map(str::trim).collect()),
                None => return Err(unknown(text)),
            },
            None if text.trim() == "grid" => (text.trim(), Vec::new()),
            None if text.trim().parse::<f64>().is_err() => return Err(unknown(text)),
            None => ("uniform", vec![text.trim()]),
        };
        match (name, &numbers[..]) {
            ("uniform", [part]) => Ok(Family::Uniform(density(text, part)?)),
            ("banded", [width]) => Ok(Family::Banded(whole(text, width, 0)?)),
            ("blocks", [size, part]) => {
                Ok(Family::Blocks(whole(text, size, 1)?, density(text, part)?))
            }
            ("powerlaw", [part]) => Ok(Family::PowerLaw(density(text, part)?)),
            ("grid", []) => Ok(Family::Grid),
            _ => Err(unknown(text)),
        }
    }

    /// The same family with another density; none if it has no density.
    pub fn with_density(self, density: f64) -> Option<Family> {
        match self {
            Family::Uniform(_) => Some(Family::Uniform(density)),
            Family::Blocks(size, _) => Some(Family::Blocks(size, density)),
            Family::PowerLaw(_) => Some(Family::PowerLaw(density)),
            Family::Banded(_) | Family::Grid => None,
        }
    }

    /// The places that hold an element, by rows and in order.
    ///
    /// # Errors
    /// [`Code::Memory`] or [`Code::Shape`] if there are too many, or the family has no tensors of these extents.
    pub fn places(self, dims: &[usize], generator: &mut SplitMix64) -> Result<Vec<u64>> {
        let n = element_count(dims)? as u64;
        let wanted = match self {
            Family::Uniform(density) | Family::Blocks(_, density) | Family::PowerLaw(density) => {
                (density * n as f64).round()
            }
            Family::Banded(width) => {
                let (rows, columns) = matrix("banded", dims)?;
                rows as f64 * (2.0 * width as f64 + 1.0).min(columns as f64)
            }
            Family::Grid => 5.0 * matrix("grid", dims)?.0 as f64,
        };
        if wanted > MOST {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("{wanted:.0} random entries are more than packing handles"),
            )
            .help("choose a lower density, or smaller extents"));
        }
        // A coordinate for each dimension, the value, and the place while it is drawn.
        let bytes = (wanted as u64).saturating_mul(8 * (dims.len() as u64 + 1) + 24);
        let what = || format!("{wanted} random entries");
        room(bytes, &what, "choose a lower density, or smaller extents")?;
        let wanted = (wanted as u64).min(n);
        match self {
            Family::Uniform(_) => Ok(uniform(n, wanted, generator)),
            Family::Banded(width) => Ok(banded(dims, width)),
            Family::Blocks(size, density) => Ok(blocks(dims, size, density, generator)),
            Family::PowerLaw(_) => Ok(power_law(dims, wanted, generator)),
            Family::Grid => grid(dims),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::Uniform(density) => write!(f, "{density}"),
            Family::Banded(width) => write!(f, "banded({width})"),
            Family::Blocks(size, density) => write!(f, "blocks({size},{density})"),
            Family::PowerLaw(density) => write!(f, "powerlaw({density})"),
            Family::Grid => write!(f, "grid"),
        }
    }
}

fn unknown(text: &str) -> Box<Diagnostic> {
    let message = format!("`{text}` is neither a density nor a family of random tensors");
    Diagnostic::new(Code::Usage, message)
        .at(0..text.len(), "")
        .within("<random>", text)
        .help(format!("write a density, `random:0.01`, or one of {FAMILIES}"))
}

/// Where `part` of `text` stands in it.
fn at(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

fn density(text: &str, part: &str) -> Result<f64> {
    match part.parse::<f64>() {
        Ok(d) if (0.0..=1.0).contains(&d) => Ok(d),
        _ => Err(Diagnostic::new(Code::Usage, format!("`{part}` is no density"))
            .at(at(text, part), "not a number from 0 to 1")
            .within("<random>", text)
            .help(format!(
                "the part of the elements that is stored is from 0 to 1: `random:0.01`, or in one of {FAMILIES}"
            ))),
    }
}

fn whole(text: &str, part: &str, least: u64) -> Result<u64> {
    match part.parse::<u64>() {
        Ok(n) if n >= least && n <= u64::from(u32::MAX) => Ok(n),
        _ => Err(Diagnostic::new(Code::Usage, format!("`{part}` is no size"))
            .at(at(text, part), format!("not a whole number from {least}"))
            .within("<random>", text)
            .help(format!("the families are {FAMILIES}"))),
    }
}

fn matrix(family: &str, dims: &[usize]) -> Result<(u64, u64)> {
    match dims {
        &[rows, columns] => Ok((rows as u64, columns as u64)),
        _ => Err(Diagnostic::new(
            Code::Shape,
            format!("`random:{family}` is a matrix, but {} subscripts are written", dims.len()),
        )
        .help("`random:uniform(0.01)`, `random:blocks(8,0.01)` and `random:powerlaw(0.01)` have any number")),
    }
}

/// Places are drawn until there are enough; those that stay empty, if these are fewer.
fn uniform(n: u64, wanted: u64, generator: &mut SplitMix64) -> Vec<u64> {
    let drawn = wanted.min(n - wanted);
    let mut places = BTreeSet::new();
    while (places.len() as u64) < drawn {
        places.insert(generator.below(n));
    }
    match drawn == wanted {
        true => places.into_iter().collect(),
        false => (0..n).filter(|at| !places.contains(at)).collect(),
    }
}

fn banded(dims: &[usize], width: u64) -> Vec<u64> {
    let (rows, columns) = (dims[0] as u64, dims[1] as u64);
    let row = |i: u64| {
        let end = (i + width + 1).min(columns);
        (i.saturating_sub(width).min(end)..end).map(move |j| i * columns + j)
    };
    (0..rows).flat_map(row).collect()
}

/// As many blocks as hold the wanted part of the elements; those at the end of a dimension are cut.
fn blocks(dims: &[usize], size: u64, density: f64, generator: &mut SplitMix64) -> Vec<u64> {
    let counts: Vec<u64> = dims.iter().map(|&n| (n as u64).div_ceil(size)).collect();
    let n: u64 = counts.iter().product();
    let mut out = Vec::new();
    for block in uniform(n, ((density * n as f64).round() as u64).min(n), generator) {
        let mut rest = block;
        let mut places = vec![0u64];
        let mut stride = 1u64;
        for (&extent, &count) in dims.iter().zip(&counts).rev() {
            let start = rest % count * size;
            rest /= count;
            let end = (start + size).min(extent as u64);
            places =
                (start..end).flat_map(|c| places.iter().map(move |p| p + c * stride)).collect();
            stride *= extent as u64;
        }
        out.extend(places);
    }
    out.sort_unstable();
    out
}

/// Draws that meet an element which is there are repeated; what is missing after many is drawn anywhere.
fn power_law(dims: &[usize], wanted: u64, generator: &mut SplitMix64) -> Vec<u64> {
    let n: u64 = dims.iter().map(|&n| n as u64).product();
    let orders: Vec<Vec<u64>> = dims.iter().map(|&n| order(n as u64, generator)).collect();
    let mut places = BTreeSet::new();
    let tries = wanted.saturating_mul(16);
    let mut tried = 0;
    while (places.len() as u64) < wanted {
        tried += 1;
        if tried > tries {
            places.insert(generator.below(n));
            continue;
        }
        let place = orders.iter().fold(0, |at, order| {
            let extent = order.len() as u64;
            // The inverse of the distribution of 1/n: its logarithm is uniform.
            let rank = ((extent as f64 + 1.0).powf(1.0 - generator.unit()) - 1.0) as u64;
            at * extent + order[rank.min(extent - 1) as usize]
        });
        places.insert(place);
    }
    places.into_iter().collect()
}

/// A permutation (Fisher and Yates).
fn order(n: u64, generator: &mut SplitMix64) -> Vec<u64> {
    let mut out: Vec<u64> = (0..n).collect();
    for k in (1..n).rev() {
        out.swap(k as usize, generator.below(k + 1) as usize);
    }
    out
}

fn grid(dims: &[usize]) -> Result<Vec<u64>> {
    let (points, columns) = matrix("grid", dims)?;
    if points != columns {
        return Err(Diagnostic::new(
            Code::Shape,
            format!("`random:grid` is square, but {points} × {columns} is asked for"),
        )
        .help("give both dimensions the same extent, e.g. `--dims A=1024,1024`"));
    }
    let side = points.isqrt() + u64::from(points.isqrt().pow(2) < points);
    let mut out = Vec::new();
    for p in 0..points {
        let (x, below) = (p % side, p + side);
        let neighbours = [
            p.checked_sub(side),
            p.checked_sub(1).filter(|_| x > 0),
            Some(p),
            Some(p + 1).filter(|_| x + 1 < side),
            Some(below),
        ];
        out.extend(
            neighbours.into_iter().flatten().filter(|&q| q < points).map(|q| p * points + q),
        );
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, dims: &[usize]) -> Vec<u64> {
        Family::parse(text).unwrap().places(dims, &mut SplitMix64(7)).unwrap()
    }

    #[test]
    fn every_family_gives_places_in_order_and_inside() {
        for text in ["0.2", "uniform(0.2)", "banded(2)", "blocks(3,0.2)", "powerlaw(0.2)", "grid"] {
            for dims in [[10, 10], [1, 1], [0, 0]] {
                let places = places(text, &dims);
                assert!(places.windows(2).all(|w| w[0] < w[1]), "{text}");
                assert!(places.iter().all(|&p| p < (dims[0] * dims[1]) as u64), "{text}");
            }
            let family = Family::parse(text).unwrap();
            assert_eq!(Family::parse(&family.to_string()).unwrap(), family);
        }
        assert_eq!(places("powerlaw(0.2)", &[40, 50]).len(), 400);
        assert_eq!(places("powerlaw(1)", &[5, 6]).len(), 30);
        assert_eq!(places("blocks(2,0.5)", &[8, 8, 8]).len(), 256);
    }

    #[test]
    fn structure_is_what_the_name_says() {
        assert_eq!(places("banded(1)", &[3, 4]), [0, 1, 4, 5, 6, 9, 10, 11]);
        assert_eq!(places("banded(0)", &[3, 2]), [0, 3]);
        // Four points in a square: each has two neighbours.
        assert_eq!(places("grid", &[4, 4]), [0, 1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 15]);
        assert_eq!(places("blocks(2,1)", &[3, 3]), (0..9).collect::<Vec<_>>());
        let mut rows = [0usize; 100];
        places("powerlaw(0.05)", &[100, 100]).iter().for_each(|p| rows[(p / 100) as usize] += 1);
        rows.sort_unstable();
        assert!(rows[99] > 4 * rows[50].max(1), "{rows:?}");
    }

    #[test]
    fn what_is_no_family_is_refused() {
        for text in [
            "2",
            "-0.1",
            "nan",
            "",
            "banded",
            "banded(x)",
            "blocks(0,0.1)",
            "blocks(2)",
            "uniform(0.1",
            "gird",
            "other(1)",
        ] {
            assert_eq!(Family::parse(text).unwrap_err().code, Code::Usage, "{text}");
        }
        let made = |text: &str, dims: &[usize]| {
            Family::parse(text).unwrap().places(dims, &mut SplitMix64(0))
        };
        assert!(made("grid", &[3, 4]).is_err() && made("banded(1)", &[3]).is_err());
        assert!(made("banded(4294967295)", &[100_000, 100_000]).is_err());
    }
}
