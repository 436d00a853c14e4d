//! From the names of a level's file to those of the layout: level 1 has `p1`, `pos1`, `crd1`, `P1`,
//! the dimension `j`, and `u` is the parent's tuple.
//!
//! In: the parsed parts of a level and its place. Out: the [`Level`].

use std::sync::Arc;

use indexmap::IndexMap;
use toml::Spanned;

use super::assemble::ArrayParts;
use super::bounds::extent_of;
use super::declaration::{PropertyEntryKeys, Reader, starts_upper_case, unknown};
use super::level::{Level, Place};
use super::parent::{PARENT, PARENTS, Tuple};
use super::property::Statement;
use super::source::{Source, Text};
use super::toml_schema::Declaration;
use super::{Layout, Relation};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Arith, Atom, Constraint, Formula, Name, Relop, parse};

/// The change of names and of the parent, from a level's file to the layout.
pub(super) struct Specialise<'a> {
    source: &'a Arc<Source>,
    place: &'a Place<'a>,
    names: IndexMap<Name, Name>,
    /// For each array, by its name in the layout, which arguments are parent positions.
    parent_slots: IndexMap<Name, Vec<bool>>,
    family: Family<'a>,
    /// The parent's first name in the file.
    parent: Name,
}

/// The parent's tuple, as a level's file and as the layout name it.
pub(super) struct Family<'a> {
    /// The names in the file: one for the head, one for each of the components.
    pub parent: &'a [Name],
    /// What the first name stands for.
    pub head: &'a Tuple,
    /// The last components of the tuple, which the other names stand for.
    pub components: &'a Tuple,
}

/// Sizes of the positions of a level; `None` for those counted when packing.
pub(super) type Counts = IndexMap<Name, Option<Arith>>;

impl<'a> Specialise<'a> {
    pub fn new(
        source: &'a Arc<Source>,
        place: &'a Place<'a>,
        relation: &Relation,
        family: Family<'a>,
        reader: &Reader<'_>,
    ) -> Result<Self> {
        let parent = family.parent[0].clone();
        let names = name_map(source, relation, reader, place, &family)?;
        let parent_slots = parent_slots(reader, &parent, &names);
        Ok(Specialise { source, place, names, parent_slots, family, parent })
    }

    fn name(&self, n: &Name) -> Name {
        self.names.get(n).unwrap_or(n).clone()
    }

    fn is_parent_slot(&self, array: &str, slot: usize) -> bool {
        self.parent_slots.get(array).and_then(|s| s.get(slot)).copied().unwrap_or(false)
    }

    /// In arrays and properties, the parent of the first level stays a variable.
    fn root_variable(&self) -> Affine {
        Affine::var(self.parent.clone())
    }

    fn affine(&self, affine: &Affine, root: &Affine) -> Result<Affine, String> {
        let renamed = affine.rename(&|n| self.names.get(n).cloned());
        self.family.head.expand(&renamed, root, &|a, s| self.is_parent_slot(a, s))
    }

    fn constraint(&self, c: &Constraint, root: &Affine) -> Result<Constraint, String> {
        Ok(Constraint { affine: self.affine(&c.affine, root)?, relop: c.relop })
    }

    /// The error for a level that its parent's tuple does not suit.
    fn refused(&self, text: &Text, why: String) -> Box<Diagnostic> {
        let parent = self.family.head.names();
        self.source
            .error(
                Code::NotAffine,
                format!(
                    "the level {why}, but here its parent is the tuple ({})",
                    parent.join(", ")
                ),
                text.span(),
                "needs a parent of one component",
            )
            .help("use the parent position only as an argument of index arrays: `f(u)`, `f(u + 1)`")
    }

