//! Just enough of Rust's lexical structure to tell code from comments, literals and test modules.

/// A source text taken apart.
pub struct Source {
    /// The text with the inside of literals, comments and test modules turned to spaces; newlines
    /// stay, so that lines can be counted.
    pub code: String,
    /// The same with the test modules.
    pub with_tests: String,
    /// String literals outside test modules: line (from 1) and content.
    pub strings: Vec<(usize, String)>,
    /// Modules declared as `#[cfg(test)] mod name;`: their files are tests as a whole.
    pub test_files: Vec<String>,
}

impl Source {
    pub fn new(text: &str) -> Source {
        let (code, literals) = blank_literals(text);
        let mut test_files = Vec::new();
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some(at) = code[from..].find("#[cfg(test)]").map(|k| k + from) {
            from = at + 1;
            let rest = &code[at..];
            let (brace, semicolon) = (rest.find('{'), rest.find(';'));
            match (brace, semicolon) {
                (Some(b), s) if s.is_none_or(|s| b < s) => {
                    let end = at + b + matching_brace(&rest[b..]);
                    ranges.push(at..end);
                    from = end;
                }
                (_, Some(s)) => {
                    let words = rest[..s].split_whitespace();
                    if let Some(name) = words.skip_while(|w| *w != "mod").nth(1) {
                        test_files.push(name.to_string());
                    }
                }
                _ => {}
            }
        }
        let is_test = |at: usize| ranges.iter().any(|r| r.contains(&at));
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        let strings = literals
            .into_iter()
            .filter(|(at, _)| !is_test(*at))
            .map(|(at, content)| (line_of(at), content))
            .collect();
        let blanked: Vec<u8> = code
            .bytes()
            .enumerate()
            .map(|(at, b)| if b != b'\n' && is_test(at) { b' ' } else { b })
            .collect();
        let with_tests = code;
        let code = String::from_utf8(blanked).expect("literals and comments held all other bytes");
        Source { code, with_tests, strings, test_files }
    }
}

/// Length of the text from a brace to the one that closes it.
fn matching_brace(text: &str) -> usize {
    let mut depth = 0;
    for (k, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return k + 1;
        }
    }
    text.len()
}

/// The text without comments and insides of literals (ASCII, same byte offsets), and the strings
/// with their offsets.
fn blank_literals(text: &str) -> (String, Vec<(usize, String)>) {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = bytes.iter().map(|b| if b.is_ascii() { *b } else { b'_' }).collect();
    let mut strings = Vec::new();
    let mut blank = |from: usize, to: usize| {
        for b in &mut out[from..to] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    };
    let find = |what: &str, from: usize| text[from..].find(what).map(|k| k + from);
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut k = 0;
    while k < bytes.len() {
        let rest = &bytes[k..];
        let raw = rest
            .strip_prefix(b"r")
            .filter(|_| k == 0 || !is_word(bytes[k - 1]) || bytes[k - 1] == b'b');
        let hashes = raw.map(|r| r.iter().take_while(|b| **b == b'#').count());
        if rest.starts_with(b"//") {
            let end = find("\n", k).unwrap_or(bytes.len());
            blank(k, end);
            k = end;
        } else if rest.starts_with(b"/*") {
            let end = find("*/", k).map_or(bytes.len(), |e| e + 2);
            blank(k, end);
            k = end;
        } else if let Some(n) = hashes.filter(|n| bytes.get(k + 1 + n) == Some(&b'"')) {
            let start = k + 2 + n;
            let close = format!("\"{}", "#".repeat(n));
            let end = find(&close, start).unwrap_or(bytes.len());
            strings.push((k, text[start..end].to_string()));
            blank(start, end);
            k = (end + close.len()).min(bytes.len());
        } else if bytes[k] == b'"' {
            let mut end = k + 1;
            while end < bytes.len() && bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            let end = end.min(bytes.len());
            strings.push((k, text[k + 1..end].to_string()));
            blank(k + 1, end);
            k = end + 1;
        } else if bytes[k] == b'\'' {
            // A lifetime has no closing quote behind its first character.
            let length = text[k + 1..].chars().next().map_or(0, char::len_utf8);
            let end = match bytes.get(k + 1) {
                Some(b'\\') => find("'", k + 3).unwrap_or(bytes.len()),
                _ if bytes.get(k + 1 + length) == Some(&b'\'') => k + 1 + length,
                _ => k,
            };
            if end > k {
                blank(k + 1, end);
            }
            k = end + 1;
        } else {
            k += 1;
        }
    }
    (String::from_utf8(out).expect("only ASCII was kept"), strings)
}
