//! All operators: the shipped ones, and those of a user's folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::claims::{Evidence, verify};
use super::declare;
use super::operator::Operator;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::embedded;
use crate::layout::nearest;

const FOLDER: &str = "operators";

/// A set of operators, by name and by symbol.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    by_name: BTreeMap<String, Arc<Operator>>,
}

impl Operators {
    /// The shipped operators, read once. What they claim is proved by the tests.
    ///
    /// # Errors
    /// If a shipped file is wrong, which is a defect.
    pub fn shipped() -> Result<&'static Operators> {
        static SHIPPED: OnceLock<Result<Operators>> = OnceLock::new();
        let read = || {
            let mut out = Operators::default();
            for (path, text) in embedded::files(FOLDER) {
                let stem = path.strip_prefix(FOLDER).and_then(|p| p.strip_prefix('/'));
                if let Some(stem) = stem.and_then(|p| p.strip_suffix(".toml")) {
                    out.add(path, stem, text)?;
                }
            }
            Ok(out)
        };
        SHIPPED.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The shipped operators and those of a folder's TOML files. All that the folder's operators
    /// claim is tested, and proved where they have a definition.
    ///
    /// # Errors
    /// [`Code::Io`] if the folder cannot be read, [`Code::Usage`] if it has no TOML file,
    /// [`Code::Operator`] if a declaration is wrong, makes a claim that does not hold, or takes a name
    /// or a symbol that is taken.
    pub fn with_folder(folder: &Path) -> Result<Operators> {
        let unreadable = |e: std::io::Error| {
            Diagnostic::new(
                Code::Io,
                format!("cannot read the folder of operators `{}`: {e}", folder.display()),
            )
            .help("give a folder of TOML files, each of which declares an operator")
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|e| e == "toml") && !path.is_dir() {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(Diagnostic::new(
                Code::Usage,
                format!("the folder `{}` has no operator", folder.display()),
            )
            .help("each operator is a file NAME.toml; `siskin operators min --toml` prints one"));
        }
        let mut out = Operators::shipped()?.clone();
        let mut added = Vec::new();
        for path in files {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path).map_err(|e| {
                Diagnostic::new(Code::Io, format!("cannot read the operator file `{name}`: {e}"))
                    .help("give TOML files, in UTF-8")
            })?;
            let stem =
                path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            added.push(out.add(&name, &stem, &text)?);
        }
        for name in added {
            out.evidence(&name)?;
        }
        Ok(out)
    }

    /// Reads one file and adds its operator, whose name is given back.
    fn add(&mut self, path: &str, stem: &str, text: &str) -> Result<String> {
        let op = declare::operator(path, text)?;
        let place = |quoted: &str| {
            text.find(&format!("\"{quoted}\"")).map_or(0..0, |at| at..at + quoted.len() + 2)
        };
        let refused = |message: String, at| op.source.error(message, at);
        let name = op.name().to_string();
        if self.by_name.contains_key(&name) {
            return Err(refused(format!("there is an operator `{name}` already"), place(&name))
                .help("choose another name: what is shipped keeps its meaning"));
        }
        if name != stem {
            return Err(refused(
                format!("the file `{path}` declares an operator of another name"),
                place(&name),
            )
            .help(format!("call the file `{name}.toml`, or the operator `{stem}`")));
        }
        if let Some(symbol) = op.symbol() {
            // A name that is written before or between operands would hide the operator of that name.
            let named = self.by_name.get(symbol).filter(|_| symbol != name);
            let taken = self.with_symbol(symbol, op.arity()).or(named);
            if let Some(other) = taken {
                let message = format!("`{symbol}` is `{}` already", other.name());
                return Err(refused(message, place(symbol)).help("choose another symbol, or none"));
            }
        }
        self.by_name.insert(name.clone(), Arc::new(op));
        Ok(name)
    }

    /// The operator of that name.
    ///
    /// # Errors
    /// [`Code::Operator`] if there is none; the help says which could be meant.
    pub fn named(&self, name: &str) -> Result<&Arc<Operator>> {
        self.by_name.get(name).ok_or_else(|| {
            let near = nearest(name, self.names());
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            Diagnostic::new(Code::Operator, format!("there is no operator `{name}`")).help(format!(
                "{near}the operators are {}",
                self.names().collect::<Vec<_>>().join(", ")
            ))
        })
    }

    /// The operator that is written between two operands, e.g. by `+`.
    pub fn infix(&self, symbol: &str) -> Option<&Arc<Operator>> {
        self.with_symbol(symbol, 2)
    }

    /// The operator that is written before its operand, e.g. by `-`.
    pub fn prefix(&self, symbol: &str) -> Option<&Arc<Operator>> {
        self.with_symbol(symbol, 1)
    }

    fn with_symbol(&self, symbol: &str, arity: usize) -> Option<&Arc<Operator>> {
        self.by_name.values().find(|op| op.symbol() == Some(symbol) && op.arity() == arity)
    }

    /// The sum: what is written `+`, and what duplicates of a coordinate are combined by.
    ///
    /// # Errors
    /// If a shipped file is wrong, which is a defect.
    pub fn sum() -> Result<Arc<Operator>> {
        let sum = Operators::shipped()?.infix("+");
        sum.cloned().ok_or_else(|| Diagnostic::defect("no operator is written `+`"))
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// All operators, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = &Operator> {
        self.by_name.values().map(|op| &**op)
    }

    /// What is known of the claims of an operator.
    ///
    /// # Errors
    /// [`Code::Operator`] if there is no such operator, or a claim does not hold.
    pub fn evidence(&self, name: &str) -> Result<Vec<Evidence>> {
        let op = self.named(name)?;
        verify(op, &|name| self.by_name.get(name).map(|op| &**op), &*Operators::sum()?)
    }
}
