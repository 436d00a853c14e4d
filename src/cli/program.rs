//! `--program FILE`: a program in the language of Finch, as the statements of index notation that kernels
//! are made from.
//!
//! What the files of `-t` and the sizes of `--dims` say decides the program's loops; `-p` are its numbers.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::kernel::is_written_in_place;
use siskin::layout::{Layout, LayoutSpec};
use siskin::operators::{Operators, Value as Number};
use siskin::program::Program;
use siskin::program::finch::{Finch, Given, Host, Kind, Locate, Returned, Segment, Tree};
use siskin::tensor::ValueType;

use super::given;
use super::listed::Results;
use super::options::{KernelOptions, numbers_of, wrong};
use super::result::other_result;
use super::sequence::Kernels;
use super::tensor_argument::{FileArgument, Place, named};
use super::tensors::TensorOptions;

/// What a command works on instead.
pub struct Translated {
    /// One after the other.
    pub groups: Vec<Group>,
    /// What the program returns, in order.
    pub returned: Vec<Results>,
    /// The layouts that are wished for results that are updated, and what they hold where nothing is stored.
    pub layouts: IndexMap<Name, (String, Option<Number>)>,
    /// What the program's tensors measure, `A 3 × 4`: that decided what lies outside.
    pub measured: Vec<String>,
    /// The program's file and text.
    pub name: String,
    pub text: String,
}

/// Parts that may be one kernel.
pub struct Group {
    /// The kernel of all, if there are several.
    pub united: Option<Part>,
    /// One after the other; each but the last is needed by a later one, or returned.
    pub parts: Vec<Part>,
}

/// Statements of index notation, and what they are given.
pub struct Part {
    pub expression: String,
    pub tensors: TensorOptions,
    pub options: KernelOptions,
    pub output: Vec<String>,
    /// What it leaves behind.
    pub kept: Vec<Name>,
    pub locates: Vec<Locate>,
}

impl Translated {
    /// A file that `-o` names.
    pub fn file(&self) -> Option<&str> {
        let parts = self.groups.iter().flat_map(|group| &group.parts);
        let all = parts.flat_map(|part| &part.output);
        all.map(String::as_str).find(|text| !text.ends_with(')') || !text.contains("=shares("))
    }
}

/// Reads a program and what it is given, and makes statements of it.
pub fn translated(
    path: &Path,
    tensors: &TensorOptions,
    options: &KernelOptions,
    output: &[String],
) -> Result<Translated> {
    of_tree(&tree(path, tensors, options)?, tensors, options, output)
}

