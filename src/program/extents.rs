//! From the shapes of the tensors to the extents of the indices and the shapes of the outputs.
//!
//! - An extent that the user or the program (`for i in 4`) states holds.
//! - A *plain* subscript, an index alone, fixes the index's extent to the tensor's; all plain
//!   subscripts of an index, and what is stated, must agree.
//! - Any other index gets the least extent that loses no iteration as far as each subscript tells by
//!   itself: one more than the greatest value at which a subscript can be inside its tensor, while
//!   the other indices are anywhere below their extents. The least of the subscripts of a statement
//!   counts, and the greatest of the statements in the loop. Thus `x[i+1]` over 4 elements gives
//!   `i = 3`, `x[2*i]` over 5 gives 3, and `x[i+j] * w[j]` over 5 and 3 gives `i = 5`. Restrictions
//!   are disregarded. Where a subscript leaves its tensor, the iteration is dropped (see the
//!   module's *Meaning*), so any larger extent computes the same elements.
//!
//! Indices whose subscripts depend on each other are decided in rounds: a round sees only the
//! extents that earlier rounds have found. An index that no round decides must be stated.
//!
//! The dimension of a tensor that is written, and not given, is the index's extent for a plain
//! subscript; for any other subscript, one more than its greatest value over all index values
//! (restriction disregarded), and 0 if there are none; plain ones win. A tensor with given
//! dimensions is treated like an operand.
//!
//! All arithmetic is exact or refused: no extent exceeds `i64::MAX`.
//!
//! Before → after, with `A` of 4 × 6, `w` of 3 and `--dims i=4`:
//!
//! ```text
//! y[i+k] += A[i,j] * w[k]   ⟼   i = 4, k = 3, j = 6; y[6], A[4,6], w[3]
//! s[] += x[i+1]             ⟼   i = 3; s[], x[4]                         (x of 4)
//! ```

use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::ir::{Access, Expr, Program, Stmt};
use super::reach::{implied, not_negative, range, values_inside};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Formula, Name};

/// What [`resolve`] finds out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Number of values of every index, in the order of [`Program::indices`]: what a kernel needs
    /// to be told beside its tensors. At most `i64::MAX`.
    pub indices: IndexMap<Name, usize>,
    /// Dimensions of each tensor in the order of [`Program::tensors`].
    pub tensors: IndexMap<Name, Vec<usize>>,
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices: Vec<String> = self.indices.iter().map(|(i, n)| format!("{i} = {n}")).collect();
        let tensors: Vec<String> = self
            .tensors
            .iter()
            .map(|(t, dims)| {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                format!("{t}[{}]", dims.join(","))
            })
            .collect();
        let separator = if indices.is_empty() { "" } else { "; " };
        write!(f, "{}{separator}{}", indices.join(", "), tensors.join(", "))
    }
}

/// Resolves all extents.
///
/// `dims` has the dimensions of every operand (those of rank 0 may be absent) and possibly of
/// outputs; tensors that the program does not mention are ignored. `index_extents` are the extents
/// that the user states (`--dims i=4`).
///
/// # Errors
/// [`Code::Shape`]: a tensor is missing or has another rank, an index has two extents or none, a
/// constant subscript lies outside its tensor, an output subscript may be negative, an extent does
/// not fit.
pub fn resolve(
    program: &Program,
    dims: &IndexMap<Name, Vec<usize>>,
    index_extents: &IndexMap<Name, usize>,
) -> Result<Extents> {
    let mut sites = Vec::new();
    collect(&program.root, &Site::default(), &mut sites);
    let mut resolver = Resolver {
        program,
        sites,
        dims: dims.clone(),
        indices: IndexMap::new(),
        sources: IndexMap::new(),
        found: Vec::new(),
    };
    resolver.run(index_extents).map_err(|e| e.within(SOURCE_NAME, &program.text))
}

/// An assignment with what has to hold for it to run.
#[derive(Clone, Default)]
struct Site<'a> {
    output: Option<&'a Access>,
    /// Its own, and those of the enclosing `let`s.
    reads: Vec<&'a Access>,
    conditions: Vec<Formula>,
    loops: Vec<&'a Name>,
}

fn collect<'a>(stmt: &'a Stmt, around: &Site<'a>, sites: &mut Vec<Site<'a>>) {
    let mut inner = around.clone();
    inner.reads.extend(stmt.value().into_iter().flat_map(Expr::accesses));
    match stmt {
        Stmt::Loop(l) => inner.loops.push(&l.index),
        Stmt::If(i) => {
            inner.conditions.push(i.condition.clone());
            i.then.iter().for_each(|s| collect(s, &inner, sites));
            inner.conditions.pop();
            inner.conditions.push(i.condition.clone().not());
            i.otherwise.iter().flatten().for_each(|s| collect(s, &inner, sites));
            return;
        }
        Stmt::When(_) => {}
        Stmt::Assign(a) => {
            inner.output = Some(&a.output);
            sites.push(inner);
            return;
        }
        Stmt::Let(_) | Stmt::Declare(_) | Stmt::Block(_) => {}
    }
    stmt.blocks().into_iter().flatten().for_each(|s| collect(s, &inner, sites));
}

