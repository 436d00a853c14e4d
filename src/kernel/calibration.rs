//! The constants of machines that were measured, as they are kept: a TOML file with a table for each model of
//! processor.
//!
//! ```toml
//! ["Model of a processor"]
//! branch_miss = 4.7
//! near_read = 1.3
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::exec::processor_model;
use crate::synth::{Machine, constants};

/// What says where the file is, or that there shall be none.
pub const CALIBRATION_VARIABLE: &str = "SISKIN_CALIBRATION";

/// The value of [`CALIBRATION_VARIABLE`] with which nothing that was measured counts.
const NONE: &str = "none";

/// Constants by processor, then by name.
type Tables = BTreeMap<String, BTreeMap<String, f64>>;

/// The file of this user; whether it was asked for. `None` if there shall be none, or the system has no place
/// for it.
pub fn calibration_place() -> Option<(PathBuf, bool)> {
    match std::env::var_os(CALIBRATION_VARIABLE) {
        Some(path) if path.is_empty() || path == NONE => None,
        Some(path) => Some((PathBuf::from(path), true)),
        None => Some((dirs::config_dir()?.join("siskin").join("calibration.toml"), false)),
    }
}

/// What was measured on this processor, by the file of this user; nothing if there is no file.
///
/// # Errors
/// [`Code::Io`] if a file that is asked for is not there, or one cannot be read; [`Code::Usage`] if it is none.
pub fn calibrated() -> Result<Machine> {
    let Some((path, asked)) = calibration_place() else { return Ok(Machine::default()) };
    let tables = match read(&path)? {
        Some(tables) => tables,
        None if asked => {
            return Err(Diagnostic::new(
                Code::Io,
                format!("there is no file `{}` of constants", path.display()),
            )
            .note(format!("`{CALIBRATION_VARIABLE}` names it"))
            .help(format!(
                "run `siskin calibrate`, which writes it, or set `{CALIBRATION_VARIABLE}={NONE}`"
            )));
        }
        None => return Ok(Machine::default()),
    };
    let own = tables.get(&processor_model());
    let own = own.into_iter().flatten();
    Ok(own.fold(Machine::default(), |machine, (name, value)| machine.with(name, *value)))
}

/// The text of the file with what was measured on this processor, beside what it has of others.
///
/// # Errors
/// Those of reading a file that is there.
pub fn with_calibration(path: &Path, machine: &Machine) -> Result<String> {
    let mut tables = read(path)?.unwrap_or_default();
    let own = machine.measured().map(|(name, value)| (name.to_string(), value)).collect();
    tables.insert(processor_model(), own);
    let mut out = String::from(
        "# Constants of processors, as `siskin calibrate` has measured them. Without a table for a processor,\n\
         # or without this file, costs are those of an assumed machine.\n",
    );
    for (processor, constants) in &tables {
        out.push_str(&format!("\n[{}]\n", toml::Value::String(processor.clone())));
        for (name, value) in constants {
            out.push_str(&format!("{name} = {value:?}\n"));
        }
    }
    Ok(out)
}

/// The tables of a file; `None` if there is none.
fn read(path: &Path) -> Result<Option<Tables>> {
    let again = "remove the file, and run `siskin calibrate`, or use `--no-calibration`";
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(Diagnostic::new(
                Code::Io,
                format!("cannot read the constants of this machine in `{name}`: {e}"),
            )
            .help(again));
        }
    };
    let wrong = |message: String| Diagnostic::new(Code::Usage, message).help(again);
    let tables: Tables = toml::from_str(&text).map_err(|e| {
        let d = wrong(format!("constants of machines: {}", e.message())).within(&name, &text);
        match e.span() {
            Some(span) => d.at(span, "here"),
            None => d,
        }
    })?;
    for (constant, value) in tables.values().flatten() {
        let Some(declared) = constants()?.iter().find(|c| c.name == *constant) else {
            let known: Vec<&str> = constants()?.iter().map(|c| c.name.as_str()).collect();
            return Err(wrong(format!("`{name}`: there is no constant `{constant}`"))
                .note(format!("the constants are {}", known.join(", "))));
        };
        if !declared.admits(*value) {
            let unit = &declared.unit;
            return Err(wrong(format!("`{name}`: `{constant}` cannot be {value} {unit}")).note(
                format!("{} {unit} are assumed where it is not measured", declared.default),
            ));
        }
    }
    Ok(Some(tables))
}