/// Reads a program and what it is given.
pub fn tree(path: &Path, tensors: &TensorOptions, options: &KernelOptions) -> Result<Tree> {
    tensors.refuse_copies("a program")?;
    // Its kernels pack what it is translated by.
    tensors.read.keep();
    let text = std::fs::read_to_string(path).map_err(|e| {
        Diagnostic::new(Code::Io, format!("cannot read `{}`: {e}", path.display()))
            .help("give the file of a program: `--program FILE`")
    })?;
    let finch = Finch::parse(&text, &path.display().to_string())?;
    let own = match &options.operators {
        Some(folder) => Some(Operators::with_folder(folder)?),
        None => None,
    };
    let mut host = Host::new(match &own {
        Some(own) => own,
        None => Operators::shipped()?,
    });
    options.refuse_repeated()?;
    let bare = |text: &&str| !text.contains('=');
    if let Some(all) = options.value_type.iter().flat_map(|text| text.split(',')).find(bare) {
        let message = "the types of a program's tensors are those of their files";
        return Err(wrong("--type", all, 0, message)
            .help(format!("say it of one: `--type NAME={}`", all.trim())));
    }
    host.scalars = scalars(&options.parameters)?;
    let declared = finch.declared();
    let known = refuse_unknown(&finch.tensors(), tensors, options);
    for text in &options.fill {
        let name = text.split_once('=').map_or("", |(name, _)| name.trim());
        if declared.iter().any(|own| **own == *name) {
            let message = format!("`{name}` begins with what the program declares");
            return Err(wrong("--fill", text, 0, message)
                .help(format!("state it there, `{name} .= …`, and leave this out")));
        }
    }
    let types = options.types()?;
    host.types = types.own.clone();
    host.gallops = options.gallop.iter().map(|name| Name::from(name.trim())).collect();
    let mut stated = stated(&options.dims)?;
    for (name, rank) in finch.tensors() {
        if tensors.format(&name)?.is_some() {
            host.stated.push(name.clone());
        }
        let found = given(&name, rank, tensors, options, &stated).map_err(|e| {
            // Where the program says something else of it.
            match finch.place(&name) {
                Some(place) if e.code == Code::Shape && e.span.is_none() => {
                    e.at(place, "used here").within(&finch.name, &finch.text)
                }
                _ => e,
            }
        });
        let (found, is_stated) = (found?, tensors.format(&name)?.is_some());
        let is_input = !declared.contains(&name) && is_stated || file(&name, tensors)?.is_some();
        let data = found.as_ref().and_then(|found| found.data.as_ref());
        if is_searched(&name, rank, tensors, data)? {
            host.searched.push(name.clone());
        }
        match found {
            Some(Found { dims, ty, .. }) if is_input || !declared.contains(&name) => {
                host.tensors.insert(name, Given { dims: Some(dims), ty });
            }
            // What is made up, or has no data, is as large as the loops along it.
            None if is_input => {
                let ty = types.of(&name);
                host.tensors.insert(name, Given { dims: None, ty });
            }
            _ => {}
        }
    }
    stated.retain(|name, _| declared.contains(name));
    host.sizes = stated;
    // What is wrong within the program may be why it does not know a name.
    let tree = finch.lower(&host)?;
    known?;
    refuse_unused(&tree.numbers, &options.parameters)?;
    Ok(tree)
}

/// Refuses `-p` for a number that the program does not use.
fn refuse_unused(used: &[Name], texts: &[String]) -> Result<()> {
    for text in texts {
        let name = text.split_once('=').map_or("", |(name, _)| name.trim());
        if !used.iter().any(|own| **own == *name) {
            let names: Vec<&str> = used.iter().map(|name| &**name).collect();
            let help = match names.as_slice() {
                [] => "it uses no numbers: leave this out".to_string(),
                names => format!("its numbers are {}", names.join(", ")),
            };
            return Err(wrong(
                "--parameter",
                text,
                0,
                format!("the program uses no number `{name}`"),
            )
            .help(help));
        }
    }
    Ok(())
}

/// Whether the layout of a tensor does not say where each of its elements is: the one that is asked for, or that of
/// its data.
fn is_searched(
    name: &Name,
    rank: usize,
    tensors: &TensorOptions,
    data: Option<&given::Given>,
) -> Result<bool> {
    let file = file(name, tensors)?;
    let of_file = file.as_ref().and_then(|file| file.layout.as_deref());
    let layout = match of_file.or(tensors.format(name)?) {
        // What is wrong with it is said where it is read.
        Some(text) => Layout::named_for_rank(text, rank).ok().map(Arc::new),
        None if file.is_none() => return Ok(false),
        None => data.map(|data| data.layout(rank)).transpose()?,
    };
    Ok(!layout.is_some_and(|layout| is_written_in_place(&layout)))
}

