//! Programs as compiled kernels, by the command line, in many formats: they compute what the interpreter does.

use std::process::Command;

use serde_json::{Value, json};
use siskin::files::{Loaded, write};
use siskin::program::Dense;
use siskin::program::finch::Finch;
use siskin::tensor::{DenseArray, Values};

use super::Inputs;

/// Formats of one dimension, and of two.
pub(super) const VECTORS: [&str; 5] = ["dense", "sparse", "run-length", "hash", "sparse"];
pub(super) const MATRICES: [&str; 6] = ["csr", "csc", "coo", "dcsr", "bitmap", "dense"];

/// What is given on the command line.
pub(super) struct Given {
    folder: tempfile::TempDir,
    arguments: Vec<String>,
}

impl Given {
    /// The files of a program's tensors, each in a format that `format` says for its number and its rank.
    pub fn new(
        inputs: &Inputs,
        text: &str,
        format: &dyn Fn(usize, usize) -> Option<String>,
    ) -> Given {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("made.finch");
        std::fs::write(&program, text).unwrap();
        let mut arguments = vec!["run".to_string(), "--json".to_string(), "--program".to_string()];
        arguments.push(program.display().to_string());
        let used = Finch::parse(text, "made.finch").unwrap().tensors();
        for (k, (name, t)) in inputs.tensors.iter().enumerate() {
            if !used.contains_key(name) {
                continue;
            }
            let path = folder.path().join(format!("{name}.npy"));
            let array = DenseArray::new(t.dims.clone(), t.values.clone()).unwrap();
            write(&path, &Loaded::Dense(array)).unwrap();
            let layout = format(k, t.dims.len()).map_or(String::new(), |f| format!(":{f}"));
            arguments.extend(["-t".to_string(), format!("{name}={}{layout}", path.display())]);
        }
        for (name, dims) in inputs.sizes.iter().filter(|(name, _)| used.contains_key(*name)) {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            arguments.extend(["--dims".to_string(), format!("{name}={}", dims.join(","))]);
        }
        for (name, value) in &inputs.scalars {
            arguments.extend(["-p".to_string(), format!("{name}={value}")]);
        }
        Given { folder, arguments }
    }

    /// Also the format of a result.
    pub fn result(&mut self, name: &str, format: &str) {
        self.arguments.extend(["-f".to_string(), format!("{name}={format}")]);
    }

    /// An option with its argument.
    pub fn option(&mut self, option: &str, argument: &str) {
        self.arguments.extend([option.to_string(), argument.to_string()]);
    }

    /// What `run --json` says.
    pub fn said(&self) -> Result<Value, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_siskin"));
        command.env("SISKIN_CALIBRATION", "none").current_dir(self.folder.path());
        let out = command.args(&self.arguments).output().unwrap();
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).into_owned());
        }
        Ok(serde_json::from_slice(&out.stdout).unwrap())
    }

    /// The results, by name.
    pub fn run(&self) -> Result<Vec<(String, Value)>, String> {
        let said = self.said()?;
        let outputs = said["outputs"].as_array().unwrap();
        let named = |o: &Value| (o["name"].as_str().unwrap().to_string(), o["values"].clone());
        Ok(outputs.iter().map(named).collect())
    }

    /// Whether a result stores elements that are what its format, one of levels, says of those not stored.
    pub fn stores_fill(&self) -> bool {
        let said = self.said().unwrap();
        said["outputs"].as_array().unwrap().iter().any(|output| {
            let of = format!("{}=", output["name"].as_str().unwrap());
            let format = self.arguments.iter().rev().find_map(|a| a.strip_prefix(&of)).unwrap();
            let (_, leaf) = format.rsplit_once('(').unwrap();
            let fill = match leaf.trim_end_matches(')') {
                "true" => 1.0,
                "false" => 0.0,
                number => number.parse().unwrap(),
            };
            let mut elements = Vec::new();
            flatten(&output["values"], &mut elements);
            let others = elements.iter().filter(|v| **v != fill).count();
            output["stored"].as_u64().unwrap() as usize > others
        })
    }

    /// That the results are those of the interpreter.
    pub fn agrees(&self, inputs: &Inputs, text: &str) {
        let expected = inputs.try_run(text).unwrap();
        let found = self.run().unwrap_or_else(|e| panic!("{text}\n{:?}\n{e}", self.arguments));
        assert_eq!(found.len(), expected.len());
        for ((name, parts), (own, values)) in expected.iter().zip(&found) {
            assert_eq!(**name, **own);
            let mut flat = Vec::new();
            flatten(values, &mut flat);
            let n = parts[0].values.len();
            assert_eq!(flat.len(), n * parts.len(), "{name} of {text}: {values}");
            for (k, part) in parts.iter().enumerate() {
                for at in 0..n {
                    let (own, wanted) = (flat[at * parts.len() + k], element(part, at));
                    let same = own == wanted || (own - wanted).abs() < 1e-9;
                    let arguments = &self.arguments;
                    assert!(same, "{name}[{at}] is {own}, not {wanted}: {arguments:?}\n{text}");
                }
            }
        }
    }
}

