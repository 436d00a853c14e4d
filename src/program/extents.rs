//! From the shapes of the tensors to the extents of the indices and the shape of the output.
//!
//! A *plain* subscript, an index alone, fixes the index's extent to the tensor's; all plain
//! subscripts of an index must agree. Any other subscript (`x[i+j]`, `x[2*i]`) fixes nothing: where
//! it leaves the tensor, the iteration is dropped (see the module's *Meaning*).
//!
//! The output's dimension of a plain subscript is the index's extent; of any other subscript, one
//! more than its greatest value over all index values (restriction disregarded), and 0 if there are
//! none. An output with given dimensions is treated like an operand.
//!
//! Before → after, with `A` of 4 × 6, `w` of 3 and `--dims i=4`:
//!
//! ```text
//! y[i+k] += A[i,j] * w[k]   ⟼   i = 4, k = 3, j = 6; y[6], A[4,6], w[3]
//! ```

use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;

use super::SOURCE_NAME;
use super::ir::{Access, Program};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Atom, Constraint, Formula, Name, Relop};

/// What [`resolve`] finds out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Number of values of each index, in the order of [`Program::indices`].
    pub indices: IndexMap<Name, usize>,
    /// Dimensions of each tensor in the order of [`Program::tensors`]: the output first.
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
/// `dims` has the dimensions of every operand (those of rank 0 may be absent) and possibly of the
/// output; tensors that the program does not mention are ignored. `index_extents` are the extents
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
    let mut resolver = Resolver { program, dims, indices: IndexMap::new() };
    resolver.run(index_extents).map_err(|e| e.within(SOURCE_NAME, &program.text))
}

/// Where an index's extent comes from.
enum Source<'a> {
    Stated,
    Subscript { access: &'a Access, dimension: usize },
}

struct Resolver<'a> {
    program: &'a Program,
    dims: &'a IndexMap<Name, Vec<usize>>,
    indices: IndexMap<Name, (usize, Source<'a>)>,
}

impl<'a> Resolver<'a> {
    fn run(&mut self, stated: &IndexMap<Name, usize>) -> Result<Extents> {
        let order = self.program.indices();
        for (index, &extent) in stated {
            if !order.contains(index) {
                let known: Vec<String> = order.iter().map(|i| format!("`{i}`")).collect();
                let message = format!("an extent is given for `{index}`, which is not an index");
                return Err(wrong(message).help(format!("the indices are: {}", known.join(", "))));
            }
            self.indices.insert(index.clone(), (extent, Source::Stated));
        }
        // Operands first: what they say about an index is what the user's data says.
        let mut accesses = self.program.accesses();
        accesses.push(&self.program.output);
        for access in accesses {
            self.read_shape(access)?;
        }
        let mut indices = IndexMap::new();
        for index in order {
            let Some((extent, _)) = self.indices.get(&index) else {
                return Err(self.unknown_extent(&index));
            };
            indices.insert(index, *extent);
        }
        let mut tensors = IndexMap::new();
        tensors.insert(self.program.output.tensor.clone(), self.output_dims(&indices)?);
        for access in self.program.accesses() {
            let dims = self.dims.get(&access.tensor).cloned().unwrap_or_default();
            tensors.insert(access.tensor.clone(), dims);
        }
        Ok(Extents { indices, tensors })
    }

    /// Checks the rank of one access, and takes the extents of its plain subscripts.
    fn read_shape(&mut self, access: &'a Access) -> Result<()> {
        let Some(dims) = self.dims.get(&access.tensor) else {
            let is_output = access.tensor == self.program.output.tensor;
            if is_output || access.rank() == 0 {
                return Ok(());
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
                .at(access.span.clone(), format!("`{}` is {}", access.tensor, shape(dims)))
                .help("write one subscript per dimension"));
        }
        for (dimension, subscript) in access.subscripts.iter().enumerate() {
            let extent = dims[dimension];
            if let Some(index) = subscript.as_var() {
                self.fix(index, extent, access, dimension)?;
            } else if let Some(value) = subscript.as_constant()
                && usize::try_from(value).map_or(true, |v| v >= extent)
            {
                return Err(wrong(format!("subscript {value} is outside `{}`", access.tensor))
                    .at(access.span.clone(), format!("`{}` is {}", access.tensor, shape(dims)))
                    .help("subscripts count from 0"));
            }
        }
        Ok(())
    }

