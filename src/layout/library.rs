//! Finding layouts: shipped ones, files, level lists.
//!
//! In: what the user wrote, `csr`, `bcsr(4,4)`, `mine.toml(2)`, `[i,j] dense(j), dense(i)`. Out: a
//! [`LayoutSpec`], which becomes a [`Layout`] once the rank is known.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::Layout;
use super::declaration::Arguments;
use super::defaults;
use super::leaf::Leaf;
use super::level_use::{DimRef, LevelList, LevelUse, Setting, parse_list};
use super::levels::{LevelUses, compose, no_level};
use super::literal::Literal;
use super::nested::{self, NestedLevel};
use super::nested_form::NestedForm;
use super::resolve::one_use_per_level;
use super::shipped::{level_names, shipped_level_file, stems};
use super::source::Source;
use super::suggest::nearest;
use super::tensor_form::{self, checked_dims, dim_names};
use super::toml_schema::{Declaration, Dims};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;
use crate::formula::Name;

/// Names of the dimensions of a layout for any rank; further ones are `d13`, `d14`, ….
const DIM_NAMES: [&str; 13] = ["i", "j", "k", "l", "m", "n", "o", "q", "r", "s", "t", "v", "w"];

/// Higher ranks are refused: they are slips.
const MAX_RANK: usize = 64;

/// A layout whose rank may still be open.
#[derive(Debug)]
pub struct LayoutSpec {
    name: String,
    source: Arc<Source>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Declared {
        declaration: Box<Declaration>,
        arguments: Option<Arguments>,
    },
    /// A level list of the command line.
    Levels(LevelList),
    /// A nested name.
    Nested(NestedForm),
}

impl Layout {
    /// The layout of that name, file or level list (design §2).
    ///
    /// # Errors
    /// If it is unknown or malformed, or fits any rank (use [`Layout::named_for_rank`]).
    pub fn named(text: &str) -> Result<Layout> {
        let spec = LayoutSpec::parse(text)?;
        match spec.rank() {
            Some(rank) => spec.instantiate(rank),
            None => Err(Diagnostic::new(
                Code::Shape,
                format!("layout `{}` fits any rank; it is not known here", spec.name),
            )
            .help(
                "use it for a tensor whose rank is known, or name the dimensions in a level list",
            )),
        }
    }

    /// The layout of that name for a tensor of `rank` dimensions.
    ///
    /// # Errors
    /// If it is unknown or malformed, or its rank is another.
    pub fn named_for_rank(text: &str, rank: usize) -> Result<Layout> {
        LayoutSpec::parse(text)?.instantiate(rank)
    }

    /// The layout of that name with its levels along the dimensions in this order: `coo` along `[1, 0]` lists
    /// entries by columns, `[i, j] entries(j, unique=last), singleton(i, unique=last)`.
    ///
    /// # Errors
    /// If it is unknown or malformed, or is not a list of levels for any rank.
    pub fn named_along(text: &str, order: &[usize]) -> Result<Layout> {
        let spec = LayoutSpec::parse(text)?;
        if order.is_sorted() {
            return spec.instantiate(order.len());
        }
        let dims = any_dims(order.len());
        let along: Vec<Name> = order.iter().filter_map(|&d| dims.get(d).cloned()).collect();
        let uses = one_use_per_level(&along, &spec.uses_for_any_rank()?, &spec.source)?;
        let uses: Vec<String> = uses.iter().map(|(used, dims)| used.along(dims)).collect();
        let dims: Vec<String> = dims.iter().map(Name::to_string).collect();
        Layout::named(&format!("[{}] {}", dims.join(", "), uses.join(", ")))
    }
}