/// The statements of a program.
pub fn of_tree(
    tree: &Tree,
    tensors: &TensorOptions,
    options: &KernelOptions,
    output: &[String],
) -> Result<Translated> {
    refuse_other_outputs(tree, output)?;
    let made = tree.statements()?;
    // How many statements write a tensor.
    let mut writes: IndexMap<Name, usize> = IndexMap::new();
    for segment in &made.segments {
        for statement in segment.text.split("; ") {
            if let Some((name, _)) = statement.split_once('[') {
                *writes.entry(Name::from(name)).or_default() += 1;
            }
        }
    }
    let writes = |name: &Name| writes.get(name).copied().unwrap_or(0);
    let mut layouts = IndexMap::new();
    let mut returned = Vec::new();
    let mut results: IndexMap<Name, Name> = IndexMap::new();
    for (host, own) in tree.returned.iter().zip(&made.returned) {
        returned.push((host.name.clone(), own.clone(), host.kinds.clone()));
        for (k, part) in own.iter().enumerate() {
            if own.len() == 1 {
                results.insert(host.name.clone(), part.clone());
            }
            begins_as_stated(host, tensors)?;
            // The format is that of numbers, not of whether they are there.
            if host.kinds.get(k).is_some_and(|kind| *kind != Kind::Number) {
                continue;
            }
            // What is assembled is written by one statement.
            let Some(layout) = tensors.format(&host.name)? else { continue };
            // Elements that have a place of their own are updated there.
            let rank = tree.extents.tensors.get(&host.name).map_or(0, Vec::len);
            let in_place = || -> Result<bool> {
                Ok(is_written_in_place(&Layout::named_for_rank(layout, rank)?))
            };
            if own.len() > 1 || (writes(part) > 1 && !in_place()?) {
                let fill = host.fill.as_ref().and_then(|fills| fills.get(k));
                let ty = made.types.get(part).copied().unwrap_or(siskin::tensor::ValueType::F64);
                let fill = match fill {
                    Some(fill) => fill.value(ty),
                    None => options.fill_of(&host.name, ty)?,
                };
                layouts.insert(part.clone(), (layout.to_string(), fill));
            }
        }
    }
    let count = made.segments.len();
    let is_result = |name: &Name| returned.iter().any(|(_, parts, _)| parts.contains(name));
    let part = |segment: Segment, is_last: bool| -> Result<Part> {
        let program = Program::parse(&segment.text)?;
        let used = program.tensors();
        // What the host calls by a name, by that of the statements; what is given has two if it is updated.
        let input = |name: &str| -> Option<Name> {
            let (own, _) = tree.given.iter().find(|(_, host)| ***host == *name)?;
            used.contains_key(own).then(|| own.clone())
        };
        let renamed = |texts: &[String], own: &dyn Fn(&str) -> Option<Name>| -> Vec<String> {
            let one = |text: &String| {
                let (name, rest) = text.split_once('=')?;
                Some(format!("{}={rest}", own(name.trim())?))
            };
            texts.iter().filter_map(one).collect()
        };
        let mut own = tensors.clone();
        own.tensors = renamed(&tensors.tensors, &input);
        own.formats = renamed(&tensors.formats, &|name| {
            let result = results
                .get(name)
                .filter(|own| !layouts.contains_key(*own) && segment.kept.contains(*own));
            match result {
                Some(own) => Some(own.clone()),
                None if results.contains_key(name) => None,
                None => input(name),
            }
        });
        let workspaces = tree.stated.keys().filter(|name| !is_result(name));
        for name in workspaces.filter(|name| used.contains_key(*name)) {
            let layout = workspace_layout(tree, name, used[name], writes(name), tensors)?;
            own.formats.extend(layout.map(|layout| format!("{name}={layout}")));
        }
        let mut chosen = options.clone();
        chosen.value_type = used
            .keys()
            .filter_map(|name| Some(format!("{name}={}", made.types.get(name)?)))
            .collect();
        chosen.parameters = Vec::new();
        chosen.fill = renamed(&options.fill, &input);
        let gallops = tree.gallops.iter().filter(|name| used.contains_key(*name));
        chosen.gallop = gallops.map(ToString::to_string).collect();
        chosen.dims = renamed(&options.dims, &input);
        chosen.dims.extend(segment.extents.iter().map(|(index, n)| format!("{index}={n}")));
        if !is_last {
            chosen.save_kernel = None;
            [&mut chosen.find, &mut chosen.order, &mut chosen.tile, &mut chosen.fuse]
                .into_iter()
                .for_each(Vec::clear);
        }
        let own_output = output.iter().filter_map(|text| {
            let named = text.split_once('=').map(|(name, rest)| (name.trim(), rest));
            match named.and_then(|(name, rest)| Some((results.get(name)?, rest))) {
                Some((own, rest)) if segment.kept.contains(own) => Some(format!("{own}={rest}")),
                Some(_) => None,
                None => is_last.then(|| text.clone()),
            }
        });
        Ok(Part {
            expression: segment.text.clone(),
            tensors: own,
            options: chosen,
            output: own_output.collect(),
            kept: segment.kept.clone(),
            locates: segment.locates,
        })
    };
    let mut groups: Vec<Group> = Vec::new();
    let mut united = made.united.into_iter().peekable();
    let mut open = 0..0;
    for (k, segment) in made.segments.into_iter().enumerate() {
        let own = part(segment, k + 1 == count)?;
        match groups.last_mut().filter(|_| open.contains(&k)) {
            Some(group) => group.parts.push(own),
            None => {
                let whole = united.next_if(|(range, _)| range.start == k);
                let united = match whole {
                    None => None,
                    Some((range, whole)) => {
                        open = range;
                        Some(part(whole, open.end == count)?)
                    }
                };
                groups.push(Group { united, parts: vec![own] });
            }
        }
    }
    let (name, text) = (tree.name.clone(), tree.program.text.clone());
    Ok(Translated { groups, returned, layouts, measured: tree.measured(), name, text })
}

