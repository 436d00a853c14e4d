//! What became of cases: how many ran, what was refused and why, what is wrong.

use std::collections::BTreeMap;

use siskin::diagnostic::{Code, Diagnostic};

use super::together::{Case, Stopped};

#[derive(Default)]
pub struct Tally {
    /// By the way of bringing operands together.
    pub ran: BTreeMap<&'static str, usize>,
    /// No format has a place for every tensor.
    unpackable: usize,
    /// Reasons, with how many there are and an example.
    refused: BTreeMap<String, (usize, String)>,
    pub failures: Vec<String>,
}

impl Tally {
    pub fn ran(&mut self, case: &Case) {
        *self.ran.entry(case.scheme.word()).or_insert(0) += 1;
    }

    pub fn runs(&self) -> usize {
        self.ran.values().sum()
    }

    pub fn failed(&mut self, what: String) {
        eprintln!("FAILED {what}");
        self.failures.push(what);
    }

    pub fn stopped(&mut self, stopped: Stopped, case: &Case) {
        match stopped {
            Stopped::Refused(e) if e.code == Code::NotPackable => self.unpackable += 1,
            Stopped::Refused(e) => {
                let why = format!("{} {}", case.scheme.word(), reason(&e));
                self.refused.entry(why).or_insert_with(|| (0, format!("{case}\n{e}"))).0 += 1;
            }
            Stopped::Failed(e) => self.failed(format!("{case}\n{e}")),
        }
    }

    pub fn add(&mut self, other: Tally) {
        for (scheme, n) in other.ran {
            *self.ran.entry(scheme).or_insert(0) += n;
        }
        self.unpackable += other.unpackable;
        for (reason, (n, example)) in other.refused {
            self.refused.entry(reason).or_insert((0, example)).0 += n;
        }
        self.failures.extend(other.failures);
    }

    /// Says it all, and that nothing is wrong: what is refused has a reason that is not a defect.
    pub fn report(&self) {
        println!("ran {:?}, {} unpackable", self.ran, self.unpackable);
        for (reason, (n, example)) in &self.refused {
            println!("{n} refused: {reason}\n{example}");
        }
        assert!(self.failures.is_empty(), "{} failures", self.failures.len());
        for scheme in siskin::kernel::Coiterate::ALL {
            assert!(self.ran.contains_key(scheme.word()), "nothing ran by {}", scheme.word());
        }
    }
}

/// A message without the names and numbers of one case.
fn reason(e: &Diagnostic) -> String {
    let mut out = format!("{:?}: ", e.code);
    for (k, part) in e.message.split('`').enumerate() {
        let plain = part.chars().filter(|c| k % 2 == 0 && !c.is_ascii_digit());
        out.extend(plain);
    }
    out
}

/// A number that the environment says.
pub fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}