impl LayoutSpec {
    /// Finds the declaration and checks its syntax; names inside it are checked by
    /// [`LayoutSpec::instantiate`].
    pub fn parse(text: &str) -> Result<LayoutSpec> {
        let name = text.trim();
        if name.is_empty() {
            return Err(not_found(name));
        }
        if let Some(spec) = LayoutSpec::nested(name)? {
            return Ok(spec);
        }
        if !name.ends_with(')') {
            if is_path(name) {
                return LayoutSpec::from_file(name, name, None);
            }
            if !name.contains(['(', '[', ',']) {
                return LayoutSpec::shipped(name, name, None);
            }
        }
        // `path with spaces/x.toml(4,4)`: only what stands in the last parentheses is ours.
        if let Some((path, arguments)) = path_with_arguments(name)? {
            return LayoutSpec::from_file(name, path, Some(arguments));
        }
        let source = Arc::new(typed(name));
        let list = parse_list(name).map_err(|e| e.within(&source.name, name))?;
        if let (None, [single]) = (&list.dims, list.uses.as_slice())
            && let Some(arguments) = integer_arguments(single, &source)
        {
            return match is_path(&single.level) {
                true => LayoutSpec::from_file(name, &single.level, Some(arguments)),
                false => LayoutSpec::shipped(name, &single.level, Some(arguments)),
            };
        }
        Ok(LayoutSpec { name: name.to_string(), source, form: Form::Levels(list) })
    }

    /// The file that declares it, unless it is shipped or stands in the text.
    pub fn file(&self) -> Option<PathBuf> {
        let is_file = self.source.folder.is_some() && self.source.name != TYPED;
        is_file.then(|| PathBuf::from(&self.source.name))
    }

    /// `Dense(SparseList(Element(0.0)))`; `None` if the text is something else.
    fn nested(name: &str) -> Result<Option<LayoutSpec>> {
        let Some(nested) = nested::parse(name)? else { return Ok(None) };
        let source = typed(name);
        let find = |level: &NestedLevel| -> Result<(Source, Declaration)> {
            let found = level_source(&level.name, &level.name_span, &source)?;
            let declaration = Declaration::read(&found)?;
            Ok((found, declaration))
        };
        // `bcsr(4)` and a leaf by itself look alike.
        let is_leaf =
            || nested.levels.first().is_some_and(|l| find(l).is_ok_and(|f| f.1.is_leaf()));
        if !(nested.is_sure() || is_leaf()) {
            return Ok(None);
        }
        let found = nested.levels.iter().map(find).collect::<Result<Vec<_>>>()?;
        let form = Form::Nested(NestedForm::read(&nested, &found, &source)?);
        Ok(Some(LayoutSpec { name: name.to_string(), source: Arc::new(source), form }))
    }

    /// A declaration given as text; `name` is shown in diagnostics.
    pub fn from_toml(name: &str, text: &str) -> Result<LayoutSpec> {
        LayoutSpec::declared(
            name,
            Source { name: name.into(), text: text.into(), folder: None },
            None,
        )
    }

    fn shipped(name: &str, stem: &str, arguments: Option<Arguments>) -> Result<LayoutSpec> {
        let path = format!("layouts/{stem}.toml");
        let plain = stem.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let plain = plain && stem != defaults::STEM;
        let Some(text) = embedded::text(&path).filter(|_| plain) else {
            return Err(not_found(stem));
        };
        LayoutSpec::declared(
            name,
            Source { name: path, text: text.into(), folder: None },
            arguments,
        )
    }

    fn from_file(name: &str, path: &str, arguments: Option<Arguments>) -> Result<LayoutSpec> {
        LayoutSpec::declared(name, read(Path::new(path))?, arguments)
    }

    fn declared(name: &str, source: Source, arguments: Option<Arguments>) -> Result<LayoutSpec> {
        let declaration = Box::new(Declaration::read(&source)?);
        let is_level = declaration.relation.is_some() && declaration.tensor_only_key().is_none();
        if is_level {
            let level = declaration.name.get_ref();
            return Err(source
                .error(
                    Code::LayoutSchema,
                    format!("`{level}` is a level, not a layout"),
                    declaration.name.span(),
                    "a level has no `dims`",
                )
                .help(format!("use it in a level list: `{level}(i)`")));
        }
        let form = Form::Declared { declaration, arguments };
        Ok(LayoutSpec { name: name.to_string(), source: Arc::new(source), form })
    }

    /// As the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name that the declaration gives itself; none of a level list.
    pub fn own_name(&self) -> Option<&str> {
        match &self.form {
            Form::Declared { declaration, .. } => Some(declaration.name.get_ref()),
            Form::Levels(_) | Form::Nested(_) => None,
        }
    }

    /// The declaration as it was read; none of a level list.
    pub fn text(&self) -> Option<&str> {
        match &self.form {
            Form::Declared { .. } => Some(&self.source.text),
            Form::Levels(_) | Form::Nested(_) => None,
        }
    }

