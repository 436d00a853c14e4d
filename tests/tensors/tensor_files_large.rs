//! Text files that are read on several threads: the same as one line after the other, with the first
//! wrong line of the file reported.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;

use siskin::diagnostic::{Code, Diagnostic};
use siskin::files::{File, Loaded, ReadOptions, read, write};
use siskin::tensor::{DenseArray, Entries, ValueType, Values};

/// Entries of a file that has several blocks of lines.
const MANY: usize = 200_000;

fn read_bytes(name: &str, bytes: &[u8]) -> Result<File, Box<Diagnostic>> {
    read_as(name, bytes, &ReadOptions::default())
}

fn read_as(name: &str, bytes: &[u8], options: &ReadOptions<'_>) -> Result<File, Box<Diagnostic>> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    read(&path, options)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Numbers that look random, the same ones every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A word for a value, and what it is.
    fn value(&mut self) -> (String, f64) {
        const WORDS: [&str; 16] = [
            "1e308",
            "-1e300",
            "1e-400",
            "inf",
            "-Infinity",
            "-0.0",
            "+5",
            "007.50",
            "5e-324",
            "9007199254740993",
            "123456789012345678901234567890",
            ".5",
            "5.",
            "1E+2",
            "0.1000000014901161194",
            "179769313486231570000000000000000000000e270",
        ];
        let word = match self.below(4) {
            0 => WORDS[self.below(16) as usize].to_string(),
            1 => format!(
                "{:?}",
                f64::from_bits(self.below(1 << 31) << 32 | self.below(1 << 31) << 1)
            ),
            2 => (self.below(2000) as i64 - 1000).to_string(),
            _ => format!("{:?}", self.below(1 << 31) as f64 / 3e9),
        };
        let value = word.parse().unwrap();
        (word, value)
    }
}

/// Lines of a matrix with comments, blanks and all line ends between, and what they say.
fn matrix(rank: usize, comment: char) -> (String, Vec<Vec<usize>>, Vec<f64>) {
    let mut numbers = Numbers(7);
    let mut text = String::new();
    let mut columns = vec![Vec::new(); rank];
    let mut values = Vec::new();
    for _ in 0..MANY {
        match numbers.below(40) {
            0 => writeln!(text, "{comment} a comment é 1 1 1").unwrap(),
            1 => text.push_str(" \t\r\n"),
            2 => text.push('\n'),
            3 => text.push_str(&" ".repeat(numbers.below(3000) as usize)),
            _ => {}
        }
        for column in &mut columns {
            let c = numbers.below(90_000) as usize;
            write!(text, "{}{} ", if numbers.below(9) == 0 { "00" } else { "" }, c + 1).unwrap();
            column.push(c);
        }
        let (word, value) = numbers.value();
        text.push_str(&word);
        text.push_str(if numbers.below(3) == 0 { "\r\n" } else { "\n" });
        values.push(value);
    }
    (text, columns, values)
}

#[track_caller]
fn assert_entries(loaded: &Loaded, columns: &[Vec<usize>], values: &[f64]) {
    let Loaded::Entries(entries) = loaded else { panic!("not entries") };
    assert_eq!(entries.len(), values.len());
    let found = entries.values().as_slice::<f64>().unwrap();
    for k in 0..values.len() {
        assert_eq!(found[k].to_bits(), values[k].to_bits(), "entry {k}");
        for (d, column) in columns.iter().enumerate() {
            assert_eq!(entries.coords()[d].get(k), column[k] as i64, "entry {k}");
        }
    }
}

fn headed(body: &str, count: usize) -> String {
    format!("%%MatrixMarket matrix coordinate real general\n90000 90000 {count}\n{body}")
}

#[test]
fn large_matrices_are_read_as_they_are_written() {
    let (body, columns, values) = matrix(2, '%');
    let text = headed(&body, MANY);
    assert!(text.len() > 4 << 20);
    let file = read_bytes("a.mtx", text.as_bytes()).unwrap();
    assert_entries(&file.loaded, &columns, &values);
    let file = read_bytes("a.mtx.gz", &gzip(text.as_bytes())).unwrap();
    assert_entries(&file.loaded, &columns, &values);
    // The last line may have no end; members of an archive may end within a line.
    let text = text.trim_end();
    let (first, rest) = text.as_bytes().split_at(text.len() / 2);
    let members = [gzip(first), gzip(rest)].concat();
    assert_entries(&read_bytes("a.mtx.gz", &members).unwrap().loaded, &columns, &values);
}

