//! Rendering: from a specification to the text of a module.

use super::core::Core;
use super::functions::Functions;
use super::scope::Scope;
use super::signature::Signature;
use super::spec::{Way, Ways};
use super::{entry, header, helpers, structs};
use crate::code::realise;
use crate::code::{AccessProof, Body, Path, prove_bounds, size_limit};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::iterspace::Space;
use crate::loops;
use crate::prover::Prover;
use crate::tensor::Value;

/// A rendered kernel.
#[derive(Clone, Debug)]
pub struct Module {
    text: String,
    loaded: String,
    accesses: Vec<AccessProof>,
    signature: Signature,
    cores: Vec<Core>,
    entry: String,
    size_limit: u64,
}

/// What is compiled to be loaded by this process.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The text of the module.
    pub text: &'a str,
    /// The name of its entry.
    pub entry: &'a str,
    /// Loops begin where lines of memory do. A short loop that runs long reads its instructions from one line then,
    /// and is up to 1.7 times as fast as from two; a loop within another pays for the gap before it each time.
    pub aligned: bool,
}

impl Module {
    /// The Rust text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The part of the text that is compiled to be loaded by this process, which checks tensors itself: the unchecked
    /// function with all that it calls, and its entry.
    pub fn source(&self) -> Source<'_> {
        let aligned = self.cores.iter().any(|core| core.flat);
        Source { text: &self.loaded, entry: &self.entry, aligned }
    }

    /// Every array access of the unchecked core.
    pub fn accesses(&self) -> &[AccessProof] {
        &self.accesses
    }

    /// What the kernel takes and returns.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The core, as it is printed in the text; the first of several.
    pub fn body(&self) -> &Body {
        &self.cores[0].body
    }

    /// The ways to compute the result, of which data choose one when the kernel runs.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// The name of the unchecked C entry; no other module has it.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The largest size (extent, number of entries) with which no index arithmetic overflows.
    pub fn size_limit(&self) -> u64 {
        self.size_limit
    }

    /// The C header of the module's entries.
    pub fn c_header(&self) -> String {
        header::c_header(&self.signature, &self.entry)
    }
}

/// Renders the module of `ways`. Same input, same bytes.
///
/// # Errors
/// If a template's code is refused, a literal is no number of the value type, or a check of the code
/// fails.
pub fn render(ways: &Ways, prover: &mut dyn Prover) -> Result<Module> {
    let mut cores = Vec::new();
    for way in &ways.ways {
        cores.push(core(way, prover)?);
    }
    let Some(first) = cores.first() else { return Err(Diagnostic::defect("a kernel has no code")) };
    let sizes = |core: &Core| -> Vec<Name> {
        core.body.sizes.iter().map(|v| core.body.var(*v).name.clone()).collect()
    };
    if cores.iter().any(|core| sizes(core) != sizes(first)) {
        return Err(Diagnostic::defect("ways to compute a result are given other sizes"));
    }
    let size_limit = cores.iter().map(|core| size_limit(&core.body, i64::MAX as u64)).min();
    let size_limit = size_limit.unwrap_or(0);
    if size_limit == 0 {
        return Err(always_overflows(&first.body));
    }
    let spec = &first.way.spec;
    let signature = Signature::new(spec);
    let functions = Functions::new(&cores, ways, &signature, size_limit);
    let items = |scope: Scope| -> Result<String> {
        let mut text = functions.header();
        let (structs, validation) = structs::items(&signature, spec.index_width, scope);
        text.push_str(&structs);
        text.push_str(&functions.items(scope));
        text.push_str(&helpers::items(&cores, validation)?);
        Ok(text)
    };
    let (mut text, mut loaded) = (items(Scope::Whole)?, items(Scope::Loaded)?);
    let entry = format!("siskin_{:016x}", hash(&text));
    for (text, scope) in [(&mut text, Scope::Whole), (&mut loaded, Scope::Loaded)] {
        text.push('\n');
        text.push_str(&entry::items(&signature, &entry, scope));
    }
    let accesses = cores.iter().flat_map(|core| core.accesses.iter().cloned()).collect();
    Ok(Module { text, loaded, accesses, signature, cores, entry, size_limit })
}

/// The code of one way.
fn core(way: &Way, prover: &mut dyn Prover) -> Result<Core> {
    let spec = &way.spec;
    let spaces: Vec<&Space> = spec.statements.iter().map(|s| &s.space).collect();
    let assembled = spec.assembled.as_deref();
    let mut body = realise::declare(&spaces, spec.index_width, spec.is_parallel(), assembled);
    let loops = loops::build(&spec.statements, assembled.map(|a| &a.assembling), &spec.sequence);
    loops.verify(&spec.space().params())?;
    let codes = realise::templates(&loops, prover)?;
    let mut path = Path::new(&spec.space().theory, prover);
    // The last statement writes the result.
    let op = spec.statements.last().map(|s| &s.space.op);
    let assembled = assembled.zip(op);
    body = realise::realise(body, &loops, &codes, assembled, &mut path)?;
    drop(path);
    body.rarely = spec.rarely;
    body.drop_unused();
    body.verify()?;
    let mut path = Path::new(&spec.space().theory, prover);
    let (mut body, accesses) = proved(body, &mut path)?;
    let fresh = spec.fresh.iter().filter_map(|(name, begin)| {
        let result = spec.space().operands.iter().find(|o| o.tensor == *name)?;
        Some((result, *begin))
    });
    let begun = spec.begun().into_iter().chain(fresh);
    let begun: Vec<(&Name, Value)> = begun.map(|(o, begin)| (&o.value_array, begin)).collect();
    for (result, begin) in &begun {
        body.write_once(result, *begin, &mut path);
    }
    body.compare_numbers(&begun);
    body.choose_chains(spec.short);
    Ok(Core { way: way.clone(), body, accesses, flat: loops.are_flat() })
}

/// The body with its accesses proved. It is changed to run faster where no access needs a test for that, and
/// no number a condition to be natural: in all ways at once, else in those that by themselves need none.
fn proved(mut body: Body, path: &mut Path) -> Result<(Body, Vec<AccessProof>)> {
    body.take_one_iteration();
    body.merge_stores();
    let mut all_proved = |body: &Body| {
        let mut body = body.clone();
        let proofs = prove_bounds(&mut body, path);
        let accesses =
            proofs.inspect_err(|e| tracing::debug!("not changed: {}", e.message)).ok()?;
        accesses.iter().all(|a| a.proved).then_some((body, accesses))
    };
    let mut fast = body.clone();
    let changes = Body::FASTER.iter().filter(|way| way(&mut fast)).count();
    if changes > 0 {
        if let Some(proved) = all_proved(&fast) {
            return Ok(proved);
        }
        for way in Body::FASTER.iter().filter(|_| changes > 1) {
            let mut fast = body.clone();
            if way(&mut fast) && all_proved(&fast).is_some() {
                body = fast;
            }
        }
    }
    let accesses = prove_bounds(&mut body, path)?;
    Ok((body, accesses))
}

fn always_overflows(body: &Body) -> Box<Diagnostic> {
    let arrays: Vec<String> = body.arrays_beyond_sizes().map(|name| format!("`{name}`")).collect();
    let what = "its index arithmetic could overflow, however small the tensors are";
    Diagnostic::new(Code::Space, format!("cannot generate this kernel: {what}"))
        .note(format!("nothing bounds the elements of {}", arrays.join(", ")))
        .help("declare a `range` for them in the layout, or read them with `--index u32`")
}

/// FNV-1a: stable from run to run and from machine to machine.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
