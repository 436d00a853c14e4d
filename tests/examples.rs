//! The commands of the example's README, of the project's README and of the guides in `docs` are run, so
//! that none rots.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of the shell blocks of a document that call the program.
fn commands(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).expect("a document");
    let mut out = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside && line.starts_with("siskin ") => out.push(line.to_string()),
            _ => {}
        }
    }
    out
}

/// Splits a command line as a shell does, as far as our documents need: spaces and single quotes.
fn words(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => out.push(String::new()),
            c => out.last_mut().expect("never empty").push(c),
        }
    }
    out.retain(|w| !w.is_empty());
    out
}

fn run(line: &str, folder: &Path) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_siskin"))
        .args(&words(line)[1..])
        .current_dir(folder)
        .env("SISKIN_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"))
        .env("SISKIN_CALIBRATION", "none")
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}\n{stderr}");
    output
}

/// A copy of the example's folder, so that commands may write into it.
fn copy_of_example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for entry in std::fs::read_dir(root().join("examples/diagonal_blocked")).expect("the example") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a name");
        std::fs::copy(&path, folder.path().join(name)).expect("a copy");
    }
    folder
}

#[test]
fn every_command_of_the_diagonal_blocked_example_works() {
    let folder = copy_of_example();
    let lines = commands(&folder.path().join("README.md"));
    assert!(lines.len() >= 8, "{lines:?}");
    for line in &lines {
        run(line, folder.path());
    }
    for written in ["copy.mtx", "y.mtx", "kernel.rs"] {
        assert!(folder.path().join(written).exists(), "{written}");
    }
}

#[test]
fn a_matrix_survives_the_way_through_the_unshipped_format() {
    let folder = copy_of_example();
    run("siskin convert 'chain.mtx:diagonal_blocked.toml(2)' copy.mtx", folder.path());
    let entries = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("a matrix");
        let mut lines: Vec<String> =
            text.lines().filter(|l| !l.starts_with('%')).map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(entries("copy.mtx"), entries("chain.mtx"));
}

#[test]
fn the_unshipped_format_gives_the_same_product_as_a_shipped_one() {
    let folder = copy_of_example();
    let product = |layout: &str| {
        let line = format!(
            "siskin run 'y[i] += A[i,j] * x[j]' -t 'A=chain.mtx:{layout}' -t x=ones.mtx --type i64 \
             -o y.mtx"
        );
        run(&line, folder.path());
        std::fs::read_to_string(folder.path().join("y.mtx")).expect("the product")
    };
    let shipped = product("csr");
    assert!(shipped.lines().count() > 20, "{shipped}");
    assert_eq!(product("diagonal_blocked.toml(2)"), shipped);
}

#[test]
fn every_command_of_the_readme_works() {
    let lines = commands(&root().join("README.md"));
    assert!(lines.len() >= 2, "{lines:?}");
    for line in &lines {
        run(line, &root());
    }
}

/// Writes the files that a guide shows: blocks that begin with `# file: NAME`.
fn write_files(document: &Path, folder: &Path) {
    let text = std::fs::read_to_string(document).expect("a document");
    for block in text.split("```toml\n").skip(1) {
        let (body, _) = block.split_once("\n```").expect("the end of the block");
        let first = body.lines().next().unwrap_or_default();
        let name = first.strip_prefix("# file: ").expect("a block says which file it is");
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
        std::fs::write(path, body).expect("a file");
    }
}

#[test]
fn every_command_of_the_guides_works() {
    for (guide, least) in [
        ("docs/costs.md", 6),
        ("docs/formats.md", 15),
        ("docs/index-notation.md", 10),
        ("docs/measuring.md", 4),
        ("docs/operators.md", 9),
    ] {
        let folder = copy_of_example();
        let document = root().join(guide);
        write_files(&document, folder.path());
        let template = folder.path().join("templates/nearby");
        std::fs::create_dir_all(&template).expect("a folder");
        for file in ["template.toml", "kernel.rs.j2"] {
            let own = root().join("examples/templates/nearby").join(file);
            std::fs::copy(own, template.join(file)).expect("a copy");
        }
        let lines = commands(&document);
        assert!(lines.len() >= least, "{guide}: {lines:?}");
        for line in &lines {
            run(line, folder.path());
        }
    }
}

/// What the schema knows is what its own message about a misspelt key lists.
#[test]
fn the_guide_to_formats_has_every_key_and_every_kind_of_property() {
    let guide = std::fs::read_to_string(root().join("docs/formats.md")).expect("the guide");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kind = "dims=['i']\nrelation='{ [p] -> [i] : i = p and 0 <= p < I }'\nvalue='val(p)'\n\
                [[property]]\nkind='nonsense'";
    let mut keys = 0;
    for wrong in ["nonsense=1", "[index.a]\nnonsense=1", "[[property]]\nnonsense=1", kind] {
        let path = folder.path().join("wrong.toml");
        std::fs::write(&path, format!("name='x'\n{wrong}\n")).expect("a file");
        let output = Command::new(env!("CARGO_BIN_EXE_siskin")).arg("check").arg(&path).output();
        let message = String::from_utf8(output.expect("the program starts").stderr).expect("text");
        let list = match message.split_once("expected one of ") {
            Some((_, list)) => list.lines().next().unwrap_or_default(),
            None => message.split_once("known: ").expect("the list of kinds").1.trim(),
        };
        for key in list.split(", ").map(|key| key.trim_matches('`')) {
            let shown = [format!("`{key}`"), format!("`[{key}"), format!("`[[{key}")];
            assert!(shown.iter().any(|s| guide.contains(s)), "the guide lacks `{key}`");
            keys += 1;
        }
    }
    assert!(keys > 35, "{keys}");
}

/// As for formats, what the schema knows is what its message about a misspelt key lists.
#[test]
fn the_guide_to_operators_has_every_key() {
    let guide = std::fs::read_to_string(root().join("docs/operators.md")).expect("the guide");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut keys = 0;
    for wrong in [
        "nonsense=1",
        "[[identity]]\nnonsense=1",
        "[[fill]]\nnonsense=1",
        "[iteration]\nnonsense=1",
    ] {
        std::fs::write(folder.path().join("x.toml"), format!("name='x'\n{wrong}\n"))
            .expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_siskin"));
        let output = command.args(["operators", "--operators"]).arg(folder.path()).output();
        let message = String::from_utf8(output.expect("the program starts").stderr).expect("text");
        let (_, list) = message.split_once("expected ").expect("the list of keys");
        let list = list.lines().next().unwrap_or_default();
        for key in list.split('`').skip(1).step_by(2) {
            let shown = [format!("`{key}`"), format!("`{key} ="), format!("[{key}]")];
            assert!(shown.iter().any(|s| guide.contains(s)), "the guide lacks `{key}`");
            keys += 1;
        }
    }
    assert!(keys > 20, "{keys}");
}

#[test]
fn the_readme_lists_every_shipped_layout() {
    let output = run("siskin layouts", &root());
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<(&str, &str)> =
        text.lines().filter_map(|l| l.strip_prefix("  ")?.split_once("  ")).collect();
    assert!(rows.len() >= 14, "{text}");
    for (name, summary) in rows {
        let row = format!("| `{name}` | {} |", summary.trim());
        assert!(readme.contains(&row), "README.md lacks the row\n{row}");
    }
}