    /// The declaration's summary; empty for a level list.
    pub fn summary(&self) -> &str {
        match &self.form {
            Form::Declared { declaration, .. } => &declaration.summary,
            Form::Levels(_) | Form::Nested(_) => "",
        }
    }

    /// What is not stored, with its type, if the format states it.
    pub fn fill(&self) -> Option<Literal> {
        match &self.form {
            Form::Declared { declaration, .. } => {
                Leaf::declared(&self.source, declaration).ok().and_then(|leaf| leaf.fill)
            }
            Form::Levels(_) => None,
            Form::Nested(form) => form.leaf.fill,
        }
    }

    /// The number of logical dimensions; `None` if any is possible.
    pub fn rank(&self) -> Option<usize> {
        match &self.form {
            Form::Declared { declaration, .. } => {
                match declaration.dims.as_ref().map(Spanned::get_ref) {
                    Some(Dims::Any) => None,
                    Some(Dims::Names(names)) => Some(names.len()),
                    None => Some(0),
                }
            }
            Form::Levels(list) => match &list.dims {
                Some(dims) => Some(dims.len()),
                None if numbered(list) => None,
                None => Some(list.uses.iter().map(|u| u.dims.len()).sum()),
            },
            Form::Nested(form) => Some(form.rank),
        }
    }

    /// The layout for a tensor of `rank` dimensions.
    ///
    /// # Errors
    /// If the layout has another rank, or its declaration is wrong.
    pub fn instantiate(&self, rank: usize) -> Result<Layout> {
        if let Some(own) = self.rank().filter(|own| *own != rank && self.states_rank()) {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("layout `{}` has rank {own}, but rank {rank} is needed", self.name),
            )
            .help("choose a layout of that rank; `siskin layouts` lists them"));
        }
        if rank > MAX_RANK {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("rank {rank} is larger than {MAX_RANK}"),
            )
            .help("use fewer dimensions"));
        }
        match &self.form {
            Form::Declared { declaration, arguments } => match &declaration.levels {
                None => {
                    tensor_form::layout(&self.name, &self.source, declaration, arguments.as_ref())
                }
                Some(_) => self.compose_declared(declaration, arguments.as_ref(), rank),
            },
            Form::Levels(list) => {
                let dims = self.list_dims(list, rank)?;
                self.compose(&dims, &list.uses, None)
            }
            Form::Nested(form) => self.compose(&any_dims(rank), &form.uses, Some(form.leaf)),
        }
    }

    /// A declaration without `dims` has no rank to compare; the missing key is reported instead.
    fn states_rank(&self) -> bool {
        match &self.form {
            Form::Declared { declaration, .. } => declaration.dims.is_some(),
            Form::Levels(_) | Form::Nested(_) => true,
        }
    }

    fn compose_declared(
        &self,
        declaration: &Declaration,
        arguments: Option<&Arguments>,
        rank: usize,
    ) -> Result<Layout> {
        self.only_levels(declaration, arguments)?;
        let dims = match declaration.dims.as_ref().map(Spanned::get_ref) {
            Some(Dims::Any) => any_dims(rank),
            _ => dim_names(&self.source, declaration)?,
        };
        let uses = self.declared_uses(declaration)?;
        let leaf = Leaf::declared(&self.source, declaration)?;
        let layout = self.compose(&dims, &uses, None)?;
        Ok(Layout { fill: leaf.fill, short_circuit: leaf.short_circuit, ..layout })
    }

    /// The levels of a declaration for any rank.
    fn uses_for_any_rank(&self) -> Result<Vec<LevelUse>> {
        match &self.form {
            Form::Declared { declaration, .. } if self.rank().is_none() => {
                self.declared_uses(declaration)
            }
            _ => Err(Diagnostic::new(
                Code::Shape,
                format!("layout `{}` is no list of levels for any rank", self.name),
            )
            .help("`dims = \"any\"` and `levels` declare one")),
        }
    }

    fn declared_uses(&self, declaration: &Declaration) -> Result<Vec<LevelUse>> {
        let mut uses = Vec::new();
        for text in declaration.levels.iter().flat_map(Spanned::get_ref) {
            let list = self.source.parse(text, parse_list)?;
            if let Some((_, span)) = list.dims.iter().flatten().next() {
                return Err(self
                    .source
                    .error(
                        Code::LayoutSchema,
                        "dimensions are given by `dims`",
                        self.source.place(text, span.clone()),
                        "second list",
                    )
                    .help("remove the list in brackets"));
            }
            for level_use in list.uses {
                uses.push(moved(level_use, |span| self.source.place(text, span)));
            }
        }
        Ok(uses)
    }

    /// Keys that say twice what levels say.
    fn only_levels(&self, declaration: &Declaration, arguments: Option<&Arguments>) -> Result<()> {
        let keys = [
            ("relation", declaration.relation.as_ref().map(Spanned::span)),
            ("value", declaration.value.as_ref().map(Spanned::span)),
            ("value_shape", declaration.value_shape.as_ref().map(Spanned::span)),
            ("index", declaration.index().first().map(|(k, _)| k.span())),
            ("params", declaration.params().first().map(|(k, _)| k.span())),
            ("property", declaration.property.first().map(Spanned::span)),
        ];
        let level_only = declaration.level_only_key().map(|(key, span)| (key, Some(span)));
        for (key, span) in keys.into_iter().chain(level_only) {
            if let Some(span) = span {
                return Err(self
                    .source
                    .error(
                        Code::LayoutSchema,
                        format!("`{key}` stands beside `levels`"),
                        span,
                        "the levels declare it",
                    )
                    .help(format!("remove `{key}`, or `levels`")));
            }
        }
        match arguments {
            None => Ok(()),
            Some(arguments) => {
                super::declaration::constants(&self.source, declaration, Some(arguments))?;
                Ok(())
            }
        }
    }

    fn list_dims(&self, list: &LevelList, rank: usize) -> Result<Vec<Name>> {
        if let Some(dims) = &list.dims {
            return checked_dims(&self.source, dims.clone());
        }
        if numbered(list) {
            return Ok(any_dims(rank));
        }
        // Without a list in brackets, subscripts are in the order of the levels.
        let names = list.uses.iter().flat_map(|u| &u.dims).map(|(d, span)| match d {
            DimRef::Name(name) => (name.clone(), span.clone()),
            _ => (String::new(), span.clone()),
        });
        checked_dims(&self.source, names.collect())
    }

    fn compose(&self, dims: &[Name], uses: &[LevelUse], leaf: Option<Leaf>) -> Result<Layout> {
        let list = LevelUses { source: &self.source, uses, leaf };
        compose(&self.name, self.summary(), dims, &list, &level)
    }
}