impl Group {
    /// Does something with the one kernel of all parts or, where there is none, with each.
    pub fn each<T>(self, mut one: impl FnMut(Part, Kernels) -> Result<Vec<T>>) -> Result<Vec<T>> {
        if let Some(united) = self.united {
            match one(united, Kernels::One) {
                Err(e) if e.code != Code::Internal => {
                    tracing::info!("one kernel for each result: {}", e.message);
                }
                done => return done,
            }
        }
        let mut out = Vec::new();
        for part in self.parts {
            out.extend(one(part, Kernels::Any)?);
        }
        Ok(out)
    }
}

/// The layout of a workspace that has `rank` dimensions: the loops around it are levels around the format that is
/// stated. `None` if it has none of its own: nothing is left out of scalars, nor is assembled what several statements
/// write. What begins anew in loops and has room for every element is no more than one of these in the kernel.
fn workspace_layout(
    tree: &Tree,
    name: &Name,
    rank: usize,
    writes: usize,
    tensors: &TensorOptions,
) -> Result<Option<String>> {
    let host = &tree.stated[name];
    let (Some(layout), Some(dims)) = (tensors.format(host)?, tree.extents.tensors.get(name)) else {
        return Ok(None);
    };
    let around = rank - dims.len();
    if tree.given.contains_key(name) || dims.is_empty() && around > 0 {
        return Ok(None);
    }
    let own = Layout::named_for_rank(layout, dims.len())?;
    if writes > 1 && !is_written_in_place(&own) || around > 0 && has_room_for_all(&own) {
        return Ok(None);
    }
    let levels = format!("{}{layout}{}", "Dense(".repeat(around), ")".repeat(around));
    match Layout::named_for_rank(&levels, rank) {
        Ok(_) => Ok(Some(levels)),
        Err(_) => Err(Diagnostic::new(
            Code::LayoutSchema,
            format!("`{host}` begins anew in loops, for which its format gets levels, but is no composition of levels"),
        )
        .at(0..layout.len(), "this format")
        .within("-f", layout)
        .help("write it as levels, as in `SparseList(Element(0.0))`, or leave it out")),
    }
}

/// Whether there are as many values as elements, at least.
fn has_room_for_all(layout: &Layout) -> bool {
    let mut sizes = Vec::new();
    layout.value.len.visit_vars(&mut |name| sizes.push(name.clone()));
    layout.extents().iter().all(|extent| sizes.contains(extent))
}

