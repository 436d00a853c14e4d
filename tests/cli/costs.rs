//! What choices stand on: `explain --stage cost`, and the constants that `calibrate` measures.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Outcome, SPMSPV, Sandbox, outcome};

const FORMATS: [&str; 4] = ["-f", "A=csr", "-f", "x=sparse"];
const DATA: [&str; 8] =
    ["-t", "A=random:0.02:csr", "-t", "x=random:0.1:sparse", "--dims", "i=500", "--dims", "j=1000"];

fn cost<'a>(statement: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", statement, "--stage", "cost"], more].concat()
}

/// The plans of the only find, and which is taken.
fn plans(json: &Value) -> (Vec<Value>, String) {
    let find = &json["cost"]["statements"][0]["finds"][0];
    let plans = find["plans"].as_array().unwrap().clone();
    let taken = plans.iter().find(|plan| plan["taken"] == true).unwrap();
    let taken = taken["template"].as_str().unwrap().to_string();
    (plans, taken)
}

#[test]
fn the_stage_has_sizes_formulas_with_values_and_the_reason() {
    let sandbox = Sandbox::new();
    let assumed = sandbox.done(&cost(SPMSPV, &FORMATS));
    for part in [
        "  J           10000  assumed  the extent of j\n",
        "find px in 0..NNZ_x where j = crd_x(px)\n  queries = 100000, visits of the loops around it: pA0, pA1\n",
        "      queries * (0.05 + 2.4 * (1 - hits) * min(1, max(0, length - 1)) + 0.3 * stream * length) + branch_miss * missed(queries * min(0.8, 2 * min(hits, 1 - hits)) + min(queries, uneven), others, remembered)\n    = 100000 * (0.05 + 2.4 * (1 - 1) * min(1, max(0, 10000 - 1)) + 0.3 * 0.5 * 10000) + 9 * missed(100000 * min(0.8, 2 * min(1, 1 - 1)) + min(100000, 0), 9000, 14000)\n    = 150 ms\n",
        "  * is taken: the cheapest; ",
        "  stream              0.5 ns  assumed   an element that is read in order, and compared\n",
    ] {
        assert!(assumed.contains(part), "no `{part}` in {assumed}");
    }
    let known = sandbox.done(&cost(SPMSPV, &DATA));
    for part in [
        "  NNZ_x         100  known    a size of x\n",
        "  pos_A          20  known    by which it rises on average: the length of a segment\n",
        "  queries = 10000, ",
        "      keeps 9 * extent bytes: 9 kB\n",
    ] {
        assert!(known.contains(part), "no `{part}` in {known}");
    }
    assert_eq!(sandbox.done(&cost(SPMSPV, &DATA)), known, "printed twice, the same");
}

#[test]
fn the_cheapest_that_fits_is_taken_unless_another_is_asked_for() {
    let sandbox = Sandbox::new();
    let json =
        |more: &[&str]| sandbox.json(&cost(SPMSPV, &[&DATA[..], more, &["--json"]].concat()));
    let (all, taken) = plans(&json(&[]));
    let time = |plan: &Value| plan["nanoseconds"].as_f64().unwrap();
    let least = all.iter().min_by(|a, b| time(a).total_cmp(&time(b))).unwrap();
    assert!(all.len() > 4 && least["template"] == taken.as_str() && time(least) > 0.0);
    let bytes = least["bytes"].as_f64().unwrap();
    assert!(bytes > 100.0, "{least}");
    let (_, other) = plans(&json(&["--workspace-limit", "100"]));
    assert_ne!(taken, other);
    let text = |more: &[&str]| sandbox.done(&cost(SPMSPV, &[&DATA[..], more].concat()));
    let limited = text(&["--workspace-limit", "100"]);
    let kept = format!("; `{taken}` would be cheaper, but keeps 9 kB, more than 100 bytes that");
    assert!(limited.contains(&kept), "{limited}");
    // Everything that builds a table says what that takes.
    let taking: Vec<&str> = all
        .iter()
        .filter(|plan| plan["bytes"].as_f64() > Some(100.0))
        .filter_map(|plan| plan["template"].as_str())
        .collect();
    assert!(taking.len() > 3 && taking.contains(&"hash"), "{taking:?}");
    for template in taking {
        let ask = cost(SPMSPV, &[&DATA[..], &["--workspace-limit", "100"]].concat());
        let asked: Vec<&str> = ask.iter().copied().chain(["--find", template]).collect();
        let stderr = sandbox.refused("S0401", &asked);
        assert!(stderr.contains("`--workspace-limit` allows 100"), "{stderr}");
    }
    let forced = text(&["--find", "seq"]);
    let instead = format!("  * is taken: it is asked for; by cost it would be `{taken}` (");
    assert!(forced.contains(&instead), "{forced}");
}