/// What diagnostics call a layout that is typed.
const TYPED: &str = "<layout>";

/// What the user typed, as a text that diagnostics show.
fn typed(text: &str) -> Source {
    Source { name: TYPED.into(), text: text.into(), folder: Some(PathBuf::new()) }
}

/// The declaration of a level that a text uses: a path, a file beside the text, or a shipped level.
fn level(level_use: &LevelUse, within: &Source) -> Result<(Arc<Source>, Declaration)> {
    let source = level_source(&level_use.level, &level_use.level_span, within)?;
    let declaration = Declaration::read(&source)?;
    Ok((Arc::new(source), declaration))
}

fn level_source(level: &str, span: &Range<usize>, within: &Source) -> Result<Source> {
    if let Some(folder) = &within.folder {
        if is_path(level) {
            let file =
                if level.ends_with(".toml") { level.into() } else { format!("{level}.toml") };
            return read(&folder.join(file)).map_err(|mut e| {
                // The place is the use, not the file that is missing.
                e.source = None;
                e.at(span.clone(), "this level").within(&within.name, &within.text)
            });
        }
        let beside = folder.join("levels").join(format!("{level}.toml"));
        // A name that is typed means what it means in any folder: `./levels/NAME` is the file.
        let typed = within.name == TYPED && shipped_level_file(level).is_some();
        if beside.is_file() && !typed {
            return read(&beside);
        }
    }
    if let Some((path, text)) = shipped_level_file(level) {
        return Ok(Source { name: path.into(), text: text.into(), folder: None });
    }
    if embedded::text(&format!("layouts/{level}.toml")).is_some() {
        return Err(no_level(within, level, span.clone()));
    }
    let known = level_names();
    let error = within.error(
        Code::UnknownLayout,
        format!("there is no level `{level}`"),
        span.clone(),
        "unknown level",
    );
    Err(error.help(suggestion(level, &known, "levels")))
}

