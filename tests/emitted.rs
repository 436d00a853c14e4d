//! The text of emitted modules: as rustfmt leaves it, without a warning of rustc or of clippy, and
//! any number of them side by side in one crate.

#[path = "corpus_support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use indexmap::IndexMap;
use siskin::Kernel;
use siskin::code::IndexWidth;
use siskin::formula::Name;
use siskin::iterspace::Union;
use siskin::kernel::Planned;
use siskin::layout::{Layout, shipped};
use siskin::synth::Sizes;
use siskin::tensor::ValueType;

/// A module, and what it is made from.
struct Emitted {
    what: String,
    text: String,
}

/// A statement, and the layouts of its tensors.
type Statement = (&'static str, &'static [(&'static str, &'static str)]);

/// Expressions over `A` of each rank, and the layouts of the other tensors.
const STATEMENTS: [&[Statement]; 3] = [
    &[("s[] += A[i] * x[i]", &[("x", "dense")]), ("y[i] = x[i] * A[i]", &[("x", "sparse")])],
    &[
        ("y[i] += A[i,j] * x[j]", &[("x", "dense")]),
        ("y[i] += A[i,j] * x[j]", &[("x", "sparse")]),
        ("C[i,j] = B[i,j] * A[i,j]", &[("B", "csr")]),
    ],
    &[
        ("Y[i,j] += A[i,j,k] * x[k]", &[("x", "dense")]),
        ("C[i,j,k] = B[i,j,k] * A[i,j,k]", &[("B", "csf")]),
    ],
];

const BANDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/formats/symmetric-banded.toml");

fn modules() -> &'static [Emitted] {
    static MODULES: OnceLock<Vec<Emitted>> = OnceLock::new();
    MODULES.get_or_init(emit_all)
}

fn emit_all() -> Vec<Emitted> {
    let mut out = Modules::default();
    for (layout, _) in shipped() {
        for rank in 1..=3 {
            if Layout::named_for_rank(&layout, rank).is_err() {
                continue;
            }
            for (expression, others) in STATEMENTS[rank - 1] {
                let mut kernel = Kernel::new(expression).layout("A", &layout);
                for (tensor, layout) in *others {
                    kernel = kernel.layout(tensor, layout);
                }
                out.add(&format!("{expression}, A={layout}, {others:?}"), &kernel);
            }
        }
    }
    out.special();
    assert!(out.all.len() > 80, "only {} modules", out.all.len());
    let all: BTreeSet<String> = siskin::synth::templates()
        .unwrap()
        .iter()
        .filter(|t| !t.closed_form)
        .map(|t| t.name.clone())
        .collect();
    assert_eq!(out.templates, all, "every template is used");
    out.all
}

#[derive(Default)]
struct Modules {
    all: Vec<Emitted>,
    templates: BTreeSet<String>,
}

impl Modules {
    /// The kernel, each of its finds by each template that is new or on its turn.
    fn add(&mut self, what: &str, kernel: &Kernel) {
        let planned = kernel.plan().unwrap_or_else(|e| panic!("{what}: {e:#?}"));
        for s in 0..planned.statements().len() {
            for f in 0..planned.statements()[s].finds().len() {
                let find = &planned.statements()[s].finds()[f];
                for plan in find.plans().filter(|p| !p.template.closed_form) {
                    let name = &plan.template.name;
                    let new = self.templates.insert(name.clone());
                    if new || self.all.len().is_multiple_of(4) {
                        let forced = planned.clone().with_template(s, f, name);
                        let forced = forced.expect("the plans of a find are proved");
                        self.render(&format!("{what}, {plan}"), forced);
                    }
                }
            }
        }
        self.render(what, planned);
    }

    /// The module of a plan, with the next type of values and of indices.
    fn render(&mut self, what: &str, planned: Planned) {
        let types =
            [ValueType::F64, ValueType::F32, ValueType::I64, ValueType::I32, ValueType::Bool];
        let widths = [IndexWidth::U32, IndexWidth::U64];
        let k = self.all.len();
        let ty = if k % 7 == 6 { ValueType::U8 } else { types[k % 5] };
        let typed = match planned.types().own.is_empty() {
            true => planned.clone().with_types(ty, widths[k % 2]),
            false => Ok(None),
        };
        let planned = typed.ok().flatten().unwrap_or(planned);
        let module = planned.render().unwrap_or_else(|e| panic!("{what}: {e:#?}"));
        let what = format!("{what}, {:?}, {:?}", planned.types(), planned.index_width());
        if self.all.iter().all(|m| m.text != module.text()) {
            self.all.push(Emitted { what, text: module.text().to_string() });
        }
    }

