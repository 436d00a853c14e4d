//! Which dimensions each use of a level stores.
//!
//! In: uses that name dimensions, or number them (`1..`, `*`). Out: each use with its dimensions; a use of
//! several numbers is several uses.

use super::declaration::unknown;
use super::level_use::{DimRef, LevelUse};
use super::source::Source;
use crate::diagnostic::{Code, Result};
use crate::formula::Name;

/// Resolves dimensions and repeats uses over several; every dimension must be stored once.
pub(super) fn one_use_per_level(
    dims: &[Name],
    uses: &[LevelUse],
    source: &Source,
) -> Result<Vec<(LevelUse, Vec<Name>)>> {
    let mut out: Vec<(LevelUse, Vec<Name>)> = Vec::new();
    for level_use in uses {
        if let [(DimRef::From(first), _)] = level_use.dims.as_slice() {
            for dim in dims.iter().skip(*first) {
                out.push((level_use.clone(), vec![dim.clone()]));
            }
            continue;
        }
        let mut of_level = Vec::new();
        for (dim, span) in &level_use.dims {
            match dim {
                DimRef::Name(name) => match dims.iter().find(|d| ***d == **name) {
                    Some(dim) => of_level.push(dim.clone()),
                    None => {
                        let known = dims.iter().map(|d| &**d);
                        return Err(unknown(source, "dimension", name, span.clone(), known));
                    }
                },
                DimRef::Number(number) => match dims.get(*number) {
                    Some(dim) => of_level.push(dim.clone()),
                    None => {
                        return Err(source
                            .error(
                                Code::Shape,
                                format!("there is no dimension {number} in rank {}", dims.len()),
                                span.clone(),
                                "too few dimensions",
                            )
                            .help("use the layout for a tensor of higher rank"));
                    }
                },
                DimRef::From(_) => {
                    return Err(source
                        .error(
                            Code::LayoutSchema,
                            "a range of dimensions stands beside another dimension",
                            span.clone(),
                            "must be alone",
                        )
                        .help("write one use for the first and another for the rest"));
                }
            }
        }
        out.push((level_use.clone(), of_level));
    }
    for dim in dims {
        let users: Vec<&LevelUse> =
            out.iter().filter(|(_, d)| d.contains(dim)).map(|(u, _)| u).collect();
        let times = out.iter().flat_map(|(_, d)| d).filter(|d| *d == dim).count();
        if times == 1 {
            continue;
        }
        let (message, place) = match users.last() {
            None => (format!("no level stores dimension `{dim}`"), uses.first()),
            Some(last) => (format!("dimension `{dim}` is stored {times} times"), Some(*last)),
        };
        let span = place.map_or(0..0, |u| u.span.clone());
        return Err(source
            .error(Code::LayoutSchema, message, span, "levels and dimensions do not fit")
            .help("every dimension belongs to exactly one level"));
    }
    Ok(out)
}
