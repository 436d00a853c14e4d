//! Names in the generated text: distinct, and none that Rust or the module's own items use.

use rustc_hash::FxHashSet;

/// Rust's keywords, and those that it keeps for later, which index notation does not reserve.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "become", "box", "do", "final", "override", "priv", "typeof", "unsized",
    "virtual", "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else",
    "enum", "extern", "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "unsafe", "use", "where", "while", "yield",
];

/// More words of the language, of its prelude and of the primitive types; a name of ours that
/// shadowed one would change the meaning of the text around it.
const TAKEN: [&str; 49] = [
    "union",
    "std",
    "core",
    "alloc",
    "usize",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "f32",
    "f64",
    "bool",
    "char",
    "str",
    "Some",
    "None",
    "Ok",
    "Err",
    "Option",
    "Result",
    "Vec",
    "String",
    "Box",
    "Copy",
    "Clone",
    "Send",
    "Sync",
    "Sized",
    "Drop",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "Into",
    "Iterator",
    "Default",
    "Debug",
    "Eq",
    "Ord",
    "PartialEq",
    "drop",
    "vec",
];

/// The values and functions that a module defines itself.
const ITEMS: [&str; 45] = [
    "at",
    "element",
    "at_mut",
    "sum_of",
    "sum_of_few",
    "sum_of_many",
    "sum_by_length",
    "is_rare",
    "greatest_of",
    "least_of",
    "prefetch",
    "chunks",
    "work",
    "own",
    "range",
    "threads",
    "scope",
    "slice",
    "slice_mut",
    "home_slot",
    "misplaced",
    "inside",
    "inside_or_end",
    "kernel",
    "kernel_validated",
    "kernel_unchecked",
    "kernel_core",
    "started",
    "on_threads",
    "on_threads_summing",
    "on_threads_in_order",
    "usual",
    "ROWS",
    "join",
    "part",
    "parts",
    "before",
    "previous",
    "sizes",
    "arrays",
    "raw",
    "data",
    "len",
    "debug_assert",
    "assert",
];

/// The types that a module defines itself.
const TYPES: [&str; 11] = [
    "Error",
    "RawArray",
    "Validated",
    "Shared",
    "Chunks",
    "Ordering",
    "AtomicUsize",
    "Range",
    "Stored",
    "Part",
    "Ends",
];

/// Hands out identifiers that differ from each other and from all words that mean something.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    taken: FxHashSet<String>,
    /// Fields hide nothing: only keywords are kept from them.
    of_fields: bool,
}

impl Naming {
    pub fn new() -> Naming {
        Naming::default()
    }

    /// Names of the fields of a struct, which are always read as those of a value.
    pub fn of_fields() -> Naming {
        Naming { of_fields: true, ..Naming::default() }
    }

    /// Keeps `name` from being handed out.
    pub fn reserve(&mut self, name: &str) {
        self.taken.insert(name.to_string());
    }

    /// An identifier like `wish` that nothing else has.
    pub fn fresh(&mut self, wish: &str) -> String {
        let base = identifier(wish);
        let mut name = base.clone();
        let mut k = 2;
        while self.means_something(&name) || self.taken.contains(&name) {
            name = match k {
                2 if !self.taken.contains(&format!("{base}_")) => format!("{base}_"),
                _ => format!("{base}_{k}"),
            };
            k += 1;
        }
        self.taken.insert(name.clone());
        name
    }

    /// True if [`Naming::fresh`] would give `wish` as it is.
    pub fn is_free(&self, wish: &str) -> bool {
        identifier(wish) == wish && !self.means_something(wish) && !self.taken.contains(wish)
    }

    fn means_something(&self, name: &str) -> bool {
        if self.of_fields { KEYWORDS.contains(&name) } else { is_reserved(name) }
    }

    pub fn release(&mut self, name: &str) {
        self.taken.remove(name);
    }
}

/// True if the word means something in the text of a module.
pub fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || TAKEN.contains(&word)
        || ITEMS.contains(&word)
        || TYPES.contains(&word)
}

/// The words of `code`, but for its comments, that are written as types and their parameters are.
pub fn type_words(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(line));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// `name` with what an identifier cannot have replaced by `_`.
pub(super) fn identifier(name: &str) -> String {
    let mut out: String = name
        .replace('\'', "_prime")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
        .collect();
    if out.is_empty()
        || out.starts_with(|c: char| c.is_ascii_digit())
        || out.chars().all(|c| c == '_')
    {
        out.insert_str(0, "x_");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_rust_and_of_the_module_are_never_handed_out() {
        let mut naming = Naming::new();
        for word in ["self", "Some", "at", "threads", "Self", "kernel", "_", "1", "", "a-b", "é"] {
            let name = naming.fresh(word);
            assert!(!is_reserved(&name) && naming.taken.contains(&name));
            assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{name}");
            assert!(name.chars().any(|c| c != '_'), "{name}");
        }
    }

    #[test]
    fn equal_wishes_get_different_names() {
        let mut naming = Naming::new();
        let names: Vec<String> = (0..5).map(|_| naming.fresh("sum")).collect();
        let distinct: FxHashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), 5, "{names:?}");
    }
}
