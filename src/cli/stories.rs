//! What each diagnostic means: `siskin explain S0103`.

use serde_json::{Value, json};
use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::layout::nearest;

/// The code that a text names, if it looks like one.
///
/// # Errors
/// [`Code::Usage`] if there is no such code.
pub fn code(text: &str) -> Result<Option<Code>> {
    let text = text.trim().to_ascii_uppercase();
    let digits = text.strip_prefix('S').filter(|digits| !digits.is_empty());
    if !digits.is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit())) {
        return Ok(None);
    }
    let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    match Code::ALL.into_iter().find(|code| code.as_str() == text) {
        Some(code) => Ok(Some(code)),
        None => {
            let near = nearest(&text, known.iter().copied());
            let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
            Err(Diagnostic::new(Code::Usage, format!("there is no diagnostic `{text}`"))
                .help(format!("{near}the codes are {}", known.join(", "))))
        }
    }
}

/// What it means, an example, and what to do.
pub fn story(code: Code) -> String {
    let Story { title, means, example, remedy } = tell(code);
    let indented: String = example.lines().map(|line| format!("  {line}\n")).collect();
    format!("{}: {title}\n\n{means}\n\nFor example\n{indented}\n{remedy}\n", code.as_str())
}

/// The same in parts.
pub fn json(code: Code) -> Value {
    let Story { title, means, example, remedy } = tell(code);
    json!({
        "code": code.as_str(),
        "title": title,
        "means": means,
        "example": example,
        "remedy": remedy,
    })
}

struct Story {
    title: &'static str,
    means: &'static str,
    example: &'static str,
    remedy: &'static str,
}

