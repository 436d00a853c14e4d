//! Results that are made of one reduction: the values are combined once, and the results are the same.

use siskin::formula::Name;
use siskin::kernel::Coiterate;
use siskin::program::Program;

use super::Inputs;
use super::grown::random::Random;
use super::together::{Batch, Case, Stopped};

const EDGES: [&str; 4] =
    ["Dense(SparseList(Element(Inf)))", "dense", "Dense(SparseByteMap(Element(Inf)))", "csc"];

/// A graph whose edges have lengths, distances, and which vertices are at the frontier; some are infinite, and whole
/// numbers if `whole`.
fn graph(random: &mut Random, whole: bool) -> Inputs {
    let n = 1 + random.below(6);
    let mut draw =
        |n: usize, of: usize| -> Vec<i64> { (0..n).map(|_| random.below(of) as i64 - 2).collect() };
    let (lengths, far, near, asked) = (draw(n * n, 9), draw(n, 8), draw(n, 8), draw(n, 5));
    let frontier: Vec<bool> = asked.iter().map(|k| *k > 0).collect();
    let out = Inputs::default().bools("_F", &[n], &frontier);
    let float = |all: &[i64]| -> Vec<f64> {
        all.iter().map(|x| if *x == 3 { f64::INFINITY } else { *x as f64 }).collect()
    };
    match whole {
        true => out.integers("A", &[n, n], &lengths).integers("_D", &[n], &far).integers(
            "D",
            &[n],
            &near,
        ),
        false => out
            .floats("A", &[n, n], &float(&lengths))
            .floats("_D", &[n], &float(&far))
            .floats("D", &[n], &float(&near)),
    }
}

/// How many statements read the edges.
fn readers(text: &str, inputs: &Inputs, searched: &[&str]) -> usize {
    let mut host = inputs.host();
    host.searched = searched.iter().map(|name| Name::from(*name)).collect();
    let tree = siskin::program::finch::Finch::parse(text, "test.finch").unwrap().lower(&host);
    let made = tree.unwrap().statements().unwrap();
    let texts = made.segments.iter().flat_map(|segment| segment.text.split("; "));
    let reads = |text: &&str| {
        let program = Program::parse(text).unwrap();
        program.assignment().unwrap().value.accesses().iter().any(|a| &*a.tensor == "A")
    };
    texts.filter(reads).count()
}

/// Two results of a nest over the edges.
fn nest(updates: &[&str], guard: &str, fresh: bool) -> String {
    let begins = if fresh { "D .= Inf\n" } else { "" };
    let updates = updates.join("\n   ");
    let (begins_third, third) = match updates.contains("G[") {
        true => ("G .= false\n", ", G"),
        false => ("", ""),
    };
    let (opens, closes) = if guard.is_empty() { ("", "") } else { ("if ", "\n  end") };
    format!(
        "{begins}F .= false\n{begins_third}for j = _\n for i = _\n  {opens}{guard}\n   {updates}{closes}\n end\nend\n\
         return (D, F{third})"
    )
}

#[test]
fn what_several_results_are_made_of_is_combined_once() {
    let mut random = Random(77);
    let mut batch = Batch::default();
    let least = ["D[i] <<min>>= _D[j] + A[i,j]", "F[i] |= _D[j] + A[i,j] < _D[i]"];
    let greatest = ["D[i] <<max>>= A[i,j] - _D[j]", "F[i] <<||>>= A[i,j] - _D[j] > _D[i]"];
    let turned = ["D[i] <<min>>= A[i,j]", "F[i] |= _D[i] > A[i,j]"];
    let third = [least[0], least[1], "G[i] |= _D[i] > _D[j] + A[i,j]"];
    let mut shared = 0;
    for updates in [&least[..], &greatest, &turned, &third] {
        for guard in ["", "_F[j]", "_F[j] && i != j", "i < j"] {
            for (fresh, backwards) in [(false, false), (false, true), (true, false)] {
                let mut updates = updates.to_vec();
                if backwards {
                    updates.reverse();
                }
                let text = nest(&updates, guard, fresh && updates[0].contains("min"));
                for whole in [false, true] {
                    let inputs = graph(&mut random, whole);
                    if fresh && whole {
                        continue;
                    }
                    assert_eq!(readers(&text, &inputs, &[]), 1, "{text}");
                    let edges = EDGES[random.below(EDGES.len())];
                    let edges = if whole { edges.replace("Inf", "0") } else { edges.to_string() };
                    let case = Case::new(&text, &[("A", &edges)], Coiterate::Auto);
                    match batch.agrees_interpreted(&case, &inputs) {
                        Ok(()) => shared += 1,
                        Err(Stopped::Refused(e)) => panic!("{text}\n{edges}\n{e}"),
                        Err(Stopped::Failed(e)) => panic!("{e}"),
                    }
                }
            }
        }
    }
    assert!(shared > 60, "{shared}");
}

#[test]
fn what_is_not_made_of_one_reduction_is_computed_by_itself() {
    let mut random = Random(5);
    let mut batch = Batch::default();
    let inputs = graph(&mut random, false);
    let least = "D[i] <<min>>= _D[j] + A[i,j]";
    let others = [
        // An infinity is not less than an infinity, but at most.
        "F[i] |= _D[j] + A[i,j] <= _D[i]",
        "F[i] |= _D[j] + A[i,j] > _D[i]",
        "F[i] |= _D[j] + A[i,j] < _D[j]",
        "F[i] &= _D[j] + A[i,j] < _D[i]",
        "F[j] |= _D[j] + A[i,j] < _D[i]",
        "F[i] |= _D[i] + A[i,j] < _D[i]",
        "if _F[j]\n F[i] |= _D[j] + A[i,j] < _D[i]\n end",
    ];
    for other in others {
        let text = nest(&[least, other], "", false);
        assert_eq!(readers(&text, &inputs, &[]), 2, "{text}");
        let case = Case::new(&text, &[("A", EDGES[0])], Coiterate::Auto);
        if let Err(Stopped::Failed(e)) = batch.agrees_interpreted(&case, &inputs) {
            panic!("{e}");
        }
    }
    // What is assembled holds what was assigned.
    let text = nest(&[least, "F[i] |= _D[j] + A[i,j] < _D[i]"], "", false);
    assert_eq!(readers(&text, &inputs, &["F"]), 2, "{text}");
}