    /// Parallel loops, tiles, fused loops, shared sparsity, names of all kinds.
    fn special(&mut self) {
        let spmv = "y[i] += A[i,j] * x[j]";
        let long = "a_vector_of_results_with_a_long_name[row] += \
                    a_matrix_of_coefficients_with_a_long_name[row, column_of_the_matrix] * \
                    a_sparse_vector_with_a_long_name[column_of_the_matrix]";
        let of = |expression: &str, layouts: &[(&str, &str)]| {
            let kernel = Kernel::new(expression);
            layouts.iter().fold(kernel, |kernel, (tensor, layout)| kernel.layout(tensor, layout))
        };
        let names = |matrix| {
            of(
                long,
                &[
                    ("a_matrix_of_coefficients_with_a_long_name", matrix),
                    ("a_sparse_vector_with_a_long_name", "sparse"),
                ],
            )
        };
        let mixed = |expression: &str, a: &str, b: &str| {
            let kernel = of(expression, &[("A", "csr"), ("B", "csr")]);
            kernel.typed("A", a.parse().unwrap()).typed("B", b.parse().unwrap())
        };
        let product = "C[i,j] += A[i,k] * B[k,j]";
        let three = "D[i,l] += A[i,j] * B[j,k] * C[k,l]";
        let sampled = "C[i,j,l] += A[i,j,k] * B[k,l]";
        let shared = of(sampled, &[("A", "csf"), ("B", "dense"), ("C", "shares(A)")]);
        let both = "C[i,j] = A[i,j] + B[i,j]";
        let scaled = "C[i,j,k] = A[i,j,k] * x[k]";
        let kernels = [
            of(spmv, &[("A", "csr"), ("x", "dense")]).threads(2),
            of(spmv, &[("A", "csr"), ("x", "sparse")]).threads(2),
            of(spmv, &[("A", "csc"), ("x", "dense")]).threads(2),
            of(spmv, &[("A", "csc"), ("x", "sparse")]).threads(2),
            of(spmv, &[("A", "bcsr(3,4)"), ("x", "sparse")]).threads(2),
            of(spmv, &[("A", "dcsr"), ("x", "sparse")]).threads(2),
            of("s[] += A[i,j]", &[("A", "csr")]).threads(2),
            of("s[] += A[i,j] * B[i,j]", &[("A", "coo"), ("B", "coo")]),
            of(spmv, &[("A", "csr")]).tile("j", 16),
            of(spmv, &[("A", "dense")]).tile("i", 32).tile("j", 32).threads(2),
            of(product, &[("A", "csr"), ("B", "csr")]),
            of(product, &[("A", "csr"), ("B", "csr")]).threads(2),
            of(product, &[("A", "csr"), ("B", "csr"), ("C", "csr")]).threads(2),
            of(product, &[("A", "csr"), ("B", "csr"), ("C", "csr")]).workspace("hash").threads(2),
            of(product, &[("A", "csr"), ("B", "csr"), ("C", "dcsr")]).workspace("sort"),
            of(both, &[("A", "csr"), ("B", "csr"), ("C", "dcsr")]).threads(2),
            of(both, &[("A", "coo"), ("B", "coo"), ("C", "csr")]).threads(2),
            of(scaled, &[("A", "coo"), ("C", "csf")]).threads(2),
            of(product, &[("A", "csr"), ("B", "csc")]),
            of(product, &[("A", "dcsr"), ("B", "dcsc")]),
            of(product, &[]).tile("i", 8).tile("j", 8).tile("k", 8),
            of(three, &[("A", "csr"), ("B", "csr"), ("C", "csr")]),
            of(three, &[("A", "coo"), ("B", "hash"), ("C", "dcsr")]),
            shared.clone(),
            shared.threads(2),
            of("C[i,j] = A[i,j] * B[i,j]", &[("A", "csr"), ("B", "csc"), ("C", "shares(A)")]),
            of("T[i,j,k] += x[i] * y[j] * z[k]", &[("x", "sparse"), ("y", "sparse")]),
            of("self[fn] += sum[fn, I] * at[I]", &[("sum", "csr"), ("at", "sparse")]),
            names("csr"),
            names("csr").threads(2),
            names("coo"),
            names("dense(i), hashed(j)"),
            names("csc").threads(2),
            mixed("C[i,j] = pow(A[i,j], 2) + select(A[i,j] > 1, i, B[i,j])", "i32", "bool"),
            mixed("y[i] min= sqrt(abs(A[i,j])) * -x[j] + inf * floor(B[i,j] / 3)", "f64", "f32"),
            mixed(
                "C[i,j] = bxor(shl(A[i,j], 2), gcd(B[i,j], 6)) - 9223372036854775807",
                "i64",
                "u8",
            ),
            mixed("s += (A[i,j] == B[i,j]) * j + 0.5", "u8", "i64").typed("s", ValueType::F32),
            mixed("y[i] *= A[i,j] * B[i,j] / x[j]", "f64", "f64").threads(3),
            mixed("y[i] or= and(A[i,j], not(B[i,j]))", "bool", "f64").typed("y", ValueType::Bool),
            mixed("y[i] and= A[(2:4)(i),(0:3)(j)] == B[i,j]", "f64", "bool")
                .typed("y", ValueType::Bool),
            of(
                "C[i,j] = A[i,j] + B[i,j] * x[j] - D[i,j] / 2",
                &[("A", "csr"), ("B", "csr"), ("D", "coo")],
            )
            .union(Union::Passes),
            mixed("r[i] or= and(A[i,j], B[i,j])", "bool", "bool").typed("r", ValueType::Bool),
            mixed("s[] and= not(and(A[i,j], B[i,j]))", "bool", "bool").typed("s", ValueType::Bool),
            mixed("m[i] max= A[i,j] * B[i,j]", "u8", "u8").typed("m", ValueType::U8),
            mixed("p[i] *= min(A[i,j], B[i,j]) - 1", "i32", "i32").typed("p", ValueType::I32),
            mixed("m[] min= A[i,j] + B[i,j]", "f64", "f32"),
            of("y[i] += A[i,j] * x[j]; z[j] = A[i,j] * w[i]", &[("A", "csr"), ("x", "sparse")]),
            of("y[i] += A[i,j] * x[j]", &[("A", "csr"), ("x", "sparse")]).sizes(short_rows()),
            mixed("r[i] = A[i,j]; m[] max= A[i,j]; C[i,j] = A[i,j] * B[i,j]", "f32", "i32")
                .layout("C", "csr"),
            // Arguments that are just too wide, and parameters before a body that is deep.
            of(
                "s[i] += slice[i,j] * slice_mut[j]",
                &[("slice", "symmetric-csr"), ("slice_mut", "sparse")],
            ),
            of("fn[i] min= type[i,j] + match[j]", &[("type", BANDED), ("match", "hash")])
                .threads(2)
                .strict_fp(),
        ];
        for (k, kernel) in kernels.iter().enumerate() {
            self.add(&format!("kernel {k} of its own"), kernel);
        }
    }
}