fn tell(code: Code) -> Story {
    let of = |title, means, example, remedy| Story { title, means, example, remedy };
    match code {
        Code::Io => of(
            "a file cannot be opened, read or written",
            "The system refused: the file is not there, is a folder, may not be read, or the disk is full. A file\nthat was to be replaced is as it was.",
            "siskin run 'y[i] += A[i,j]' -t A=no-such-file.mtx",
            "Check the path, its permissions, and the space that is left.",
        ),
        Code::Usage => of(
            "an option is wrong, or options contradict each other",
            "The command line itself is at fault, not the data.",
            "siskin run 'y[i] += A[i,j]' -t B=m.mtx        # the expression has no tensor B",
            "`siskin COMMAND --help` lists the options, with examples.",
        ),
        Code::Memory => of(
            "what was asked does not fit into the memory that is free",
            "The sizes of arrays are known before they are allocated. What is free is the least of the machine's\navailable memory, the limit of the control group, and the limit of the address space (`ulimit -v`).",
            "siskin convert arrow.mtx out.mtx:ell          # one full row makes all rows wide",
            "Choose a layout that stores fewer positions, an output that shares the sparsity of an input\n(`-o C=shares(A)`), a file of coordinates instead of an array, or smaller extents.",
        ),
        Code::Syntax => of(
            "a relation, property or value does not parse",
            "Formulas are comparisons of sums, joined by `and`, `or`, `not`, `=>`. Sums are made of names, whole\nmultiples, calls of index arrays, and `floor(a/n)` or `ceil(a/n)`.",
            "relation = \"{ [p] -> [i] : 0 <= p << N and i = crd(p) }\"",
            "Correct the text at the place that is shown. docs/formats.md has every key with an example.",
        ),
        Code::NotAffine => of(
            "an expression is neither affine nor a call of an index array",
            "Relations are sets of integers that isl can handle: products of two unknowns are not among them. A dense\nlevel adds a position instead of multiplying.",
            "relation = \"{ [p] -> [i, j] : i*J + j = p }\"",
            "Use a position for each dimension, `[p0, p1]`, and let `val(p0, p1)` say where the value is.",
        ),
        Code::LayoutSchema => of(
            "a layout file breaks the schema",
            "A key is missing, unknown, of the wrong type, or contradicts another.",
            "relatoin = \"{ [p] -> [i] : i = crd(p) }\"       # did you mean `relation`?",
            "Correct the key at the place that is shown. `siskin layouts NAME --toml` prints a file that is right,\ndocs/formats.md explains each key.",
        ),
        Code::UnknownLayout => of(
            "a layout is named that is neither shipped nor a file",
            "A layout is a shipped name, one with parameters, the path of a TOML file, or a list of levels.",
            "siskin convert m.mtx out.mtx:crs              # did you mean `csr`?",
            "`siskin layouts` lists what is shipped; a path contains `/` or ends in `.toml`.",
        ),
        Code::Contradiction => of(
            "the properties of a declaration contradict each other",
            "No tensor with entries has all of them. Every proof from them would be worthless.",
            "`crd` strictly increasing, and `crd(0) = crd(1)`",
            "Remove one of the properties that are named.",
        ),
        Code::NotPackable => of(
            "entries cannot be packed into a layout",
            "Either the declaration does not say how (an array that nothing determines), or an entry has no place in\nthe layout: it is outside the triangle, the block, the band.",
            "siskin convert m.mtx out.mtx:lower-triangular # an entry above the diagonal",
            "Choose a layout that stores the entry that is named, or let the declaration say what determines the\narray. `siskin layouts NAME` shows how a layout is packed.",
        ),
        Code::OutOfDomain => of(
            "a declaration reads an array out of bounds",
            "For some sizes the relation calls an index array outside its domain, or the value array behind its end.",
            "domain = \"0 <= p < NNZ\", but the relation has crd(p + 1)",
            "Narrow the relation or widen the domain; small arrays that show the access are printed.",
        ),
        Code::Program => of(
            "a statement does not parse, or says what is not supported yet",
            "Supported are an output, `=` or `+=`, and a product of accesses, with a restriction `if …`.",
            "siskin emit 'y[i] += A[i,j * x[j]'            # a bracket is missing",
            "Correct the place that is shown; docs/index-notation.md has the language.",
        ),
        Code::Shape => of(
            "tensors and indices do not fit together",
            "A rank is not the number of subscripts, two extents of one index differ, a tensor is missing, or a size\nis too large for its type.",
            "siskin run 'y[i] += A[i,j] * x[j]' -t A=m.mtx # x is missing",
            "Give every tensor, of matching extents; `--dims` states those that no file gives.",
        ),
        Code::Operator => of(
            "an operator is declared wrongly, or does not exist",
            "A key of its file is wrong, its expression is not typed, it claims what does not hold, or it is used with\ntypes that it has no expression for.",
            "siskin operators --operators DIR             # DIR has a file that claims `a - b = b - a`",
            "Correct the place that is shown; docs/operators.md has every key with an example, `siskin operators NAME`\nthe types.",
        ),
        Code::LoopOrder => of(
            "a loop order that no scan can follow",
            "An index array must be read before its value is used, so some loops must be outside of others.",
            "siskin explain 'y[i] += A[i,j]' -f A=csr --order pA1,pA0",
            "Follow the order that the cycle in the diagnostic shows, or leave `--order` out.",
        ),
        Code::Space => of(
            "an iteration space of a form that is not supported",
            "The relation or the statement is understood, but kernels for it are not made yet.",
            "siskin emit 'y[i] = A[i,j]' -f y=csr           # an output whose sparsity is not known",
            "Do what the diagnostic says; a dense output, or `-o y=shares(A)`, usually helps.",
        ),
        Code::Dependence => of(
            "a transformation or a parallel loop that the dependence test refuses",
            "Two iterations may write one element, or one reads what another writes, and the order would change.",
            "siskin emit 'y[i] += A[i,j]' -f A=coo --threads 2",
            "Parallelise or tile another loop (`--order`), or choose a layout whose outer positions decide the output.",
        ),
        Code::Find => of(
            "a find template is forced that is not proved, or does not exist",
            "A search is made only by algorithms that are proved correct from the declared properties.",
            "siskin emit 'y[i] += x[i]' -f x=coo-unsorted --find bsearch",
            "Choose one of the templates that are proved (`siskin explain … --stage proofs`), or declare the\nproperty that the counterexample breaks.",
        ),
        Code::Data => of(
            "a data file is malformed",
            "The file breaks its own format, or a value does not fit the type that is asked for.",
            "%%MatrixMarket matrix coordinate real general\n3 4 1\n9 1 2.0                                        # row 9 of 3",
            "Correct the line that is shown, or write the file again.",
        ),
        Code::Property => of(
            "a tensor breaks a property that its layout declares",
            "Kernels rely on declared properties, so that data are checked when they enter.",
            "siskin check csr --data arrays.npz             # crd falls inside a row",
            "Correct the arrays at the first index that is named, or choose a layout without that property.",
        ),
        Code::Rustc => of(
            "`rustc` is missing, or lacks something",
            "Kernels are compiled by the Rust compiler of the machine.",
            "RUSTC=/nonexistent siskin run 'y[i] += A[i,j]' -t A=m.mtx",
            "Install Rust 1.88 or later (https://rustup.rs), or set RUSTC to the path of a compiler.",
        ),
        Code::RefusedModule => of(
            "`rustc` refused a generated module",
            "Nothing is wrong with the input: Siskin made a module that is not valid Rust.",
            "error[S0602]: `rustc` did not compile the kernel",
            "Please report it with the line that reproduces it. Another `--find` or `--order` may avoid it.",
        ),
        Code::Internal => of(
            "a stage broke a promise",
            "Every stage verifies what it hands on; a mistake is stopped instead of giving a wrong result.",
            "error[S0901]: the nest does not visit the points of the space",
            "Please report it with the line that reproduces it. Another `--order` may avoid it.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_story_with_an_example_and_a_remedy() {
        assert!(Code::ALL.len() > 20);
        for code in Code::ALL {
            let Story { title, means, example, remedy } = tell(code);
            for part in [title, means, example, remedy] {
                assert!(part.len() > 10, "{code:?}: `{part}`");
            }
            assert!(means.ends_with('.') && remedy.ends_with('.'), "{code:?}");
            assert!(story(code).starts_with(code.as_str()));
        }
    }

    #[test]
    fn codes_are_told_from_statements() {
        assert_eq!(code("S0103").unwrap(), Some(Code::LayoutSchema));
        assert_eq!(code("s0103").unwrap(), Some(Code::LayoutSchema));
        assert_eq!(code("S[] += x[i]").unwrap(), None);
        assert!(code("S0199").unwrap_err().help.is_some());
    }
}