/// Where an index's extent comes from.
enum Source<'a> {
    Stated,
    Program,
    Subscript { access: &'a Access, dimension: usize },
    Derived,
}

struct Resolver<'a> {
    program: &'a Program,
    sites: Vec<Site<'a>>,
    /// The given ones, then those that are found.
    dims: IndexMap<Name, Vec<usize>>,
    indices: IndexMap<Name, usize>,
    sources: IndexMap<Name, Source<'a>>,
    /// The written tensors whose subscripts have been looked at.
    found: Vec<Name>,
}

impl<'a> Resolver<'a> {
    fn run(&mut self, stated: &IndexMap<Name, usize>) -> Result<Extents> {
        self.state(stated)?;
        let program = self.program;
        for (tensor, rank) in program.tensors() {
            if rank == 0 && !program.writes(&tensor) {
                self.dims.entry(tensor).or_default();
            }
        }
        // Operands first: what they say about an index is what the user's data says.
        let writes = program.assigns().into_iter().map(|a| &a.output);
        let accesses: Vec<&Access> = program.accesses().into_iter().chain(writes).collect();
        let mut read = vec![false; accesses.len()];
        loop {
            for (access, read) in accesses.iter().zip(&mut read) {
                if !*read {
                    *read = self.read_shape(access)?;
                }
            }
            if !self.find_dims()? && !self.derive()? {
                break;
            }
        }
        let order = program.indices();
        if let Some(unknown) = order.iter().find(|i| !self.indices.contains_key(*i)) {
            return Err(self.unknown_extent(unknown));
        }
        if let Some(access) =
            program.all_accesses().iter().find(|a| !self.dims.contains_key(&a.tensor))
        {
            return Err(wrong(format!("the dimensions of `{}` are unknown", access.tensor))
                .at(access.span.clone(), "a value decides its subscripts")
                .help(format!("state them: `--dims {}=EXTENT,…`", access.tensor)));
        }
        self.windows_inside()?;
        let indices = order.into_iter().map(|i| (i.clone(), self.indices[&i])).collect();
        let dims = |(tensor, _): (Name, usize)| {
            let dims = self.dims.get(&tensor).cloned().unwrap_or_default();
            (tensor, dims)
        };
        Ok(Extents { indices, tensors: program.tensors().into_iter().map(dims).collect() })
    }

    /// A window that says where it ends lies inside its tensor.
    fn windows_inside(&self) -> Result<()> {
        for access in self.program.all_accesses() {
            let Some(dims) = self.dims.get(&access.tensor) else { continue };
            for window in &access.windows {
                let (extent, last) = (dims[window.dimension], window.last());
                if let Some(most) = last.filter(|most| i128::from(*most) >= extent as i128) {
                    let message = format!("`{}` has no place {most}", access.tensor);
                    let label = format!("dimension {} has {extent}", window.dimension);
                    return Err(wrong(message)
                        .at(access.span.clone(), label)
                        .help("end the window earlier, or leave its end out: `(2:)(i)`"));
                }
            }
        }
        Ok(())
    }

    /// Takes the extents that the program and the user state.
    fn state(&mut self, stated: &IndexMap<Name, usize>) -> Result<()> {
        for l in self.program.loops() {
            if let Some(extent) = l.extent {
                self.decide(&l.index, extent as i128, Source::Program)?;
            }
        }
        for (index, &extent) in stated {
            match self.indices.get(index) {
                Some(&other) if other == extent => {}
                Some(&other) => {
                    let message = format!("index `{index}` has two extents, {other} and {extent}");
                    return Err(wrong(message)
                        .note(format!("{other} is what the program states"))
                        .help(format!("leave `--dims {index}={extent}` out")));
                }
                None if self.program.indices().contains(index) => {
                    self.decide(index, extent as i128, Source::Stated)?;
                }
                None => {
                    let order = self.program.indices();
                    let known: Vec<String> = order.iter().map(|i| format!("`{i}`")).collect();
                    let message =
                        format!("an extent is given for `{index}`, which is not an index");
                    return Err(
                        wrong(message).help(format!("the indices are: {}", known.join(", ")))
                    );
                }
            }
        }
        Ok(())
    }

