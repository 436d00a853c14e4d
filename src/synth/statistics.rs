//! Statistics of data: what costs depend on, named, so that a formula may be evaluated where they are known. That is
//! when a kernel is planned for data, or when it runs.

use std::fmt;

use crate::formula::Name;

/// A number that data have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// An extent or another size, by the parameter.
    Size(Name),
    /// The same where no assumption would do: how much memory an extent takes.
    Bound(Name),
    /// Mean difference of consecutive elements of an index array: the length of a segment.
    Step(Name),
    /// The same where a few are long: what a mean of `n / (n + 1)` over all segments is that of.
    TypicalStep(Name),
    /// Mean number of consecutive elements of an index array that are equal.
    RunLength(Name),
    /// Of the consecutive differences of an index array, the share that is not as large as the one before: segments
    /// whose end is not foreseen.
    Uneven(Name),
    /// The number of threads.
    Threads,
}

/// The word of [`Statistic::Threads`].
const THREADS: &str = "threads";

impl Statistic {
    /// The parameter or the array, if it is about one.
    pub fn of(&self) -> Option<&Name> {
        match self {
            Statistic::Size(name)
            | Statistic::Bound(name)
            | Statistic::Step(name)
            | Statistic::TypicalStep(name)
            | Statistic::RunLength(name)
            | Statistic::Uneven(name) => Some(name),
            Statistic::Threads => None,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Statistic::Size(_) => "size",
            Statistic::Bound(_) => "bound",
            Statistic::Step(_) => "step",
            Statistic::TypicalStep(_) => "typical",
            Statistic::RunLength(_) => "run",
            Statistic::Uneven(_) => "uneven",
            Statistic::Threads => THREADS,
        }
    }

    /// The statistic that a formula names so.
    pub fn named(text: &str) -> Option<Statistic> {
        if text == THREADS {
            return Some(Statistic::Threads);
        }
        let (word, name) = text.split_once(' ')?;
        let name = Name::from(name);
        Some(match word {
            "size" => Statistic::Size(name),
            "bound" => Statistic::Bound(name),
            "step" => Statistic::Step(name),
            "typical" => Statistic::TypicalStep(name),
            "run" => Statistic::RunLength(name),
            "uneven" => Statistic::Uneven(name),
            _ => return None,
        })
    }
}

/// As a formula names it.
impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of() {
            Some(name) => write!(f, "{} {name}", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_as_they_are_named() {
        let name = || Name::from("crd of_A");
        for statistic in [
            Statistic::Size(name()),
            Statistic::Bound(name()),
            Statistic::Step(name()),
            Statistic::TypicalStep(name()),
            Statistic::RunLength(name()),
            Statistic::Uneven(name()),
            Statistic::Threads,
        ] {
            assert_eq!(Statistic::named(&statistic.to_string()), Some(statistic));
        }
        assert_eq!(Statistic::named("queries"), None);
        assert_eq!(Statistic::named("queries a"), None);
    }
}