#[test]
fn large_tensors_are_read_as_they_are_written() {
    let (body, columns, values) = matrix(3, '#');
    let file = read_bytes("a.tns", body.as_bytes()).unwrap();
    assert_entries(&file.loaded, &columns, &values);
    let largest = columns.iter().map(|column| column.iter().max().unwrap() + 1);
    assert_eq!(file.loaded.dims(), largest.collect::<Vec<_>>());
    // One coordinate that needs 64 bits widens those of all other blocks.
    let wide = format!("{body}{} 1 1 2.5\n1 1 1 3\n", 1_u64 << 40);
    let file = read_bytes("a.tns", wide.as_bytes()).unwrap();
    assert_eq!(file.loaded.dims()[0], 1 << 40);
    let Loaded::Entries(entries) = &file.loaded else { panic!("not entries") };
    assert_eq!(entries.point(0), [columns[0][0], columns[1][0], columns[2][0]]);
    assert_eq!(entries.point(MANY + 1), [0, 0, 0]);
}

#[test]
fn triangles_are_mirrored_across_blocks() {
    let mut text = format!("%%MatrixMarket matrix coordinate integer skew-symmetric\n9 9 {MANY}\n");
    let column = |k: usize| if k == MANY - 9 { 2 + k % 8 } else { 1 + k % 2 };
    (0..MANY).for_each(|k| writeln!(text, "{} {} {k}", 2 + k % 8, column(k)).unwrap());
    let error = read_bytes("a.mtx", text.as_bytes()).map(|_| ()).unwrap_err();
    assert!(error.message.contains("diagonal"), "{error}");
    let mut text = format!("%%MatrixMarket matrix coordinate integer symmetric\n9 9 {MANY}\n");
    (0..MANY).for_each(|k| writeln!(text, "{} {} {k}", 2 + k % 8, 1 + k % 2).unwrap());
    text.push_str("% the end\n");
    let Loaded::Entries(entries) = read_bytes("a.mtx", text.as_bytes()).unwrap().loaded else {
        panic!("not entries")
    };
    let mut expected = Vec::new();
    for k in 0..MANY {
        let (i, j) = (1 + k % 8, k % 2);
        expected.push((i, j, k as i64));
        if i != j {
            expected.push((j, i, k as i64));
        }
    }
    assert_eq!(entries.len(), expected.len());
    let values = entries.values().as_slice::<i64>().unwrap();
    for (k, &(i, j, value)) in expected.iter().enumerate() {
        assert_eq!((entries.point(k), values[k]), (vec![i, j], value));
    }
}

#[test]
fn an_entry_above_the_diagonal_is_named_by_its_line() {
    let mut text = format!("%%MatrixMarket matrix coordinate pattern symmetric\n9 9 {MANY}\n");
    (0..MANY - 1).for_each(|_| text.push_str("5 3\n% below\n"));
    text.push_str("3 5\n");
    let file = read_bytes("a.mtx", text.as_bytes()).unwrap();
    let warning = format!("line {}: an entry above the diagonal", 2 * MANY + 1);
    assert!(file.warnings[0].starts_with(&warning), "{:?}", file.warnings);
}

/// A file of lines that are all alike, but for those that are given.
fn with_lines(others: &[(usize, &str)]) -> Vec<String> {
    let mut lines = vec!["12 34 5.6789012345".to_string(); MANY];
    for (at, line) in others {
        lines[*at] = line.to_string();
    }
    lines
}

#[track_caller]
fn assert_refused(lines: &[String], count: usize, line: usize, message: &str) {
    let text = headed(&(lines.join("\n") + "\n"), count);
    for (name, bytes) in [("a.mtx", text.clone().into_bytes()), ("a.mtx.gz", gzip(text.as_bytes()))]
    {
        let error = read_bytes(name, &bytes).unwrap_err();
        assert_eq!(error.code, Code::Data);
        assert!(error.message.contains(message), "`{message}` is not in {error:?}");
        assert_eq!(error.source.as_ref().unwrap().first_line, line, "{error:?}");
    }
}

#[test]
fn the_first_wrong_line_is_reported_in_whatever_block_it_is() {
    let (second, last) = (MANY / 2, MANY - 1);
    for (wrong, message) in [
        ("12 34 5x", "the value is not a number: `5x`"),
        ("12 34 0x10", "the value is not a number: `0x10`"),
        ("12 34 é", "the value is not a number: `é`"),
        ("12 34", "the value is missing"),
        ("12 34 1 2", "trailing words"),
        ("0 34 1", "the row coordinate is 0"),
        ("12 90001 1", "the column coordinate 90001 is beyond"),
        ("-12 1 1", "the row coordinate is negative"),
        ("12 18446744073709551616 1", "out of range"),
        ("12 34 1e400", "the value is out of range: `1e400`"),
        ("12 34 -1e400", "the value is out of range: `-1e400`"),
    ] {
        assert_refused(&with_lines(&[(last, wrong)]), MANY, last + 3, message);
    }
    let lines = with_lines(&[(last, "0 1 1"), (second, "12 34 later"), (5, "12 34")]);
    assert_refused(&lines, MANY, 8, "missing");
    assert_refused(&with_lines(&[(last, "0 1 1"), (second, "1 2 x")]), MANY, second + 3, "`x`");
}

