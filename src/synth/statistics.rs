//! Statistics of data: what costs depend on, named, so that a formula may be evaluated where they are known. That is
//! when a kernel is planned for data, or when it runs.

use std::fmt;

use crate::formula::Name;

/// A number that data have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statistic<N = Name> {
    /// An extent or another size, by the parameter.
    Size(N),
    /// The same where no assumption would do: how much memory an extent takes.
    Bound(N),
    /// Mean difference of consecutive elements of an index array: the length of a segment.
    Step(N),
    /// Mean of the elements of an index array: where segments begin and end that are in no order, and how long they are.
    Mean(N),
    /// The same where a few are long: what a mean of `n / (n + 1)` over all segments is that of.
    TypicalStep(N),
    /// Mean number of consecutive elements of an index array that are equal.
    RunLength(N),
    /// Of the consecutive differences of an index array, the share that is not as large as the one before: segments
    /// whose end is not foreseen.
    Uneven(N),
    /// The number of threads.
    Threads,
}

/// The word of [`Statistic::Threads`].
const THREADS: &str = "threads";

impl<N> Statistic<N> {
    /// The parameter or the array, if it is about one.
    pub fn of(&self) -> Option<&N> {
        match self {
            Statistic::Size(name)
            | Statistic::Bound(name)
            | Statistic::Step(name)
            | Statistic::Mean(name)
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
            Statistic::Mean(_) => "mean",
            Statistic::TypicalStep(_) => "typical",
            Statistic::RunLength(_) => "run",
            Statistic::Uneven(_) => "uneven",
            Statistic::Threads => THREADS,
        }
    }
}

impl<'a, N: From<&'a str>> Statistic<N> {
    /// The statistic that a formula names so.
    pub fn named(text: &'a str) -> Option<Statistic<N>> {
        if text == THREADS {
            return Some(Statistic::Threads);
        }
        let (word, name) = text.split_once(' ')?;
        let name = N::from(name);
        Some(match word {
            "size" => Statistic::Size(name),
            "bound" => Statistic::Bound(name),
            "step" => Statistic::Step(name),
            "mean" => Statistic::Mean(name),
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
            Statistic::Mean(name()),
            Statistic::TypicalStep(name()),
            Statistic::RunLength(name()),
            Statistic::Uneven(name()),
            Statistic::Threads,
        ] {
            assert_eq!(Statistic::named(&statistic.to_string()), Some(statistic));
        }
        assert_eq!(Statistic::<Name>::named("queries"), None);
        assert_eq!(Statistic::<Name>::named("queries a"), None);
    }
}
