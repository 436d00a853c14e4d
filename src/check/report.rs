//! What a check found, for people and for programs.

use std::fmt;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use super::clash::Clash;
use super::regions::{self, Region};
use crate::diagnostic::{Code, Diagnostic};

/// What is asked about a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Can the properties hold together, of a tensor that stores something?
    Consistent,
    /// Is every index array read inside its domain?
    Access,
    /// Does a position have one coordinate?
    SingleValued,
    /// Is every coordinate stored at most once?
    Injective,
    /// Are positions ordered by their coordinates?
    Ordered,
    /// Does every position have its coordinates within the extents?
    WithinExtents,
    /// Is every value inside the value array?
    ValueInBounds,
    /// Do positions have values of their own?
    ValueDistinct,
}

impl Question {
    fn title(self) -> &'static str {
        match self {
            Question::Consistent => "consistent",
            Question::Access => "accesses",
            Question::SingleValued => "single-valued",
            Question::Injective => "injective",
            Question::Ordered => "ordered",
            Question::WithinExtents => "extents",
            Question::ValueInBounds => "value bounds",
            Question::ValueDistinct => "value slots",
        }
    }

    /// Whether a declaration is unusable when the answer is no. The other questions classify it.
    pub fn is_required(self) -> bool {
        matches!(self, Question::Consistent | Question::Access | Question::ValueInBounds)
    }
}

fn as_map<V: Serialize, S: Serializer>(
    map: &IndexMap<String, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}

/// A stored entry of a counterexample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    #[serde(serialize_with = "as_map")]
    pub position: IndexMap<String, i64>,
    #[serde(serialize_with = "as_map")]
    pub coordinate: IndexMap<String, i64>,
}

/// An index array of a counterexample, complete and row-major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SmallArray {
    pub shape: Vec<i64>,
    pub values: Vec<i64>,
}

/// A small tensor with what is wrong (or, of a consistent declaration, right) about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counterexample {
    /// Extents and size parameters.
    #[serde(serialize_with = "as_map")]
    pub sizes: IndexMap<String, i64>,
    #[serde(serialize_with = "as_map")]
    pub arrays: IndexMap<String, SmallArray>,
    pub entries: Vec<Entry>,
    /// What happens there, in words.
    pub shows: String,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// For all sizes and all arrays that keep the properties.
    Proved,
    /// Not for this tensor.
    Refuted { counterexample: Box<Counterexample> },
    /// Neither proved, nor refuted by a small tensor.
    Unknown { reason: String },
    /// No tensor that stores an entry keeps these properties.
    Vacuous(Clash),
}

/// One line of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub question: Question,
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The answer in words.
    pub says: String,
    /// A tensor that illustrates a positive answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Box<Counterexample>>,
    /// The lines of the declaration that it is about, as `csr.toml:4`, unless all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

impl Finding {
    /// An answer without an example.
    pub(super) fn new(question: Question, verdict: Verdict, says: impl Into<String>) -> Finding {
        Finding { question, verdict, says: says.into(), example: None, places: Vec::new() }
    }

    /// About these lines.
    pub(super) fn at<'p>(mut self, places: impl IntoIterator<Item = &'p String>) -> Finding {
        if self.verdict != Verdict::Proved {
            self.places.extend(places.into_iter().cloned());
            self.places.dedup();
        }
        self
    }

    /// Whether the declaration is unusable for this reason.
    pub fn is_fault(&self) -> bool {
        self.question.is_required()
            && matches!(self.verdict, Verdict::Refuted { .. } | Verdict::Vacuous(_))
    }

    /// The reason to refuse the layout of that name, if this is one.
    pub fn fault(&self, layout: &str) -> Option<Box<Diagnostic>> {
        match &self.verdict {
            _ if !self.is_fault() => None,
            Verdict::Vacuous(clash) => Some(clash.refusal(layout)),
            Verdict::Refuted { counterexample } => {
                let message = format!("layout `{layout}`: {}", self.says);
                let fault = Diagnostic::new(Code::OutOfDomain, message);
                let declared = (!self.places.is_empty()).then(|| self.places.join(", "));
                Some(
                    declared
                        .into_iter()
                        .fold(fault, |fault, lines| fault.note(format!("declared in {lines}")))
                        .note(format!("for example {counterexample}"))
                        .help(
                            "narrow the relation, widen the domain, or declare what rules this out",
                        ),
                )
            }
            Verdict::Proved | Verdict::Unknown { .. } => None,
        }
    }
}