#[test]
fn a_count_that_is_wrong_is_found_in_whatever_block_it_is() {
    let lines = with_lines(&[(MANY - 1, "1 2 wrong")]);
    // The first line beyond the count comes before the wrong one.
    assert_refused(&lines, MANY - 2, MANY + 1, "too many entries");
    assert_refused(&lines, MANY / 2, MANY / 2 + 3, "too many entries");
    assert_refused(&with_lines(&[]), MANY + 1, MANY + 2, "too few entries");
    assert_refused(&with_lines(&[]), 3, 6, "too many entries");
}

#[test]
fn a_truncated_archive_is_refused_behind_what_it_has() {
    let text = headed(&(with_lines(&[]).join("\n") + "\n"), MANY);
    let whole = gzip(text.as_bytes());
    let error = read_bytes("a.mtx.gz", &whole[..whole.len() / 2]).unwrap_err();
    assert_eq!(error.code, Code::Data);
    assert!(error.message.contains("truncated"), "{error:?}");
    let wrong = headed(&(with_lines(&[(9, "1 2 wrong")]).join("\n") + "\n"), MANY);
    let whole = gzip(wrong.as_bytes());
    let error = read_bytes("a.mtx.gz", &whole[..whole.len() / 2]).unwrap_err();
    assert!(error.message.contains("`wrong`"), "{error:?}");
}

#[test]
fn large_arrays_are_written_and_read_back() {
    let mut numbers = Numbers(3);
    let (m, n) = (700, 301);
    let values: Vec<f64> = (0..m * n).map(|_| numbers.value().1).collect();
    let array = DenseArray::new(vec![m, n], Values::F64(values)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.mtx", "a.npy", "a.mtx.gz", "a.npy.gz"] {
        let path = dir.path().join(name);
        write(&path, &Loaded::Dense(array.clone())).unwrap();
        let read = read(&path, &ReadOptions::default()).unwrap();
        let Loaded::Dense(read) = read.loaded else { panic!("{name} is no array") };
        let (got, given) = (read.values().as_slice::<f64>(), array.values().as_slice::<f64>());
        let bits = |values: Option<&[f64]>| values.unwrap().iter().map(|v| v.to_bits()).collect();
        let (got, given): (Vec<u64>, Vec<u64>) = (bits(got), bits(given));
        let at = got.iter().zip(&given).position(|(a, b)| a != b);
        let differs = at.map(|at| (at, f64::from_bits(got[at]), f64::from_bits(given[at])));
        assert_eq!((read.dims(), differs), (array.dims(), None), "{name}");
    }
    // Elements that are zero, `-0.0` too, are not entries.
    let path = dir.path().join("a.tns");
    write(&path, &Loaded::Dense(array.clone())).unwrap();
    let options = ReadOptions { dims: Some(vec![m, n]), ..ReadOptions::default() };
    let expected = array.to_entries();
    let points = |d: usize| (0..expected.len()).map(|k| expected.point(k)[d]).collect();
    let columns: [Vec<usize>; 2] = [points(0), points(1)];
    let values = expected.values().as_slice::<f64>().unwrap();
    assert_entries(&read(&path, &options).unwrap().loaded, &columns, values);
}

#[test]
fn large_lists_of_every_type_are_written_and_read_back() {
    let mut numbers = Numbers(5);
    let points: Vec<[usize; 2]> = (0..MANY / 4)
        .map(|_| [numbers.below(1000) as usize, numbers.below(1000) as usize])
        .collect();
    let values: Vec<f64> = points.iter().map(|_| numbers.below(200) as f64).collect();
    let points: Vec<(&[usize], f64)> =
        points.iter().zip(&values).map(|(point, &value)| (&point[..], value)).collect();
    let entries = Entries::from_points(&[1000, 1000], &points).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for value_type in ValueType::ALL {
        let entries = entries.clone().into_type(value_type).unwrap();
        for name in ["a.mtx", "a.tns", "a.tns.gz"] {
            let path = dir.path().join(name);
            write(&path, &Loaded::Entries(entries.clone())).unwrap();
            let options = ReadOptions {
                dims: Some(vec![1000, 1000]),
                value_type: Some(value_type),
                ..ReadOptions::default()
            };
            let read = read(&path, &options).unwrap().loaded;
            assert!(read == Loaded::Entries(entries.clone()), "{name} of {value_type}");
        }
    }
}

#[test]
fn progress_of_a_large_file_rises_to_its_total() {
    let text = headed(&(with_lines(&[]).join("\n") + "\n"), MANY);
    let said = std::cell::RefCell::new(Vec::new());
    let progress = |done: u64, total: u64| said.borrow_mut().push((done, total));
    let options = ReadOptions { progress: Some(&progress), ..ReadOptions::default() };
    read_as("a.mtx", text.as_bytes(), &options).unwrap();
    let said = said.into_inner();
    let total = text.len() as u64;
    assert!(said.is_sorted() && said.len() > 1, "{said:?}");
    assert_eq!(said.last(), Some(&(total, total)));
}
