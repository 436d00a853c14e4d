//! Every shipped workspace keeps its contract: what is combined comes out once for each key, in the order
//! of the updates, by rising keys where that is asked for; and then it is empty.

use std::fmt::Write as _;
use std::process::Command;

use siskin::code::template::workspace_items;
use siskin::synth::{Gathered, Machine, workspaces};

/// Random updates of keys below a shape, against an ordered map; with few and with many keys.
const MAIN: &str = r#"
use std::collections::BTreeMap;

fn try_on<const Q: usize>(shape: [usize; Q], rounds: usize) {
    try_with(shape, rounds, &[0, 1, 3, 50, 2000]);
}

fn try_with<const Q: usize>(shape: [usize; Q], rounds: usize, sizes: &[i64]) {
    let mut state = 12345u64 + shape[0] as u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut workspace = Workspace::new(shape, 0i64);
    for round in 0..rounds {
        let mut expected: BTreeMap<[usize; Q], i64> = BTreeMap::new();
        let updates = sizes[round % sizes.len()];
        for n in 0..updates {
            let key = shape.map(|extent| below(extent));
            // No order of updates but their own gives this.
            let combined = |x: i64, y: i64| x.wrapping_mul(3).wrapping_add(y);
            let element = expected.entry(key).or_insert(0);
            *element = combined(*element, n);
            if n % 2 == 0 {
                workspace.combine_checked(key, n, combined);
            } else {
                // SAFETY: the key is below the shape.
                unsafe { workspace.combine(key, n, combined) };
            }
        }
        let combined = |x: i64, y: i64| x.wrapping_mul(3).wrapping_add(y);
        let mut got: Vec<([usize; Q], i64)> = if round % 3 == 2 {
            workspace.drain_in_any_order(combined).collect()
        } else {
            workspace.drain(combined).collect()
        };
        if round % 3 == 2 {
            got.sort();
        }
        assert_eq!(got, expected.into_iter().collect::<Vec<_>>(), "{shape:?} round {round}");
    }
    assert_eq!(workspace.drain(|x, _| x).count(), 0);
    let outside = std::panic::AssertUnwindSafe(|| workspace.combine_checked(shape, 1, |x, _| x));
    assert!(std::panic::catch_unwind(outside).is_err(), "a key outside is refused");
}

fn main() {
    std::panic::set_hook(Box::new(|info| {
        if !info.to_string().contains("assertion failed") { eprintln!("{info}"); }
    }));
    try_on([1], 10);
    try_on([64], 20);
    try_on([65], 20);
    try_on([5000], 30);
    try_on([300_000], 30);
    try_on([2_000_000], 30);
    try_on([7, 9], 20);
    try_on([3, 70, 2], 20);
    try_on([400, 1, 900], 20);
    // Every length of a short list, among few places and many.
    let short: Vec<i64> = (0..=80).collect();
    for extent in [90, 1_000, 300_000] {
        try_with([extent], 3 * short.len(), &short);
    }
    try_with([30, 5_000], 3 * short.len(), &short);
    // LARGE
}
"#;

/// Keys that do not fit one number, for workspaces that have no place for each.
const LARGE: &str = "try_on([1 << 40, 1 << 40], 10);";

#[test]
fn every_workspace_gives_what_was_combined() {
    let folder = tempfile::tempdir().unwrap();
    let all = workspaces().unwrap();
    assert!(all.len() > 1, "there is a choice");
    for workspace in all {
        let mut text = workspace_items(workspace).unwrap();
        let large = Gathered { extent: 1e24, updates: 1e4, drains: 1.0 };
        let fits = workspace.memory(&large, &Machine::default()) < 1e9;
        let main = if fits { MAIN.replace("// LARGE", LARGE) } else { MAIN.to_string() };
        write!(text, "{main}").unwrap();
        let source = folder.path().join(format!("{}.rs", workspace.name));
        let program = folder.path().join(&workspace.name);
        std::fs::write(&source, text).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc)
            .args(["--edition=2024", "-Dwarnings", "-Cdebug-assertions=on", "-o"])
            .args([&program, &source])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{}: {said}", workspace.name);
        let ran = Command::new(&program).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{}: {said}", workspace.name);
    }
}
