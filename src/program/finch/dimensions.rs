//! Dimensionalization: how far loops run, and the dimensions of tensors that programs declare.
//!
//! - A loop runs over what is stated, `a:b`, and over the dimensions that its index runs along: all must
//!   be equal. `A[i + c]` shifts the dimension, `A[(a:b)(i)]` is as long as the window; other subscripts
//!   say nothing.
//! - A tensor that is declared has the dimensions that the loops that write it have; its size, if one is
//!   stated, counts only where no loop says anything. So writes to it say nothing of the loop, unless
//!   nothing else does: then it is that of earlier loops.
//! - What lies outside of a tensor is refused here if it is known, and while the program runs if a value
//!   decides it. Only `~` makes it part of the meaning.

use std::ops::Range;

use indexmap::IndexMap;

use super::host::Host;
use super::linear::{self, affine};
use super::mask;
use super::refusal::wrong;
use super::scope::{Scoped, blocks, visit};
use super::subscript::{Subscript, protocol, subscript};
use super::syntax::{Access, Expr, Extent, Finch, Ident, Stmt, Tensor};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Name};
use crate::program::ir::Span;

/// How far an index runs: from the first to the last value, both included.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds {
    pub low: i64,
    pub high: i64,
    /// The ends, where outer indices decide them: the greatest of the first forms, the least of the second ones. `low`
    /// and `high` are the furthest then.
    pub moving: Option<[Vec<Affine>; 2]>,
}

impl Bounds {
    fn fixed(low: i64, high: i64) -> Self {
        Bounds { low, high, moving: None }
    }

    /// How many values there are.
    pub fn length(&self) -> usize {
        usize::try_from(self.high.saturating_sub(self.low).saturating_add(1)).unwrap_or(0)
    }
}

/// What dimensionalization finds out, by the names of [`Scoped`].
#[derive(Debug, Default)]
pub(super) struct Dimensions {
    pub indices: IndexMap<String, Bounds>,
    pub tensors: IndexMap<String, Vec<usize>>,
    /// How many indices are bound around each.
    pub depths: IndexMap<String, usize>,
}

impl Dimensions {
    pub fn subscript(&self, e: &Expr) -> Result<Subscript> {
        subscript(e, &|name: &str| self.depths.get(name).copied())
    }

    /// The least and the greatest value of a linear form over indices; none if it mentions anything else.
    pub fn range(&self, form: &Affine) -> Option<(i64, i64)> {
        let (mut low, mut high) = (form.offset(), form.offset());
        let mut known = true;
        form.visit_vars(&mut |v| match self.indices.get(&**v) {
            Some(bounds) => {
                let c = form.coefficient_of_var(v);
                let ends = [bounds.low, bounds.high].map(|end| end.saturating_mul(c));
                low = low.saturating_add(ends[0].min(ends[1]));
                high = high.saturating_add(ends[0].max(ends[1]));
            }
            None => known = false,
        });
        known.then_some((low, high))
    }

    /// Whether a subscript, if no value decides it, is inside a dimension wherever the loops run.
    pub fn inside(&self, e: &Expr, size: usize) -> Option<bool> {
        let form = affine(e, &|name: &str| self.indices.contains_key(name), false)?;
        let (low, high) = self.range(&form)?;
        Some(low > high || (low >= 1 && high <= size as i64))
    }
}

pub(super) fn dimensions(scoped: &Scoped, host: &Host<'_>) -> Result<Dimensions> {
    let mut solver =
        Solver { scoped, host, all: accesses(&scoped.body), known: Dimensions::default() };
    solver.ranks()?;
    depths(&scoped.body, 0, &mut solver.known.depths);
    solver.block(&scoped.body)?;
    solver.finish()?;
    Ok(solver.known)
}