    /// The tuple handed to the next level.
    pub fn child(
        &self,
        declaration: &Declaration,
        relation: &Relation,
        own: &[Name],
        size: Option<&Arith>,
        counted: bool,
    ) -> Result<(Tuple, Counts)> {
        let named: Vec<Name> = match &declaration.child {
            None => own.to_vec(),
            Some(text) => self.child_names(text, relation)?,
        };
        let mut params = IndexMap::new();
        let mut tuple = Tuple::default();
        let fresh = matches!(named.as_slice(), [p] if own.contains(p));
        for name in &named {
            if *name == self.parent {
                tuple.components.extend(self.family.head.components.iter().cloned());
                continue;
            }
            if let Some(at) = self.family.parent.iter().position(|n| n == name) {
                tuple.components.push(self.family.components.components[at - 1].clone());
                continue;
            }
            let count = self.name(&Layout::extent_name(name));
            let own_counts: Vec<Name> = own.iter().map(|p| Layout::extent_name(p)).collect();
            let extents: Vec<Name> =
                relation.coordinates.iter().map(|c| Layout::extent_name(c)).collect();
            let is_size = |n: &Name| {
                extents.contains(n)
                    || own_counts.contains(n)
                    || (self.names.contains_key(n) && starts_upper_case(n))
            };
            let bounds: Option<Vec<Affine>> =
                relation.pieces.iter().map(|piece| extent_of(name, piece, &is_size)).collect();
            let bound = match bounds.as_deref() {
                Some([first, rest @ ..]) if rest.iter().all(|b| b == first) => Some(first.clone()),
                _ => None,
            };
            let extent = match (size, bound) {
                (Some(size), _) if fresh => {
                    let text = declaration.size.as_ref().unwrap_or(&declaration.name);
                    let renamed = size.rename(&|n| self.names.get(n).cloned());
                    let value = self
                        .family
                        .head
                        .expand_size(&renamed, &|a, s| self.is_parent_slot(a, s))
                        .map_err(|why| self.refused(text, why))?;
                    params.insert(count.clone(), Some(value));
                    Affine::var(count)
                }
                (_, Some(bound)) => {
                    let text = declaration.child.as_ref().unwrap_or(&declaration.name);
                    let extent = self
                        .affine(&bound, &Affine::zero())
                        .map_err(|why| self.refused(text, why))?;
                    if extent.mentions(&count) {
                        params.insert(count, None);
                    }
                    extent
                }
                _ => {
                    return Err(self
                        .source
                        .error(
                            Code::LayoutSchema,
                            format!("how many positions `{name}` has is unknown"),
                            declaration.child.as_ref().unwrap_or(&declaration.name).span(),
                            "the next level needs their number",
                        )
                        .help(
                            "give `size = \"…\"` in terms of `U`, or bound the position by sizes",
                        ));
                }
            };
            tuple.components.push((self.name(name), extent));
        }
        if counted {
            // A count that the level mentions but does not define is counted when packing.
            for p in own {
                params.entry(self.name(&Layout::extent_name(p))).or_insert(None);
            }
        }
        Ok((tuple, params))
    }

    fn child_names(&self, text: &Text, relation: &Relation) -> Result<Vec<Name>> {
        let names = tuple_names(self.source, text, "child")?;
        for (k, name) in names.iter().enumerate() {
            if !relation.positions.contains(name) {
                let known = relation.positions.iter().map(|n| &**n);
                let span = self.source.word(text, name);
                return Err(unknown(self.source, "position", name, span, known));
            }
            if *name == self.parent && k > 0 {
                return Err(self
                    .source
                    .error(
                        Code::LayoutSchema,
                        format!("`{name}` is not the first of the child's tuple"),
                        self.source.word(text, name),
                        "the parent's position is the outermost",
                    )
                    .help("list the parent's position first"));
            }
        }
        Ok(names)
    }

    pub fn level(
        &self,
        relation_text: &Text,
        relation: &Relation,
        reader: Reader<'_>,
        properties: Vec<(Statement, PropertyEntryKeys)>,
        options: &IndexMap<String, bool>,
        (child, counts): (Tuple, Counts),
    ) -> Result<Level> {
        let root = Affine::zero();
        let mut pieces = Vec::new();
        for piece in &relation.pieces {
            let piece: Result<Vec<Constraint>, String> =
                piece.iter().map(|c| self.constraint(c, &root)).collect();
            let mut piece = piece.map_err(|why| self.refused(relation_text, why))?;
            piece.retain(|c| c.as_bool() != Some(true));
            pieces.push(piece);
        }
        let mut params = IndexMap::new();
        for (name, value) in &reader.params {
            let value = match value {
                None => None,
                Some(value) => {
                    let renamed = value.rename(&|n| self.names.get(n).cloned());
                    let expanded = self
                        .family
                        .head
                        .expand_size(&renamed, &|a, s| self.is_parent_slot(a, s))
                        .map_err(|why| self.refused(relation_text, why))?;
                    Some(expanded)
                }
            };
            params.insert(self.name(name), value);
        }
        // A count that [params] defines stays defined.
        for (name, count) in counts {
            let slot = params.entry(name).or_insert(None);
            *slot = count.or_else(|| slot.take());
        }
        let (mut arrays, mut declared, mut narrowed) =
            (IndexMap::new(), IndexMap::new(), Vec::new());
        for (name, array) in &reader.arrays {
            if reader.declaration.is_outer(name) {
                narrowed.push((self.name(name), self.narrowed(name, array)?));
                continue;
            }
            arrays.insert(self.name(name), self.array(array)?);
            declared.insert(self.name(name), name.clone());
        }
        let mut kept = Vec::new();
        for (statement, keys) in properties {
            if let Some((conditions, span)) = &keys.when
                && !self.holds(conditions, span, options)?
            {
                continue;
            }
            kept.push((self.statement(statement)?, keys.extends_order));
        }
        Ok(Level {
            positions: relation.positions[self.family.parent.len()..]
                .iter()
                .map(|p| self.name(p))
                .collect(),
            coordinate_arrays: self.coordinate_arrays(relation),
            pieces,
            child,
            arrays,
            declared,
            narrowed,
            params,
            properties: kept,
        })
    }