/// Refuses a format whose fill is not what the program lets the result begin with.
fn begins_as_stated(host: &Returned, tensors: &TensorOptions) -> Result<()> {
    let (Some(layout), Some([begins])) = (tensors.format(&host.name)?, host.fill.as_deref()) else {
        return Ok(());
    };
    if layout.trim().starts_with("shares(") {
        return Ok(());
    }
    let Some(fill) = LayoutSpec::parse(layout)?.fill().map(Number::from) else { return Ok(()) };
    let ty = fill.value_type();
    if begins.value(ty).is_none_or(|own| own.same(fill)) {
        return Ok(());
    }
    let sign = if begins.negative { "-" } else { "" };
    let begins = format!("{sign}{}", begins.literal.text);
    Err(Diagnostic::new(
        Code::Data,
        format!("`{}` begins with {begins}, but its format says {fill}", host.name),
    )
    .at(0..layout.len(), "this format")
    .within("-f", layout)
    .help("let the program declare what the format says is not stored, or the other way round"))
}

/// Refuses what is said of tensors that the program does not mention.
fn refuse_unknown(
    known: &IndexMap<Name, usize>,
    tensors: &TensorOptions,
    options: &KernelOptions,
) -> Result<()> {
    let named = [
        ("-t", &tensors.tensors),
        ("-f", &tensors.formats),
        ("--dims", &options.dims),
        ("--type", &options.value_type),
        ("--fill", &options.fill),
    ];
    if let Some(name) = options.gallop.iter().find(|name| !known.contains_key(name.trim())) {
        return Err(unknown(known, name.trim()).at(0..name.len(), "").within("--gallop", name));
    }
    for (option, text) in named.iter().flat_map(|(o, texts)| texts.iter().map(move |t| (o, t))) {
        let name = text.split_once('=').map_or("", |(name, _)| name.trim());
        if !name.is_empty() && !known.contains_key(name) {
            return Err(unknown(known, name).at(0..name.len(), "").within(*option, text));
        }
    }
    Ok(())
}

fn unknown(known: &IndexMap<Name, usize>, name: &str) -> Box<Diagnostic> {
    let names: Vec<&str> = known.keys().map(|name| &**name).collect();
    let help = match names.is_empty() {
        true => "it has none: leave this out".to_string(),
        false => format!("its tensors are {}", names.join(", ")),
    };
    Diagnostic::new(Code::Usage, format!("the program has no tensor `{name}`")).help(help)
}

/// Refuses `-o NAME=FILE` for what is no result.
fn refuse_other_outputs(tree: &Tree, output: &[String]) -> Result<()> {
    let names: Vec<&str> = tree.returned.iter().map(|r| &*r.name).collect();
    for text in output {
        if names.len() > 1 && !text.contains('=') {
            let message = "the program returns several results, and this file is named for none";
            return Err(Diagnostic::new(Code::Usage, message)
                .at(0..text.len(), "")
                .within("-o", text)
                .help(format!("write `-o NAME={text}`: its results are {}", names.join(", "))));
        }
        let is_result = |name: &str| tree.returned.iter().any(|r| *r.name == *name);
        if let Some(name) = other_result(text, is_result) {
            return Err(Diagnostic::new(Code::Usage, format!("the program returns no `{name}`"))
                .at(0..name.len(), "")
                .within("-o", text)
                .help(format!("its results are {}", names.join(", "))));
        }
    }
    Ok(())
}

/// Refuses files for results whose elements are no numbers.
pub fn refuse_files(tree: &Tree, output: &[String]) -> Result<()> {
    refuse_other_outputs(tree, output)?;
    for text in output {
        let named = text.split_once('=').map(|(name, _)| name.trim());
        let of = named.and_then(|name| tree.returned.iter().find(|r| *r.name == *name));
        let Some(result) = of.or(tree.returned.last()).filter(|r| r.parts.len() > 1) else {
            continue;
        };
        let numbers = result.kinds.iter().filter(|kind| **kind == Kind::Number).count();
        let what = if numbers > 1 { "are tuples" } else { "may be missing" };
        let message = format!("elements of `{}` {what}: no file holds them", result.name);
        let numbers = match numbers {
            2.. => "its parts, `y[i] = first(t[i])`",
            _ => "its numbers, `y[i] = coalesce(…, 0)`",
        };
        return Err(Diagnostic::new(Code::Usage, message)
            .at(0..text.len(), "this file")
            .within("-o", text)
            .help(format!("let the program return {numbers}; `--json` shows all")));
    }
    Ok(())
}