    fn fix(&mut self, index: &Name, extent: usize, access: &'a Access, dim: usize) -> Result<()> {
        let Some((other, source)) = self.indices.get(index) else {
            let source = Source::Subscript { access, dimension: dim };
            self.indices.insert(index.clone(), (extent, source));
            return Ok(());
        };
        if *other == extent {
            return Ok(());
        }
        let conflict = wrong(format!("index `{index}` has two extents, {other} and {extent}"))
            .at(access.span.clone(), format!("{extent}: dimension {dim} of `{}`", access.tensor));
        Err(match source {
            Source::Stated => conflict
                .note(format!("{other} is what `--dims {index}={other}` states"))
                .help(format!("state `--dims {index}={extent}`, or leave it out")),
            Source::Subscript { access: first, dimension } => conflict
                .note(format!(
                    "{other}: dimension {dimension} of `{}`, in `{first}` at bytes {}..{}",
                    first.tensor, first.span.start, first.span.end
                ))
                .help("use tensors of matching shapes, or another index for one of them"),
        })
    }

    fn unknown_extent(&self, index: &str) -> Box<Diagnostic> {
        let message = format!("the extent of index `{index}` is unknown");
        let mentioned = self.program.all_accesses().into_iter().find(|a| a.mentions(index));
        let out = wrong(message).help(format!(
            "state it: `--dims {index}=EXTENT`; only an operand subscripted by `{index}` alone fixes it"
        ));
        match mentioned {
            Some(access) => out.at(access.span.clone(), "does not fix it"),
            None => out,
        }
    }

    fn output_dims(&self, indices: &IndexMap<Name, usize>) -> Result<Vec<usize>> {
        let output = &self.program.output;
        let given = self.dims.get(&output.tensor);
        let mut out = Vec::new();
        for (dimension, subscript) in output.subscripts.iter().enumerate() {
            let range = range(subscript, indices);
            if let Some((least, _)) = range
                && least < 0
                && !self.is_nonnegative(subscript, indices)
            {
                return Err(wrong(format!("output subscript `{subscript}` may be negative"))
                    .at(output.span.clone(), format!("as low as {least}"))
                    .help(format!(
                        "add a constant to it, or restrict it: `if {}`",
                        Constraint::le(Affine::zero(), subscript.clone())
                    )));
            }
            out.push(match (given, subscript.as_var()) {
                (Some(dims), _) => dims[dimension],
                (None, Some(index)) => indices[index],
                (None, None) => self.affine_extent(range, output.span.clone())?,
            });
        }
        Ok(out)
    }

    fn affine_extent(&self, range: Option<(i128, i128)>, span: Range<usize>) -> Result<usize> {
        let Some((_, greatest)) = range else { return Ok(0) };
        // Negative everywhere, but restricted to non-negative values: no iteration remains.
        usize::try_from((greatest + 1).max(0))
            .ok()
            .filter(|&n| i64::try_from(n).is_ok())
            .ok_or_else(|| {
                wrong("the output's extent does not fit 64 bits")
                    .at(span, format!("would reach {greatest}"))
                    .help("use smaller factors in its subscripts")
            })
    }

    /// Whether the restriction, or one subscript of an operand, implies `goal >= 0`.
    fn is_nonnegative(&self, goal: &Affine, indices: &IndexMap<Name, usize>) -> bool {
        let follows = |fact: &Affine| {
            let rest = goal.clone() - fact.clone();
            range(&rest, indices).is_none_or(|(least, _)| least >= 0)
        };
        self.program.restriction.as_ref().is_some_and(|r| implied(r, &follows))
            || self.program.accesses().iter().any(|a| a.subscripts.iter().any(follows))
    }
}

/// Whether `formula` implies the goal, given whether a single fact `affine >= 0` does. Sound but
/// not complete: facts are not combined.
fn implied(formula: &Formula, follows: &impl Fn(&Affine) -> bool) -> bool {
    match formula {
        Formula::Constraint(c) => match c.relop {
            Relop::Ge => follows(&c.affine),
            Relop::Eq => follows(&c.affine) || follows(&-c.affine.clone()),
            Relop::Ne => false,
        },
        Formula::And(parts) => parts.iter().any(|p| implied(p, follows)),
        Formula::Or(parts) => parts.iter().all(|p| implied(p, follows)),
        Formula::Not(_) | Formula::Implies(..) | Formula::Predicate(..) => false,
    }
}

