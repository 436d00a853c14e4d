//! `--program FILE`: a program in the language of Finch, as the statements of index notation that kernels
//! are made from.
//!
//! What the files of `-t` and the sizes of `--dims` say decides the program's loops; `-p` are its numbers.

use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::formula::Name;
use siskin::operators::{Operators, Value as Number};
use siskin::program::Program;
use siskin::program::finch::{Finch, Given, Host, Tree};
use siskin::tensor::{Tensor, Values};

use super::data;
use super::options::{KernelOptions, numbers_of, wrong};
use super::tensor_argument::{FileArgument, Place, named};
use super::tensors::TensorOptions;

/// Larger results are not printed element by element.
const MAX_PRINTED: usize = 10_000;

/// What a command works on instead.
pub struct Translated {
    pub expression: String,
    pub tensors: TensorOptions,
    pub options: KernelOptions,
    /// The tensors that the program returns, in order.
    pub returned: Vec<Name>,
}

/// Reads a program and what it is given.
pub fn translated(
    path: &Path,
    tensors: &TensorOptions,
    options: &KernelOptions,
) -> Result<Translated> {
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
    host.scalars = scalars(&options.parameters)?;
    let declared = finch.declared();
    let types = options.types()?;
    host.types = types.own.clone();
    let mut stated = stated(&options.dims)?;
    for (name, rank) in finch.tensors() {
        let Some((dims, ty)) = given(&name, rank, tensors, options, &stated)? else { continue };
        if !declared.contains(&name) || file(&name, tensors)?.is_some() {
            host.tensors.insert(name, Given { dims, ty });
        }
    }
    stated.retain(|name, _| declared.contains(name));
    host.sizes = stated;
    let tree = finch.lower(&host)?;
    of_tree(&tree, tensors, options)
}

fn of_tree(tree: &Tree, tensors: &TensorOptions, options: &KernelOptions) -> Result<Translated> {
    let statements = tree.statements()?;
    let program = Program::parse(&statements.text)?;
    let temporaries = program.temporaries();
    let returned: Vec<Name> = tree.returned.iter().map(|r| r.name.clone()).collect();
    let renamed = |own: &Name, host: &Name| own != host;
    let odd = tree.returned.iter().find_map(|r| match r.parts.as_slice() {
        [own] if !renamed(own, &r.name) && !temporaries.contains(own) => None,
        _ => Some(&r.name),
    });
    let odd = odd.or(tree.given.iter().find(|(own, host)| renamed(own, host)).map(|(_, h)| h));
    if let Some(name) = odd {
        let message = format!("`{name}` is not compiled yet in its roles here");
        return Err(Diagnostic::new(Code::Program, message)
            .note(
                "it holds tuples, is declared again, or is returned and read by a later statement",
            )
            .help("give each tensor one role and a name that is no word of index notation"));
    }
    let mut options = options.clone();
    let written = program.tensors();
    options.value_type =
        written.keys().map(|name| format!("{name}={}", tree.types.of(name))).collect();
    options.parameters = Vec::new();
    // Sizes of results are known by now.
    let is_input = |text: &String| {
        text.split_once('=').is_some_and(|(name, _)| tree.given.contains_key(name.trim()))
    };
    options.dims.retain(is_input);
    options.dims.extend(statements.extents.iter().map(|(index, n)| format!("{index}={n}")));
    let mut tensors = tensors.clone();
    // What the program declares and does not keep in a tensor of its own has no layout.
    tensors.formats.retain(|text| {
        text.split_once('=').is_some_and(|(name, _)| written.contains_key(name.trim()))
    });
    Ok(Translated { expression: statements.text, tensors, options, returned })
}

/// The file of `-t` for a tensor.
fn file(name: &Name, tensors: &TensorOptions) -> Result<Option<FileArgument>> {
    for text in &tensors.tensors {
        let (of, rest) = named("-t", text, "FILE[:LAYOUT]")?;
        if of == &**name {
            return FileArgument::input(rest).map(Some);
        }
    }
    Ok(None)
}

/// The dimensions and the type of a tensor, if anything says them.
fn given(
    name: &Name,
    rank: usize,
    tensors: &TensorOptions,
    options: &KernelOptions,
    stated: &IndexMap<Name, Vec<usize>>,
) -> Result<Option<(Vec<usize>, siskin::tensor::ValueType)>> {
    let types = options.types()?;
    let dims = stated.get(name).cloned();
    let file = match file(name, tensors)? {
        Some(file) if !matches!(file.place, Place::Generated(_)) => file,
        Some(_) if dims.is_none() => {
            return Err(Diagnostic::new(
                Code::Shape,
                format!("the extents of `{name}` are not known"),
            )
            .help(format!("state them: `--dims {name}=N,…`")));
        }
        // What is made up, or has no data.
        _ => return Ok(dims.map(|dims| (dims, types.of(name)))),
    };
    if file.is_standard() {
        return Err(Diagnostic::new(Code::Usage, "a program reads its tensors from files")
            .help(format!("write standard input to a file first, and give it: `-t {name}=FILE`")));
    }
    let wanted = types.own.get(name).copied();
    let data = data::given(&file, dims, wanted, None)?.with_rank(rank).map_err(|data| {
        let message = format!(
            "`{}` holds a tensor of rank {}, but `{name}` has {rank} subscript(s)",
            file.name,
            data.dims().len()
        );
        Diagnostic::new(Code::Shape, message).help("write one subscript for each dimension")
    })?;
    Ok(Some((data.dims().to_vec(), data.value_type())))
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

/// A result with its elements, if they are not too many: `values[i][j]` is element `i, j`.
pub fn listed(name: &str, result: &Tensor, fill: Option<Number>) -> Result<Value> {
    let mut out = json!({ "name": name, "dims": result.dims(), "stored": result.stored() });
    let count = result.dims().iter().try_fold(1_usize, |n, &extent| n.checked_mul(extent));
    if count.is_some_and(|n| n <= MAX_PRINTED) {
        let fill = fill.unwrap_or(Number::zero(result.value_type()));
        let array = result.dense_else(fill)?;
        out["values"] = nested(array.dims(), array.values(), &mut 0);
    }
    Ok(out)
}

fn nested(dims: &[usize], values: &Values, at: &mut usize) -> Value {
    let Some((first, rest)) = dims.split_first() else {
        *at += 1;
        return element(values, *at - 1);
    };
    (0..*first).map(|_| nested(rest, values, at)).collect()
}

fn element(values: &Values, k: usize) -> Value {
    let float = |x: f64| match x {
        _ if x.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Inf"),
        f64::NEG_INFINITY => json!("-Inf"),
        x => json!(x),
    };
    match values {
        Values::F64(v) => float(v[k]),
        Values::F32(v) => float(f64::from(v[k])),
        Values::I64(v) => json!(v[k]),
        Values::I32(v) => json!(v[k]),
        Values::U8(v) => json!(v[k]),
        Values::Bool(v) => json!(v[k]),
    }
}