    /// The one place where an extent enters, so that all of them fit.
    fn decide(&mut self, index: &Name, extent: i128, source: Source<'a>) -> Result<()> {
        let fitting = usize::try_from(extent).ok().filter(|&n| i64::try_from(n).is_ok());
        let Some(extent) = fitting else {
            return Err(self
                .at_index(
                    wrong(format!("extent {extent} of `{index}` does not fit 64 bits")),
                    index,
                )
                .help(format!("state a smaller one: `--dims {index}=EXTENT`")));
        };
        self.indices.insert(index.clone(), extent);
        self.sources.insert(index.clone(), source);
        Ok(())
    }

    /// Points at the first access that mentions `index`.
    fn at_index(&self, out: Box<Diagnostic>, index: &str) -> Box<Diagnostic> {
        match self.program.all_accesses().into_iter().find(|a| a.mentions(index)) {
            Some(access) => out.at(access.span.clone(), format!("`{index}` is used here")),
            None => out,
        }
    }

    /// Checks the rank of one access, and takes the extents of its plain subscripts. `false` if the
    /// shape is not known yet.
    fn read_shape(&mut self, access: &'a Access) -> Result<bool> {
        let Some(dims) = self.dims.get(&access.tensor).cloned() else {
            if self.program.writes(&access.tensor) {
                return Ok(false);
            }
            return Err(wrong(format!("tensor `{}` is not given", access.tensor))
                .at(access.span.clone(), "its dimensions are unknown")
                .help(format!("pass it: `-t {}=FILE`", access.tensor)));
        };
        if dims.len() != access.rank() {
            let message = format!(
                "`{}` has {} dimension(s), but {} subscript(s)",
                access.tensor,
                dims.len(),
                access.rank()
            );
            return Err(wrong(message)
                .at(access.span.clone(), format!("`{}` is {}", access.tensor, shape(&dims)))
                .help("write one subscript per dimension"));
        }
        for (dimension, subscript) in access.subscripts.iter().enumerate() {
            let extent = dims[dimension];
            if let Some(index) = access.plain(dimension) {
                self.fix(index, extent, access, dimension)?;
            } else if let Some(value) = subscript.as_constant()
                && usize::try_from(value).map_or(true, |v| v >= extent)
            {
                return Err(wrong(format!("subscript {value} is outside `{}`", access.tensor))
                    .at(access.span.clone(), format!("`{}` is {}", access.tensor, shape(&dims)))
                    .help("subscripts count from 0"));
            }
        }
        Ok(true)
    }

    fn fix(&mut self, index: &Name, extent: usize, access: &'a Access, dim: usize) -> Result<()> {
        let (Some(&other), Some(source)) = (self.indices.get(index), self.sources.get(index))
        else {
            let source = Source::Subscript { access, dimension: dim };
            return self.decide(index, extent as i128, source);
        };
        if other == extent {
            return Ok(());
        }
        let conflict = wrong(format!("index `{index}` has two extents, {other} and {extent}"))
            .at(access.span.clone(), format!("{extent}: dimension {dim} of `{}`", access.tensor));
        let matching = "use tensors of matching shapes, or another index for one of them";
        Err(match source {
            Source::Stated => conflict
                .note(format!("{other} is what `--dims {index}={other}` states"))
                .help(format!("state `--dims {index}={extent}`, or leave it out")),
            Source::Program => {
                conflict.note(format!("{other} is what the program states")).help(matching)
            }
            Source::Derived => conflict
                .note(format!("{other} is how far the other subscripts let it go"))
                .help(format!("state it: `--dims {index}={extent}`")),
            Source::Subscript { access: first, dimension } => conflict
                .note(format!(
                    "{other}: dimension {dimension} of `{}`, in `{first}` at bytes {}..{}",
                    first.tensor, first.span.start, first.span.end
                ))
                .help(matching),
        })
    }

    /// One round: the extents that subscripts of known tensors give to indices without one.
    /// `false` if there is none.
    fn derive(&mut self) -> Result<bool> {
        let mut found = Vec::new();
        for index in self.program.indices() {
            if !self.indices.contains_key(&index)
                && let Some(extent) = self.reach_of(&index)?
            {
                found.push((index, extent));
            }
        }
        let any = !found.is_empty();
        for (index, extent) in found {
            self.decide(&index, extent, Source::Derived)?;
        }
        Ok(any)
    }

    /// The greatest of the assignments inside the loop over `index`; `None` if one of them does not
    /// bound it.
    fn reach_of(&self, index: &Name) -> Result<Option<i128>> {
        let mut greatest = None;
        for site in self.sites.iter().filter(|s| s.loops.contains(&index)) {
            let mut least: Option<i128> = None;
            for access in site.reads.iter().copied().chain(site.output) {
                let Some(dims) = self.dims.get(&access.tensor) else { continue };
                for (subscript, &extent) in access.subscripts.iter().zip(dims) {
                    let values = values_inside(subscript, extent, index, &self.indices);
                    let values = values.map_err(|_| {
                        wrong(format!("the extent of index `{index}` does not fit 64 bits"))
                            .at(access.span.clone(), "as far as this subscript lets it go")
                            .help(format!("state it: `--dims {index}=EXTENT`"))
                    })?;
                    least = least.into_iter().chain(values).min();
                }
            }
            let Some(least) = least else { return Ok(None) };
            greatest = greatest.max(Some(least));
        }
        Ok(greatest)
    }