/// The file of `-t` for a tensor.
pub fn file(name: &Name, tensors: &TensorOptions) -> Result<Option<FileArgument>> {
    for text in &tensors.tensors {
        let (of, rest) = named("-t", text, "FILE[:LAYOUT]")?;
        if of == &**name {
            return FileArgument::input(rest).map(Some);
        }
    }
    Ok(None)
}

/// What is known of a tensor.
struct Found {
    dims: Vec<usize>,
    ty: ValueType,
    /// What its file has.
    data: Option<given::Given>,
}

/// What is known of a tensor, if anything says its dimensions.
fn given(
    name: &Name,
    rank: usize,
    tensors: &TensorOptions,
    options: &KernelOptions,
    stated: &IndexMap<Name, Vec<usize>>,
) -> Result<Option<Found>> {
    let types = options.types()?;
    let dims = stated.get(name).cloned();
    let file = match file(name, tensors)? {
        Some(file) if !matches!(file.place, Place::Generated(_)) => file,
        // What is made up, or has no data.
        _ => return Ok(dims.map(|dims| Found { dims, ty: types.of(name), data: None })),
    };
    if file.is_standard() {
        return Err(Diagnostic::new(Code::Usage, "a program reads its tensors from files")
            .help(format!("write standard input to a file first, and give it: `-t {name}=FILE`")));
    }
    let wanted = types.own.get(name).copied();
    let data = tensors.read.given(&file, dims, wanted, None)?.with_rank(rank).map_err(|data| {
        let message = format!(
            "`{}` holds a tensor of rank {}, but `{name}` has {rank} subscript(s)",
            file.name,
            data.dims().len()
        );
        Diagnostic::new(Code::Shape, message).help("write one subscript for each dimension")
    })?;
    Ok(Some(Found { dims: data.dims().to_vec(), ty: data.value_type(), data: Some(data) }))
}

/// `--dims NAME=N,…`
fn stated(texts: &[String]) -> Result<IndexMap<Name, Vec<usize>>> {
    let mut out = IndexMap::new();
    for text in texts {
        let Some((name, numbers)) = text.split_once('=') else {
            return Err(wrong("--dims", text, 0, "extents are written NAME=N,…")
                .help("e.g. `--dims y=4,5` for a tensor that the program declares"));
        };
        out.insert(Name::from(name.trim()), numbers_of(text, name.len() + 1, numbers)?);
    }
    Ok(out)
}

/// `-p NAME=VALUE`
fn scalars(texts: &[String]) -> Result<IndexMap<Name, Number>> {
    let mut out = IndexMap::new();
    for text in texts {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let number = |value: &str| match value {
            "true" | "false" => Some(Number::Bool(value == "true")),
            "Inf" => Some(Number::F64(f64::INFINITY)),
            "-Inf" => Some(Number::F64(f64::NEG_INFINITY)),
            "NaN" => Some(Number::F64(f64::NAN)),
            value => match value.parse::<i64>() {
                Ok(whole) => Some(Number::I64(whole)),
                Err(_) => value.parse().ok().filter(|x: &f64| x.is_finite()).map(Number::F64),
            },
        };
        let (name, value) =
            parts.and_then(|(name, value)| Some((name, number(value)?))).ok_or_else(|| {
                wrong("--parameter", text, 0, "a number is written NAME=VALUE")
                    .help("e.g. `-p n=10`, `-p alpha=0.5`, `-p c=-Inf` or `-p on=true`")
            })?;
        out.insert(Name::from(name), value);
    }
    Ok(out)
}
