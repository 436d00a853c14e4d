//! Writing every query of the prover as SMT-LIB.

use std::path::{Path, PathBuf};

use siskin::diagnostic::Result;
use siskin::formula::Formula;
use siskin::prover::{Answer, Model, Prover, smtlib};

use super::output;

/// A prover that keeps each query it is asked, with the answer.
pub struct Recorder<P> {
    prover: P,
    stack: Vec<Vec<Formula>>,
    queries: Vec<(String, &'static str)>,
}

impl<P: Prover> Recorder<P> {
    pub fn new(prover: P) -> Self {
        Recorder { prover, stack: Vec::new(), queries: Vec::new() }
    }

    /// Writes `0001-unsat.smt2` and so on, in the order of asking; returns their paths.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        for (k, (script, answer)) in self.queries.iter().enumerate() {
            let path = folder.join(format!("{:04}-{answer}.smt2", k + 1));
            output::write_text(&path, script)?;
            out.push(path);
        }
        Ok(out)
    }
}

impl<P: Prover> Prover for Recorder<P> {
    fn push(&mut self, facts: &[Formula]) {
        self.stack.push(facts.to_vec());
        self.prover.push(facts);
    }

    fn pop(&mut self) {
        self.stack.pop();
        self.prover.pop();
    }

    /// The query itself is on record already; this only looks for smaller numbers.
    fn illustrate(&mut self, query: &[Formula]) -> Option<Model> {
        self.prover.illustrate(query)
    }

    fn check(&mut self) -> Answer {
        let answer = self.prover.check();
        let word = match &answer {
            Answer::Unsat => "unsat",
            Answer::Sat(_) => "sat",
            Answer::Unknown(_) => "unknown",
        };
        self.queries.push((smtlib::script(self.stack.iter().flatten()), word));
        answer
    }
}