    fn unknown_extent(&self, index: &str) -> Box<Diagnostic> {
        let out = wrong(format!("the extent of index `{index}` is unknown")).help(format!(
            "state it: `--dims {index}=EXTENT`; no subscript of an operand bounds it by itself"
        ));
        match self.program.all_accesses().into_iter().find(|a| a.mentions(index)) {
            Some(access) => out.at(access.span.clone(), "does not fix it"),
            None => out,
        }
    }

    /// The dimensions of tensors that are written and whose indices are all known by now.
    /// `false` if nothing is new.
    fn find_dims(&mut self) -> Result<bool> {
        let mut found = false;
        let indices = self.program.indices();
        for tensor in self.program.tensors().into_keys() {
            // Values reach anywhere: they ask for dimensions that are given.
            let given = self.dims.contains_key(&tensor);
            let is_known =
                |name: &Name| self.indices.contains_key(name) || (given && !indices.contains(name));
            let written: Vec<Site<'_>> = self
                .sites
                .iter()
                .filter(|s| s.output.is_some_and(|o| o.tensor == tensor))
                .cloned()
                .collect();
            let known = |s: &Site<'_>| {
                let mut known = true;
                s.output.into_iter().for_each(|o| {
                    o.visit_indices(&mut |i| known &= is_known(i));
                });
                known
            };
            if written.is_empty() || self.found.contains(&tensor) || !written.iter().all(known) {
                continue;
            }
            let given = self.dims.get(&tensor).cloned();
            let mut dims: Vec<(bool, usize)> = Vec::new();
            for site in &written {
                let Some(output) = site.output else { continue };
                dims.resize(output.rank(), (false, 0));
                for (d, (dim, subscript)) in dims.iter_mut().zip(&output.subscripts).enumerate() {
                    let plain = output.plain(d).is_some();
                    let extent = self.written_extent(subscript, site, output, given.is_some())?;
                    *dim = match (dim.0, plain) {
                        (true, false) => *dim,
                        (false, true) => (true, extent),
                        _ => (plain, dim.1.max(extent)),
                    };
                }
            }
            self.found.push(tensor.clone());
            let dims = given.unwrap_or_else(|| dims.into_iter().map(|(_, n)| n).collect());
            self.dims.insert(tensor, dims);
            found = true;
        }
        Ok(found)
    }

    /// Refuses a subscript that may be negative; one more than its greatest value.
    fn written_extent(
        &self,
        subscript: &Affine,
        site: &Site<'_>,
        output: &Access,
        given: bool,
    ) -> Result<usize> {
        let range = range(subscript, &self.indices);
        if let Some((least, _)) = range
            && least < 0
            && !self.is_nonnegative(subscript, site)
        {
            return Err(wrong(format!("output subscript `{subscript}` may be negative"))
                .at(output.span.clone(), format!("as low as {least}"))
                .help(format!(
                    "add a constant to it, or restrict it: `if {}`",
                    not_negative(subscript)
                )));
        }
        if given {
            return Ok(0);
        }
        affine_extent(range, output.span.clone())
    }

    /// Whether a condition, or one subscript of an operand, implies `goal >= 0`.
    fn is_nonnegative(&self, goal: &Affine, site: &Site<'_>) -> bool {
        let follows = |fact: &Affine| {
            let rest = goal.clone() - fact.clone();
            range(&rest, &self.indices).is_none_or(|(least, _)| least >= 0)
        };
        site.conditions.iter().any(|c| implied(c, &follows))
            || site.reads.iter().any(|a| a.subscripts.iter().any(follows))
    }
}

fn affine_extent(range: Option<(i128, i128)>, span: Range<usize>) -> Result<usize> {
    let Some((_, greatest)) = range else { return Ok(0) };
    // Negative everywhere, but restricted to non-negative values: no iteration remains.
    usize::try_from(greatest.saturating_add(1).max(0))
        .ok()
        .filter(|&n| i64::try_from(n).is_ok())
        .ok_or_else(|| {
            wrong("the output's extent does not fit 64 bits")
                .at(span, format!("would reach {greatest}"))
                .help("use smaller factors in its subscripts")
        })
}

fn shape(dims: &[usize]) -> String {
    if dims.is_empty() {
        return "a scalar".to_string();
    }
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    format!("of shape {}", dims.join(" × "))
}

fn wrong(message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::new(Code::Shape, message)
}

#[cfg(test)]
mod tests;
