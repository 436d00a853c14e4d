//! Tables of positions: what their code can do beside entering positions and finding them.

/// As its template declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableTraits {
    /// Its place may be taken by arrays.
    pub spreads: Option<Spreads>,
    /// It is made for the extent of its keys, and needs no test of one that is below.
    pub bounded: bool,
    /// It knows whether many keys have a position, and answers without a branch then.
    pub branchless: bool,
}

/// What is spread over the coordinates that a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spreads {
    /// The positions.
    Positions,
    /// Their values, with a mask of what is there.
    Masked,
    /// Their values alone, where what is missing adds nothing.
    Alone,
}

/// Where more than one in so many keys has a position, whether one has is not foreseen: many do.
pub const RARE: usize = 5;

/// A question to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether many keys have a position.
    IsDense,
    /// Whether a position was entered under a key.
    Has,
    /// The position entered under a key; if there is none, another one. Only of tables that are dense.
    Near,
}

impl Question {
    pub const ALL: [Question; 3] = [Question::IsDense, Question::Has, Question::Near];

    /// The method of a table that answers it.
    pub fn method(self) -> &'static str {
        match self {
            Question::IsDense => "is_dense",
            Question::Has => "has",
            Question::Near => "near",
        }
    }
}