fn is_path(text: &str) -> bool {
    text.contains('/') || text.contains('\\') || text.ends_with(".toml")
}

fn read(path: &Path) -> Result<Source> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Diagnostic::new(Code::Io, format!("cannot read layout file `{}`: {e}", path.display()))
            .help("give the path of a TOML file that declares a layout")
    })?;
    let folder = path.parent().map(Path::to_path_buf);
    Ok(Source { name: path.display().to_string(), text, folder })
}

fn not_found(name: &str) -> Box<Diagnostic> {
    let known = stems("layouts");
    let help = match level_names().iter().any(|l| l == name) {
        true => format!("`{name}` is a level; use it in a level list: `{name}(i)`"),
        false => suggestion(name, &known, "shipped layouts"),
    };
    Diagnostic::new(Code::UnknownLayout, format!("there is no layout `{name}`"))
        .at(0..name.len(), "neither shipped nor a file")
        .within("<layout>", name)
        .help(help)
}

fn suggestion(name: &str, known: &[String], what: &str) -> String {
    let list = format!("{what}: {}", known.join(", "));
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? {list}"),
        None => format!("{list}; a file is given by its path"),
    }
}

/// Whether the list names dimensions by number, so that it fits any rank.
fn numbered(list: &LevelList) -> bool {
    let mut dims = list.uses.iter().flat_map(|u| &u.dims).map(|(d, _)| d).peekable();
    dims.peek().is_some() && dims.all(|d| !matches!(d, DimRef::Name(_)))
}

fn any_dims(rank: usize) -> Vec<Name> {
    let name = |k: usize| match DIM_NAMES.get(k) {
        Some(name) => Name::from(*name),
        None => Name::from(format!("d{k}")),
    };
    (0..rank).map(name).collect()
}

/// The arguments when all are integers: `bcsr(4, 4)`, `bcsr(R=4, C=4)`.
fn integer_arguments(level_use: &LevelUse, source: &Arc<Source>) -> Option<Arguments> {
    let mut positional = Vec::new();
    for (dim, _) in &level_use.dims {
        match dim {
            DimRef::Number(n) => positional.push(i64::try_from(*n).unwrap_or(i64::MAX)),
            _ => return None,
        }
    }
    let mut named = Vec::new();
    for (name, setting, span) in &level_use.settings {
        match setting {
            Setting::Integer(n) => named.push((name.clone(), *n, span.clone())),
            _ => return None,
        }
    }
    Some(Arguments { positional, named, origin: source.origin(level_use.span.clone()) })
}

/// Splits `dir/x.toml(4,4)` when the part before the last parenthesis is a path that a level
/// list could not spell.
fn path_with_arguments(text: &str) -> Result<Option<(&str, Arguments)>> {
    let Some(open) = text.rfind('(').filter(|_| text.ends_with(')')) else { return Ok(None) };
    let path = text[..open].trim_end();
    if open == 0 || !path.ends_with(".toml") || !Path::new(path).is_file() {
        return Ok(None);
    }
    let source = Arc::new(Source { name: "<layout>".into(), text: text.into(), folder: None });
    let Ok(list) = parse_list(&format!("f{}", &text[open..])) else { return Ok(None) };
    let [single] = list.uses.as_slice() else { return Ok(None) };
    // The use as a whole starts with the path.
    let place = |at: usize| if at == 0 { 0 } else { at + open - 1 };
    let single = moved(single.clone(), |s| place(s.start)..place(s.end));
    Ok(integer_arguments(&single, &source).map(|arguments| (path, arguments)))
}

/// A use with all its places mapped.
fn moved(mut level_use: LevelUse, place: impl Fn(Range<usize>) -> Range<usize>) -> LevelUse {
    let update = |span: &mut Range<usize>| *span = place(span.clone());
    update(&mut level_use.span);
    update(&mut level_use.level_span);
    level_use.dims.iter_mut().for_each(|(_, span)| update(span));
    level_use.settings.iter_mut().for_each(|(_, _, span)| update(span));
    level_use
}