#[test]
fn orders_and_workspaces_are_priced_too() {
    let sandbox = Sandbox::new();
    let product = "C[i,j] = A[k,i] * B[k,j]";
    let formats = ["-f", "A=csr", "-f", "B=csr", "-f", "C=csr"];
    let text = sandbox.done(&cost(product, &formats));
    for part in [
        "orders of the loops, with what is searched and gathered in them\n  pA0, k, pB0, pA1",
        "\n* i, pA1, pA0",
        "workspaces of C\n  extent = 10000, keys that there can be\n",
        "\n* dense\n",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let json = sandbox.json(&cost(product, &[&formats[..], &["--json"]].concat()));
    let orders = json["cost"]["orders"].as_array().unwrap();
    assert_eq!(orders.iter().filter(|order| order["taken"] == true).count(), 1);
    let spaces = json["cost"]["workspaces"].as_array().unwrap();
    assert_eq!(spaces.iter().filter(|space| space["taken"] == true).count(), 1);
    let asked = sandbox.done(&cost(product, &[&formats[..], &["--workspace", "sort"]].concat()));
    assert!(asked.contains("\n* sort\n") && asked.contains("  * is taken: it is asked for\n"));
}

/// The model of this processor, as constants are kept by.
fn processor(sandbox: &Sandbox) -> String {
    let file = sandbox.path("measured.toml");
    let out = calibrate(sandbox, &file, &["--quick", "--json"]);
    assert_eq!(out.status, 0, "{}", out.stderr);
    let said: Value = serde_json::from_str(&out.stdout).unwrap();
    said["processor"].as_str().unwrap().to_string()
}

fn calibrate(sandbox: &Sandbox, file: &Path, more: &[&str]) -> Outcome {
    let mut command = sandbox.command(&[&["calibrate"], more].concat());
    outcome(command.env("SISKIN_CALIBRATION", file))
}

#[test]
fn constants_that_are_measured_are_kept_and_decide() {
    let sandbox = Sandbox::new();
    let processor = processor(&sandbox);
    let measured = sandbox.path("measured.toml");
    let text = sandbox.read("measured.toml");
    assert!(text.contains(&format!("\n[{processor:?}]\n")), "{text}");
    assert!(text.lines().filter(|line| line.contains(" = ")).count() > 8, "{text}");
    let explain = |file: &Path, more: &[&str]| {
        let arguments = cost(SPMSPV, &[&DATA[..], more].concat());
        let out = outcome(sandbox.command(&arguments).env("SISKIN_CALIBRATION", file));
        assert_eq!((out.status, out.stderr.as_str()), (0, ""));
        out.stdout
    };
    assert!(explain(&measured, &[]).contains("  measured  "));
    let assumed = sandbox.done(&cost(SPMSPV, &DATA));
    assert!(!assumed.contains("  measured  "));
    assert_eq!(explain(&measured, &["--no-calibration"]), assumed);
    // Where gathering is slow, something else is chosen: nothing else changes.
    let taken = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("* ")).unwrap();
        line.split_whitespace().nth(1).unwrap().to_string()
    };
    let slow = format!("[{processor:?}]\ngather = 30.0\n\n[\"Another processor\"]\npage = 900.0\n");
    let slow = sandbox.file("slow.toml", &slow);
    assert_ne!(taken(&explain(&slow, &[])), taken(&assumed));
    // What is known of others stays.
    let out = calibrate(&sandbox, &slow, &["--quick"]);
    assert_eq!(out.status, 0, "{}", out.stderr);
    for part in ["constant", "meaning", "default", "measured", "branch_miss", "kept in "] {
        assert!(out.stdout.contains(part), "no `{part}` in {}", out.stdout);
    }
    let text = sandbox.read("slow.toml");
    assert!(text.contains("[\"Another processor\"]\npage = 900.0\n"), "{text}");
    assert!(!text.contains("gather = 30.0"), "{text}");
}

