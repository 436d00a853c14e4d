//! All kernels of a case as modules of one library.

use std::fmt::Write;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::Command;

use super::Made;

/// Twin of the struct in every generated module.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawArray {
    pub data: *mut u8,
    pub len: usize,
}

type Refusal = unsafe extern "C" fn(*mut *const u8, *mut usize) -> usize;
type Dispatch = unsafe extern "C" fn(usize, *const usize, *const RawArray) -> i32;

/// Compiled modules. Their code stays in memory for good, as `siskin::exec::Library` says: the
/// destructors of their thread-local values run when the calling thread ends.
pub struct Library {
    library: ManuallyDrop<libloading::Library>,
    /// Which of the kernels it has.
    has: Vec<bool>,
    _folder: tempfile::TempDir,
}

/// Which function of the modules is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// The entry, which trusts its arguments.
    Entry,
    /// The safe function, which checks them, on what the entry would have passed on.
    Safe,
}

impl Library {
    /// Compiles with warnings denied and every debug assertion checked.
    pub fn compile(kernels: &[Made], face: Face) -> Result<Library, String> {
        Library::of_some(kernels, vec![true; kernels.len()], face)
    }

    /// [`Library::compile`] of those kernels that it shall have.
    pub fn of_some(kernels: &[Made], has: Vec<bool>, face: Face) -> Result<Library, String> {
        let mut source = String::new();
        let mut arms = String::new();
        for (k, made) in kernels.iter().enumerate().filter(|(k, _)| has[*k]) {
            if !made.text.contains(&format!("fn {}(", made.entry)) {
                return Err(format!("no entry in\n{}", made.text));
            }
            // Plain functions, so that a failed assertion can be caught on this side.
            let text = made.text.replace("#[unsafe(no_mangle)]", "").replace("extern \"C\" ", "");
            // What a refusal says is noted where it is made: the last one is what a call returns.
            let made_there = "        Error { what, at }\n";
            if text.matches(made_there).count() != 1 {
                return Err(format!("no constructor of refusals in\n{text}"));
            }
            let noting = format!("        crate::note(what, at);\n{made_there}");
            let text = text.replace(made_there, &noting);
            let _ = writeln!(source, "pub mod k{k} {{\n{text}\n}}");
            let entry = &made.entry;
            let arguments = format!("(sizes, arrays as *const k{k}::RawArray)");
            let call = match face {
                Face::Entry => format!("{{ k{k}::{entry}{arguments}; true }}"),
                Face::Safe => format!("k{k}::{entry}_checked{arguments} == 0"),
            };
            let _ = writeln!(arms, "{k} => {call},");
        }
        source.push_str(NOTES);
        let _ = writeln!(
            source,
            "#[unsafe(no_mangle)]
             pub unsafe extern \"C\" fn dispatch(
                 kernel: usize, sizes: *const usize, arrays: *const u8,
             ) -> i32 {{
                 let run = || unsafe {{ match kernel {{ {arms} _ => unreachable!() }} }};
                 match std::panic::catch_unwind(run) {{
                     Ok(true) => 0,
                     Ok(false) => 1,
                     Err(_) => 2,
                 }}
             }}"
        );
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = folder.path().join("kernels.rs");
        std::fs::write(&path, &source).map_err(|e| e.to_string())?;
        let built: PathBuf = folder.path().join("kernels.so");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(rustc)
            .args(["--edition=2024", "--crate-type=cdylib", "-Dwarnings", "-Cdebug-assertions=on"])
            .args(["-Cdebuginfo=0", "-Copt-level=0", "-Coverflow-checks=on", "-o"])
            .args([&built, &path])
            .output()
            .map_err(|e| format!("rustc: {e}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let lines: Vec<&str> = said.lines().take(60).collect();
            let places: Vec<String> = said
                .lines()
                .filter_map(|l| l.trim().strip_prefix("--> "))
                .filter_map(|l| l.split(':').nth(1)?.parse::<usize>().ok())
                .take(3)
                .map(|line| label_at(&source, kernels, &has, line))
                .collect();
            return Err(format!("rustc refuses\n{}\n{}", lines.join("\n"), places.join("\n")));
        }
        let library = unsafe { libloading::Library::new(&built) }.map_err(|e| e.to_string())?;
        Ok(Library { library: ManuallyDrop::new(library), has, _folder: folder })
    }

    pub fn has(&self, kernel: usize) -> bool {
        self.has[kernel]
    }

    /// Runs a kernel; an error is a failed assertion or a refusal.
    ///
    /// # Safety
    /// The arguments are those of the kernel's entry.
    pub unsafe fn run(
        &self,
        kernel: usize,
        sizes: &[usize],
        arrays: &[RawArray],
    ) -> Result<(), String> {
        match unsafe { self.call(kernel, sizes, arrays) }? {
            true => Ok(()),
            false => Err("the kernel refuses its arguments".to_string()),
        }
    }

    /// The property and the index of the last refusal.
    pub fn refusal(&self) -> Result<(String, usize), String> {
        let refusal = unsafe { self.library.get::<Refusal>("refusal") };
        let refusal = refusal.map_err(|e| e.to_string())?;
        let (mut text, mut len) = (std::ptr::null(), 0);
        // The text is part of the library.
        let at = unsafe { refusal(&mut text, &mut len) };
        if text.is_null() {
            return Err("nothing was refused".to_string());
        }
        let text = unsafe { std::slice::from_raw_parts(text, len) };
        Ok((String::from_utf8_lossy(text).into_owned(), at))
    }

    /// Runs a kernel: whether it took its arguments. An error is a failed assertion.
    ///
    /// # Safety
    /// The number and the types of the arguments are those of the kernel's entry; if the library is
    /// one of entries, the arguments are valid too.
    pub unsafe fn call(
        &self,
        kernel: usize,
        sizes: &[usize],
        arrays: &[RawArray],
    ) -> Result<bool, String> {
        let dispatch = unsafe { self.library.get::<Dispatch>("dispatch") };
        let dispatch = dispatch.map_err(|e| e.to_string())?;
        match unsafe { dispatch(kernel, sizes.as_ptr(), arrays.as_ptr()) } {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err("an assertion of the kernel failed".to_string()),
        }
    }
}

/// What the last refusal says.
const NOTES: &str = "
static LAST: std::sync::Mutex<(&str, usize)> = std::sync::Mutex::new((\"\", 0));

pub fn note(what: &'static str, at: usize) {
    *LAST.lock().unwrap() = (what, at);
}

#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn refusal(text: *mut *const u8, len: *mut usize) -> usize {
    let (what, at) = *LAST.lock().unwrap();
    unsafe {
        *text = what.as_ptr();
        *len = what.len();
    }
    at
}
";

/// The kernel whose module holds a line of the source.
fn label_at(source: &str, kernels: &[Made], has: &[bool], line: usize) -> String {
    let before = source.lines().take(line);
    let number = before.filter(|l| l.starts_with("pub mod k")).count();
    let code = source.lines().nth(line - 1).unwrap_or_default();
    let mut all = kernels.iter().zip(has).filter(|(_, has)| **has).map(|(made, _)| made);
    let label = all.nth(number.saturating_sub(1)).map_or("", |made| made.label.as_str());
    format!("in kernel {label}: {}", code.trim())
}