impl Finch {
    /// The tensors that the program mentions, and how many subscripts they have; masks are none.
    pub fn tensors(&self) -> IndexMap<Name, usize> {
        let mut out = IndexMap::new();
        for (access, _) in accesses(&self.body) {
            let name = access.tensor.name().name.as_str();
            if !(matches!(access.tensor, Tensor::Mask(..)) || mask::is_plain(name)) {
                out.entry(Name::from(name)).or_insert(access.subscripts.len());
            }
        }
        out
    }

    /// The tensors that are read by galloping along a dimension.
    pub(super) fn gallops(&self) -> Vec<Name> {
        let mut out = Vec::new();
        for (access, _) in accesses(&self.body) {
            let name = Name::from(access.tensor.name().name.as_str());
            let gallops = |e: &Expr| protocol(e).is_some_and(|(word, _)| word == "gallop");
            if access.subscripts.iter().any(gallops) && !out.contains(&name) {
                out.push(name);
            }
        }
        out
    }

    /// Where a tensor is first used.
    pub fn place(&self, tensor: &str) -> Option<Range<usize>> {
        let mut all = accesses(&self.body).into_iter();
        let own = all.find(|(access, _)| access.tensor.name().name == tensor);
        own.map(|(access, _)| access.span.0.clone())
    }

    /// The tensors that the program declares anywhere.
    pub fn declared(&self) -> Vec<Name> {
        let mut out = Vec::new();
        visit(&self.body, &mut |stmt| {
            if let Stmt::Declare(d) = stmt {
                out.push(Name::from(d.tensor.name.as_str()));
            }
        });
        out
    }
}

/// An access, and whether it writes.
type Use<'a> = (&'a Access, bool);

/// All accesses of statements and their parts, from top to bottom.
pub(super) fn accesses(stmts: &[Stmt]) -> Vec<Use<'_>> {
    let mut out = Vec::new();
    visit(stmts, &mut |stmt| {
        if let Stmt::Assign(a) = stmt {
            out.push((&a.output, true));
        }
        for e in own_expressions(stmt) {
            e.visit(&mut |part| {
                if let Expr::Access(access) = part {
                    out.push((access, false));
                }
            });
        }
    });
    out
}