#[test]
fn files_of_constants_that_are_wrong_are_refused() {
    let sandbox = Sandbox::new();
    let refused = |file: PathBuf, code: &str, part: &str| {
        let mut commands = vec![sandbox.command(&cost(SPMSPV, &FORMATS))];
        // What is not there would be made.
        if file.exists() {
            commands.push(sandbox.command(&["calibrate", "--quick"]));
        }
        for mut command in commands {
            let out = outcome(command.env("SISKIN_CALIBRATION", &file));
            assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{}", out.stderr);
            assert!(out.stderr.starts_with(&format!("error[{code}]: ")), "{}", out.stderr);
            assert!(out.stderr.contains(part) && out.stderr.contains("help: "), "{}", out.stderr);
        }
    };
    refused(sandbox.file("a.toml", "[\"P\"]\nno_such = 1.0\n"), "S0002", "no constant `no_such`");
    refused(sandbox.file("b.toml", "[\"P\"]\npage = -1.0\n"), "S0002", "`page` cannot be -1 ns");
    refused(sandbox.file("c.toml", "[\"P\"]\npage = nan\n"), "S0002", "`page` cannot be NaN ns");
    refused(sandbox.file("d.toml", "[\"P\"]\npage = 'x'\n"), "S0002", "constants of machines");
    refused(sandbox.file("e.toml", "nonsense"), "S0002", "constants of machines");
    refused(sandbox.path("not-there.toml"), "S0001", "there is no file");
    refused(sandbox.path(""), "S0001", "cannot read");
    let out = calibrate(&sandbox, Path::new("none"), &[]);
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("no place to keep"), "{}", out.stderr);
    let out = calibrate(&sandbox, Path::new("x.mtx/inside/c.toml"), &[]);
    assert_eq!(out.status, 2, "{}", out.stderr);
    assert!(out.stderr.starts_with("error[S0001]: "), "{}", out.stderr);
}

#[test]
fn a_walk_that_each_match_begins_anew_is_priced_so_and_rows_are_gathered_one_by_one() {
    let sandbox = Sandbox::new();
    let product = ["explain", "C[i,j] += A[i,k] * B[k,j]", "-t", "A=random:0.01:csr"];
    let data = ["-t", "B=random:0.01:csc", "--dims", "A=1000,1000", "--dims", "B=1000,1000"];
    let text = |more: &[&str]| sandbox.done(&[&product[..], &data, more].concat());
    let by_columns = ["--fuse", "pA0,pA1", "--fuse", "pB0,pB1", "--order", "k,pB1,pB0,pA1,pA0"];
    let all = text(&[&["--stage", "cost", "-f", "C=dense"], &by_columns[..]].concat());
    let rows = all.split("find pA0 in ").nth(1).expect("rows of A are searched for");
    let walk = rows.split("  seq (").nth(1).expect("a walk is proved");
    assert!(walk.contains("state {pB1}"), "{walk}");
    assert!(walk.contains("      states = 10000, values of pB1\n"), "{walk}");
    // Nothing is said of the result: as `run`, a list of entries is assembled.
    let all = text(&["--stage", "cost"]);
    assert!(all.contains("* pA0, i, pA1, k, pB1, pB0, j: "), "{all}");
    assert!(all.contains("workspaces of C\n"), "{all}");
}