    fn array(&self, array: &ArrayParts) -> Result<ArrayParts> {
        let text = Spanned::new(array.origin.span.clone(), String::new());
        let root = self.root_variable();
        let refused = |why| self.refused(&text, why);
        let slot = |a: &str, s: usize| self.is_parent_slot(a, s);
        let mut domain = Vec::new();
        for c in &array.domain {
            let renamed = c.rename(&|n| self.names.get(n).cloned());
            let expanded = self.family.head.expand_domain(&renamed, &root, &slot);
            domain.extend(expanded.map_err(refused)?);
        }
        let range: Result<Vec<Constraint>, String> =
            array.range.iter().map(|c| self.constraint(c, &root)).collect();
        let args = self.arguments(array);
        // Arrays over a tuple alone are as large as the tuple, so that calls linearise.
        let tuple = self.family.head.components.len() > 1;
        let shape = match &array.shape {
            Some(shape) => {
                let mut out = Vec::new();
                for extent in shape {
                    let renamed = extent.rename(&|n| self.names.get(n).cloned());
                    let expanded = self.family.head.expand_size(&renamed, &slot);
                    out.push(expanded.map_err(|why| self.refused(&text, why))?);
                }
                Some(out)
            }
            None if tuple && *array.args == [self.parent.clone()] => {
                Some(self.family.head.extents())
            }
            None => None,
        };
        Ok(ArrayParts {
            args,
            domain,
            range: range.map_err(|why| self.refused(&text, why))?,
            shape,
            fill: array.fill,
            base: array.base,
            origin: array.origin.clone(),
        })
    }

    /// The formal arguments in the layout's names.
    fn arguments(&self, array: &ArrayParts) -> Vec<Name> {
        let mut args = Vec::new();
        for arg in &array.args {
            match (*arg == self.parent, self.family.head.components.is_empty()) {
                (true, true) => args.push(arg.clone()),
                (true, false) => args.extend(self.family.head.names()),
                (false, _) => args.push(self.name(arg)),
            }
        }
        args
    }

    /// Further bounds of an outer level's array, over the arguments it was declared with.
    fn narrowed(&self, name: &Name, array: &ArrayParts) -> Result<Vec<Constraint>> {
        let Some((_, declared)) = self.place.outer.get(name) else { return Ok(Vec::new()) };
        let args = self.arguments(array);
        if args.len() != declared.len() {
            return Err(array
                .origin
                .error(
                    Code::LayoutSchema,
                    format!(
                        "`{name}` takes {} argument(s) here, but the outer level's takes {}",
                        args.len(),
                        declared.len()
                    ),
                    "this array",
                )
                .help("name the parent's components in `parent`, so that the rest is the same"));
        }
        let text = Spanned::new(array.origin.span.clone(), String::new());
        let root = self.root_variable();
        let to_declared = |n: &Name| {
            let at = args.iter().position(|a| a == n)?;
            Some(Affine::var(declared[at].clone()))
        };
        array
            .range
            .iter()
            .map(|c| Ok(self.constraint(c, &root)?.substitute(&to_declared)))
            .collect::<Result<_, String>>()
            .map_err(|why| self.refused(&text, why))
    }

    fn statement(&self, statement: Statement) -> Result<Statement> {
        let formula = match &statement.formula {
            None => None,
            Some(formula) => {
                let text = Spanned::new(statement.origin.span.clone(), String::new());
                Some(self.formula(formula).map_err(|why| self.refused(&text, why))?)
            }
        };
        Ok(Statement {
            arrays: statement.arrays.iter().map(|n| self.name(n)).collect(),
            segments: statement.segments.as_ref().map(|n| self.name(n)),
            formula,
            ..statement
        })
    }

