//! Each stage reads back what it prints: the printed form says everything that the stage decided.

use siskin::Kernel;
use siskin::iterspace::Points;
use siskin::kernel::{Coiterate, Planned};
use siskin::layout::Layout;
use siskin::loops::Outline;
use siskin::program::Program;
use siskin::scan::Nest;
use siskin::schedule::Schedule;

/// The shipped layouts that matrices may have.
fn matrices() -> Vec<String> {
    let files = std::fs::read_dir("layouts").expect("the shipped layouts");
    let files = files.map(|f| f.expect("a file").path());
    let files = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let mut names: Vec<String> = files
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .flat_map(|name| [name.clone(), format!("{name}(2,2)"), format!("{name}(2,4)")])
        .filter(|name| Layout::named_for_rank(name, 2).is_ok())
        .collect();
    names.sort();
    names
}

/// How many nodes were read back.
fn check(planned: &Planned, what: &str) -> usize {
    let program = planned.program();
    let again = Program::parse(&program.to_string()).unwrap_or_else(|e| panic!("{what}: {e:#?}"));
    assert_eq!(again.to_string(), program.to_string(), "{what}");
    for s in planned.statements() {
        // An equation is printed without its sign.
        let text = s.space().points(&s.schedule().dims()).to_string();
        let points = Points::parse(&text).unwrap_or_else(|e| panic!("{what}: {e:#?}\n{text}"));
        assert_eq!(points.to_string(), text, "{what}");
        let text = s.schedule().to_string();
        assert_eq!(Schedule::parse(&text).as_ref(), Ok(s.schedule()), "{what}\n{text}");
        let text = s.nest().to_string();
        let nest = Nest::parse(&text).unwrap_or_else(|e| panic!("{what}: {e:#?}\n{text}"));
        assert_eq!(nest.to_string(), text, "{what}");
        let loops = |nest: &Nest| -> Vec<_> {
            nest.levels.iter().map(|l| (l.var.clone(), l.bind.clone(), l.is_find())).collect()
        };
        assert_eq!(loops(&nest), loops(s.nest()), "{what}");
    }
    let loops = planned.loops();
    let text = loops.to_string();
    let outline = Outline::parse(&text).unwrap_or_else(|e| panic!("{what}: {e:#?}\n{text}"));
    assert_eq!(outline.to_string(), text, "{what}");
    assert_eq!(outline.searches, loops.outline().searches, "{what}");
    text.lines().count()
}

#[test]
fn each_stage_reads_back_what_it_prints() {
    let layouts = matrices();
    assert!(layouts.len() > 20, "{layouts:?}");
    let mut lines = 0;
    for layout in &layouts {
        for (expression, other) in [
            ("y[i] += A[i,j] * x[j]", ("x", "sparse")),
            ("y[i] = -2.5 * A[i,j] * A[i,j] * x[2*j + 1] if i != j", ("x", "sparse")),
            ("C[i,j] += A[i,k] * B[k,j]", ("B", "csr")),
            ("s += A[i,j] * B[i,j] if i < j", ("B", "coo")),
            ("C[i,j] = A[i,j] - 2 * B[j,i]", ("B", "csr")),
            ("s += max(A[i,j], B[i,j]) * (A[j,i] + 0.5)", ("B", "dcsr")),
        ] {
            let kernel = Kernel::new(expression).layout("A", layout).layout(other.0, other.1);
            for (wish, kernel) in [
                ("", kernel.clone()),
                (" on two threads", kernel.clone().threads(2)),
                (" by looplets", kernel.clone().coiterate(Coiterate::Looplets)),
                (
                    " by looplets on two threads",
                    kernel.clone().coiterate(Coiterate::Looplets).threads(2),
                ),
                (" in tiles", kernel.tile("i", 4)),
            ] {
                if let Ok(planned) = kernel.plan() {
                    lines += check(&planned, &format!("{expression} with A={layout}{wish}"));
                }
            }
        }
    }
    assert!(lines > 2_000, "{lines}");
}

/// What threads assemble in parts, by loops or by the first coordinate of lists that are merged.
#[test]
fn parts_are_read_back() {
    for (expression, layout) in
        [("C[i,j] += A[i,k] * B[k,j]", "csr"), ("C[i,j] = A[i,j] + B[i,j]", "coo")]
    {
        let kernel = Kernel::new(expression).layout("A", layout).layout("B", layout);
        let planned = kernel.layout("C", "dcsr").threads(2).plan().expect("a plan");
        let text = planned.loops().to_string();
        assert!(text.contains(" on threads in parts"), "{text}");
        check(&planned, expression);
    }
}

/// What threads take chunks of an index of, along which regions are walked at once.
#[test]
fn steps_on_threads_are_read_back() {
    for (expression, a, b, how) in [
        ("s += A[i,j] * B[i,j]", "coo", "coo", " on threads with private sums"),
        ("C[i,j] = A[i,j] * B[i,j]", "coo", "dcsr", " on threads\n"),
        ("C[i,j] = A[i,j] + B[i,j]", "coo", "dcsr", " where pA_first or pB0 on threads\n"),
        ("y[i] += A[i,j] * B[j,i]", "coo", "hash", " on threads\n"),
    ] {
        let kernel = Kernel::new(expression).layout("A", a).layout("B", b);
        let planned = kernel.coiterate(Coiterate::Looplets).threads(2).plan().expect("a plan");
        let text = planned.loops().to_string();
        assert!(text.starts_with("step i in 0..I") && text.contains(how), "{text}");
        check(&planned, expression);
    }
}

/// Entries that are taken together, by one thread and by two.
#[test]
fn groups_are_read_back() {
    for (expression, b, threads) in [
        ("s += A[i,j] * B[i,j]", "csr", 1),
        ("s += A[i,j] * B[i,j]", "dcsr", 2),
        ("C[i,j] = A[i,j] * B[i,j]", "dcsr", 2),
    ] {
        let kernel = Kernel::new(expression).layout("A", "coo").layout("B", b).threads(threads);
        let planned = kernel.plan().expect("a plan");
        let text = planned.loops().to_string();
        assert!(text.contains("group pA_first to pA_end in 0..P0_A by i = "), "{text}");
        assert_eq!(text.contains(" on threads"), threads > 1, "{text}");
        check(&planned, expression);
    }
}

/// A position searched in the tiles of another: the guard is read back, too.
#[test]
fn tiles_that_are_skipped_are_read_back() {
    let kernel = Kernel::new("y[i] += A[i,j] * x[j]").layout("A", "csr").layout("x", "sparse");
    let planned = kernel.tile("px", 64).plan().expect("a plan");
    let text = planned.loops().to_string();
    assert!(text.contains("skip unless px in "), "{text}");
    check(&planned, "tiles of px");
}