/// Everything that was found about a declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The layout's name.
    pub layout: String,
    pub summary: String,
    /// In the order of the questions; several of one question where it was asked several times.
    pub findings: Vec<Finding>,
    /// Outermost position first.
    pub regions: Vec<Region>,
    /// When 32-bit indices suffice.
    pub index_width: String,
}

impl Report {
    /// Whether the declaration can be used: its properties hold together and nothing is read out
    /// of bounds. Exit status 2 otherwise.
    pub fn is_sound(&self) -> bool {
        !self.findings.iter().any(Finding::is_fault)
    }

    /// The reason to refuse the declaration, if there is one.
    pub fn fault(&self) -> Option<Box<Diagnostic>> {
        self.findings.iter().find_map(|finding| finding.fault(&self.layout))
    }

    /// The findings about one question.
    pub fn about(&self, question: Question) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.question == question)
    }

    /// Whether the question was asked and every answer is a proof.
    pub fn proves(&self, question: Question) -> bool {
        let mut asked = false;
        self.about(question).all(|f| {
            asked = true;
            f.verdict == Verdict::Proved
        }) && asked
    }
}

/// `[0, 2]`, or `[[0, 1], [0, 2]]` for two arguments; a flat list when rows overlap.
impl fmt::Display for SmallArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn rows(f: &mut fmt::Formatter<'_>, shape: &[i64], values: &[i64]) -> fmt::Result {
            f.write_str("[")?;
            match shape {
                [count, inner @ ..] if !inner.is_empty() && *count > 0 => {
                    let row = values.len() / *count as usize;
                    for (k, row) in values.chunks(row.max(1)).enumerate() {
                        f.write_str(if k > 0 { ", " } else { "" })?;
                        rows(f, inner, row)?;
                    }
                }
                _ => {
                    let values: Vec<String> = values.iter().map(i64::to_string).collect();
                    f.write_str(&values.join(", "))?;
                }
            }
            f.write_str("]")
        }
        let flat = self.shape.iter().product::<i64>() != self.values.len() as i64;
        rows(f, if flat { &[] } else { &self.shape }, &self.values)
    }
}

/// `I = 1, NNZ = 2, crd = [0, 0]: positions (0) and (1) both hold (0)`.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.sizes.iter().map(|(n, v)| format!("{n} = {v}"));
        let arrays = self.arrays.iter().map(|(n, a)| format!("{n} = {a}"));
        let parts: Vec<String> = sizes.chain(arrays).collect();
        f.write_str(&parts.join(", "))?;
        match (parts.is_empty(), self.shows.is_empty()) {
            (_, true) => Ok(()),
            (true, false) => f.write_str(&self.shows),
            (false, false) => write!(f, ": {}", self.shows),
        }
    }
}

/// `(0, 1)`
pub(super) fn tuple<'v>(values: impl IntoIterator<Item = &'v i64>) -> String {
    let values: Vec<String> = values.into_iter().map(i64::to_string).collect();
    format!("({})", values.join(", "))
}

/// Width of the column of questions.
const TITLE: usize = 15;

/// What `siskin check` prints.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.summary.is_empty() {
            true => writeln!(f, "{}", self.layout)?,
            false => writeln!(f, "{}: {}", self.layout, self.summary)?,
        }
        writeln!(f)?;
        let mut last = None;
        for finding in &self.findings {
            let repeated = last.replace(finding.question) == Some(finding.question);
            let title = if repeated { "" } else { finding.question.title() };
            let answer = match &finding.verdict {
                Verdict::Proved => "yes",
                Verdict::Refuted { .. } | Verdict::Vacuous(_) if finding.is_fault() => "NO",
                Verdict::Refuted { .. } | Verdict::Vacuous(_) => "no",
                Verdict::Unknown { .. } => "unknown",
            };
            writeln!(f, "{title:TITLE$}{answer}, {}", finding.says)?;
            let below = match &finding.verdict {
                Verdict::Proved => finding.example.iter().map(|e| format!("e.g. {e}")).collect(),
                Verdict::Refuted { counterexample } => vec![format!("e.g. {counterexample}")],
                Verdict::Unknown { reason } => vec![reason.clone()],
                Verdict::Vacuous(clash) => clash.properties.clone(),
            };
            below.iter().try_for_each(|line| writeln!(f, "{:TITLE$}{line}", ""))?;
            if !finding.places.is_empty() {
                writeln!(f, "{:TITLE$}see {}", "", finding.places.join(", "))?;
            }
        }
        if !self.regions.is_empty() {
            writeln!(f, "{:TITLE$}{}", "regions", regions::describe(&self.regions))?;
        }
        writeln!(f, "{:TITLE$}{}", "32-bit indices", self.index_width)
    }
}