    fn formula(&self, formula: &Formula) -> Result<Formula, String> {
        let all = |v: &[Formula]| v.iter().map(|x| self.formula(x)).collect::<Result<Vec<_>, _>>();
        Ok(match formula {
            Formula::Constraint(c) => {
                let root = self.root_variable();
                let renamed = c.rename(&|n| self.names.get(n).cloned());
                let slot = |a: &str, s: usize| self.is_parent_slot(a, s);
                let expanded = self.family.head.expand_domain(&renamed, &root, &slot)?;
                Formula::and(expanded.into_iter().map(Formula::from))
            }
            Formula::And(v) => Formula::and(all(v)?),
            Formula::Or(v) => Formula::or(all(v)?),
            Formula::Not(x) => self.formula(x)?.not(),
            Formula::Implies(a, b) => self.formula(a)?.implies(self.formula(b)?),
            Formula::Predicate(..) => formula.clone(),
        })
    }

    fn holds(
        &self,
        conditions: &[String],
        span: &std::ops::Range<usize>,
        options: &IndexMap<String, bool>,
    ) -> Result<bool> {
        let mut out = true;
        for condition in conditions {
            let (name, wanted) = match condition.strip_prefix("not ") {
                Some(name) => (name.trim(), false),
                None => (condition.as_str(), true),
            };
            let Some(value) = options.get(name) else {
                let known = options.keys().map(String::as_str);
                return Err(unknown(self.source, "option", name, span.clone(), known));
            };
            out &= *value == wanted;
        }
        Ok(out)
    }

    /// The arrays `a` with `i = a(…)` for a coordinate `i`.
    fn coordinate_arrays(&self, relation: &Relation) -> Vec<Name> {
        let mut out = Vec::new();
        for c in relation.constraints().filter(|c| c.relop == Relop::Eq) {
            let [(a, k), (b, m)] = c.affine.terms() else { continue };
            let pair = match (a, b) {
                (Atom::Var(v), Atom::Call(call)) | (Atom::Call(call), Atom::Var(v)) => (v, call),
                _ => continue,
            };
            if *k == -*m && c.affine.offset() == 0 && relation.coordinates.contains(pair.0) {
                out.push(self.name(&pair.1.array));
            }
        }
        out
    }
}

/// The names of a tuple of positions.
pub(super) fn tuple_names(source: &Source, text: &Text, key: &str) -> Result<Vec<Name>> {
    let piece = format!("{{ {} -> [] }}", text.get_ref());
    match parse::relation(&piece) {
        Ok(pieces) if pieces.len() == 1 && pieces[0].formula.is_true() => {
            Ok(pieces[0].inputs.clone())
        }
        _ => Err(source
            .error(
                Code::Syntax,
                format!("`{key}` is not a tuple of positions"),
                text.span(),
                "not a tuple",
            )
            .help(format!("write e.g. `{key} = \"[u, p]\"`"))),
    }
}

/// From the names of the level's file to those of the layout.
fn name_map(
    source: &Source,
    relation: &Relation,
    reader: &Reader<'_>,
    place: &Place<'_>,
    family: &Family<'_>,
) -> Result<IndexMap<Name, Name>> {
    let numbered = |n: &Name| Name::from(format!("{n}{}", place.number));
    let mut out = IndexMap::new();
    for name in reader.arrays.keys().chain(reader.params.keys()) {
        out.insert(name.clone(), numbered(name));
    }
    for (key, _) in reader.declaration.index().into_iter().filter(|(_, index)| index.outer) {
        let name = key.get_ref().as_str();
        match place.outer.get(name) {
            Some((outer, _)) => out.insert(Name::from(name), outer.clone()),
            None => {
                let known = place.outer.keys().map(|n| &**n);
                return Err(unknown(
                    source,
                    "index array of an outer level",
                    name,
                    key.span(),
                    known,
                ));
            }
        };
    }
    for (k, name) in relation.positions.iter().enumerate() {
        if (1..family.parent.len()).contains(&k) {
            out.insert(name.clone(), family.components.components[k - 1].0.clone());
            continue;
        }
        let count = Layout::extent_name(name);
        if k == 0 {
            out.insert(name.clone(), Name::from(PARENT));
            out.insert(count, Name::from(PARENTS));
        } else {
            out.insert(name.clone(), numbered(name));
            out.insert(count.clone(), numbered(&count));
        }
    }
    for (coordinate, dim) in relation.coordinates.iter().zip(place.dims) {
        out.insert(coordinate.clone(), dim.clone());
        out.insert(Layout::extent_name(coordinate), Layout::extent_name(dim));
    }
    Ok(out)
}

fn parent_slots(
    reader: &Reader<'_>,
    parent: &Name,
    names: &IndexMap<Name, Name>,
) -> IndexMap<Name, Vec<bool>> {
    let slots = |array: &ArrayParts| array.args.iter().map(|a| a == parent).collect();
    let arrays = reader.arrays.iter();
    arrays.map(|(n, a)| (names[n].clone(), slots(a))).collect()
}