/// Least and greatest value over all index values; `None` if one of its indices has no values.
///
/// Exact for linear forms. A form with floor divisions (which a restriction may have, but no
/// subscript) is bounded by infinity, a safe answer for [`implied`].
fn range(affine: &Affine, indices: &IndexMap<Name, usize>) -> Option<(i128, i128)> {
    let mut least = i128::from(affine.offset());
    let mut greatest = least;
    for (atom, coefficient) in affine.terms() {
        let extent = match atom {
            Atom::Var(index) => *indices.get(index)?,
            Atom::Call(_) | Atom::Floor(..) => return Some((i128::MIN, i128::MAX)),
        };
        let last = i128::try_from(extent.checked_sub(1)?).unwrap_or(i128::MAX);
        let reach = last.saturating_mul(i128::from(*coefficient));
        least = least.saturating_add(reach.min(0));
        greatest = greatest.saturating_add(reach.max(0));
    }
    Some((least, greatest))
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
mod tests {
    use super::*;

    fn names<T: Clone>(list: &[(&str, T)]) -> IndexMap<Name, T> {
        list.iter().map(|(n, t)| (Name::from(*n), t.clone())).collect()
    }

    fn on(text: &str, dims: &[(&str, &[usize])], stated: &[(&str, usize)]) -> Result<Extents> {
        let dims = dims.iter().map(|(n, d)| (Name::from(*n), d.to_vec())).collect();
        resolve(&Program::parse(text)?, &dims, &names(stated))
    }

    #[track_caller]
    fn shows(text: &str, dims: &[(&str, &[usize])], stated: &[(&str, usize)], expected: &str) {
        let extents = on(text, dims, stated).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(extents.to_string(), expected, "{text}");
    }

    #[track_caller]
    fn refused(
        text: &str,
        dims: &[(&str, &[usize])],
        stated: &[(&str, usize)],
        message: &str,
        place: &str,
    ) -> Box<Diagnostic> {
        let e = on(text, dims, stated).unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (Code::Shape, message));
        let (span, label) = e.span.as_ref().expect("a place");
        assert_eq!(&text[span.clone()], place);
        assert!(!label.is_empty() && e.help.is_some());
        assert_eq!(e.source.as_ref().expect("a source").name, SOURCE_NAME);
        e
    }

    #[test]
    fn plain_subscripts_fix_extents() {
        let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[6]), ("unused", &[9])];
        shows("y[i] += A[i,j] * x[j]", dims, &[], "i = 4, j = 6; y[4], A[4,6], x[6]");
        shows("a += A[i,j] * alpha", dims, &[], "i = 4, j = 6; a[], A[4,6], alpha[]");
        shows("a = 2", &[], &[], "a[]");
    }

    #[test]
    fn an_output_may_be_given_and_then_fixes_extents_too() {
        let dims: &[(&str, &[usize])] = &[("x", &[5]), ("w", &[3]), ("y", &[3])];
        shows("y[i] += x[i+j] * w[j]", dims, &[], "i = 3, j = 3; y[3], x[5], w[3]");
        // A given extent beats the computed one; what leaves it is dropped.
        shows("y[2*j] = w[j]", &[("w", &[3]), ("y", &[4])], &[], "j = 3; y[4], w[3]");
        refused("y[i] = x[i]", dims, &[], "index `i` has two extents, 5 and 3", "y[i]");
    }

    #[test]
    fn affine_outputs_reach_to_their_greatest_value() {
        let dims: &[(&str, &[usize])] = &[("x", &[3]), ("w", &[2]), ("none", &[0])];
        shows("y[i+j] += x[i] * w[j]", dims, &[], "i = 3, j = 2; y[4], x[3], w[2]");
        shows("y[2*i+1] = x[i]", dims, &[], "i = 3; y[6], x[3]");
        shows("y[2-i, 3] = x[i]", dims, &[], "i = 3; y[3,4], x[3]");
        shows("y[i+j] = x[i] * none[j]", dims, &[], "i = 3, j = 0; y[0], x[3], none[0]");
    }

    #[test]
    fn an_index_has_one_extent() {
        let text = "y[i] += A[i,j] * x[j]";
        let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("x", &[5])];
        let e = refused(text, dims, &[], "index `j` has two extents, 6 and 5", "x[j]");
        assert_eq!(e.notes, ["6: dimension 1 of `A`, in `A[i,j]` at bytes 8..14"]);
        let diagonal: &[(&str, &[usize])] = &[("A", &[3, 4])];
        refused("a = A[i,i]", diagonal, &[], "index `i` has two extents, 3 and 4", "A[i,i]");
        let message = "index `i` has two extents, 7 and 3";
        let e = refused("a = A[i,j]", diagonal, &[("i", 7)], message, "A[i,j]");
        assert_eq!(e.notes, ["7 is what `--dims i=7` states"]);
        shows("a = A[i,j]", diagonal, &[("i", 3)], "i = 3, j = 4; a[], A[3,4]");
    }

    #[test]
    fn an_index_that_nothing_fixes_must_be_stated() {
        let text = "y[i] += x[i+j] * w[j]";
        let dims: &[(&str, &[usize])] = &[("x", &[5]), ("w", &[3])];
        refused(text, dims, &[], "the extent of index `i` is unknown", "y[i]");
        shows(text, dims, &[("i", 3)], "i = 3, j = 3; y[3], x[5], w[3]");
        refused("y[j] = x[2*i] * w[j]", dims, &[], "the extent of index `i` is unknown", "x[2*i]");
        let e = on(text, dims, &[("k", 3)]).unwrap_err();
        assert_eq!(e.message, "an extent is given for `k`, which is not an index");
        assert_eq!(e.help.as_deref(), Some("the indices are: `i`, `j`"));
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let dims: &[(&str, &[usize])] = &[("A", &[4, 6]), ("alpha", &[2])];
        refused("y[i] = A[i]", dims, &[], "`A` has 2 dimension(s), but 1 subscript(s)", "A[i]");
        refused("y = alpha", dims, &[], "`alpha` has 1 dimension(s), but 0 subscript(s)", "alpha");
        refused("y[i] = B[i]", dims, &[], "tensor `B` is not given", "B[i]");
        refused("y[j] = A[4,j]", dims, &[], "subscript 4 is outside `A`", "A[4,j]");
        refused("y[j] = A[-1,j]", dims, &[], "subscript -1 is outside `A`", "A[-1,j]");
        shows("y[j] = A[3,j]", dims, &[], "j = 6; y[6], A[4,6]");
    }

    #[test]
    fn output_subscripts_must_not_be_negative() {
        let dims: &[(&str, &[usize])] = &[("x", &[3]), ("w", &[2])];
        let message = "output subscript `i - j` may be negative";
        let e = refused("y[i-j] += x[i] * w[j]", dims, &[], message, "y[i-j]");
        assert_eq!(e.span.unwrap().1, "as low as -1");
        assert_eq!(e.help.as_deref(), Some("add a constant to it, or restrict it: `if j <= i`"));
        refused("y[i-j] += x[i] * w[j] if i <= j", dims, &[], message, "y[i-j]");
        refused("y[i-j] += x[i] * w[j] if i >= j or j = 1", dims, &[], message, "y[i-j]");
        for restriction in ["j <= i", "i > j and i < 2", "i = j", "i = j or i = j + 1"] {
            let text = format!("y[i-j] += x[i] * w[j] if {restriction}");
            shows(&text, dims, &[], "i = 3, j = 2; y[3], x[3], w[2]");
        }
        let within = "y[i-j] += x[i] * w[j] * x[i-j]";
        shows(within, dims, &[], "i = 3, j = 2; y[3], x[3], w[2]");
    }

    #[test]
    fn extents_that_overflow_are_refused() {
        let stated = &[("i", usize::MAX), ("j", usize::MAX)];
        let message = "the output's extent does not fit 64 bits";
        refused(
            "y[i + 1152921504606846975*j] = a",
            &[],
            stated,
            message,
            "y[i + 1152921504606846975*j]",
        );
        let text = "y[i - 1152921504606846975*j] = a";
        let message = "output subscript `i - 1152921504606846975*j` may be negative";
        refused(text, &[], stated, message, "y[i - 1152921504606846975*j]");
    }
}