/// The expressions of a statement, but for those of its blocks.
pub(super) fn own_expressions(stmt: &Stmt) -> Vec<&Expr> {
    match stmt {
        Stmt::Assign(a) => a.output.subscripts.iter().chain([&a.value]).collect(),
        Stmt::If(branches, _) => branches.iter().map(|b| &b.condition).collect(),
        Stmt::Let(bound, _) => bound.iter().map(|(_, e)| e).collect(),
        Stmt::For(indices, _) => indices
            .iter()
            .flat_map(|(_, extent)| match extent {
                Extent::Range(from, to, _) => vec![&**from, &**to],
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn depths(stmts: &[Stmt], depth: usize, out: &mut IndexMap<String, usize>) {
    for stmt in stmts {
        let mut inside = depth;
        if let Stmt::For(indices, _) = stmt {
            for (index, _) in indices {
                out.insert(index.name.clone(), inside);
                inside += 1;
            }
        }
        blocks(stmt).into_iter().for_each(|b| depths(b, inside, out));
    }
}

struct Solver<'a> {
    scoped: &'a Scoped,
    host: &'a Host<'a>,
    all: Vec<Use<'a>>,
    known: Dimensions,
}

/// What an access says of an index.
struct Hint {
    low: i64,
    high: i64,
    span: Range<usize>,
    why: String,
}

fn mismatch(message: impl Into<String>, span: &Range<usize>, label: String) -> Box<Diagnostic> {
    Diagnostic::new(Code::Shape, message).at(span.clone(), label)
}

impl<'a> Solver<'a> {
    fn ranks(&self) -> Result<()> {
        let mut ranks: IndexMap<&str, usize> = IndexMap::new();
        for (access, _) in &self.all {
            let name = access.tensor.name().name.as_str();
            let given = self.scoped.tensor(name).and_then(|role| {
                let given = self.host.tensors.get(&role.host).and_then(|g| g.dims.as_ref());
                let dims =
                    if role.init.is_some() { self.host.sizes.get(&role.host) } else { given };
                Some(dims?.len())
            });
            let rank = access.subscripts.len();
            let wanted = *ranks.entry(name).or_insert(given.unwrap_or(rank));
            if wanted != rank {
                let shown = access.tensor.name();
                return Err(mismatch(
                    format!("`{shown}` has {wanted} dimensions, but {rank} subscripts"),
                    &access.span.0,
                    format!("{rank} subscripts"),
                )
                .help("write one subscript per dimension"));
            }
        }
        Ok(())
    }

    fn block(&mut self, stmts: &'a [Stmt]) -> Result<()> {
        for stmt in stmts {
            if let Stmt::For(indices, body) = stmt {
                let inside = accesses(body);
                for (index, extent) in indices {
                    let bounds = self.bounds(index, extent, &inside)?;
                    self.known.indices.insert(index.name.clone(), bounds);
                }
            }
            for block in blocks(stmt) {
                self.block(block)?;
            }
        }
        Ok(())
    }

    fn bounds(&mut self, index: &Ident, extent: &Extent, inside: &[Use<'_>]) -> Result<Bounds> {
        let mut hints = Vec::new();
        if let Extent::Range(from, to, span) = extent {
            let ends = [self.end(from, "max")?, self.end(to, "min")?];
            let ranges = ends.each_ref().map(|forms| {
                forms.iter().map(|form| self.known.range(form)).collect::<Option<Vec<_>>>()
            });
            let [Some(lows), Some(highs)] = ranges else {
                return Err(Diagnostic::defect("an end of a loop mentions what is no outer index"));
            };
            let low = lows.iter().map(|(low, _)| *low).max().unwrap_or(1);
            let high = highs.iter().map(|(_, high)| *high).min().unwrap_or(0);
            if ends.iter().flatten().any(|form| form.as_constant().is_none()) {
                if let Some(hint) = self.hints(index, inside, true)?.first() {
                    return Err(mismatch(
                        format!("`{index}` runs over a part of a dimension"),
                        &span.0,
                        "states its ends".to_string(),
                    )
                    .note(format!("{} is whole", hint.why))
                    .help(format!("write `{index} = _`, and restrict it by `if`")));
                }
                return Ok(Bounds { low, high, moving: Some(ends) });
            }
            let why = "what the loop states".to_string();
            hints.push(Hint { low, high, span: span.0.clone(), why });
        }
        hints.extend(self.hints(index, inside, true)?);
        if hints.is_empty() {
            hints = self.hints(index, inside, false)?;
        }
        let Some(first) = hints.first() else {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("nothing says how far `{index}` runs"),
            )
            .at(index.span.0.clone(), "runs along no dimension that is known")
            .help(format!(
                "state it, `for {index} = 1:n`, or how large a tensor is, `--dims NAME=N,…`"
            )));
        };
        for other in &hints[1..] {
            if (first.low, first.high) != (other.low, other.high) {
                return Err(mismatch(
                    format!(
                        "`{index}` runs over {}:{} and over {}:{}",
                        first.low, first.high, other.low, other.high
                    ),
                    &other.span,
                    format!("{}:{}, by {}", other.low, other.high, other.why),
                )
                .note(format!("{}:{} is {}", first.low, first.high, first.why))
                .help("use tensors of matching dimensions, a window, or `~` and `coalesce`"));
            }
        }
        Ok(Bounds::fixed(first.low, first.high))
    }

    /// An end of a loop: of several forms if it is the greatest of them (where the loop begins, `max`), or the least
    /// (where it ends, `min`).
    fn end(&self, e: &Expr, of: &str) -> Result<Vec<Affine>> {
        if let Expr::Call(f, args, _) = e
            && matches!(&**f, Expr::Name(f) if f.name == of && !args.is_empty())
        {
            let forms: Result<Vec<_>> = args.iter().map(|arg| self.end(arg, of)).collect();
            return Ok(forms?.concat());
        }
        let form = affine(e, &|name: &str| self.known.indices.contains_key(name), false);
        form.map(|form| vec![form]).ok_or_else(|| match linear::too_large(e) {
            Some(number) => wrong("the end of a loop is too large", number)
                .help(format!("loops end at {} at the latest", linear::LARGEST)),
            None => wrong(
                "the end of a loop is no sum of whole numbers and indices",
                &Span(e.span()),
            )
            .note(
                "loops begin at such sums, or `max(…)` of them, and end at such sums, or `min(…)`",
            )
            .help("use numbers and outer indices, and restrict the iterations by `if`"),
        })
    }

    /// What accesses say of an index: those that count for sure, or those that count if there are none.
    fn hints(&mut self, index: &Ident, inside: &[Use<'_>], sure: bool) -> Result<Vec<Hint>> {
        let mut out = Vec::new();
        for (access, writes) in inside {
            let name = access.tensor.name();
            for (d, e) in access.subscripts.iter().enumerate() {
                let (shift, length) = match self.known.subscript(e)? {
                    Subscript::Along { index: i, shift } if i == index.name => (shift, None),
                    Subscript::Window { index: i, length, .. } if i == index.name => {
                        (0, Some(length))
                    }
                    _ => continue,
                };
                let span = access.span.0.clone();
                if let Some(length) = length {
                    let why = "the length of a window".to_string();
                    out.extend(sure.then_some(Hint { low: 1, high: length, span, why }));
                    continue;
                }
                let role = self.scoped.tensor(&name.name);
                let declared = role.is_some_and(|role| role.init.is_some());
                let size = match (declared && *writes, sure) {
                    (true, true) => None,
                    (true, false) => self.written(name, d)?,
                    (false, _) => self.size(name, d)?,
                };
                if let Some(size) = size {
                    let high = size as i64 - shift;
                    let why = format!("dimension {} of `{name}`", d + 1);
                    out.push(Hint { low: 1 - shift, high, span, why });
                }
            }
        }
        Ok(out)
    }

    fn stated(&self, name: &str, d: usize) -> Option<usize> {
        let role = self.scoped.tensor(name)?;
        self.host.sizes.get(&role.host)?.get(d).copied()
    }

    /// A dimension of a tensor, if it is known by now.
    fn size(&mut self, name: &Ident, d: usize) -> Result<Option<usize>> {
        if let Some(dims) = self.known.tensors.get(&name.name) {
            return Ok(dims.get(d).copied());
        }
        let Some(role) = self.scoped.tensor(&name.name) else { return Ok(None) };
        if role.init.is_none() {
            match self.host.tensors.get(&role.host).map(|given| &given.dims) {
                Some(Some(dims)) => return Ok(dims.get(d).copied()),
                Some(None) => return self.along(name, d, &|_| true),
                None => return Ok(None),
            }
        }
        self.written(name, d)
    }

    /// A dimension of a declared tensor, by the loops that write it as far as they are known.
    fn written(&self, name: &Ident, d: usize) -> Result<Option<usize>> {
        self.along(name, d, &|writes| writes)
    }

    /// A dimension of a tensor, by the loops along it of accesses that `counts` (it is told whether they write),
    /// as far as they are known.
    fn along(
        &self,
        name: &Ident,
        d: usize,
        counts: &dyn Fn(bool) -> bool,
    ) -> Result<Option<usize>> {
        let mut found: Option<(i64, String)> = None;
        for (access, writes) in &self.all {
            if !counts(*writes) || access.tensor.name().name != name.name {
                continue;
            }
            let Some(e) = access.subscripts.get(d) else { continue };
            let Subscript::Along { index, shift } = self.known.subscript(e)? else { continue };
            let Some(bounds) = self.known.indices.get(&index) else { continue };
            let high = bounds.high + shift;
            match &found {
                Some((other, by)) if *other != high => {
                    return Err(mismatch(
                        format!("dimension {} of `{name}` is {other} and {high}", d + 1),
                        &access.span.0,
                        format!("{high}, by the loop over `{index}`"),
                    )
                    .note(format!("{other} is what the loop over `{by}` says"))
                    .help("let all loops along it run over the same values"));
                }
                Some(_) => {}
                None => found = Some((high, index)),
            }
        }
        let stated = self.stated(&name.name, d);
        let Some((high, by)) = found else { return Ok(stated) };
        let found = usize::try_from(high).unwrap_or(0);
        if let Some(stated) = stated.filter(|stated| *stated != found) {
            return Err(mismatch(
                format!("dimension {} of `{name}` is stated as {stated}, and is {found}", d + 1),
                &name.span.0,
                format!("{found}, by the loop over `{by}`"),
            )
            .help("state what the loops along it say, or nothing"));
        }
        Ok(Some(found))
    }

    /// The dimensions of all tensors, and that all accesses fit them.
    fn finish(&mut self) -> Result<()> {
        for (access, _) in self.all.clone() {
            let name = access.tensor.name();
            if self.known.tensors.contains_key(&name.name) {
                continue;
            }
            let mut dims = Vec::new();
            for d in 0..access.subscripts.len() {
                dims.push(self.size(name, d)?.ok_or_else(|| {
                    Diagnostic::new(
                        Code::Shape,
                        format!("dimension {} of `{name}` is unknown", d + 1),
                    )
                    .at(access.span.0.clone(), "no loop runs along it")
                    .help(format!("state the size: `--dims {name}=N,…`"))
                })?);
            }
            self.known.tensors.insert(name.name.clone(), dims);
        }
        for (access, writes) in self.all.clone() {
            self.fits(access, writes)?;
        }
        Ok(())
    }

    fn fits(&self, access: &Access, writes: bool) -> Result<()> {
        let name = access.tensor.name();
        let dims = &self.known.tensors[&name.name];
        let declared = self.scoped.tensor(&name.name).is_some_and(|role| role.init.is_some());
        for (d, (e, size)) in access.subscripts.iter().zip(dims).enumerate() {
            let size = *size as i64;
            let wrong = |low: i64, high: i64| {
                mismatch(
                    format!(
                        "`{e}` runs over {low}:{high}, dimension {} of `{name}` is 1:{size}",
                        d + 1
                    ),
                    &access.span.0,
                    "not the same".to_string(),
                )
                .help("use a window, or `~` and `coalesce`")
            };
            match self.known.subscript(e)? {
                Subscript::Along { index, shift } => {
                    let bounds = &self.known.indices[&index];
                    let (low, high) = (bounds.low + shift, bounds.high + shift);
                    let part = declared && writes && low >= 1;
                    if bounds.length() > 0 && !((low == 1 || part) && high == size) {
                        return Err(wrong(low, high));
                    }
                }
                Subscript::Window { index, shift, length } => {
                    let bounds = &self.known.indices[&index];
                    let inside = shift >= 0 && shift + length <= size;
                    if length > 0 && (!inside || (bounds.low, bounds.high) != (1, length)) {
                        return Err(wrong(bounds.low + shift, bounds.high + shift));
                    }
                }
                Subscript::Computed(e) => {
                    if self.known.inside(&e, dims[d]) == Some(false) {
                        let message =
                            format!("`{e}` may lie outside dimension {} of `{name}`", d + 1);
                        return Err(mismatch(message, &access.span.0, format!("1:{size}"))
                            .help(format!("write `~({e})`, where reading gives `missing`")));
                    }
                }
                Subscript::Permissive(_) => {}
            }
        }
        Ok(())
    }
}
