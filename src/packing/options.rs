//! What a caller may ask of packing.

use crate::tensor::{IndexType, Value};

/// Width of the elements of index arrays. Arrays that may hold negative numbers are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum IndexWidth {
    /// 32 bits if every extent and every index fits, else 64.
    #[default]
    Auto,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl IndexWidth {
    pub(super) fn index_type(self, signed: bool, fits_32_bits: bool) -> IndexType {
        let narrow = match self {
            IndexWidth::Auto => fits_32_bits,
            IndexWidth::U32 => true,
            IndexWidth::U64 => false,
        };
        match (signed, narrow) {
            (false, true) => IndexType::U32,
            (false, false) => IndexType::U64,
            (true, true) => IndexType::I32,
            (true, false) => IndexType::I64,
        }
    }
}

/// How to pack.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackOptions {
    /// The width of the index arrays.
    pub index_width: IndexWidth,
    /// What stands where no entry is; zero unless told. Of dense data, what differs from it is an entry.
    pub fill: Option<Value>,
}