/// The modules as files `k0.rs`, `k1.rs`, … of a folder.
fn write(folder: &Path, modules: &[&Emitted]) {
    for (k, module) in modules.iter().enumerate() {
        std::fs::write(folder.join(format!("k{k}.rs")), &module.text).unwrap();
    }
}

/// `pub mod k0;` and so on.
fn crate_root(modules: &[&Emitted]) -> String {
    (0..modules.len()).map(|k| format!("pub mod k{k};\n")).collect()
}

/// Output of a tool that must be there: a test that cannot run has not passed.
fn run(command: &mut Command, tool: &str) -> Output {
    let output = command.output();
    let missing = match &output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            said.contains("is not installed") || said.contains("no such command")
        }
        Err(_) => true,
    };
    assert!(
        !missing,
        "this test needs {tool}, which is not installed: `rustup component add {tool}`; {output:?}"
    );
    output.unwrap()
}

/// What a tool says of `k17.rs`, with what the module is made from.
fn explained(said: &str, modules: &[&Emitted]) -> String {
    let mut places: Vec<String> = Vec::new();
    for (k, module) in modules.iter().enumerate() {
        if said.contains(&format!("k{k}.rs:")) {
            places.push(format!("k{k}.rs: {}", module.what));
        }
    }
    let shown = &places[..places.len().min(40)];
    let lines: Vec<&str> = said.lines().take(200).collect();
    format!("{} modules, {}\n{}", places.len(), shown.join("\n"), lines.join("\n"))
}