fn flatten(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Array(all) => all.iter().for_each(|v| flatten(v, out)),
        Value::Bool(b) => out.push(f64::from(u8::from(*b))),
        Value::String(s) if s == "Inf" => out.push(f64::INFINITY),
        Value::String(s) if s == "-Inf" => out.push(f64::NEG_INFINITY),
        other => out.push(other.as_f64().unwrap_or(f64::NAN)),
    }
}

fn element(part: &Dense, at: usize) -> f64 {
    match &part.values {
        Values::F64(v) => v[at],
        Values::F32(v) => f64::from(v[at]),
        Values::I64(v) => v[at] as f64,
        Values::I32(v) => f64::from(v[at]),
        Values::U8(v) => f64::from(v[at]),
        Values::Bool(v) => f64::from(u8::from(v[at])),
    }
}

#[test]
fn examples_in_five_formats_are_what_the_interpreter_says() {
    let mut ran = 0;
    for (name, text, inputs) in super::kernels::examples() {
        let tree = inputs.lower(&text).unwrap();
        for round in 0..5 {
            let format = |k: usize, rank: usize| match rank {
                1 => Some(VECTORS[(round + k) % VECTORS.len()].to_string()),
                2 => Some(MATRICES[(round + k) % MATRICES.len()].to_string()),
                _ => None,
            };
            let mut given = Given::new(&inputs, &text, &format);
            for r in &tree.returned {
                match (round % 2, r.dims.len()) {
                    (1, 1) => given.result(&r.name, "sparse"),
                    (1, 2) => given.result(&r.name, ["csr", "csc", "coo"][round % 3]),
                    _ => {}
                }
            }
            println!("{name} {:?}", given.arguments);
            given.agrees(&inputs, &text);
            ran += 1;
        }
    }
    assert!(ran >= 17 * 5, "{ran}");
}

#[test]
fn a_computed_subscript_outside_stops_the_program() {
    let text = "y .= 0\nfor i=_\n y[p[i]] += 1\nend\nreturn y";
    let inputs = |p: &[i64]| Inputs::default().integers("p", &[3], p).size("y", &[4]);
    let given = |p: &[i64]| Given::new(&inputs(p), text, &|_, _| None);
    given(&[4, 1, 4]).agrees(&inputs(&[4, 1, 4]), text);
    for outside in [0, 5, -1] {
        let e = given(&[4, outside, 1]).run().expect_err("outside");
        assert!(e.contains(&format!("subscript {outside} is outside of 1:4")), "{e}");
    }
}

/// What decides an element is combined in the loop in which the element is then read.
#[test]
fn what_loops_that_are_shared_combine_is_read_when_it_is_whole() {
    let text = "r .= 2.0\nfor j = 1:2, k = 1:2, i = _\n if k == j\n  if i >= k - 1\n   r[i, k] = x[i]\n  else\n   r[i, k] = abs(A[p[i], i])\n  end\n end\nend";
    let inputs = Inputs::default()
        .floats("x", &[3], &[-2.0, -2.0, 2.0])
        .floats("A", &[3, 3], &[0.0; 9])
        .integers("p", &[3], &[1, 1, 1]);
    for scheme in ["auto", "find", "looplets"] {
        let format = |_: usize, rank: usize| match rank {
            1 => Some("dense".to_string()),
            _ => Some("Dense(SparseDict(Element(0.0)))".to_string()),
        };
        let mut given = Given::new(&inputs, text, &format);
        given.option("--coiterate", scheme);
        given.agrees(&inputs, text);
    }
}

#[test]
fn truth_values_that_are_added_are_numbers() {
    let text = "y .= 0\nd .= 0\nn .= 0.0\nl .= 0\nfor i = _\n y[i] = a[i] + b[i]\n d[i] = a[i] - b[i]\n n[i] = -a[i] + 0.5\n let v = a[i] + a[i] + b[i]\n  l[] += 10 * v\n end\nend\nc .= 0\nfor i = _\n c[] += a[i]\nend\no .= false\nfor i = _\n o[] += a[i] * b[i]\nend";
    let inputs = Inputs::default().bools("a", &[4], &[true, false, true, true]).bools(
        "b",
        &[4],
        &[true, false, false, true],
    );
    let expected = [
        ("y", json!([2, 0, 1, 2])),
        ("d", json!([0, 0, 1, 0])),
        ("n", json!([-0.5, 0.5, -0.5, -0.5])),
        ("l", json!(80)),
        ("c", json!(3)),
        ("o", json!(true)),
    ];
    for format in ["dense", "SparseList(Element(false))", "SparseByteMap(Pattern())", "coo"] {
        let given = Given::new(&inputs, text, &|_, _| Some(format.to_string()));
        given.agrees(&inputs, text);
        let named = expected.clone().map(|(name, value)| (name.to_string(), value));
        assert_eq!(given.run().unwrap(), named, "{format}");
    }
}