/// Fails if rustfmt would change one of the modules.
fn assert_formatted(modules: &[&Emitted]) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), modules);
    let files = (0..modules.len()).map(|k| folder.path().join(format!("k{k}.rs")));
    let output = run(
        Command::new("rustfmt")
            .args(["--edition=2024", "--check", "--config", "max_width=100"])
            .args(files),
        "rustfmt",
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = said + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", explained(&said, modules));
    // What does not fit into a line is left alone by rustfmt, and would pass for formatted.
    for module in modules {
        let long = |line: &&str| {
            let is_text = line.contains('"') || line.trim_start().starts_with("//");
            line.chars().count() > 100 && !is_text
        };
        assert_eq!(module.text.lines().find(long), None, "{}", module.what);
    }
}

#[test]
fn rustfmt_changes_nothing() {
    assert_formatted(&modules().iter().collect::<Vec<_>>());
}

/// The kernels of the files of the corpus for which `wanted` answers yes.
fn corpus(wanted: impl Fn(usize) -> bool + Sync) -> Vec<Emitted> {
    let files = std::fs::read_dir("tests/corpus").expect("tests run in the root of the package");
    let mut files: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    files.sort();
    let next = AtomicUsize::new(0);
    let kernels = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(k) else { break };
                    if !wanted(k) {
                        continue;
                    }
                    let case = support::Case::read(file).unwrap();
                    for made in support::kernels(&case).unwrap() {
                        let what = format!("{} {}", file.display(), made.label);
                        kernels.lock().unwrap().push(Emitted { what, text: made.text });
                    }
                }
            });
        }
    });
    kernels.into_inner().unwrap()
}

#[test]
fn kernels_of_a_sample_of_the_corpus_are_formatted() {
    let kernels = corpus(|file| file % 6 == 0);
    assert!(kernels.len() > 100, "only {} kernels", kernels.len());
    assert_formatted(&kernels.iter().collect::<Vec<_>>());
}

#[test]
#[ignore = "plans the whole corpus, which takes minutes"]
fn every_kernel_of_the_corpus_is_formatted() {
    let kernels = corpus(|_| true);
    assert!(kernels.len() > 1000, "only {} kernels", kernels.len());
    for some in kernels.chunks(500) {
        assert_formatted(&some.iter().collect::<Vec<_>>());
    }
}

#[test]
fn all_modules_stand_side_by_side_in_one_crate_without_a_warning() {
    let modules: Vec<&Emitted> = modules().iter().collect();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &modules);
    let root = folder.path().join("lib.rs");
    std::fs::write(&root, crate_root(&modules)).unwrap();
    // A library for C is linked, so that names of entries which are there twice are found.
    let output = run(
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .args(["--edition=2024", "--crate-type=cdylib", "-Dwarnings", "-Copt-level=0"])
            .args(["-Cdebuginfo=0", "-o"])
            .args([&folder.path().join("kernels.so"), &root]),
        "rustc",
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", explained(&said, &modules));
}

#[test]
fn clippy_has_nothing_to_say() {
    // Every third, and all that are not like the others.
    let (all, own) = (modules(), "kernel ");
    let sample = all.iter().enumerate().filter(|(k, m)| k % 3 == 0 || m.what.starts_with(own));
    let modules: Vec<&Emitted> = sample.map(|(_, m)| m).collect();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src");
    std::fs::create_dir(&source).unwrap();
    write(&source, &modules);
    std::fs::write(source.join("lib.rs"), crate_root(&modules)).unwrap();
    std::fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"emitted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    let output = run(
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["clippy", "--offline", "--quiet", "--", "-D", "warnings"])
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .env_remove("RUSTFLAGS")
            .current_dir(folder.path()),
        "clippy",
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}", explained(&said, &modules));
}

/// A matrix that is known to have short rows.
fn short_rows() -> Sizes {
    let known = |name: &str, value: f64| IndexMap::from([(Name::from(name), value)]);
    Sizes { params: known("I", 1e4), steps: known("pos_A", 4.0), ..Sizes::default() }
}
